//! The supported part of MPI 5.0: the table of the README, which `tests/coverage.rs` makes from the
//! bodies in `src/abi`.

use super::Fact;

const README: &str = include_str!("../../../README.md");

#[derive(Clone, Debug, PartialEq, Eq)]
struct CoverageRow {
    /// A number, or `all`.
    chapter: String,
    title: String,
    functions: u32,
    supported: u32,
}

/// The chapters as details, and the total.
pub(crate) fn facts() -> Vec<Fact> {
    let facts = rows(README).map(|CoverageRow { chapter, title, functions, supported }| {
        let fact = Fact::new(
            format!("coverage.{chapter}"),
            if title.is_empty() { "all chapters".to_owned() } else { format!("{chapter} {title}") },
            format!("{supported} {functions}"),
        );
        let fact = fact.with_text(format!("{supported} of {functions} functions"));
        if chapter == "all" { fact } else { fact.detail() }
    });
    facts.collect()
}

/// The rows of the table in a text.
fn rows(text: &str) -> impl Iterator<Item = CoverageRow> {
    let (_, rest) = text.split_once("<!-- coverage:begin -->").unwrap_or_default();
    let (table, _) = rest.split_once("<!-- coverage:end -->").unwrap_or_default();
    table.lines().filter_map(row)
}

/// Parses `| 3 Point-to-point communication | 89 | 83 |`; other lines have no numbers.
fn row(line: &str) -> Option<CoverageRow> {
    let line = line.replace("**", "");
    let mut cells = line.split('|').map(str::trim).skip(1);
    let name = cells.next()?;
    let (chapter, title) = name.split_once(' ').unwrap_or((name, ""));
    let mut number = || cells.next()?.parse().ok();
    let (functions, supported) = (number()?, number()?);
    Some(CoverageRow { chapter: chapter.to_owned(), title: title.to_owned(), functions, supported })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_its_chapters_and_their_total() {
        let rows: Vec<_> = rows(README).collect();
        let (all, chapters) = rows.split_last().unwrap();
        assert_eq!((all.chapter.as_str(), all.functions, chapters.len()), ("all", 662, 16));
        assert_eq!(chapters.iter().map(|row| row.functions).sum::<u32>(), all.functions);
        assert_eq!(chapters.iter().map(|row| row.supported).sum::<u32>(), all.supported);
        assert!(chapters.iter().all(|row| !row.title.is_empty()));
    }

    #[test]
    fn a_text_without_the_table_has_no_rows() {
        assert_eq!(rows("nothing").count(), 0);
        assert_eq!(row("|---|--:|--:|"), None);
    }
}
