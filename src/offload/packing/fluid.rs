//! Transfers as flows that share links: their rates and their ends.
//!
//! ```text
//!   start ──> [ flows ] ──rates: progressive filling──> next_end ──> advance ──> ended
//! ```
//!
//! Each *resource* (a link, the path from memory to the network, a receiving engine) has a capacity
//! in bytes per nanosecond. A flow uses the same rate of each resource in its list, as often as it is
//! listed. Rates are max-min fair: all flows rise together until one reaches the limit of a flow or a
//! resource without spare capacity (Bertsekas and Gallager, "Data Networks", §6.5.2). Rates are
//! constant between one start or end of a flow and the next.
//!
//! This module knows no packets, routes, engines or ranks, and has no clock. Units: nanoseconds,
//! bytes.

/// Bytes that count as none: the rounding error of a flow.
const NEGLIGIBLE_BYTES: f64 = 1e-3;
/// A spare rate that counts as none.
const RATE_EPSILON: f64 = 1e-9;

/// The key of a flow until its end.
pub(crate) type FlowId = usize;

/// Flows in progress, as a value. Time is an argument and never decreases.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fluid {
    capacity: Vec<f64>,
    flows: Vec<Option<FluidFlow>>,
    free: Vec<FlowId>,
    now_ns: f64,
    is_rated: bool,
}

#[derive(Clone, Debug)]
struct FluidFlow {
    left_bytes: f64,
    fastest: f64,
    over: Vec<u32>,
    rate: f64,
}

impl Fluid {
    /// No flows, over resources of these capacities in bytes per nanosecond.
    pub(crate) fn new(capacity: Vec<f64>) -> Self {
        Self { capacity, ..Self::default() }
    }

    /// Starts a flow over the resources `over`, of at most `fastest` bytes per nanosecond.
    ///
    /// # Panics
    /// If a resource does not exist.
    pub(crate) fn start(
        &mut self, now_ns: f64, bytes: f64, fastest: f64, over: Vec<u32>,
    ) -> FlowId {
        assert!(over.iter().all(|&resource| (resource as usize) < self.capacity.len()));
        self.elapse(now_ns);
        self.is_rated = false;
        let flow = Some(FluidFlow { left_bytes: bytes, fastest, over, rate: 0.0 });
        match self.free.pop() {
            Some(id) => {
                self.flows[id] = flow;
                id
            }
            None => {
                self.flows.push(flow);
                self.flows.len() - 1
            }
        }
    }

    /// The end of the next flow, if none starts before.
    pub(crate) fn next_end(&mut self) -> Option<f64> {
        self.rate();
        let left = self.flows.iter().flatten().map(|flow| flow.left_bytes.max(0.0) / flow.rate);
        left.reduce(f64::min).map(|left_ns| self.now_ns + left_ns)
    }

    /// Advances the time; adds the completed flows to `ended`.
    pub(crate) fn advance(&mut self, now_ns: f64, ended: &mut Vec<FlowId>) {
        self.elapse(now_ns);
        for (id, slot) in self.flows.iter_mut().enumerate() {
            if slot.as_ref().is_some_and(|flow| flow.left_bytes <= NEGLIGIBLE_BYTES) {
                *slot = None;
                self.free.push(id);
                ended.push(id);
                self.is_rated = false;
            }
        }
    }

    fn elapse(&mut self, now_ns: f64) {
        // Rates are computed once for all flows that start at one time.
        if now_ns <= self.now_ns {
            return;
        }
        self.rate();
        let passed_ns = now_ns - self.now_ns;
        for flow in self.flows.iter_mut().flatten() {
            flow.left_bytes -= flow.rate * passed_ns;
        }
        self.now_ns = now_ns;
    }

    /// Computes the rate of each flow.
    fn rate(&mut self) {
        if self.is_rated {
            return;
        }
        self.is_rated = true;
        let mut left = self.capacity.clone();
        let mut takers = vec![0.0; left.len()];
        let mut rising: Vec<&mut FluidFlow> = self.flows.iter_mut().flatten().collect();
        for flow in &mut rising {
            flow.rate = 0.0;
            flow.over.iter().for_each(|&resource| takers[resource as usize] += 1.0);
        }
        while !rising.is_empty() {
            let slowest = rising.iter().map(|flow| flow.fastest - flow.rate);
            let shared = left.iter().zip(&takers).filter(|(_, takers)| **takers > 0.0);
            let rise = slowest.chain(shared.map(|(left, takers)| left / takers));
            let rise = rise.fold(f64::INFINITY, f64::min).max(0.0);
            for (left, takers) in left.iter_mut().zip(&takers) {
                *left -= rise * takers;
            }
            rising.retain_mut(|flow| {
                flow.rate += rise;
                let is_full = |&resource: &u32| left[resource as usize] <= RATE_EPSILON;
                let stays =
                    flow.fastest - flow.rate > RATE_EPSILON && !flow.over.iter().any(is_full);
                if !stays {
                    flow.over.iter().for_each(|&resource| takers[resource as usize] -= 1.0);
                }
                stays
            });
        }
    }
}

/// The transfers of an engine, one after another.
#[derive(Clone, Debug, Default)]
pub struct TransferQueue {
    /// The time at which the engine has its commands.
    pub ready_ns: f64,
    /// Bytes, and the resources that they use.
    pub flows: Vec<(f64, Vec<u32>)>,
}

/// Start and end of a transfer.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TransferTime {
    /// The first byte leaves.
    pub start_ns: f64,
    /// The last byte has arrived.
    pub end_ns: f64,
}

