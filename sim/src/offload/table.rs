//! The deferred work of a rank as text, with the columns of tables 2, 4 and 5 of Y. Morie et al.,
//! "Design and evaluation of persistent collective communication with the offload API of Open
//! Fabrics Interfaces" (RIKEN).

use mpi_abi::offload::table::{Purpose, RowOperation, TableRow, rows};
use mpi_abi::offload::{Program, Scheme};

/// The columns. Messages have the names of table 5; R counts the thresholds.
const HEAD: [&str; 9] =
    ["message", "round", "R", "threshold", "operation", "bytes", "increment", "peer", "counter"];

/// A heading, then a line for each work of `rank` by level; round C ends an instance.
/// [`Scheme::Tank1`] has the paper's names, and omits the end of the instance, which the paper
/// detects by the level. Signals have a name (RTR) if the operation has data.
pub fn table(program: &Program, rank: u32, has_data: bool) -> String {
    let is_paper = program.scheme == Scheme::Tank1;
    let mut rows = rows(program, rank);
    let last = rows.iter().map(|row| row.round).max().unwrap_or(0);
    rows.retain(|row| !(is_paper && row.operation == RowOperation::Complete));
    let mut lines: Vec<[String; 9]> = vec![HEAD.map(str::to_owned)];
    lines.extend(rows.iter().map(|row| {
        let round = if row.round == last { "C".to_owned() } else { row.round.to_string() };
        let bytes = if row.bytes > 0 { row.bytes.to_string() } else { "-".to_owned() };
        let (increment, peer, counter) = match row.operation {
            RowOperation::Complete => ("-".to_owned(), "-".to_owned(), "-".to_owned()),
            _ => (row.increment.to_string(), row.peer.to_string(), row.counter.to_string()),
        };
        let threshold = row.threshold.to_string();
        let (name, operation) = (purpose(row, has_data), operation(row, is_paper));
        [
            name.to_owned(),
            round,
            row.step.to_string(),
            threshold,
            operation,
            bytes,
            increment,
            peer,
            counter,
        ]
    }));
    text(&lines)
}

/// Names of messages in table 5.
fn purpose(row: &TableRow, has_data: bool) -> &'static str {
    match row.purpose {
        Purpose::Signal if has_data => "RTR",
        Purpose::Data => "DAT",
        Purpose::Exit => "RTE",
        Purpose::Finish => "FIN",
        Purpose::Signal | Purpose::Local => "",
    }
}

fn operation(row: &TableRow, is_paper: bool) -> String {
    let own = match row.operation {
        RowOperation::Write => "put, add",
        RowOperation::RemoteAdd if row.purpose == Purpose::Finish => "lower",
        RowOperation::RemoteAdd => "add there",
        RowOperation::Add => "add here",
        RowOperation::Copy => "copy, add",
        RowOperation::Host => "host computes, add",
        RowOperation::Combine => "compute, add",
        RowOperation::Complete => "complete",
    };
    row.operation.libfabric().filter(|_| is_paper).unwrap_or(own).to_owned()
}

/// Aligned columns: words to the left, numbers to the right.
pub fn text<const N: usize>(rows: &[[String; N]]) -> String {
    let mut widths = [0; N];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let is_words = |column: usize| {
        let cells = rows.iter().skip(1).filter_map(|row| row[column].chars().next());
        cells.clone().all(char::is_alphabetic) && cells.clone().next().is_some()
    };
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().zip(widths).enumerate().filter(|(_, (_, width))| *width > 0);
        let cells = cells.map(|(column, (cell, width))| match is_words(column) {
            true => format!("{cell:width$}"),
            false => format!("{cell:>width$}"),
        });
        text += cells.collect::<Vec<_>>().join("  ").trim_end();
        text.push('\n');
    }
    text
}
