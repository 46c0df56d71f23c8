//! The result of a packing: an engine for each put, and its times in the model of flows.

use super::fluid::{self, TransferQueue, TransferTime};
use super::put::{InterfaceModel, Put};

/// The engine and the planned time of a put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PutPlacement {
    /// The engine that sends the put, and the engine that receives it.
    pub engine: u8,
    /// The planned start.
    pub start_ns: u64,
    /// The planned end.
    pub end_ns: u64,
}

/// Packed puts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packing {
    /// The placement of each put, in the order of the puts.
    pub placements: Vec<PutPlacement>,
    /// For each engine, the indices of its puts in order.
    pub queues: Vec<Vec<usize>>,
}

impl Packing {
    /// The packing of these queues, with times for engines that do not share links.
    pub(crate) fn stacked(queues: Vec<Vec<usize>>, puts: &[Put], machine: &InterfaceModel) -> Self {
        let mut placements = vec![PutPlacement { engine: 0, start_ns: 0, end_ns: 0 }; puts.len()];
        for (engine, queue) in queues.iter().enumerate() {
            let mut start_ns = 0;
            for &put in queue {
                let end_ns = start_ns + machine.alone_ns(&puts[put]);
                placements[put] = PutPlacement { engine: engine as u8, start_ns, end_ns };
                start_ns = end_ns;
            }
        }
        Self { placements, queues }
    }

    /// The planned end of the last put.
    #[cfg(test)]
    pub(crate) fn makespan_ns(&self) -> u64 {
        self.placements.iter().map(|placement| placement.end_ns).max().unwrap_or(0)
    }

    /// The time at which each engine has its commands: the host writes the queues that are not empty
    /// one after another.
    pub fn ready_ns<'a>(&'a self, machine: &'a InterfaceModel) -> impl Iterator<Item = f64> + 'a {
        let mut ready_ns = 0.0;
        self.queues.iter().map(move |queue| {
            ready_ns += if queue.is_empty() { 0.0 } else { machine.access_ns };
            ready_ns
        })
    }

    /// Start and end of each put in the model of flows, if all ranks run this packing at the same time
    /// without barriers.
    pub(crate) fn predicted(&self, puts: &[Put], machine: &InterfaceModel) -> Vec<TransferTime> {
        let classes = puts.iter().flat_map(|put| &put.links).max().map_or(0, |most| most + 1);
        let mut capacity = vec![machine.link_rate; classes.into()];
        capacity.push(machine.rank_rate);
        let queues = self.queues.iter().zip(self.ready_ns(machine)).map(|(queue, ready_ns)| {
            let flows = queue.iter().map(|&put| {
                let links = puts[put].links.iter().map(|&link| u32::from(link));
                (puts[put].bytes as f64, links.chain([u32::from(classes)]).collect())
            });
            TransferQueue { ready_ns, flows: flows.collect() }
        });
        let queues: Vec<TransferQueue> = queues.collect();
        let by_engine = fluid::run(&queues, capacity, machine.put_rate, machine.gap_ns);
        let mut times = vec![TransferTime::default(); puts.len()];
        for (queue, of_engine) in self.queues.iter().zip(by_engine) {
            for (&put, time) in queue.iter().zip(of_engine) {
                times[put] = time;
            }
        }
        times
    }

    /// The end of the last put in the model of flows.
    pub fn predicted_ns(&self, puts: &[Put], machine: &InterfaceModel) -> f64 {
        self.predicted(puts, machine).iter().map(|time| time.end_ns).fold(0.0, f64::max)
    }
}
