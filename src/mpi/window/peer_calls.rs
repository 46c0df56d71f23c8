//! Calls of other ranks that a call of this one waits for, and uses: by messages, or in words of the
//! segment of this node.

use super::mapped::{MappedMemory, WindowCall};

/// Calls of one function by other ranks.
#[derive(Debug)]
pub(super) struct PeerCalls {
    call: WindowCall,
    /// By rank, up to the highest of those with calls.
    by_rank: Vec<CallCounts>,
    /// The calls that are awaited, from these ranks in the segment, with [`MappedMemory::calls`].
    watched: Vec<(u32, u32)>,
}

/// The calls of one rank, modulo 2^32.
#[derive(Clone, Copy, Debug, Default)]
struct CallCounts {
    /// By messages.
    told: u32,
    /// Of all calls.
    used: u32,
}

impl PeerCalls {
    pub(super) fn new(call: WindowCall) -> Self {
        Self { call, by_rank: Vec::new(), watched: Vec::new() }
    }

    /// A message tells of a call.
    pub(super) fn add(&mut self, of: u32) {
        let told = &mut self.counts(of).told;
        *told = told.wrapping_add(1);
    }

    fn counts(&mut self, of: u32) -> &mut CallCounts {
        let index = of as usize;
        if index >= self.by_rank.len() {
            self.by_rank.resize(index + 1, CallCounts::default());
        }
        &mut self.by_rank[index]
    }

    /// Uses a call of each of these ranks; false, without effect, if one has not called. `is_lost` tells the
    /// ranks that will not.
    pub(super) fn take(
        &mut self, of: &[u32], mapped: Option<&MappedMemory>, is_lost: impl Fn(u32) -> bool,
    ) -> bool {
        self.watched.clear();
        let mut is_complete = true;
        for rank in of {
            let here = self.calls_here(*rank, mapped);
            if self.is_missing(*rank, here) && !is_lost(*rank) {
                is_complete = false;
                self.watched.extend(mapped.map(|_| (*rank, here)));
            }
        }
        if is_complete {
            self.use_in_advance(of);
        }
        is_complete
    }

    /// Uses a call of each of these ranks, which it may still have to make.
    pub(super) fn use_in_advance(&mut self, of: &[u32]) {
        self.watched.clear();
        for rank in of {
            let used = &mut self.counts(*rank).used;
            *used = used.wrapping_add(1);
        }
    }

    /// Calls in the segment.
    fn calls_here(&self, of: u32, mapped: Option<&MappedMemory>) -> u32 {
        mapped.map_or(0, |mapped| mapped.calls(self.call, of))
    }

    /// Whether a rank has not called, with so many calls in the segment.
    fn is_missing(&self, rank: u32, here: u32) -> bool {
        let counts = self.by_rank.get(rank as usize).copied().unwrap_or_default();
        // Of 2^31 calls or fewer, those that are used in advance are the difference below 0.
        counts.told.wrapping_add(here).wrapping_sub(counts.used) as i32 <= 0
    }

    /// Whether a rank in the segment has called since the last [`PeerCalls::take`] failed.
    pub(super) fn has_news(&self, mapped: &MappedMemory) -> bool {
        self.watched.iter().any(|(rank, seen)| mapped.calls(self.call, *rank) != *seen)
    }

    /// Whether calls in the segment are awaited.
    pub(super) fn is_watching(&self) -> bool {
        !self.watched.is_empty()
    }

    /// The ranks that have not called.
    pub(super) fn missing(
        &self, of: &[u32], mapped: Option<&MappedMemory>,
    ) -> impl Iterator<Item = u32> {
        of.iter()
            .copied()
            .filter(move |rank| self.is_missing(*rank, self.calls_here(*rank, mapped)))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn each_call_is_used_once() {
        let mut posts = PeerCalls::new(WindowCall::Post);
        let none = |_| false;
        assert!(posts.take(&[], None, none));
        posts.add(3);
        posts.add(3);
        posts.add(5);
        assert!(!posts.take(&[3, 4, 5], None, none));
        assert_eq!(posts.missing(&[3, 4, 5], None).collect::<Vec<_>>(), [4]);
        posts.add(4);
        assert!(posts.take(&[3, 4, 5], None, none));
        assert!(!posts.take(&[3, 4], None, none));
        assert!(posts.take(&[3], None, none) && !posts.take(&[3], None, none));
    }

    #[test]
    fn a_rank_that_will_not_call_is_not_awaited_and_a_late_call_belongs_to_its_own_epoch() {
        let mut completes = PeerCalls::new(WindowCall::Complete);
        completes.add(2);
        assert!(completes.take(&[1, 2], None, |rank| rank == 1));
        completes.use_in_advance(&[2, 3]);
        for _ in 0..2 {
            assert!(!completes.take(&[3], None, |_| false));
            completes.add(3);
        }
        assert!(completes.take(&[3], None, |_| false));
    }
}