/// Runs all queues from time 0 on and returns the times of the transfers of each queue.
///
/// Each engine starts its first transfer `gap_ns` after it has its commands, and each other one
/// `gap_ns` after the end of the one before. No transfer is faster than `fastest` bytes per
/// nanosecond.
pub fn run(
    queues: &[TransferQueue], capacity: Vec<f64>, fastest: f64, gap_ns: f64,
) -> Vec<Vec<TransferTime>> {
    let mut fluid = Fluid::new(capacity);
    let mut times: Vec<Vec<TransferTime>> =
        queues.iter().map(|queue| Vec::with_capacity(queue.flows.len())).collect();
    // The next start of each engine; `None` during a transfer.
    let mut starts: Vec<Option<f64>> = queues
        .iter()
        .map(|queue| (!queue.flows.is_empty()).then_some(queue.ready_ns + gap_ns))
        .collect();
    let mut engine_of: Vec<usize> = Vec::new();
    let mut ended = Vec::new();
    loop {
        let start = starts.iter().flatten().copied().reduce(f64::min);
        let next = start.into_iter().chain(fluid.next_end()).reduce(f64::min);
        let Some(now_ns) = next else { return times };
        fluid.advance(now_ns, &mut ended);
        for flow in ended.drain(..) {
            let engine = engine_of[flow];
            if let Some(time) = times[engine].last_mut() {
                time.end_ns = now_ns;
            }
            let more = times[engine].len() < queues[engine].flows.len();
            starts[engine] = more.then_some(now_ns + gap_ns);
        }
        for (engine, queue) in queues.iter().enumerate() {
            if starts[engine].is_some_and(|start| start <= now_ns) {
                let (bytes, over) = &queue.flows[times[engine].len()];
                let flow = fluid.start(now_ns, *bytes, fastest, over.clone());
                engine_of.resize(engine_of.len().max(flow + 1), 0);
                engine_of[flow] = engine;
                times[engine].push(TransferTime { start_ns: now_ns, end_ns: now_ns });
                starts[engine] = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn queue(flows: &[(f64, &[u32])]) -> TransferQueue {
        let flows = flows.iter().map(|(bytes, over)| (*bytes, over.to_vec())).collect();
        TransferQueue { ready_ns: 0.0, flows }
    }

    fn ends(queues: &[TransferQueue], capacity: &[f64], fastest: f64) -> Vec<f64> {
        let times = run(queues, capacity.to_vec(), fastest, 0.0);
        times.iter().map(|times| times.last().map_or(0.0, |time| time.end_ns.round())).collect()
    }

    #[test]
    fn flows_share_resources() {
        // Alone a flow is as fast as a flow can be, two share a link, and the rest is for others.
        assert_eq!(ends(&[queue(&[(400.0, &[0])])], &[5.0], 4.0), [100.0]);
        let two = [queue(&[(400.0, &[0])]), queue(&[(400.0, &[0])])];
        assert_eq!(ends(&two, &[5.0], 4.0), [160.0, 160.0]);
        // The second is held to 1 by link 1, so the first has 4 of the 5.
        let held = [queue(&[(400.0, &[0])]), queue(&[(100.0, &[0, 1])])];
        assert_eq!(ends(&held, &[5.0, 1.0], 9.0), [100.0, 100.0]);
        // Twice over one link is half as fast.
        assert_eq!(ends(&[queue(&[(400.0, &[0, 0])])], &[4.0], 4.0), [200.0]);
    }

    #[test]
    fn an_engine_transfers_one_after_another() {
        let queues = [queue(&[(40.0, &[0]), (80.0, &[0])]), TransferQueue::default()];
        let times = run(&queues, vec![10.0], 4.0, 2.0);
        let wanted = [
            TransferTime { start_ns: 2.0, end_ns: 12.0 },
            TransferTime { start_ns: 14.0, end_ns: 34.0 },
        ];
        assert_eq!(times, [wanted.to_vec(), Vec::new()]);
    }

    #[test]
    fn no_bytes_take_no_time() {
        let queues = [queue(&[(0.0, &[0]), (4.0, &[])])];
        assert_eq!(ends(&queues, &[1.0], 4.0), [1.0]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        /// No flow exceeds its share, no byte is lost, and the busiest resource is a lower bound.
        #[test]
        fn no_resource_exceeds_its_capacity(
            given in prop::collection::vec(
                prop::collection::vec((1_u32..1000, prop::collection::vec(0_u32..4, 1..3)), 0..5),
                1..6,
            ),
        ) {
            let (capacity, fastest) = (vec![3.0, 5.0, 8.0, 13.0], 4.0);
            let queues: Vec<TransferQueue> = given
                .iter()
                .map(|flows| TransferQueue {
                    ready_ns: 0.0,
                    flows: flows.iter().map(|(bytes, over)| (f64::from(*bytes), over.clone())).collect(),
                })
                .collect();
            let times = run(&queues, capacity.clone(), fastest, 0.0);
            let end = times.iter().flatten().map(|time| time.end_ns).fold(0.0, f64::max);
            for (resource, capacity) in capacity.iter().enumerate() {
                let passed = queues.iter().flat_map(|queue| &queue.flows).map(|(bytes, over)| {
                    bytes * over.iter().filter(|&&at| at as usize == resource).count() as f64
                });
                prop_assert!(passed.sum::<f64>() <= capacity * end * 1.000_001 + 0.01);
            }
            for (queue, times) in queues.iter().zip(&times) {
                prop_assert_eq!(queue.flows.len(), times.len());
                for ((bytes, _), time) in queue.flows.iter().zip(times) {
                    prop_assert!((time.end_ns - time.start_ns) * fastest >= bytes * 0.999_999 - 0.01);
                }
                prop_assert!(times.windows(2).all(|two| two[0].end_ns <= two[1].start_ns));
            }
        }
    }
}
