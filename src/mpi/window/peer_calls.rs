//! Calls of other ranks that a call of this one waits for, and uses: by messages, or in words of the
//! segment of this node.

use std::collections::BTreeMap;

use super::mapped::{MappedMemory, WindowCall};

/// Calls of one function by other ranks.
#[derive(Debug)]
pub(super) struct PeerCalls {
    call: WindowCall,
    /// By rank: calls by messages so far, and calls that were used, modulo 2^32.
    by_rank: BTreeMap<u32, [u32; 2]>,
    /// The calls that are awaited, from these ranks in the segment.
    watched: Vec<(u32, u32)>,
}

impl PeerCalls {
    pub(super) fn new(call: WindowCall) -> Self {
        Self { call, by_rank: BTreeMap::new(), watched: Vec::new() }
    }

    /// A message tells of a call.
    pub(super) fn add(&mut self, of: u32) {
        let [told, _] = self.by_rank.entry(of).or_default();
        *told = told.wrapping_add(1);
    }

    /// Uses a call of each of these ranks; false, without effect, if one has not called.
    pub(super) fn take(&mut self, of: &[u32], mapped: Option<&MappedMemory>) -> bool {
        self.watched.clear();
        if self.is_one_missing(of, mapped) {
            if let Some(mapped) = mapped {
                let here = of.iter().copied().filter(|rank| mapped.reaches(*rank));
                self.watched.extend(here.map(|rank| (rank, mapped.calls(self.call, rank))));
            }
            // Once more, so that no call is overlooked.
            if self.is_one_missing(of, mapped) {
                return false;
            }
            self.watched.clear();
        }
        for rank in of {
            let [_, used] = self.by_rank.entry(*rank).or_default();
            *used = used.wrapping_add(1);
        }
        true
    }

    fn is_one_missing(&self, of: &[u32], mapped: Option<&MappedMemory>) -> bool {
        self.missing(of, mapped).next().is_some()
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
        of.iter().copied().filter(move |rank| {
            let [told, used] = self.by_rank.get(rank).copied().unwrap_or_default();
            let here = mapped.map_or(0, |mapped| mapped.calls(self.call, *rank));
            told.wrapping_add(here) == used
        })
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
