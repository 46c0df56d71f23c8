//! Long messages in segments: each is forwarded while the next arrives.

/// Cost of a message beyond its bytes, in bytes of the same transfer time.
const MESSAGE_BYTES: usize = 8 * 1024;

/// Segments are whole pages, if the message is that long.
const SEGMENT_UNIT_BYTES: usize = 4 * 1024;

/// Largest number of segments, as round numbers have 16 bits.
pub(crate) const SEGMENTS_MAX: usize = 32 * 1024;

/// The best segment length where `bytes` bytes pass through `hops` ranks.
///
/// With `s` segments the transfer takes `(hops + s - 1) (MESSAGE_BYTES + bytes / s)`; this function
/// returns the minimum.
pub(crate) fn segment(bytes: usize, hops: u32) -> usize {
    let more_hops = hops.saturating_sub(1).max(1) as usize;
    let best = (bytes / more_hops).saturating_mul(MESSAGE_BYTES).isqrt();
    best.max(bytes.div_ceil(SEGMENTS_MAX))
        .next_multiple_of(SEGMENT_UNIT_BYTES)
        .max(SEGMENT_UNIT_BYTES)
}

/// Start and length of each segment of `bytes` bytes; all except the last have `segment` bytes.
pub(crate) fn segments(
    bytes: usize, segment: usize,
) -> impl Iterator<Item = (usize, usize)> + Clone {
    (0..bytes).step_by(segment).map(move |start| (start, segment.min(bytes - start)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_cover_a_message() {
        assert!(segments(9, 4).eq([(0, 4), (4, 4), (8, 1)]));
        assert_eq!(segments(0, 4).count(), 0);
    }

    #[test]
    fn segments_grow_with_the_message_and_shrink_with_the_way() {
        let lens = [0, 1 << 16, 1 << 20, 1 << 24].map(|bytes| segment(bytes, 8));
        assert!(lens.is_sorted() && lens[0] > 0, "{lens:?}");
        let lens = [2, 8, 64, 1 << 20].map(|hops| segment(1 << 24, hops));
        assert!(lens.iter().rev().is_sorted(), "{lens:?}");
        for bytes in [1 << 30, 1 << 40, usize::MAX >> 1] {
            assert!(bytes.div_ceil(segment(bytes, 1 << 20)) <= SEGMENTS_MAX);
        }
    }
}
