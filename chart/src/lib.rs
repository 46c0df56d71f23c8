//! Line charts as parts of HTML pages or as SVG files.
//!
//! ```text
//! Chart ── axes (axis.rs): values -> places ── draw (draw.rs) -> <figure> with <svg>, legend, table
//!                                            └─ file (file.rs) -> an SVG file
//! ```
//!
//! A chart knows neither MPI nor benchmarks. Colours are CSS classes (`s0`, `s1`, ...) with values for
//! light, dark and paper ([`COLOURS`]); each series also has its own shape of marks, for colour-blind
//! readers. The title and the summary are the accessible name and description of the picture, each
//! point has its value as a title, and a table below has all values.

mod axis;
mod draw;
mod file;
mod style;

pub use axis::{number, round_step};
pub use draw::rounded;
pub use file::document;
pub use style::{COLOURS, STYLE};

/// The scale of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Distinct values at equidistant places.
    Steps,
    /// Linear, from zero.
    Linear,
    /// Linear, from about the least value: for ratios, whose distance from 1 matters.
    Near,
    /// Logarithmic; values that are not positive are left out.
    Logarithmic,
    /// Logarithmic for numbers of bytes: labels have binary units.
    Bytes,
}

/// An axis.
#[derive(Clone, Debug)]
pub struct Axis {
    /// The quantity and its unit.
    pub label: String,
    /// The scale.
    pub scale: Scale,
}

impl Axis {
    /// An axis with this label and scale.
    pub fn new(label: impl Into<String>, scale: Scale) -> Self {
        Self { label: label.into(), scale }
    }
}

/// One value with its spread, in the units of the axes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Position on the x axis.
    pub x: f64,
    /// The value, such as a median.
    pub y: f64,
    /// The minimum of the measured values.
    pub low: f64,
    /// Their maximum.
    pub high: f64,
}

/// One line of a chart.
#[derive(Clone, Debug)]
pub struct Series {
    /// The name in the legend.
    pub name: String,
    /// Index of colour and shape: equal in every chart.
    pub style: usize,
    /// The points, in the order of `x`.
    pub points: Vec<Point>,
}

/// A chart.
#[derive(Clone, Debug)]
pub struct Chart {
    /// The title.
    pub title: String,
    /// The accessible description, one sentence.
    pub summary: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The lines; those without points are not drawn.
    pub series: Vec<Series>,
    /// A value of `y` for comparison, as a horizontal line.
    pub guide: Option<f64>,
}
