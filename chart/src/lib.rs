//! Charts of lines with points: data in, a piece of a page out.
//!
//! ```text
//! Chart ── axes (axis.rs): values -> places ── draw (draw.rs) -> <figure> with <svg>, legend, table
//!                                            └─ file (file.rs) -> a picture that is a file
//! ```
//!
//! A chart knows neither MPI nor benchmarks. Colours are classes (`s0`, `s1`, ...), so that a style
//! sheet has one for light, dark and paper ([`COLOURS`]); each series has a form of its own too, for
//! those who do not tell colours apart. What a chart shows can also be read: its title and a
//! sentence are the picture's accessible name and description, each point says its value, and all
//! values stand in a table below.

mod axis;
mod draw;
mod file;
mod style;

pub use axis::number;
pub use file::document;
pub use style::{COLOURS, STYLE};

/// How the values of an axis are spread over it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Each value that occurs has a place of its own, and places are equally far apart.
    Steps,
    /// Proportional, from zero on.
    Linear,
    /// Proportional, from about the least value on: for ratios, where the distance from 1 counts.
    Near,
    /// By the logarithm, for positive values; others are left out.
    Logarithmic,
    /// The same where values are numbers of bytes: labels are in binary units.
    Bytes,
}

/// An axis.
#[derive(Clone, Debug)]
pub struct Axis {
    /// What it shows, with the unit.
    pub label: String,
    /// How it is divided.
    pub scale: Scale,
}

impl Axis {
    /// An axis of this label.
    pub fn new(label: impl Into<String>, scale: Scale) -> Self {
        Self { label: label.into(), scale }
    }
}

/// One value with its spread, in the units of the axes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Where it is.
    pub x: f64,
    /// What it is.
    pub y: f64,
    /// The least of those it stands for.
    pub low: f64,
    /// The greatest.
    pub high: f64,
}

/// What a line shows.
#[derive(Clone, Debug)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// Its colour and form: the same number is the same in every chart.
    pub style: usize,
    /// Its values, in the order of `x`.
    pub points: Vec<Point>,
}

/// A chart.
#[derive(Clone, Debug)]
pub struct Chart {
    /// What it shows.
    pub title: String,
    /// The same in a sentence, for those who do not see it.
    pub summary: String,
    /// From left to right.
    pub x: Axis,
    /// Upwards.
    pub y: Axis,
    /// The lines; those of no points are not drawn.
    pub series: Vec<Series>,
    /// A value of `y` to compare with, as a line across.
    pub guide: Option<f64>,
}
