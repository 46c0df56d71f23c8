//! Pictures as files, which contain their style sheet, title and legend.

use maud::{Markup, PreEscaped, html};

use super::draw::{HEIGHT, WIDTH, inside, swatch};
use super::{COLOURS, Chart, STYLE};

/// The height of the title.
const TITLE: f64 = 22.0;
/// Space to the right of an axis for its last label.
const MARGIN: f64 = 14.0;
/// Number of legend entries in a row, and height of a row.
const COLUMNS: usize = 3;
const ROW: f64 = 16.0;

/// A complete SVG file around `content`, whose size is (width, height); shown at `scale` times that.
/// `summary` is the accessible description, `style` is added to the style of charts.
pub fn document(
    size: (f64, f64), scale: f64, title: &str, summary: &str, style: &str, content: &Markup,
) -> String {
    let (width, height) = size;
    let file = html! {
        svg .chart xmlns="http://www.w3.org/2000/svg" viewBox={ "0 0 " (width) " " (height) }
            width=(width * scale) height=(height * scale) role="img"
            aria-label={ (title) ". " (summary) } {
            title { (title) }
            desc { (summary) }
            style {
                (PreEscaped(COLOURS)) (PreEscaped(STYLE))
                "svg{font:12px system-ui,sans-serif;background:var(--paper)}"
                ".title{font-weight:600;font-size:13px}"
                (PreEscaped(style))
            }
            rect width=(width) height=(height) fill="var(--paper)" {}
            (content)
        }
    };
    format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{}\n", file.into_string())
}

impl Chart {
    /// The chart as an SVG file with title and legend.
    pub fn file(&self) -> String {
        let drawn: Vec<_> = self.series.iter().filter(|series| !series.points.is_empty()).collect();
        let rows = drawn.len().div_ceil(COLUMNS);
        let width = WIDTH + MARGIN;
        let size = (width, TITLE + HEIGHT + ROW * rows as f64 + 6.0);
        let content = html! {
            text .title x="4" y="15" { (self.title) }
            g transform={ "translate(0 " (TITLE) ")" } { (inside(self)) }
            @for (index, series) in drawn.iter().enumerate() {
                @let x = 8.0 + (index % COLUMNS) as f64 * (width - 8.0) / COLUMNS as f64;
                @let y = TITLE + HEIGHT + ROW * (index / COLUMNS) as f64;
                g class={ "s" (series.style % 8) } transform={ "translate(" (x.round()) " " (y) ")" } {
                    (swatch(series.style))
                    text .name x="33" y="10" { (series.name) }
                }
            }
        };
        document(size, 2.0, &self.title, &self.summary, ".name{font-size:11px}", &content)
    }
}

#[cfg(test)]
mod tests {
    use crate::{Axis, Chart, Point, Scale, Series};

    #[test]
    fn a_file_is_a_document_with_all_names() {
        let point = |x: f64| Point { x, y: 2.0 * x, low: 2.0 * x, high: 2.0 * x };
        let series = |name: &str, style| Series {
            name: name.to_owned(),
            style,
            points: [1.0, 2.0].map(point).to_vec(),
        };
        let chart = Chart {
            title: "a < b & c".to_owned(),
            summary: "Lines.".to_owned(),
            x: Axis::new("x", Scale::Linear),
            y: Axis::new("y", Scale::Linear),
            series: vec![series("<one>", 0), series("two", 9)],
            guide: Some(3.0),
        };
        let file = chart.file();
        let document = roxmltree::Document::parse(&file).unwrap();
        let texts: Vec<_> = document.descendants().filter_map(|node| node.text()).collect();
        for text in ["a < b & c", "<one>", "two", "x", "y"] {
            assert!(texts.contains(&text), "{text}: {texts:?}");
        }
    }
}
