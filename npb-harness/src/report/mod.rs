//! `npb report`: results as tables on the terminal and as a page with charts.
//!
//! ```text
//! files ── record ──> results: medians, comparisons ──┬──> tables ──> terminal
//!                                                     └──> charts, tables ──> page
//! ```
//!
//! Figures of `npb model` about messages become charts too, beside the claims of a paper (messages).
//! The results of several files are combined; nothing is run.

mod charts;
#[cfg(test)]
mod fixture;
mod messages;
mod page;
pub(crate) mod results;
mod tables;

use std::{
    fs,
    io::{self, Write as _},
    path::PathBuf,
    process::ExitCode,
};

use clap::{Arg, ArgMatches, Command, value_parser};

use crate::model::{
    self, claims,
    point::{self, Values},
};
use results::Results;

/// The arguments of `npb report`.
pub(crate) fn command() -> Command {
    Command::new("report")
        .about("Shows results as tables and as a page with charts")
        .arg(
            Arg::new("files")
                .value_name("FILE")
                .required(true)
                .num_args(1..)
                .value_parser(value_parser!(PathBuf))
                .help("Files with results of npb run or npb model, one JSON object on each line"),
        )
        .arg(
            Arg::new("output")
                .long("output")
                .value_name("PAGE")
                .default_value("npb-report.html")
                .value_parser(value_parser!(PathBuf))
                .help("The page to write; it needs no other files and no network"),
        )
}

/// Reads the files, prints the tables, writes the page.
///
/// # Errors
/// A file cannot be read, or has a line that is not a result, or the page cannot be written.
pub(crate) fn run(matches: &ArgMatches) -> Result<ExitCode, String> {
    let files: Vec<&PathBuf> = matches.get_many("files").into_iter().flatten().collect();
    let output: &PathBuf = matches.get_one("output").expect("it has a default");
    let (mut records, mut points) = (Vec::new(), Vec::new());
    for file in &files {
        let (of_kernels, of_messages) = point::read(file)?;
        records.extend(of_kernels);
        points.extend(of_messages);
    }
    let (results, values) = (Results::of(&records), point::values(&points));
    let sources: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    fs::write(output, page::page(&results, &values, &sources).into_string())
        .map_err(|error| format!("cannot write {}: {error}", output.display()))?;
    let text = format!("{}\nPage: {}\n", terminal(&results, &values), output.display());
    // The reader may close the pipe early, as `head` does.
    let _ = io::stdout().write_all(text.as_bytes());
    Ok(ExitCode::SUCCESS)
}

/// The number of results as a sentence.
fn overview(results: &Results) -> String {
    let runs = results.runs;
    let verified = runs - results.failures.len();
    let processors: Vec<String> = results.processors.iter().map(usize::to_string).collect();
    let machine = match processors.as_slice() {
        [] => String::new(),
        [one] => format!(" on {one} processor{}", if one == "1" { "" } else { "s" }),
        many => format!(" on machines of {} processors", many.join(", ")),
    };
    format!("{runs} run{}{machine}, {verified} verified.", if runs == 1 { "" } else { "s" })
}

/// The text for the terminal.
fn terminal(results: &Results, values: &Values) -> String {
    let mut text = overview(results) + "\n";
    let mut part = |heading: &str, table: tables::Table| {
        if !table.rows.is_empty() {
            text += &format!("\n{heading}\n{}", table.lines());
        }
    };
    part("Not verified, and left out of all figures:", tables::failures(&results.failures));
    part("Mop/s of all ranks, medians:", tables::rates(results, tables::median));
    let comparisons = results.comparisons();
    part(
        "Suiro by the best peer: geometric mean over the kernels, the least and the most:",
        tables::comparisons(&comparisons),
    );
    if !values.is_empty() {
        text += &model::lines(&claims::claims(values, results));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{self, Record};

    fn page_of(records: &[Record]) -> String {
        page::page(&Results::of(records), &Values::new(), &["<results> & more.jsonl".to_owned()])
            .into_string()
    }

    /// The body as a document: a page has no elements without an end in it.
    fn body(page: &str) -> roxmltree::Document<'_> {
        let (from, to) = (page.find("<body>").unwrap(), page.find("</html>").unwrap());
        roxmltree::Document::parse(&page[from..to]).unwrap()
    }

    fn count(page: &str, name: &str) -> usize {
        body(page).descendants().filter(|node| node.has_tag_name(name)).count()
    }

    #[test]
    fn a_page_is_well_formed_and_self_contained() {
        let page = page_of(&fixture::records());
        assert!(count(&page, "figure") > 40, "{}", count(&page, "figure"));
        for outside in ["<script", "http:", "https:", "<img", "<link", "@import", "url("] {
            let found = page.replace("http://www.w3.org/2000/svg", "").find(outside);
            assert_eq!(found, None, "{outside}");
        }
        assert!(page.contains("&lt;results&gt; &amp; more.jsonl"));
    }

    #[test]
    fn every_picture_has_a_name_a_description_and_units() {
        let page = page_of(&fixture::records());
        let document = body(&page);
        let pictures = document.descendants().filter(|node| node.attribute("role") == Some("img"));
        for picture in pictures {
            let svg = |name: &str| {
                let child = picture.children().find(|child| child.tag_name().name() == name);
                child.and_then(|child| child.text()).unwrap_or_default().to_owned()
            };
            assert!(!svg("title").is_empty() && !svg("desc").is_empty());
            assert!(picture.attribute("aria-label").is_some());
            let texts: Vec<_> = picture.descendants().filter_map(|node| node.text()).collect();
            assert!(texts.contains(&"ranks"), "{texts:?}");
            assert!(texts.iter().any(|text| text.contains("Mop/s")), "{texts:?}");
        }
    }

    #[test]
    fn failures_are_at_the_beginning_of_the_page_and_on_the_terminal() {
        let page = page_of(&fixture::records());
        let alarm = page.find("2 runs are not verified").unwrap();
        assert!(alarm < page.find("<main>").unwrap());
        assert!(page.contains("still running after 60 s &lt;&amp;&quot;&gt;"));
        let text = terminal(&Results::of(&fixture::records()), &Values::new());
        assert!(
            text.starts_with("864 runs on 2 processors, 862 verified.\n\nNot verified"),
            "{text}"
        );
    }

    #[test]
    fn few_results_have_a_page_too() {
        let one = fixture::record("cg", 'A', 1, "suiro", 100.0);
        let page = page_of(std::slice::from_ref(&one));
        assert_eq!(count(&page, "figure"), 1);
        assert!(page.contains("There is no peer") && page.contains("All runs are verified"));
        let page = page_of(&[]);
        assert_eq!(count(&page, "figure"), 0);
        let peer = fixture::record("a<&>\"'", 'A', 1, "<peer> & \"co\"", 100.0);
        let page = page_of(&[one, peer.clone()]);
        assert_eq!(count(&page, "figure"), 2);
        let failed = Record { outcome: record::Outcome::Failed, mops: None, ..peer };
        let page = page_of(&[failed]);
        assert!(page.contains("1 run is not verified"));
        assert_eq!(count(&page, "figure"), 0);
    }
}
