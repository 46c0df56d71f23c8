//! A chart as a figure of a page: title, picture, legend, table.

use std::fmt::Write;

use maud::{Markup, Render, html};

use super::axis::{Layout, number};
use super::{Chart, Point, Series};

/// Width of the picture in its own units; it is scaled to the available space.
pub(crate) const WIDTH: f64 = 380.0;
pub(crate) const HEIGHT: f64 = 250.0;
/// The left end of the plotted area.
const LEFT: f64 = 58.0;
const RIGHT: f64 = WIDTH - 10.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = HEIGHT - 42.0;
/// Half the size of a mark.
const MARK: f64 = 4.0;
/// Distance of the marks at one place of a stepped axis, side by side.
const MARK_SPACING: f64 = 7.0;
/// The number of shapes of marks and lines, and of colours in the style sheet.
const STYLES: usize = 8;

impl Chart {
    /// Whether no series has a point.
    pub fn is_empty(&self) -> bool {
        self.series.iter().all(|series| series.points.is_empty())
    }

    fn points(&self) -> impl Iterator<Item = &Point> {
        self.series.iter().flat_map(|series| &series.points)
    }
}

impl Render for Chart {
    fn render(&self) -> Markup {
        html! {
            figure .chart {
                figcaption { (self.title) }
                (picture(self))
                (legend(&self.series))
                (table(self))
            }
        }
    }
}

/// The axes of a chart and the plotted area.
struct Frame {
    x: Layout,
    y: Layout,
    /// The number of series side by side at a value of `x`; 1 if they are not.
    aside: usize,
}

impl Frame {
    fn of(chart: &Chart) -> Self {
        let spread = chart.points().flat_map(|point| [point.y, point.low, point.high]);
        let drawn = chart.series.iter().filter(|series| !series.points.is_empty()).count();
        let is_stepped = chart.x.scale == super::Scale::Steps;
        Self {
            x: Layout::of(chart.x.scale, chart.points().map(|point| point.x)),
            y: Layout::of(chart.y.scale, spread.chain(chart.guide)),
            aside: if is_stepped { drawn } else { 1 },
        }
    }

    fn across(&self, x: f64) -> Option<f64> {
        Some(LEFT + self.x.place(x)? * (RIGHT - LEFT))
    }

    fn up(&self, y: f64) -> Option<f64> {
        Some(BOTTOM - self.y.place(y)? * (BOTTOM - TOP))
    }

    /// The place of a point of series `index`, with the ends of its spread.
    fn place(&self, index: usize, point: &Point) -> Option<PlottedPoint> {
        let room = (RIGHT - LEFT) / (self.x.ticks.len().max(1) * self.aside.max(1)) as f64;
        let step = if self.aside > 1 { MARK_SPACING.min(0.8 * room) } else { 0.0 };
        let aside = step * (index as f64 - (self.aside as f64 - 1.0) / 2.0);
        let y = self.up(point.y)?;
        let end = |value| self.up(value).unwrap_or(y);
        Some(PlottedPoint {
            x: self.across(point.x)? + aside,
            y,
            low: end(point.low),
            high: end(point.high),
        })
    }
}

/// A point in the picture.
struct PlottedPoint {
    x: f64,
    y: f64,
    low: f64,
    high: f64,
}

fn picture(chart: &Chart) -> Markup {
    html! {
        // An accessible name and description without ids, which must be unique on a page.
        svg xmlns="http://www.w3.org/2000/svg" viewBox={ "0 0 " (WIDTH) " " (HEIGHT) }
            role="img" aria-label={ (chart.title) ". " (chart.summary) } {
            title { (chart.title) }
            desc { (chart.summary) }
            (inside(chart))
        }
    }
}

/// The axes and the lines.
pub(crate) fn inside(chart: &Chart) -> Markup {
    let frame = Frame::of(chart);
    let drawn = chart.series.iter().filter(|series| !series.points.is_empty());
    html! {
        (grid(chart, &frame))
        @if let Some(y) = chart.guide.and_then(|guide| frame.up(guide)) {
            path .guide d=(segment((LEFT, y), (RIGHT, y))) {}
        }
        @for (index, series) in drawn.enumerate() {
            (line(chart, &frame, index, series))
        }
    }
}

fn grid(chart: &Chart, frame: &Frame) -> Markup {
    html! {
        text .label x="4" y="14" { (chart.y.label) }
        text .label x=(rounded((LEFT + RIGHT) / 2.0)) y=(HEIGHT - 6.0) text-anchor="middle" {
            (chart.x.label)
        }
        @for tick in &frame.y.ticks {
            @if let Some(y) = frame.up(*tick) {
                path .grid d=(segment((LEFT, y), (RIGHT, y))) {}
                text .tick x=(LEFT - 6.0) y=(rounded(y + 4.0)) text-anchor="end" {
                    (frame.y.text(*tick))
                }
            }
        }
        @for tick in &frame.x.ticks {
            @if let Some(x) = frame.across(*tick) {
                path .axis d=(segment((x, BOTTOM), (x, BOTTOM + 4.0))) {}
                text .tick x=(rounded(x)) y=(BOTTOM + 18.0) text-anchor="middle" {
                    (frame.x.text(*tick))
                }
            }
        }
        path .axis d=(segment((LEFT, BOTTOM), (RIGHT, BOTTOM))) {}
    }
}

