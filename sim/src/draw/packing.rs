//! Packings side by side, as in the figures of "RDMA scheduling" (Hatanaka, Hori, Ishikawa, 2013):
//! engines from left to right, time upwards, a rectangle for each put in the colour of its direction.
//!
//! ```text
//!   packed   ▐▌▐▌  ▐▌▐▌   as packed, without contention
//!   run      ▐▌▐▌  ▐▌▐▌   as simulated by the model of flows
//!            rr4    bl4
//! ```

use maud::{Markup, html};

use chart::rounded;

use super::ticks;

/// One packing.
#[derive(Clone, Debug)]
pub(crate) struct PackingPanel {
    /// The name of its policy.
    pub name: String,
    /// The time at which each engine has its commands, 0 if it has none; grey until then.
    pub ready_us: Vec<f64>,
    /// The time from which the packing uses each engine.
    pub loaded_us: Vec<f64>,
    /// As packed.
    pub packed: Vec<Bar>,
    /// As simulated.
    pub run: Vec<Bar>,
}

/// A put on an engine.
#[derive(Clone, Debug)]
pub(crate) struct Bar {
    pub engine: u8,
    /// Start.
    pub start_us: f64,
    /// End.
    pub end_us: f64,
    /// Index of its colour.
    pub colour: usize,
    /// Text on it if there is space.
    pub label: &'static str,
}

const LEFT: f64 = 46.0;
/// Enough for the title and the legend.
const WIDTH_MIN: f64 = 860.0;
const ENGINE: f64 = 26.0;
const BETWEEN: f64 = 20.0;
const HEAD: f64 = 34.0;
/// Height of the time axis of a row, and the space below it.
const HEIGHT: f64 = 190.0;
const BELOW: f64 = 52.0;
/// Minimum height of a rectangle with text.
const LETTER: f64 = 9.0;

const STYLE: &str = "\
.chart .bar{stroke:var(--paper);stroke-width:1}.chart .on{fill:var(--paper);font-size:9px;\
text-anchor:middle}.chart .wait{fill:var(--faint)}.chart .small{font-size:10.5px}\
.chart .name{text-anchor:middle;font-size:11px}.chart .up{text-anchor:end}";

/// An SVG file of these packings.
pub(crate) fn file(title: &str, summary: &str, panels: &[PackingPanel]) -> String {
    let engines = panels.iter().map(|panel| panel.ready_us.len()).max().unwrap_or(1).max(1);
    let step = (engines as f64 * ENGINE).max(74.0) + BETWEEN;
    let width = (LEFT + step * panels.len() as f64 + 6.0).max(WIDTH_MIN);
    let row = HEIGHT + BELOW;
    let content = html! {
        text .title x="6" y="18" { (title) }
        (legend(panels, width))
        (self::row(panels, HEAD, step, ("as packed", "ends at"), |it| (&it.packed, &it.loaded_us)))
        (self::row(panels, HEAD + row, step, ("as simulated", "ends at"), |it| (&it.run, &it.ready_us)))
    };
    chart::document((width, HEAD + 2.0 * row), 1.0, title, summary, STYLE, &content)
}

/// The legend of colours, for rectangles without text.
fn legend(panels: &[PackingPanel], width: f64) -> Markup {
    let bars = panels.iter().flat_map(|panel| &panel.packed);
    let mut keys: Vec<(usize, &str)> = bars.map(|bar| (bar.colour, bar.label)).collect();
    keys.sort_unstable();
    keys.dedup();
    html! {
        @for (index, (colour, label)) in keys.iter().enumerate() {
            @let x = width - 34.0 * (keys.len() - index) as f64;
            rect x=(x) y="9" width="10" height="10" style={ "fill:var(--s" (colour % 8) ")" } {}
            text .small x=(x + 13.0) y="18" { (label) }
        }
    }
}

fn row(
    panels: &[PackingPanel], top: f64, step: f64, (what, height): (&str, &str),
    content: impl Fn(&PackingPanel) -> (&[Bar], &[f64]),
) -> Markup {
    let end =
        |panel: &PackingPanel| content(panel).0.iter().map(|bar| bar.end_us).fold(0.0, f64::max);
    let most = panels.iter().map(end).fold(1e-9, f64::max);
    let bottom = top + HEIGHT;
    let up = |time_us: f64| rounded(bottom - time_us / most * (HEIGHT - 14.0));
    let right = LEFT + step * panels.len() as f64;
    html! {
        text .small x="6" y=(top + 8.0) { "µs, " (what) }
        @for tick in ticks(most, 5) {
            path .grid d={ "M" (LEFT) " " (up(tick)) "L" (rounded(right)) " " (up(tick)) } {}
            text .small .up x=(LEFT - 6.0) y=(up(tick) + 3.5) { (rounded(tick)) }
        }
        @for (index, panel) in panels.iter().enumerate() {
            @let left = LEFT + BETWEEN / 2.0 + step * index as f64;
            @let across = |engine: f64| rounded(left + engine * ENGINE);
            @let middle = across(panel.ready_us.len() as f64 / 2.0);
            @for (engine, ready_us) in content(panel).1.iter().enumerate() {
                rect .wait x=(across(engine as f64) + 1.0) width=(ENGINE - 2.0) y=(up(*ready_us))
                    height=(rounded(bottom - up(*ready_us))) {
                    title { "engine " (engine) " has its commands at " (rounded(*ready_us)) " µs" }
                }
            }
            @for bar in content(panel).0 {
                (rectangle(bar, across(bar.engine.into()), up(bar.end_us), up(bar.start_us)))
            }
            path .axis d={ "M" (across(0.0)) " " (bottom) "L" (across(panel.ready_us.len() as f64)) " " (bottom) } {}
            text .name x=(middle) y=(bottom + 15.0) { (panel.name) }
            text .name .small x=(middle) y=(bottom + 29.0) { (height) " " (rounded(end(panel))) " µs" }
        }
    }
}

fn rectangle(bar: &Bar, x: f64, top: f64, bottom: f64) -> Markup {
    let height = rounded(bottom - top);
    html! {
        rect .bar x=(x + 1.0) y=(top) width=(ENGINE - 2.0) height=(height)
            style={ "fill:var(--s" (bar.colour % 8) ")" } {
            title {
                (bar.label) ", engine " (bar.engine) ": " (rounded(bar.start_us)) " to "
                (rounded(bar.end_us)) " µs"
            }
        }
        @if height >= LETTER {
            text .on x=(x + ENGINE / 2.0) y=(rounded((top + bottom) / 2.0 + 3.0)) { (bar.label) }
        }
    }
}
