//! How many rounds a call takes, and how much of its data goes into each.

use super::SharedOperation;

/// From so many bytes on, each rank of an allreduce combines a part and hands out the result.
const ALLREDUCE_PARTS_MIN_BYTES: usize = 16 << 10;

/// A call cut into rounds; the same on all ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segmentation {
    /// Bytes of the message, or of each block, in one round.
    pub(crate) segment_bytes: usize,
    /// How many rounds there are.
    pub(crate) rounds: u32,
    /// In an allreduce by parts: the part of a piece that one rank combines, and after how many
    /// rounds the result goes out.
    pub(crate) parts: Option<(usize, u32)>,
}

impl Segmentation {
    /// The cut of an operation on `bytes` bytes of a message or of the longest block, in elements
    /// of `unit` bytes, whose entries have at most `room` bytes, an element for each rank at least.
    pub(crate) fn of(
        kind: SharedOperation, ranks: u32, bytes: usize, unit: usize, room: usize,
    ) -> Self {
        let ranks = ranks as usize;
        let slots = match kind {
            SharedOperation::Barrier => return Self { segment_bytes: 0, rounds: 1, parts: None },
            SharedOperation::Allreduce if bytes >= ALLREDUCE_PARTS_MIN_BYTES => {
                return Self::by_parts(ranks, bytes, unit, room);
            }
            SharedOperation::Scatter
            | SharedOperation::Alltoall
            | SharedOperation::ReduceScatterBlock
            | SharedOperation::ReduceScatter => ranks,
            SharedOperation::Bcast
            | SharedOperation::Gather
            | SharedOperation::Allgather
            | SharedOperation::Allgatherv
            | SharedOperation::Reduce
            | SharedOperation::Allreduce
            | SharedOperation::Scan
            | SharedOperation::Exscan => 1,
        };
        // What is short is not worth the divisions.
        if bytes.saturating_mul(slots) <= room {
            return Self { segment_bytes: bytes, rounds: 1, parts: None };
        }
        // Entries as long as can be: what a round costs outweighs what shorter pieces overlap.
        let most = room / slots;
        let grain = if most >= 64 && 64 % unit == 0 { 64 } else { unit };
        let piece = bytes.min(most / grain * grain);
        Self {
            segment_bytes: piece,
            rounds: bytes.div_ceil(piece.max(1)).max(1) as u32,
            parts: None,
        }
    }

    fn by_parts(ranks: usize, bytes: usize, unit: usize, room: usize) -> Self {
        let grain = if 64 % unit == 0 && room / ranks >= 64 { 64 } else { unit };
        // Of data that is shorter than an entry each rank has a part all the same.
        let most = room / ranks;
        let part = most.min(bytes.div_ceil(ranks).next_multiple_of(grain)) / grain * grain;
        let pieces = bytes.div_ceil(part * ranks);
        let lag = pieces.min(2) as u32;
        let rounds = pieces as u32 + lag;
        Self { segment_bytes: part * ranks, rounds, parts: Some((part, lag)) }
    }

    /// Which of `bytes` bytes are in round `round`.
    pub(crate) fn range(&self, round: u32, bytes: usize) -> (usize, usize) {
        let start = (round as usize).saturating_mul(self.segment_bytes).min(bytes);
        (start, self.segment_bytes.min(bytes - start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: usize = 32 << 10;

    #[test]
    fn short_data_takes_one_round() {
        for (kind, bytes) in [
            (SharedOperation::Barrier, 0),
            (SharedOperation::Bcast, 0),
            (SharedOperation::Alltoall, 8),
        ] {
            let cut = Segmentation::of(kind, 8, bytes, 1, ROOM);
            assert_eq!((cut.segment_bytes, cut.rounds, cut.parts), (bytes, 1, None));
        }
    }

    #[test]
    fn pieces_cover_everything_and_fit() {
        for kind in SharedOperation::ALL {
            for ranks in [2, 3, 8, 64] {
                for unit in [1, 4, 8, 12, 20, 32] {
                    for elements in [1, 7, 100, 4096, 99_999] {
                        covers(kind, ranks, elements * unit, unit);
                    }
                }
            }
        }
    }

    fn covers(kind: SharedOperation, ranks: u32, bytes: usize, unit: usize) {
        let cut = Segmentation::of(kind, ranks, bytes, unit, ROOM);
        if kind == SharedOperation::Barrier {
            return;
        }
        assert!(
            cut.segment_bytes <= ROOM
                && (cut.segment_bytes == bytes || cut.segment_bytes.is_multiple_of(unit))
        );
        let pieces = cut.rounds - cut.parts.map_or(0, |parts| parts.1);
        let total: usize = (0..cut.rounds).map(|round| cut.range(round, bytes).1).sum();
        assert_eq!((total, cut.range(pieces, bytes).1), (bytes, 0));
    }
}
