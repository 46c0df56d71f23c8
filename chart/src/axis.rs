//! Layout of an axis: places of values, and labels.

use super::Scale;

/// A laid-out axis; places go from 0 at its beginning to 1 at its end.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    scale: Scale,
    /// The values at 0 and at 1, for all scales except `Steps`.
    range: (f64, f64),
    /// The distinct values in order, for `Steps`.
    steps: Vec<f64>,
    /// The values with labels.
    pub ticks: Vec<f64>,
}

/// The number of labels that fit on an axis.
const TICKS_MAX: usize = 6;

impl Layout {
    /// An axis with a place for each of these values. Without values, an axis around 1.
    pub(crate) fn of(scale: Scale, values: impl Iterator<Item = f64>) -> Self {
        let mut steps: Vec<f64> = values.filter(|value| is_drawn(scale, *value)).collect();
        steps.sort_by(f64::total_cmp);
        steps.dedup();
        let (least, most) = match (steps.first(), steps.last()) {
            (Some(least), Some(most)) => (*least, *most),
            _ => (1.0, 1.0),
        };
        let (range, ticks) = match scale {
            Scale::Steps => ((0.0, 1.0), thinned(steps.clone(), 2 * TICKS_MAX)),
            Scale::Linear => linear(0.0_f64.min(least), most),
            Scale::Near => linear(least, most),
            Scale::Logarithmic => decades(least, most),
            Scale::Bytes => ((least, most), powers_of_two(least, most)),
        };
        Self { scale, range, steps, ticks }
    }

    /// The place of a value; `None` if the axis has none.
    pub(crate) fn place(&self, value: f64) -> Option<f64> {
        if !is_drawn(self.scale, value) {
            return None;
        }
        let (from, to) = self.range;
        let share = match self.scale {
            Scale::Steps => {
                let index = self.steps.iter().position(|step| *step == value)?;
                (index as f64 + 0.5) / self.steps.len() as f64
            }
            Scale::Linear | Scale::Near => (value - from) / (to - from),
            Scale::Logarithmic | Scale::Bytes if from == to => 0.5,
            Scale::Logarithmic | Scale::Bytes => (value / from).ln() / (to / from).ln(),
        };
        Some(share.clamp(0.0, 1.0))
    }

    /// The text of a value of this axis.
    pub(crate) fn text(&self, value: f64) -> String {
        if self.scale == Scale::Bytes { bytes(value) } else { number(value) }
    }
}

fn is_drawn(scale: Scale, value: f64) -> bool {
    value.is_finite() && (value > 0.0 || !matches!(scale, Scale::Logarithmic | Scale::Bytes))
}

/// A range with round ends that contains both, and round values in it.
fn linear(least: f64, most: f64) -> ((f64, f64), Vec<f64>) {
    // A single value is in the middle of an axis of its own length.
    let length = if most > least { most - least } else { most.abs().max(1.0) };
    let step = round_step(length / (TICKS_MAX - 1) as f64);
    let first = (least / step).floor();
    let last = (most / step).ceil().max(first + 1.0);
    let ticks = (first as i64..=last as i64).map(|tick| tick as f64 * step).collect();
    ((first * step, last * step), ticks)
}

/// The smallest of 1, 2, 5, 10, 20, ... (or their decimal fractions) that is not below `rough`.
pub fn round_step(rough: f64) -> f64 {
    let power = 10.0_f64.powf(rough.log10().floor());
    let round = [1.0, 2.0, 5.0, 10.0].into_iter().find(|step| step * power >= rough * 0.999);
    round.unwrap_or(10.0) * power
}

/// Powers of ten around both, with finer steps in a range of at most two decades.
fn decades(least: f64, most: f64) -> ((f64, f64), Vec<f64>) {
    let (first, last) = (least.log10().floor() as i32, most.log10().ceil() as i32);
    let steps: &[f64] = if last - first <= 2 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let all = (first..=last)
        .flat_map(|decade| steps.iter().map(move |step| step * 10.0_f64.powi(decade)));
    let all: Vec<f64> = all.collect();
    let from = all.iter().rev().find(|tick| **tick <= least).copied().unwrap_or(least);
    let to = all.iter().find(|tick| **tick >= most).copied().unwrap_or(most);
    let inside = all.into_iter().filter(|tick| (from..=to).contains(tick)).collect();
    ((from, to), thinned(inside, TICKS_MAX + 1))
}

fn powers_of_two(least: f64, most: f64) -> Vec<f64> {
    let (first, last) = (least.log2().ceil() as i32, most.log2().floor() as i32);
    let all: Vec<f64> = (first..=last).map(|power| 2.0_f64.powi(power)).collect();
    if all.is_empty() { vec![least] } else { thinned(all, TICKS_MAX) }
}

