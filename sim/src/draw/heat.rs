//! A heat map: a row of cells for each kind of thing, with a colour for a share.

use maud::{Markup, html};

use chart::rounded;

/// Things of one kind.
#[derive(Clone, Debug)]
pub(crate) struct HeatRow {
    pub(crate) name: String,
    /// Of each of them, from 0 to 100.
    pub(crate) percents: Vec<f64>,
}

const LEFT: f64 = 90.0;
const CELL: f64 = 9.0;
/// Cells in a line.
const COLUMNS: usize = 64;
/// Lines of a row. More cells are the greatest share of several adjacent things.
const LINES_MAX: usize = 8;
const BETWEEN: f64 = 10.0;
const HEAD: f64 = 16.0;

/// A figure for a page with the style of charts.
pub(crate) fn heat_map(title: &str, rows: &[HeatRow]) -> Markup {
    let most = rows.iter().flat_map(|row| &row.percents).copied().fold(0.0, f64::max);
    let mut top = HEAD;
    let mut placed = Vec::new();
    for row in rows {
        let size = row.percents.len().div_ceil(COLUMNS * LINES_MAX).max(1);
        let cells: Vec<f64> = row
            .percents
            .chunks(size)
            .map(|group| group.iter().copied().fold(0.0, f64::max))
            .collect();
        let lines = cells.len().div_ceil(COLUMNS);
        placed.push((row, size, cells, top));
        top += lines as f64 * CELL + BETWEEN;
    }
    let width = LEFT + COLUMNS as f64 * CELL + 2.0;
    let summary = format!("{title}; the busiest {most:.1} %.");
    html! {
        figure .chart {
            figcaption { (title) }
            svg viewBox={ "0 0 " (width) " " (rounded(top)) } role="img" aria-label=(summary) {
                text x=(LEFT) y="10" { "white: 0 %, full colour: " (format!("{most:.1}")) " %" }
                @for (row, size, cells, top) in &placed {
                    text x="0" y=(rounded(top + CELL)) { (row.name) }
                    @for (index, percent) in cells.iter().enumerate() {
                        (cell(index, *top, *percent, most, *size))
                    }
                }
            }
        }
    }
}

fn cell(index: usize, top: f64, percent: f64, most: f64, size: usize) -> Markup {
    let x = LEFT + (index % COLUMNS) as f64 * CELL;
    let y = top + (index / COLUMNS) as f64 * CELL;
    let share = if most > 0.0 { percent / most } else { 0.0 };
    let things = match size {
        1 => index.to_string(),
        size => format!("{} to {}", index * size, (index + 1) * size - 1),
    };
    html! {
        rect x=(x) y=(rounded(y)) width=(CELL - 1.0) height=(CELL - 1.0)
            style={ "fill:var(--s0);fill-opacity:" (format!("{share:.2}")) ";stroke:var(--faint);stroke-width:.5" } {
            title { (things) ": " (format!("{percent:.1}")) " %" }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_things_share_cells() {
        let row = |count: usize| HeatRow {
            name: format!("{count} things"),
            percents: (0..count).map(|index| if index == 700 { 50.0 } else { 10.0 }).collect(),
        };
        let picture = heat_map("title", &[row(3), row(1000)]).into_string();
        // 1,000 things are 500 cells of two.
        assert_eq!(picture.matches("<rect").count(), 3 + 500, "{picture}");
        assert!(picture.contains("<title>700 to 701: 50.0 %</title>"), "{picture}");
        assert!(picture.contains("fill-opacity:0.20"), "{picture}");
    }
}
