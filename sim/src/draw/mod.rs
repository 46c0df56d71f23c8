//! Pictures of what the simulator finds, as SVG files with the colours of charts.

pub mod levels;
pub mod packing;

/// A tenth of a unit is less than anybody sees.
fn rounded(place: f64) -> f64 {
    (place * 10.0).round() / 10.0
}

/// Round values from 0 on, at most about `count` of them, that reach up to `most`.
fn ticks(most: f64, count: usize) -> Vec<f64> {
    let rough = (most / count.max(1) as f64).max(f64::MIN_POSITIVE);
    let power = 10.0_f64.powf(rough.log10().floor());
    let round = [1.0, 2.0, 5.0, 10.0].into_iter().find(|step| step * power >= rough * 0.999);
    let step = round.unwrap_or(10.0) * power;
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
