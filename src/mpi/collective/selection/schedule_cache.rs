//! Cache of schedules of recent calls, for calls with the same arguments.

use std::sync::Arc;

use crate::mpi::collective::algorithms::hierarchical::Nodes;
use crate::mpi::collective::algorithms::{Collective, RankLayout, Shape};
use crate::mpi::collective::selection::Selection;
use crate::offload::Schedule;

/// Number of cached schedules, small enough for a linear search.
const SCHEDULES_MAX: usize = 16;

/// The inputs of a schedule, with the nodes and the turn if there are several nodes.
type ScheduleKey = (Collective, Shape, u32, Option<(Arc<Nodes>, u32)>);

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
        nodes: Option<(&Arc<Nodes>, u32)>,
    ) -> Arc<Schedule> {
        let nodes = nodes.map(|(nodes, turn)| (nodes, turn * u32::from(collective.takes_turns())));
        let is_same = |(of, at, by, on): &ScheduleKey| {
            (*of, *at, *by) == (collective, shape, rank)
                && on.as_ref().map(|(nodes, turn)| (nodes, *turn)) == nodes
        };
        if let Some((_, kept)) = self.schedules.iter().find(|(kept, _)| is_same(kept)) {
            return Arc::clone(kept);
        }
        let schedule = Arc::new(match nodes {
            None => collective.schedule(by, shape, rank),
            Some((nodes, turn)) => {
                collective.schedule(by, RankLayout::from(&**nodes).in_turn(turn), rank)
            }
        });
        let key = (collective, shape, rank, nodes.map(|(nodes, turn)| (Arc::clone(nodes), turn)));
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

    #[test]
    fn leaders_take_turns_only_where_that_is_for_them() {
        let mut kept = ScheduleCache::default();
        let nodes = Arc::new(Nodes::new([0, 0, 1, 1]).unwrap());
        let mut schedule = |collective, turn| {
            let on = Some((&nodes, turn));
            kept.schedule(&Selection::default(), collective, Shape { ranks: 4 }, 1, on)
        };
        let barriers = [0, 1, 0].map(|turn| schedule(Collective::Barrier, turn));
        assert_ne!(barriers[0], barriers[1]);
        assert!(Arc::ptr_eq(&barriers[0], &barriers[2]));
        let bcast = Collective::Bcast(Bcast { bytes: 8, root: 0 });
        assert!(Arc::ptr_eq(&schedule(bcast, 0), &schedule(bcast, 1)));
    }
}
