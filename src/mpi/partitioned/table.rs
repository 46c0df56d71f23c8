//! The states of partitioned operations by handle, for threads without the process lock.
//!
//! ```text
//!   handle ── slot ──> chunk (made once, stays) ──> Arc of the state, swapped atomically
//! ```
//!
//! Why this is sound: a chunk is never freed or moved, and the crate `arc_swap` keeps a state alive for
//! as long as a thread looks at it, also while another thread frees the request. A handle that was freed
//! finds nothing, because its slot has another state or none, and a state knows its own handle.
//! Insertions and removals happen with the lock held; a look costs no atomic read-modify-write of memory
//! that threads share.

use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwapOption;

use super::state::PartitionedState;
use crate::mpi::handle::{Handle, SLOTS_MAX, index};

/// Requests of a chunk: few programs need a second one, and it is not large.
const CHUNK: usize = 1024;

type TableChunk = Box<[ArcSwapOption<PartitionedState>]>;

/// The states of all partitioned operations of a process.
pub(crate) struct PartitionedTable(Box<[OnceLock<TableChunk>]>);

impl PartitionedTable {
    /// Adds the state of a request.
    pub(super) fn insert(&self, state: Arc<PartitionedState>) {
        let slot = index(state.handle());
        let chunk = self.0[slot / CHUNK].get_or_init(|| (0..CHUNK).map(|_| None.into()).collect());
        chunk[slot % CHUNK].store(Some(state));
    }

    /// Removes the state of a request that is freed.
    pub(super) fn remove(&self, handle: Handle) {
        let slot = index(handle);
        if let Some(chunk) = self.0[slot / CHUNK].get() {
            chunk[slot % CHUNK].store(None);
        }
    }

    /// Looks at the state of a request; `None` if it is no partitioned one. `look` must not wait for the
    /// process lock: the state would stay in memory meanwhile.
    pub(crate) fn look<T>(
        &self, handle: Handle, look: impl FnOnce(&PartitionedState) -> T,
    ) -> Option<T> {
        let slot = index(handle);
        let state = self.0[slot / CHUNK].get()?[slot % CHUNK].load();
        state.as_deref().filter(|state| state.handle() == handle).map(look)
    }
}

impl Default for PartitionedTable {
    fn default() -> Self {
        Self((0..SLOTS_MAX / CHUNK).map(|_| OnceLock::new()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mpi::partitioned::division::Partitions;

    #[test]
    fn a_freed_handle_finds_nothing_and_neither_does_its_successor() {
        let table = PartitionedTable::default();
        let partitions = Partitions { count: 3, bytes: 8 };
        let add = |handle| table.insert(Arc::new(PartitionedState::sender(handle, partitions)));
        let has = |handle| table.look(handle, |state| assert_eq!(state.handle(), handle)).is_some();
        let (first, second, far) = (0x4800_0005, 0x4810_0005, 0x4800_0005 + 7 * CHUNK as u32);
        assert!(!has(first));
        add(first);
        add(far);
        assert!(has(first) && has(far) && !has(second));
        table.remove(first);
        assert!(!has(first) && has(far));
        add(second);
        assert!(!has(first) && has(second));
    }
}
