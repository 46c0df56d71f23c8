//! Tables of results, for a terminal and for a page.

use chart::number;
use comfy_table::{CellAlignment, presets};
use maud::{Markup, Render, html};

use super::results::{Comparison, Figure, Results};
use crate::record::{Outcome, Record, Setting};

/// A table of texts.
#[derive(Debug, PartialEq)]
pub(super) struct Table {
    /// The columns.
    pub columns: Vec<Column>,
    /// The cells, one for each column.
    pub rows: Vec<Vec<String>>,
}

/// The content of a column.
#[derive(Debug, PartialEq)]
pub(super) struct Column {
    name: String,
    holds: ColumnKind,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum ColumnKind {
    Words,
    Numbers,
    /// Paths, unchanged.
    Code,
}

impl Table {
    /// The table as lines for a terminal.
    pub(super) fn lines(&self) -> String {
        let mut table = comfy_table::Table::new();
        table.load_style(presets::NOTHING);
        table.set_header(self.columns.iter().map(|column| column.name.as_str()));
        for (at, column) in self.columns.iter().enumerate() {
            if let (ColumnKind::Numbers, Some(ours)) = (column.holds, table.column_mut(at)) {
                ours.set_cell_alignment(CellAlignment::Right);
            }
        }
        table.add_rows(&self.rows);
        table.trim_fmt() + "\n"
    }
}

impl Render for Table {
    fn render(&self) -> Markup {
        let class = |column: &Column| match column.holds {
            ColumnKind::Numbers => Some("number"),
            ColumnKind::Words | ColumnKind::Code => None,
        };
        html! {
            div .wide {
                table {
                    thead {
                        tr {
                            @for column in &self.columns {
                                th scope="col" class=[class(column)] { (column.name) }
                            }
                        }
                    }
                    tbody {
                        @for row in &self.rows {
                            tr {
                                @for (cell, column) in row.iter().zip(&self.columns) {
                                    td class=[class(column)] {
                                        @if column.holds == ColumnKind::Code { code { (cell) } }
                                        @else { (cell) }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn columns(holds: ColumnKind, names: &[&str]) -> Vec<Column> {
    names.iter().map(|name| Column { name: (*name).to_owned(), holds }).collect()
}

/// Suiro compared with the best peers.
pub(super) fn comparisons(comparisons: &[Comparison]) -> Table {
    let mut all = columns(ColumnKind::Words, &["class", "library"]);
    let numbers = ["ranks", "mean", "least", "most", "kernels"];
    all.extend(columns(ColumnKind::Numbers, &numbers));
    all.extend(columns(ColumnKind::Words, &["source"]));
    let mut table = Table { columns: all, rows: Vec::new() };
    for comparison in comparisons {
        let Some((least, most)) = comparison.extremes() else { continue };
        let extreme = |ratio: &super::results::Ratio| {
            format!("{:.3} ({}, {})", ratio.value, ratio.kernel.to_uppercase(), ratio.peer)
        };
        table.rows.push(vec![
            comparison.class.0.to_string(),
            comparison.way.name(),
            comparison.ranks.to_string(),
            format!("{:.3}", comparison.mean()),
            extreme(least),
            extreme(most),
            comparison.ratios.len().to_string(),
            comparison.source.clone(),
        ]);
    }
    table
}

/// The runs that are not verified.
pub(super) fn failures(records: &[Record]) -> Table {
    let mut all = columns(ColumnKind::Words, &["run", "library", "repeat", "outcome", "why"]);
    all.extend(columns(ColumnKind::Code, &["log"]));
    let row = |record: &Record| {
        let Setting { source, kernel, class, ranks, library, device, progress } = &record.setting;
        let words = [Some(library), device.as_ref(), progress.as_ref()];
        let way: Vec<&str> = words.into_iter().flatten().map(String::as_str).collect();
        let why = record.why.as_deref().and_then(|why| why.lines().next());
        let log = record.log.as_ref().map(|log| log.display().to_string());
        vec![
            format!("{source}: {}, class {class}, {ranks} ranks", kernel.to_uppercase()),
            way.join(" "),
            record.repeat.to_string(),
            match record.outcome {
                Outcome::Verified => "verified",
                Outcome::Unverified => "not verified",
                Outcome::Failed => "failed",
            }
            .to_owned(),
            why.unwrap_or("no reason").to_owned(),
            log.unwrap_or_else(|| "–".to_owned()),
        ]
    };
    Table { columns: all, rows: records.iter().map(row).collect() }
}

/// Mop/s of all problems, one column for each variant; `text` formats a figure.
pub(super) fn rates(results: &Results, text: impl Fn(&Figure) -> String) -> Table {
    let ways = results.variants();
    let names: Vec<String> = ways.iter().map(|way| way.name()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut all = columns(ColumnKind::Words, &["source", "class", "kernel"]);
    all.extend(columns(ColumnKind::Numbers, &["ranks"]));
    all.extend(columns(ColumnKind::Numbers, &names));
    let mut rows = Vec::new();
    for (problem, lines) in &results.rates {
        let mut ranks: Vec<u32> = lines.values().flat_map(|line| line.keys().copied()).collect();
        ranks.sort_unstable();
        ranks.dedup();
        for ranks in ranks {
            let mut row = vec![
                problem.source.clone(),
                problem.class.0.to_string(),
                problem.kernel.to_uppercase(),
                ranks.to_string(),
            ];
            row.extend(ways.iter().map(|way| {
                let figure = lines.get(*way).and_then(|line| line.get(&ranks));
                figure.map_or_else(|| "–".to_owned(), &text)
            }));
            rows.push(row);
        }
    }
    Table { columns: all, rows }
}

/// A table of texts.
pub(super) fn words(names: &[&str], rows: impl Iterator<Item = Vec<String>>) -> Table {
    Table { columns: columns(ColumnKind::Words, names), rows: rows.collect() }
}

/// The median of a figure.
pub(super) fn median(figure: &Figure) -> String {
    number(figure.median)
}

/// The median, the least and the greatest.
pub(super) fn spread(figure: &Figure) -> String {
    if figure.count == 1 {
        return median(figure);
    }
    let Figure { low, high, .. } = *figure;
    format!("{} ({}–{})", median(figure), number(low), number(high))
}

#[cfg(test)]
mod tests {
    use super::super::fixture;
    use super::*;

    #[test]
    fn a_comparison_names_the_worst_kernel_and_its_best_peer() {
        let records = [
            fixture::record("cg", 'A', 2, "suiro", 95.0),
            fixture::record("cg", 'A', 2, "mpich", 100.0),
            fixture::record("mg", 'A', 2, "suiro", 110.0),
            fixture::record("mg", 'A', 2, "mpich", 100.0),
        ];
        let lines = comparisons(&Results::of(&records).comparisons()).lines();
        let wanted = "A      suiro        2  1.022  0.950 (CG, mpich)  1.100 (MG, mpich)";
        assert!(lines.contains(wanted), "{lines}");
    }

    #[test]
    fn a_failure_has_the_place_of_its_log() {
        let results = Results::of(&fixture::records());
        let table = failures(&results.failures);
        assert_eq!(table.rows.len(), 2);
        let lines = table.lines();
        for wanted in [
            "kernels: EP, class S, 2 ranks",
            "suiro shm polling",
            "not verified",
            "verification unsuccessful",
            "/tmp/a folder/<log> & more",
            "still running after 60 s",
        ] {
            assert!(lines.contains(wanted), "{lines}");
        }
        let page = table.render().into_string();
        assert!(page.contains("<code>/tmp/a folder/&lt;log&gt; &amp; more</code>"), "{page}");
    }

    #[test]
    fn every_figure_has_its_cell() {
        let mut records = vec![fixture::record("ep", 'S', 1, "suiro", 12345.6)];
        records.push(fixture::record("ep", 'S', 1, "suiro", 12346.4));
        records.push(fixture::record("ep", 'S', 8, "mpich", 1.5));
        let table = rates(&Results::of(&records), spread);
        let thin = '\u{202f}';
        let large = format!("12{thin}346 (12{thin}346–12{thin}346)");
        let wanted = [
            ["kernels", "S", "EP", "1", large.as_str(), "–"],
            ["kernels", "S", "EP", "8", "–", "1.5"],
        ];
        assert_eq!(table.rows, wanted);
    }
}
