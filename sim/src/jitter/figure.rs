//! Charts and tables of mean times.

use chart::{Axis, Chart, Point, Scale, Series};

use super::search::{JitterSearch, SearchCell};
use super::{ExtraBits, JitterRow};

/// One line `ranks,middle,final,mean_s` for each row, with a heading.
pub fn csv(rows: &[JitterRow]) -> String {
    let lines = rows
        .iter()
        .map(|row| format!("{},{},{},{:.6e}\n", row.ranks, row.middle, row.last, row.mean_s));
    "ranks,middle,final,mean_s\n".to_owned() + &lines.collect::<String>()
}

/// A line for each number of ranks, a column for each pair of numbers of extra exchanges; mean times
/// in seconds.
pub fn table(rows: &[JitterRow]) -> String {
    const COLUMN: usize = 13;
    let columns = kinds(rows);
    let mut text = format!("{:>9}", "mean s");
    for (middle, last) in &columns {
        text += &format!("{:>COLUMN$}", format!("M={middle} L={last}"));
    }
    let mut all: Vec<u32> = rows.iter().map(|row| row.ranks).collect();
    all.dedup();
    for ranks in all {
        text += &format!("\n{ranks:>9}");
        for kind in &columns {
            let row = rows.iter().find(|row| (row.ranks, (row.middle, row.last)) == (ranks, *kind));
            let cell = row.map_or("-".to_owned(), |row| format!("{:.2e}", row.mean_s));
            text += &format!("{cell:>COLUMN$}");
        }
    }
    text + "\n"
}

/// The distinct pairs of numbers of middle and final exchanges, in order.
fn kinds(rows: &[JitterRow]) -> Vec<(u32, u32)> {
    let mut kinds = Vec::new();
    for kind in rows.iter().map(|row| (row.middle, row.last)) {
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    kinds
}

/// Mean times over the number of ranks.
pub fn chart(rows: &[JitterRow]) -> Chart {
    let series = kinds(rows).into_iter().enumerate().map(|(style, kind)| {
        let own = rows.iter().filter(|row| (row.middle, row.last) == kind);
        Series {
            name: format!("M = {}, L = {}", kind.0, kind.1),
            style,
            points: own.map(|row| point(f64::from(row.ranks), row.mean_s)).collect(),
        }
    });
    Chart {
        title: "Allreduce with redundant exchanges under noise".to_owned(),
        summary: "Mean time over the ranks, for M middle and L final exchanges.".to_owned(),
        x: Axis::new("ranks", Scale::Logarithmic),
        y: Axis::new("mean µs", Scale::Logarithmic),
        series: series.collect(),
        guide: None,
    }
}

fn point(x: f64, mean_s: f64) -> Point {
    let y = mean_s * 1e6;
    Point { x, y, low: y, high: y }
}

/// The best extra exchanges, as text.
pub fn search_text(found: &JitterSearch) -> String {
    let ranks = 1_u64 << found.bits;
    let mut text = format!("{ranks} ranks, {} runs\n", found.runs);
    text += &format!("{:>8}{:>8}{:>13}  bits\n", "middle", "final", "mean s");
    for cells in &found.cells {
        let least = cells.iter().map(|cell| cell.mean_s).fold(f64::INFINITY, f64::min);
        let near = cells.iter().find(|cell| cell.mean_s <= least * super::search::TOLERANCE);
        let shown = [cells.first(), near, cells.last()];
        let mut before = None;
        for cell in shown.into_iter().flatten() {
            if before != Some(cell.extras.last.len()) {
                before = Some(cell.extras.last.len());
                text += &line(cell);
            }
        }
    }
    if let Some(cell) = found.fewest() {
        let percent = (super::search::TOLERANCE - 1.0) * 100.0;
        text += &format!(
            "\nfewest within {percent:.0} % of the best mean of {:.3e} s:\n",
            found.best_s()
        );
        text += &line(cell);
    }
    text
}

fn line(cell: &SearchCell) -> String {
    let ExtraBits { middle, last } = &cell.extras;
    let (m, l, mean_s) = (middle.len(), last.len(), cell.mean_s);
    format!("{m:>8}{l:>8}{mean_s:>13.3e}  {} | {}\n", bits(middle), bits(last))
}

/// `0 1 2`, or a dash if there are none.
fn bits(bits: &[u32]) -> String {
    if bits.is_empty() {
        return "-".to_owned();
    }
    let words: Vec<String> = bits.iter().map(u32::to_string).collect();
    words.join(" ")
}

/// One line `ranks,middle,final,mean_s,middle_bits,final_bits` for each pair of numbers.
pub fn search_csv(found: &JitterSearch) -> String {
    let mut text = "ranks,middle,final,mean_s,middle_bits,final_bits\n".to_owned();
    for SearchCell { extras, mean_s } in found.cells.iter().flatten() {
        let ExtraBits { middle, last } = extras;
        let (ranks, m, l) = (1_u64 << found.bits, middle.len(), last.len());
        let (middle, last) = (bits(middle), bits(last));
        text += &format!("{ranks},{m},{l},{mean_s:.6e},{middle},{last}\n");
    }
    text
}

/// Mean times of the best extra exchanges over the number of final ones.
pub fn search_chart(found: &JitterSearch) -> Chart {
    let series = found.cells.iter().enumerate().map(|(middle, cells)| Series {
        name: format!("M = {middle}"),
        style: middle,
        points: (0..).zip(cells).map(|(last, cell)| point(f64::from(last), cell.mean_s)).collect(),
    });
    Chart {
        title: format!("Best extra exchanges on 2^{} ranks", found.bits),
        summary: "Mean time over the ranks with the best bits that were found, for M middle \
                  exchanges."
            .to_owned(),
        x: Axis::new("final exchanges", Scale::Linear),
        y: Axis::new("mean µs", Scale::Logarithmic),
        series: series.collect(),
        guide: Some(found.best_s() * 1e6),
    }
}
