//! Cache of schedules of recent calls, for calls with the same arguments.

use std::sync::Arc;

use crate::mpi::collective::algorithms::hierarchical::Nodes;
use crate::mpi::collective::algorithms::{Collective, Shape};
use crate::mpi::collective::selection::Selection;
use crate::offload::Schedule;

/// Number of cached schedules, small enough for a linear search.
const SCHEDULES_MAX: usize = 16;

/// The inputs of a schedule, with the nodes if there are several.
type ScheduleKey = (Collective, Shape, u32, Option<Arc<Nodes>>);

/// The schedules of recent calls; a new one replaces the oldest.
#[derive(Debug, Default)]
pub(crate) struct ScheduleCache {
    schedules: Vec<(ScheduleKey, Arc<Schedule>)>,
    oldest: usize,
}

impl ScheduleCache {
    /// Schedule of `rank` in an operation; all calls must use the same selection.
    pub(crate) fn schedule(
        &mut self, by: &Selection, collective: Collective, shape: Shape, rank: u32,
        nodes: Option<&Arc<Nodes>>,
    ) -> Arc<Schedule> {
        let is_same = |(of, at, by, on): &ScheduleKey| {
            (*of, *at, *by) == (collective, shape, rank) && on.as_ref() == nodes
        };
        if let Some((_, kept)) = self.schedules.iter().find(|(kept, _)| is_same(kept)) {
            return Arc::clone(kept);
        }
        let schedule = Arc::new(match nodes {
            None => collective.schedule(by, shape, rank),
            Some(nodes) => collective.schedule(by, &**nodes, rank),
        });
        let key = (collective, shape, rank, nodes.cloned());
        let entry = (key, Arc::clone(&schedule));
        if self.schedules.len() < SCHEDULES_MAX {
            self.schedules.push(entry);
        } else {
            self.schedules[self.oldest] = entry;
            self.oldest = (self.oldest + 1) % SCHEDULES_MAX;
        }
        schedule
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mpi::collective::algorithms::Bcast;

    #[test]
    fn a_recent_schedule_is_given_again_and_an_old_one_forgotten() {
        let mut kept = ScheduleCache::default();
        let mut schedule = |bytes| {
            let bcast = Collective::Bcast(Bcast { bytes, root: 0 });
            kept.schedule(&Selection::default(), bcast, Shape { ranks: 3 }, 1, None)
        };
        let first = schedule(0);
        assert!(Arc::ptr_eq(&first, &schedule(0)));
        (1..=SCHEDULES_MAX).for_each(|bytes| drop(schedule(bytes)));
        assert!(!Arc::ptr_eq(&first, &schedule(0)));
        assert!(Arc::ptr_eq(&schedule(SCHEDULES_MAX), &schedule(SCHEDULES_MAX)));
    }
}