/// Every n-th value, so that at most `most` remain.
fn thinned(values: Vec<f64>, most: usize) -> Vec<f64> {
    let every = values.len().div_ceil(most).max(1);
    values.into_iter().step_by(every).collect()
}

/// A number with about three digits, grouped by thousands.
pub fn number(value: f64) -> String {
    let size = value.abs();
    let digits = match size {
        _ if size == 0.0 || size >= 100.0 => 0,
        _ if size >= 10.0 => 1,
        _ if size >= 1.0 => 2,
        _ if size >= 0.1 => 3,
        _ => 4,
    };
    let text = format!("{value:.digits$}");
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let fraction = fraction.trim_end_matches('0');
    let whole = grouped(whole);
    if fraction.is_empty() { whole } else { format!("{whole}.{fraction}") }
}

/// The digits in groups of three from 10 000 on, separated by a narrow no-break space.
fn grouped(whole: &str) -> String {
    let digits = whole.trim_start_matches('-');
    if digits.len() < 5 {
        return whole.to_owned();
    }
    let mut text = whole[..whole.len() - digits.len()].to_owned();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

/// A number of bytes in the largest binary unit without a fraction.
fn bytes(value: f64) -> String {
    let units = [("MiB", f64::from(1 << 20)), ("KiB", f64::from(1 << 10))];
    let whole = units.into_iter().find(|(_, unit)| value >= *unit && value % unit == 0.0);
    match whole {
        Some((unit, size)) => format!("{} {unit}", number(value / size)),
        None => format!("{} B", number(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(scale: Scale, values: &[f64]) -> Layout {
        Layout::of(scale, values.iter().copied())
    }

    #[test]
    fn steps_are_equidistant() {
        let axis = layout(Scale::Steps, &[9.0, 1.0, 4.0, 4.0]);
        assert_eq!(axis.ticks, [1.0, 4.0, 9.0]);
        assert_eq!(
            [1.0, 4.0, 9.0].map(|x| axis.place(x)),
            [Some(0.5 / 3.0), Some(0.5), Some(2.5 / 3.0)]
        );
        assert_eq!(axis.place(2.0), None);
    }

    #[test]
    fn linear_axes_begin_at_zero_and_end_at_a_round_value() {
        let axis = layout(Scale::Linear, &[130.0, 947.0]);
        assert_eq!(axis.ticks, [0.0, 200.0, 400.0, 600.0, 800.0, 1000.0]);
        assert_eq!(axis.place(500.0), Some(0.5));
        let near = layout(Scale::Near, &[0.93, 1.12]);
        assert!(near.ticks[0] > 0.8 && near.ticks[0] <= 0.93, "{near:?}");
    }

    #[test]
    fn logarithmic_axes_contain_all_positive_values() {
        let axis = layout(Scale::Logarithmic, &[0.0, -3.0, 0.3, 4000.0]);
        assert_eq!(axis.ticks.len(), 6, "{axis:?}");
        assert_eq!((axis.place(0.1), axis.place(10_000.0)), (Some(0.0), Some(1.0)));
        assert_eq!((axis.place(0.0), axis.place(f64::NAN)), (None, None));
        let bytes = layout(Scale::Bytes, &[128.0, 8_388_608.0]);
        assert!(bytes.ticks.len() <= TICKS_MAX, "{bytes:?}");
        assert_eq!((bytes.text(4096.0), bytes.text(4064.0)), ("4 KiB".into(), "4064 B".into()));
    }

    #[test]
    fn an_axis_needs_no_values() {
        for scale in [Scale::Steps, Scale::Linear, Scale::Near, Scale::Logarithmic, Scale::Bytes] {
            drop(layout(scale, &[]));
            for value in [0.25, 1.0, 7.0, 1e9] {
                let place = layout(scale, &[value]).place(value).unwrap();
                assert!((0.0..=1.0).contains(&place), "{scale:?} {value}: {place}");
            }
        }
    }

    #[test]
    fn numbers_have_three_digits() {
        let texts = [0.0, 0.01234, 1.0, 1.236, 98.76, 123.4, 9999.0, 12345.6, -1234567.0];
        let wanted = [
            "0",
            "0.0123",
            "1",
            "1.24",
            "98.8",
            "123",
            "9999",
            "12\u{202f}346",
            "-1\u{202f}234\u{202f}567",
        ];
        assert_eq!(texts.map(number), wanted);
    }
}
