//! Figure 3 of Matsumoto and Suda: its shape, and why it is so.
//!
//! **Who is late.** A message leaves without the processor, so the operand of every rank leaves at the
//! start. A rank `x` that is interrupted before round `i` (counted from 0) sends its partial result of
//! rounds `0..i` late, and then all ranks are late that agree with `x` in the lowest `i` bits. The
//! others have the operands of `x` and its neighbours from elsewhere. So one interruption in the first
//! round makes half of the ranks late, those with the lowest bit of `x`. A copying exchange over bit 0
//! brings them the result of the other half, unless that is late because of another rank.
//!
//! **Where the knees are.** A rank is interrupted within a round of 0.38 us with a probability of
//! p = 0.38 us / 10 ms = 3.8e-5. With final exchanges alone all is lost if each half of the n ranks has
//! an interrupted one: (1 - exp(-p n / 2))^2, which is 0.07 for 2^14 ranks and 0.5 for 2^16. With a
//! middle exchange over bit 0 it must happen within one of the groups of 2^d ranks, d = floor(k / 2),
//! that have exchanged by then: 2^(k - d) (p 2^d / 2)^2, which is 0.006 for 2^16 and 0.4 for 2^20. With
//! bits 0 and 1 each quarter of a group needs an interrupted rank in its first two rounds.

use sim::jitter::{BitOrder, ExtraBits, JitterCase, JitterModel, rows};

/// The mean times of these cases, each divided by the time without noise.
fn slowdowns(cases: &[(u32, ExtraBits)]) -> Vec<f64> {
    let cases: Vec<JitterCase> = cases
        .iter()
        .map(|(bits, extras)| JitterCase { bits: *bits, extras: extras.clone() })
        .collect();
    let rows = rows(&cases, &JitterModel::paper(), 2, &|| {}).unwrap();
    rows.iter().zip(&cases).map(|(row, case)| row.mean_s / without_noise_s(case.bits)).collect()
}

/// The same with `middle` and `last` extra exchanges on `2^bits` ranks.
fn in_order<const N: usize>(order: BitOrder, cases: [(u32, u32, u32); N]) -> [f64; N] {
    let of_case = |(bits, middle, last)| (bits, order.bits(bits, middle, last));
    slowdowns(&cases.map(of_case)).try_into().unwrap()
}

/// k times latency, 256 bytes at 1 ns and the same bytes in memory at 0.1 ns.
fn without_noise_s(bits: u32) -> f64 {
    f64::from(bits) * (100.0 + 256.0 + 25.6) * 1e-9
}

/// A rank of the butterfly waits for each other rank. An interruption takes 100 us, and the operation
/// without noise 5 us.
#[test]
fn the_butterfly_degrades_with_the_ranks() {
    let slow = in_order(BitOrder::Ascending, [(8, 0, 0), (12, 0, 0), (14, 0, 0), (18, 0, 0)]);
    assert!(slow[0] < 2.5 && slow.is_sorted(), "{slow:?}");
    assert!(slow[2] > 5.0 && slow[3] > 15.0, "{slow:?}");
}

#[test]
fn final_exchanges_alone_have_their_knee_at_2_14() {
    let slow = in_order(BitOrder::Ascending, [(12, 0, 20), (14, 0, 20), (15, 0, 20), (16, 0, 20)]);
    assert!(slow[0] < 1.05 && slow[1] < 2.5, "{slow:?}");
    assert!(slow[2] > 3.0 && slow[3] > 8.0, "{slow:?}");
}

#[test]
fn one_middle_exchange_moves_the_knee_to_2_17() {
    let slow = in_order(BitOrder::Ascending, [(16, 1, 20), (17, 1, 20), (20, 1, 20)]);
    assert!(slow[0] < 1.05 && slow[1] < 2.5, "{slow:?}");
    assert!(slow[2] > 4.0, "{slow:?}");
}

#[test]
fn two_middle_exchanges_hide_the_noise_beyond_2_18() {
    let slow = in_order(BitOrder::Ascending, [(16, 2, 20), (18, 2, 20), (20, 2, 20)]);
    assert!(slow.iter().all(|slow| *slow < 1.05), "{slow:?}");
}

/// The ranks that are late agree in their lowest bits, and differ in all others. So partners over the
/// latest bits are late together, and only exchanges over the lowest bits bring anything.
#[test]
fn the_order_of_bits_decides() {
    let [ascending] = in_order(BitOrder::Ascending, [(16, 2, 20)]);
    let [descending] = in_order(BitOrder::Descending, [(16, 2, 20)]);
    assert!(ascending < 1.05 && descending > 8.0, "{ascending} {descending}");
    // Middle exchanges over the highest bits change nothing at all.
    let last = BitOrder::Ascending.bits(16, 0, 20).last;
    let with = |middle: &[u32]| (16, ExtraBits { middle: middle.to_vec(), last: last.clone() });
    let slow = slowdowns(&[with(&[]), with(&[7]), with(&[7, 7]), with(&[0])]);
    assert!((slow[1] / slow[0] - 1.0).abs() < 0.01 && slow[2] == slow[1], "{slow:?}");
    assert!(slow[3] < 1.05, "{slow:?}");
}

/// An extra exchange never makes a rank later: sends need no processor here, and no port is shared.
#[test]
fn more_final_exchanges_are_never_worse() {
    for middle in 0..3 {
        let cases = [0, 1, 2, 4, 8, 20].map(|last| (13, middle, last));
        let slow = in_order(BitOrder::Ascending, cases);
        assert!(slow.iter().rev().is_sorted(), "{slow:?}");
    }
}
