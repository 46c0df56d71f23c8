//! Pictures of simulations, as SVG files with the colours of charts.

pub(crate) mod heat;
pub mod levels;
pub(crate) mod packing;

/// About `count` round values from 0 to `most`.
fn ticks(most: f64, count: usize) -> Vec<f64> {
    let step = chart::round_step((most / count.max(1) as f64).max(f64::MIN_POSITIVE));
    (0..=count).map(|tick| tick as f64 * step).take_while(|tick| *tick <= most).collect()
}

#[cfg(test)]
mod tests {
    use super::ticks;

    #[test]
    fn ticks_are_round_and_few() {
        assert_eq!(ticks(98.0, 5), [0.0, 20.0, 40.0, 60.0, 80.0]);
        assert_eq!(ticks(0.7, 4), [0.0, 0.2, 0.4, 0.6000000000000001]);
        assert_eq!(ticks(0.0, 4), [0.0]);
    }
}
