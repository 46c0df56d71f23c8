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

    /// Uses a call of each of these ranks; false, without effect, if one has not called.
    pub(super) fn take(&mut self, of: &[u32], mapped: Option<&MappedMemory>) -> bool {
        self.watched.clear();
        let mut is_complete = true;
        for rank in of {
            let here = self.calls_here(*rank, mapped);
            if self.is_missing(*rank, here) {
                is_complete = false;
                self.watched.extend(mapped.map(|_| (*rank, here)));
            }
        }
        if is_complete {
            for rank in of {
                let used = &mut self.counts(*rank).used;
                *used = used.wrapping_add(1);
            }
        }
        is_complete
    }

    /// Calls in the segment.
    fn calls_here(&self, of: u32, mapped: Option<&MappedMemory>) -> u32 {
        mapped.map_or(0, |mapped| mapped.calls(self.call, of))
    }

    /// Whether a rank has not called, with so many calls in the segment.
    fn is_missing(&self, rank: u32, here: u32) -> bool {
        let counts = self.by_rank.get(rank as usize).copied().unwrap_or_default();
        counts.told.wrapping_add(here) == counts.used
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
        assert!(posts.take(&[], None));
        posts.add(3);
        posts.add(3);
        posts.add(5);
        assert!(!posts.take(&[3, 4, 5], None));
        assert_eq!(posts.missing(&[3, 4, 5], None).collect::<Vec<_>>(), [4]);
        posts.add(4);
        assert!(posts.take(&[3, 4, 5], None));
        assert!(!posts.take(&[3, 4], None));
        assert!(posts.take(&[3], None) && !posts.take(&[3], None));
    }
}
