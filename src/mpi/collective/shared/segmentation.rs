//! The number of rounds of a call, and the bytes in each round.

use crate::mpi::collective::calls::function::CollectiveFunction;

/// From this length on, each rank of an allreduce combines a part and publishes the result.
const ALLREDUCE_PARTS_MIN_BYTES: usize = 16 << 10;

/// A call in rounds; the same on all ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segmentation {
    /// Bytes of the message, or of each block, in one round: a *piece*.
    pub(super) piece_bytes: usize,
    pub(super) rounds: u32,
    /// In an allreduce by parts: the bytes of a piece that one rank combines, and the number of rounds
    /// after which that rank publishes the result.
    pub(super) parts: Option<(usize, u32)>,
}

impl Segmentation {
    /// The segmentation of `bytes` bytes of a message or of the longest block, in elements of
    /// `element_bytes` bytes. An entry has at most `entry_bytes` bytes, at least an element for each
    /// rank.
    pub(super) fn of(
        function: CollectiveFunction, ranks: u32, bytes: usize, element_bytes: usize,
        entry_bytes: usize,
    ) -> Self {
        let ranks = ranks as usize;
        let blocks = match function {
            CollectiveFunction::Barrier
            | CollectiveFunction::Gatherv
            | CollectiveFunction::Scatterv
            | CollectiveFunction::Alltoallv => {
                return Self { piece_bytes: 0, rounds: 1, parts: None };
            }
            CollectiveFunction::Allreduce if bytes >= ALLREDUCE_PARTS_MIN_BYTES => {
                return Self::by_parts(ranks, bytes, element_bytes, entry_bytes);
            }
            CollectiveFunction::Scatter
            | CollectiveFunction::Alltoall
            | CollectiveFunction::ReduceScatterBlock
            | CollectiveFunction::ReduceScatter => ranks,
            _ => 1,
        };
        // Short data need no divisions.
        if bytes.saturating_mul(blocks) <= entry_bytes {
            return Self { piece_bytes: bytes, rounds: 1, parts: None };
        }
        // The longest possible entries: a round costs more than shorter pieces overlap.
        let most = entry_bytes / blocks;
        let grain = if most >= 64 && 64 % element_bytes == 0 { 64 } else { element_bytes };
        let piece_bytes = bytes.min(most / grain * grain);
        let rounds = bytes.div_ceil(piece_bytes.max(1)).max(1) as u32;
        Self { piece_bytes, rounds, parts: None }
    }

    fn by_parts(ranks: usize, bytes: usize, element_bytes: usize, entry_bytes: usize) -> Self {
        let most = entry_bytes / ranks;
        let grain = if 64 % element_bytes == 0 && most >= 64 { 64 } else { element_bytes };
        // Each rank combines a part, also of data shorter than an entry.
        let part = most.min(bytes.div_ceil(ranks).next_multiple_of(grain)) / grain * grain;
        let pieces = bytes.div_ceil(part * ranks);
        let delay = pieces.min(2) as u32;
        let rounds = pieces as u32 + delay;
        Self { piece_bytes: part * ranks, rounds, parts: Some((part, delay)) }
    }

    /// Start and length, among `bytes` bytes, of the piece of round `round`.
    pub(super) fn range(&self, round: u32, bytes: usize) -> (usize, usize) {
        let start = (round as usize).saturating_mul(self.piece_bytes).min(bytes);
        (start, self.piece_bytes.min(bytes - start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENTRY_BYTES: usize = 32 << 10;

    #[test]
    fn short_data_takes_one_round() {
        for (function, bytes) in [
            (CollectiveFunction::Barrier, 0),
            (CollectiveFunction::Bcast, 0),
            (CollectiveFunction::Alltoall, 8),
        ] {
            let segmentation = Segmentation::of(function, 8, bytes, 1, ENTRY_BYTES);
            assert_eq!(
                (segmentation.piece_bytes, segmentation.rounds, segmentation.parts),
                (bytes, 1, None)
            );
        }
    }

    #[test]
    fn pieces_cover_everything_and_fit() {
        for function in CollectiveFunction::SHARED {
            for ranks in [2, 3, 8, 64] {
                for element_bytes in [1, 4, 8, 12, 20, 32] {
                    for elements in [1, 7, 100, 4096, 99_999] {
                        covers(function, ranks, elements * element_bytes, element_bytes);
                    }
                }
            }
        }
    }

    fn covers(function: CollectiveFunction, ranks: u32, bytes: usize, element_bytes: usize) {
        let segmentation = Segmentation::of(function, ranks, bytes, element_bytes, ENTRY_BYTES);
        if segmentation.piece_bytes == 0 && segmentation.rounds == 1 {
            return;
        }
        assert!(
            segmentation.piece_bytes <= ENTRY_BYTES
                && (segmentation.piece_bytes == bytes
                    || segmentation.piece_bytes.is_multiple_of(element_bytes))
        );
        let pieces = segmentation.rounds - segmentation.parts.map_or(0, |parts| parts.1);
        let total: usize =
            (0..segmentation.rounds).map(|round| segmentation.range(round, bytes).1).sum();
        assert_eq!((total, segmentation.range(pieces, bytes).1), (bytes, 0));
    }
}
