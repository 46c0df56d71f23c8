//! Figure 3 of Matsumoto and Suda: its shape, and why it is so.

use sim::jitter::{BitOrder, ExtraBits, JitterCase, JitterModel, rows};

/// The mean times of these cases, in seconds.
fn means(cases: &[(u32, ExtraBits)]) -> Vec<f64> {
    let cases: Vec<JitterCase> = cases
        .iter()
        .map(|(bits, extras)| JitterCase { bits: *bits, extras: extras.clone() })
        .collect();
    let rows = rows(&cases, &JitterModel::paper(), 2, &|| {}).unwrap();
    rows.into_iter().map(|row| row.mean_s).collect()
}

/// The mean times with ascending extra exchanges.
fn ascending<const N: usize>(cases: [(u32, u32, u32); N]) -> [f64; N] {
    let cases = cases
        .map(|(bits, middle, last)| (bits, BitOrder::Ascending.bits(bits, middle, last)));
    means(&cases).try_into().unwrap()
}

/// The time without any noise: k times latency, bytes and reduction.
fn without_noise_s(bits: u32) -> f64 {
    f64::from(bits) * (100.0 + 256.0 + 25.6) * 1e-9
}

/// A rank of the butterfly waits for every rank, so one interruption of 100 us within the few
/// microseconds of the operation delays all. With n ranks and a time of t, about n t / 10 ms ranks are
/// interrupted: 1 of 2^11, but 10 of 2^14.
#[test]
fn the_butterfly_degrades_with_the_ranks() {
    let [few, some, many] = ascending([(8, 0, 0), (14, 0, 0), (17, 0, 0)]);
    assert!(few < 1.3e-5 && few >= without_noise_s(8), "{few}");
    assert!((2e-5..9e-5).contains(&some), "{some}");
    assert!((9e-5..2e-4).contains(&many), "{many}");
}

/// Final exchanges alone help while some rank of each group of partners has the result early. In the
/// second half of the butterfly all 2^(k/2) ranks of a group wait for the same interrupted ranks, so
/// from 2^15 ranks on nobody has it early.
#[test]
fn final_exchanges_alone_have_their_knee_at_2_14() {
    let [before, knee, after, far] = ascending([(12, 0, 20), (14, 0, 20), (15, 0, 20), (16, 0, 20)]);
    assert!(before < 1.1 * without_noise_s(12), "{before}");
    assert!(knee < 1.2 * without_noise_s(14), "{knee}");
    assert!(after > 1.5 * without_noise_s(15), "{after}");
    assert!(far > 10.0 * without_noise_s(16), "{far}");
}
