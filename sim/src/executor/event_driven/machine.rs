//! Processors, ports, links and events, which steps of schedules and operations of interfaces use in the same way.
//!
//! It knows no order of steps: an [`EventExecutor`] says when something uses a processor or a port.

use mpi_abi::offload::StepId;

use super::causes::{Causes, EventMark, PathPart};
use super::event_queue::{EventKind, EventQueue};
use super::links::{LinkMessage, LinkNetwork, LinkStates};
use crate::executor::costs::StepCosts;
use crate::executor::mark::ProcessorWork;

/// What goes on at events.
pub(super) trait EventExecutor<'a> {
    fn machine(&mut self) -> &mut EventMachine<'a>;

    /// A message comes, its last byte at `arrival`; [`EventExecutor::arrive`] follows.
    fn come(&mut self, message: LinkMessage, arrival: EventMark);

    /// The first byte of a message reaches its receiver.
    fn arrive(&mut self, now_ps: u64, rank: u32, receive: u32);

    fn complete(&mut self, now_ps: u64, rank: u32, step: StepId);

    /// Executes until no event is left; the number of events. `report` is called now and then.
    fn execute(&mut self, report: impl Fn(&Self)) -> u64 {
        let mut events: u64 = 0;
        while let Some(event) = self.machine().events.pop() {
            events += 1;
            if events.is_multiple_of(REPORTED) {
                report(self);
            }
            let (now_ps, rank, step) = (event.time_ps(), event.rank(), event.step());
            match event.kind() {
                EventKind::Link => {
                    if let Some((message, arrival)) = self.machine().take_link(now_ps, step) {
                        self.come(message, arrival);
                    }
                }
                EventKind::FirstByte => self.arrive(now_ps, rank, step),
                EventKind::Complete => self.complete(now_ps, rank, step),
            }
        }
        events
    }

    /// Sends a message, whose first byte leaves at `start`; returns when the last one has left.
    fn leave(&mut self, start: EventMark, message: LinkMessage) -> EventMark {
        let machine = self.machine();
        let left = machine.after_bytes(start, message.bytes);
        if let Some(arrival) = machine.depart(start, left, message) {
            self.come(message, arrival);
        }
        left
    }
}

/// Events between two reports of progress.
const REPORTED: u64 = 1 << 16;

/// All that ranks share.
#[derive(Debug)]
pub(super) struct EventMachine<'a> {
    pub(super) costs: &'a StepCosts,
    pub(super) events: EventQueue,
    pub(super) causes: Causes,
    pub(super) links: Option<LinkStates<'a>>,
    /// The phases of noise, by rank.
    phases_ps: Vec<u64>,
}

/// When a port is free.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SimulatedPort {
    /// After the rest that follows a message.
    free_ps: u64,
    last: EventMark,
}

impl<'a> EventMachine<'a> {
    pub(super) fn new(ranks: u32, costs: &'a StepCosts, network: Option<&'a LinkNetwork>) -> Self {
        Self {
            costs,
            events: EventQueue::default(),
            causes: Causes::default(),
            links: network.map(LinkStates::new),
            phases_ps: (0..ranks).map(|rank| costs.noise.phase_ps(rank)).collect(),
        }
    }

    /// The end of work of a processor.
    #[inline]
    pub(super) fn after_work(
        &mut self, rank: u32, start: EventMark, work: ProcessorWork,
    ) -> EventMark {
        let noise = self.costs.noise.with_phase(rank, self.phases_ps[rank as usize]);
        let end_ps = noise.end_ps(start.time_ps, work.work_ps());
        self.causes.after_work(start, work, end_ps)
    }

    #[inline]
    fn after_bytes(&mut self, start: EventMark, bytes: u64) -> EventMark {
        let end_ps = start.time_ps + bytes * self.costs.network.byte_ps;
        self.causes.after(start, PathPart::Bytes, end_ps)
    }

    /// When a port begins with what is ready at `ready`.
    #[inline]
    pub(super) fn begin(&mut self, port: &SimulatedPort, ready: EventMark) -> EventMark {
        match port.free_ps > ready.time_ps {
            true => self.causes.after(port.last, PathPart::Gap, port.free_ps),
            false => ready,
        }
    }

    /// The port is in use until `end`, and then rests.
    #[inline]
    pub(super) fn use_port(&self, port: &mut SimulatedPort, end: EventMark) {
        *port = SimulatedPort { free_ps: end.time_ps + self.costs.network.gap_ps, last: end };
    }

    /// When the port of a receiver has taken a message, whose first byte came at `first_ps`.
    #[inline]
    pub(super) fn receive(
        &mut self, port: &mut SimulatedPort, first_ps: u64, arrival: EventMark, bytes: u64,
    ) -> EventMark {
        let taken = match port.free_ps <= first_ps {
            true => arrival,
            false => {
                let free = self.causes.after(port.last, PathPart::Gap, port.free_ps);
                self.after_bytes(free, bytes)
            }
        };
        self.use_port(port, taken);
        taken
    }

    /// A message leaves, its first byte at `start` and its last one at `left`; returns its arrival if it takes no link.
    #[inline]
    fn depart(
        &mut self, start: EventMark, left: EventMark, message: LinkMessage,
    ) -> Option<EventMark> {
        let latency_ps = self.costs.network.latency_ps;
        let (part, latency_ps) = match &mut self.links {
            None => (PathPart::Message, latency_ps),
            Some(links) => match links.depart(message, left) {
                None => (PathPart::Inside, links.node_latency_ps()),
                Some(flight) => {
                    self.events.push(start.time_ps, message.to, flight, EventKind::Link);
                    return None;
                }
            },
        };
        let arrival = self.causes.after(left, part, left.time_ps + latency_ps);
        self.announce(message, arrival);
        Some(arrival)
    }

    /// The first byte of a message is at a link; returns the message with its arrival if it is the last link.
    #[inline]
    fn take_link(&mut self, now_ps: u64, number: u32) -> Option<(LinkMessage, EventMark)> {
        let (next_ps, flight) = self.links.as_mut()?.take(now_ps, number);
        let message = flight.message;
        if !flight.is_through() {
            self.events.push(next_ps, message.to, number, EventKind::Link);
            return None;
        }
        // The port of the receiver takes its time.
        let network = &self.costs.network;
        let through_ps = flight.through_ps.max(next_ps + message.bytes * network.byte_ps);
        let arrival_ps = through_ps + network.latency_ps;
        let left = self.causes.mark(flight.left);
        let arrival = self.causes.after(left, PathPart::Message, arrival_ps);
        self.announce(message, arrival);
        Some((message, arrival))
    }

    /// Adds the event of the first byte of a message.
    #[inline]
    fn announce(&mut self, message: LinkMessage, arrival: EventMark) {
        let first_ps = arrival.time_ps - message.bytes * self.costs.network.byte_ps;
        self.events.push(first_ps, message.to, message.receive, EventKind::FirstByte);
    }
}
