//! Bottom-Left: the longest put first, as early as an engine and its direction are free.

use super::placement::{Packing, PutPlacement};
use super::put::{InterfaceModel, Put};

/// Busy times by their start. They may overlap.
#[derive(Clone, Debug, Default)]
struct BusyIntervals(Vec<(u64, u64)>);

impl BusyIntervals {
    fn take(&mut self, start: u64, end: u64) {
        let at = self.0.partition_point(|taken| taken.0 < start);
        self.0.insert(at, (start, end));
    }

    /// The first time from `from` on at which an interval of `length` overlaps fewer than `most` others
    /// at any moment.
    fn earliest(&self, mut from: u64, length: u64, most: usize) -> u64 {
        loop {
            let end = from + length;
            let beside = || self.0.iter().filter(move |taken| taken.0 < end && taken.1 > from);
            // The overlap grows only where an interval begins.
            let moments = beside().map(|taken| taken.0.max(from));
            let is_full =
                |at: u64| beside().filter(|taken| taken.0 <= at && taken.1 > at).count() >= most;
            let Some(full) = moments.filter(|&at| is_full(at)).min() else { return from };
            let ends = beside().filter(|taken| taken.0 <= full && taken.1 > full);
            from = ends.map(|taken| taken.1).min().unwrap_or(end);
        }
    }
}

/// Packs puts by descending length, then by direction. Each put starts as early as an engine and its
/// direction are free and fewer than `diagonals` diagonal puts are in progress, on the first such
/// engine.
pub(crate) fn bottom_left(
    puts: &[Put], machine: &InterfaceModel, diagonals: u8, counts_access: bool,
) -> Packing {
    let engines = usize::from(machine.engines.max(1));
    let mut order: Vec<usize> = (0..puts.len()).collect();
    order.sort_by_key(|&put| (std::cmp::Reverse(puts[put].bytes), puts[put].direction));
    let directions = puts.iter().map(|put| usize::from(put.direction) + 1).max().unwrap_or(0);
    let mut on_engine = vec![BusyIntervals::default(); engines];
    if counts_access {
        for (engine, busy) in on_engine.iter_mut().enumerate() {
            busy.take(0, ((engine + 1) as f64 * machine.access_ns).ceil() as u64);
        }
    }
    let mut in_direction = vec![BusyIntervals::default(); directions];
    let mut diagonal = BusyIntervals::default();
    let mut placements = vec![PutPlacement { engine: 0, start_ns: 0, end_ns: 0 }; puts.len()];
    for put in order {
        let Put { direction, .. } = puts[put];
        let (length, turns) = (machine.alone_ns(&puts[put]), puts[put].is_diagonal());
        let same_direction = &mut in_direction[usize::from(direction)];
        let earliest = |engine: &BusyIntervals| {
            let mut at = 0;
            loop {
                let mut next = same_direction.earliest(engine.earliest(at, length, 1), length, 1);
                if turns {
                    next = diagonal.earliest(next, length, usize::from(diagonals.max(1)));
                }
                if next == at {
                    return at;
                }
                at = next;
            }
        };
        let starts = on_engine.iter().map(earliest).enumerate();
        let (engine, start_ns) = starts.min_by_key(|&(engine, at)| (at, engine)).unwrap_or((0, 0));
        let end_ns = start_ns + length;
        on_engine[engine].take(start_ns, end_ns);
        same_direction.take(start_ns, end_ns);
        if turns {
            diagonal.take(start_ns, end_ns);
        }
        placements[put] = PutPlacement { engine: engine as u8, start_ns, end_ns };
    }
    let mut queues = vec![Vec::new(); engines];
    let mut by_start: Vec<usize> = (0..puts.len()).collect();
    by_start.sort_by_key(|&put| placements[put].start_ns);
    by_start.into_iter().for_each(|put| queues[usize::from(placements[put].engine)].push(put));
    Packing { placements, queues }
}
