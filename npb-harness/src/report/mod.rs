//! `npb report`: results as tables on the terminal and as a page with charts.
//!
//! ```text
//! files ── record ──> results: medians, comparisons ──┬──> tables ──> terminal
//!                                                     └──> charts, tables ──> page
//! ```
//!
//! Figures of `npb model` about messages become charts too, beside the claims of a paper (messages), and its
//! experiments with several jobs have sections of their own (worlds). The results of several files are
//! combined; nothing is run.

mod charts;
mod csv;
#[cfg(test)]
mod fixture;
mod messages;
mod page;
pub(crate) mod results;
mod tables;
mod worlds;

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{Arg, ArgMatches, Command, value_parser};

use crate::model::{
    self, claims,
    point::{self, Point, Values},
};
use crate::record::Record;
use results::Results;
use worlds::WorldSection;

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
        .arg(
            Arg::new("csv")
                .long("csv")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help("Also write all runs of kernels to this file, as comma-separated values"),
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
    let report = Report::of(records, &points);
    let sources: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    report.write_page(output, &sources)?;
    if let Some(path) = matches.get_one::<PathBuf>("csv") {
        report.write_csv(path)?;
    }
    let text = format!("{}\nPage: {}\n", report.text(), output.display());
    // The reader may close the pipe early, as `head` does.
    let _ = io::stdout().write_all(text.as_bytes());
    Ok(ExitCode::SUCCESS)
}

/// Results and figures, grouped by what is shown of them.
pub(crate) struct Report {
    records: Vec<Record>,
    /// All results.
    all: Results,
    /// Those of the experiments with several jobs, and of all else.
    worlds: Vec<WorldSection>,
    kernels: Results,
    values: Values,
}

impl Report {
    /// A report of these results and figures.
    pub(crate) fn of(records: Vec<Record>, points: &[Point]) -> Self {
        let (worlds, others) = worlds::divided(&records);
        Self {
            all: Results::of(&records),
            worlds,
            kernels: Results::of(&others),
            values: point::values(points),
            records,
        }
    }

    /// Writes the page; `sources` says what it is made from.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn write_page(&self, path: &Path, sources: &[String]) -> Result<(), String> {
        write(path, &page::page(self, sources).into_string())
    }

    /// Writes the results as comma-separated values.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn write_csv(&self, path: &Path) -> Result<(), String> {
        write(path, &csv::lines(&self.records))
    }

    /// The experiments with several jobs, for the terminal.
    pub(crate) fn text_of_worlds(&self) -> String {
        let part = |world: &WorldSection| {
            let (title, figures) = (world.experiment.title(), world.figures().lines());
            let (caption, means) = (world.experiment.caption(), world.means());
            let means = if means.rows.is_empty() { String::new() } else { means.lines() };
            format!("\n{title}\n{caption}\n\n{figures}\n{means}")
        };
        self.worlds.iter().map(part).collect()
    }
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
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

impl Report {
    /// The text for the terminal.
    fn text(&self) -> String {
        let results = &self.kernels;
        let mut text = overview(&self.all) + "\n";
        let mut part = |heading: &str, table: tables::Table| {
            if !table.rows.is_empty() {
                text += &format!("\n{heading}\n{}", table.lines());
            }
        };
        part("Not verified, and left out of all figures:", tables::failures(&self.all.failures));
        part("Mop/s of all ranks, medians:", tables::rates(results, tables::median));
        let comparisons = results.comparisons();
        part(
            "Suiro by the best peer: geometric mean over the kernels, the least and the most:",
            tables::comparisons(&comparisons),
        );
        if !self.values.is_empty() {
            text += &model::lines(&claims::claims(&self.values, results));
        }
        text + &self.text_of_worlds()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record;

    fn page_of(records: &[Record]) -> String {
        let report = Report::of(records.to_vec(), &[]);
        page::page(&report, &["<results> & more.jsonl".to_owned()]).into_string()
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
        let text = Report::of(fixture::records(), &[]).text();
        assert!(
            text.starts_with("864 runs on 2 processors, 862 verified.\n\nNot verified"),
            "{text}"
        );
    }

    #[test]
    fn an_experiment_has_a_section_of_its_own() {
        let of = |library: &str, device: Option<&str>, mops| {
            let mut record = fixture::record("cg", 'S', 2, library, mops);
            record.setting.source = "vendor".to_owned();
            record.setting.device = device.map(str::to_owned);
            record
        };
        let page = page_of(&[of("mpich", None, 100.0), of("suiro", Some("vendor"), 90.0)]);
        assert_eq!(count(&page, "figure"), 2);
        assert!(page.contains("Another MPI library alone, and below Suiro"), "{page}");
        assert!(!page.contains("There is no peer"), "{page}");
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