fn line(chart: &Chart, frame: &Frame, index: usize, series: &Series) -> Markup {
    let style = series.style % STYLES;
    let placed = series.points.iter().filter_map(|point| Some((point, frame.place(index, point)?)));
    let placed: Vec<(&Point, PlottedPoint)> = placed.collect();
    let mut path = String::new();
    for (_, at) in &placed {
        let letter = if path.is_empty() { 'M' } else { 'L' };
        // Writing to a string never fails.
        let _ = write!(path, "{letter}{} {}", rounded(at.x), rounded(at.y));
    }
    html! {
        g class={ "s" (style) } {
            @if placed.len() > 1 { path .line d=(path) {} }
            @for (point, at) in &placed {
                @if at.low - at.high > 0.5 { path .spread d=(whisker(at)) {} }
                path .mark d=(mark(style, at.x, at.y)) {
                    title { (series.name) ", " (frame.x.text(point.x)) ": " (words(point)) " " (chart.y.label) }
                }
            }
        }
    }
}

fn legend(series: &[Series]) -> Markup {
    html! {
        ul .legend {
            @for series in series.iter().filter(|series| !series.points.is_empty()) {
                @let style = series.style % STYLES;
                li {
                    svg class={ "swatch s" (style) } viewBox="0 0 28 12" aria-hidden="true" {
                        (swatch(style))
                    }
                    (series.name)
                }
            }
        }
    }
}

/// A line segment with a mark, 28 wide and 12 high.
pub(crate) fn swatch(style: usize) -> Markup {
    html! {
        path .line d="M0 6L28 6" {}
        path .mark d=(mark(style % STYLES, 14.0, 6.0)) {}
    }
}

/// The table of all values, for screen readers and exact values.
fn table(chart: &Chart) -> Markup {
    let frame = Frame::of(chart);
    let mut rows: Vec<f64> = chart.points().map(|point| point.x).collect();
    rows.sort_by(f64::total_cmp);
    rows.dedup();
    let columns = || chart.series.iter().filter(|series| !series.points.is_empty());
    html! {
        details {
            summary { "Values" }
            div .wide {
                table {
                    thead {
                        tr {
                            th scope="col" { (chart.x.label) }
                            @for series in columns() { th scope="col" { (series.name) } }
                        }
                    }
                    tbody {
                        @for x in rows {
                            tr {
                                th scope="row" { (frame.x.text(x)) }
                                @for series in columns() {
                                    td {
                                        @if let Some(point) = series.points.iter().find(|point| point.x == x) {
                                            (words(point))
                                        } @else { "–" }
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

/// The text of a value, with its spread if it has one.
fn words(point: &Point) -> String {
    let (y, low, high) = (number(point.y), number(point.low), number(point.high));
    if low == high { y } else { format!("{y} ({low}\u{2013}{high})") }
}

/// The vertical line of a spread, with end marks.
fn whisker(at: &PlottedPoint) -> String {
    let (x, left, right) = (rounded(at.x), rounded(at.x - 2.5), rounded(at.x + 2.5));
    let (low, high) = (rounded(at.low), rounded(at.high));
    format!("M{left} {low}L{right} {low}M{x} {low}L{x} {high}M{left} {high}L{right} {high}")
}

/// The mark of a series at a place.
fn mark(style: usize, x: f64, y: f64) -> String {
    let outline = |corners: &[(f64, f64)]| {
        let places: Vec<String> = corners
            .iter()
            .map(|(right, down)| {
                format!("{} {}", rounded(x + right * MARK), rounded(y + down * MARK))
            })
            .collect();
        format!("M{}Z", places.join("L"))
    };
    let third = 0.4;
    match style {
        0 => {
            let (left, top) = (rounded(x - MARK), rounded(y));
            format!("M{left} {top}a{MARK} {MARK} 0 1 0 8 0a{MARK} {MARK} 0 1 0 -8 0Z")
        }
        1 => outline(&[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]),
        2 => outline(&[(0.0, -1.1), (1.1, 0.9), (-1.1, 0.9)]),
        3 => outline(&[(0.0, -1.2), (1.2, 0.0), (0.0, 1.2), (-1.2, 0.0)]),
        4 => outline(&[(0.0, 1.1), (1.1, -0.9), (-1.1, -0.9)]),
        5 => outline(&[
            (-third, -1.1),
            (third, -1.1),
            (third, -third),
            (1.1, -third),
            (1.1, third),
            (third, third),
            (third, 1.1),
            (-third, 1.1),
            (-third, third),
            (-1.1, third),
            (-1.1, -third),
            (-third, -third),
        ]),
        6 => outline(&[(-1.1, -0.5), (1.1, -0.5), (1.1, 0.5), (-1.1, 0.5)]),
        _ => outline(&[(-0.5, -1.1), (0.5, -1.1), (0.5, 1.1), (-0.5, 1.1)]),
    }
}

fn segment(from: (f64, f64), to: (f64, f64)) -> String {
    format!("M{} {}L{} {}", rounded(from.0), rounded(from.1), rounded(to.0), rounded(to.1))
}

/// A place in a picture, rounded to a tenth of a unit.
pub fn rounded(place: f64) -> f64 {
    (place * 10.0).round() / 10.0
}
