//! The steps of all ranks in a compact form, from schedules that are dropped one after the other.

use std::ops::Range;

use mpi_abi::offload::{Schedule, StepId};

use crate::collective::ScheduleOf;
use crate::executor::chunk::{LevelAction, MessageTotals, parts};
use crate::executor::costs::{LocalStep, StepCosts};

/// Steps of all ranks: about 2 GiB with what led to their times.
const STEPS_MAX: u64 = 16_000_000;

/// The action of an [`EventStep`].
#[derive(Clone, Copy, Debug)]
pub(super) enum EventAction {
    /// `receive` is the step of `peer` that receives the message.
    Send {
        peer: u32,
        receive: StepId,
    },
    Receive {
        round: u32,
    },
    Local(LocalStep),
}

/// What never changes about a step.
#[derive(Clone, Copy, Debug)]
pub(super) struct EventStep {
    pub(super) bytes: u64,
    pub(super) action: EventAction,
    /// The end of its successors in [`EventSteps::successors`]; they begin with those of the step before.
    successors_end: u32,
}

/// What changes about a step. Times are nodes of [`Causes`](super::causes::Causes).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StepState {
    pub(super) waits: u32,
    /// When the steps that it waits on have completed; once it has started, when it completes.
    pub(super) mark: u32,
    /// When the last byte of its message arrives; once that is taken, when it has passed the port.
    pub(super) message: u32,
    /// Whether it takes turns at the engines of its rank.
    pub(super) is_queued: bool,
    pub(super) is_detached: bool,
    pub(super) is_ready: bool,
    /// Its message has passed the port.
    pub(super) is_taken: bool,
}

// Most of the time of a run is spent on reading and writing these.
const _: () = assert!(size_of::<EventStep>() == 24 && size_of::<StepState>() == 16);

/// The end of what a rank has in each list; it begins at the end of the rank before.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RankEnds {
    pub(super) steps: u32,
    pub(super) order: u32,
    pub(super) sends: u32,
    pub(super) missing: u32,
}

/// The steps of all ranks, one rank after the other.
#[derive(Debug, Default)]
pub(super) struct EventSteps {
    pub(super) all: Vec<EventStep>,
    pub(super) states: Vec<StepState>,
    successors: Vec<StepId>,
    /// The order in which processors take steps.
    pub(super) order: Vec<StepId>,
    /// The order in which sends that need no processor leave.
    pub(super) sends: Vec<StepId>,
    /// For each round of a rank, the messages that its port has not taken.
    pub(super) missing: Vec<u32>,
    pub(super) ends: Vec<RankEnds>,
    pub(super) totals: MessageTotals,
    pub(super) rounds: u32,
}

/// An end of a message: receiver, sender, label and step from the highest bit to the lowest, as the order of these
/// numbers pairs up both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct MessageEnd(u128);

impl MessageEnd {
    fn new(to: u32, from: u32, label: u16, step: StepId) -> Self {
        let ends = u128::from(to) << 32 | u128::from(from);
        Self(ends << 64 | u128::from(label) << 32 | u128::from(step))
    }

    /// Receiver, sender and label.
    fn name(self) -> u128 {
        self.0 >> 32
    }

    fn parts(self) -> (u32, u32, u16) {
        ((self.0 >> 96) as u32, (self.0 >> 64) as u32, (self.0 >> 32) as u16)
    }

    fn step(self) -> StepId {
        self.0 as u32
    }
}

/// The bit of a step that is no send in a number that orders steps: by round, then this bit, then step.
const AFTER_SENDS: u64 = 1 << 32;

#[derive(Debug, Default)]
struct MessageEnds {
    sends: Vec<MessageEnd>,
    receives: Vec<MessageEnd>,
}

impl EventSteps {
    /// # Errors
    /// A message is sent and not received, or there are too many steps.
    pub(super) fn new(
        ranks: u32, schedule: &ScheduleOf<'_>, costs: &StepCosts,
    ) -> Result<Self, String> {
        let (mut steps, mut messages) = (Self::default(), MessageEnds::default());
        for rank in 0..ranks {
            steps.add(rank, &schedule(rank), costs, &mut messages);
            if steps.totals.steps > STEPS_MAX {
                return Err(format!(
                    "{ranks} ranks have more than {STEPS_MAX} steps, which is the most with a topology: expected \
                     fewer ranks or an algorithm with fewer messages"
                ));
            }
        }
        steps.match_messages(messages)?;
        Ok(steps)
    }

    /// Adds the next rank.
    fn add(
        &mut self, rank: u32, schedule: &Schedule, costs: &StepCosts, messages: &mut MessageEnds,
    ) {
        let missing = self.missing.len();
        self.missing.resize(missing + schedule.rounds() as usize + 1, 0);
        let mut order = Vec::new();
        for ((id, step), waits) in (0..).zip(schedule.steps()).zip(schedule.waits()) {
            let (action, peer, label, bytes) = parts(step.action);
            let is_queued = costs.network.contends && !step.detached;
            let action = match action {
                LevelAction::Send => {
                    messages.sends.push(MessageEnd::new(peer, rank, label, id));
                    EventAction::Send { peer, receive: 0 }
                }
                LevelAction::Receive => {
                    messages.receives.push(MessageEnd::new(rank, peer, label, id));
                    self.missing[missing + step.round as usize] += u32::from(is_queued);
                    EventAction::Receive { round: step.round }
                }
                LevelAction::Local(local) => EventAction::Local(local),
            };
            if is_queued {
                let is_send = matches!(action, EventAction::Send { .. });
                let turn = if is_send { 0 } else { AFTER_SENDS };
                order.push(u64::from(step.round) << 33 | turn | u64::from(id));
            }
            self.successors.extend(schedule.successors(id));
            let successors_end = self.successors.len() as u32;
            self.all.push(EventStep { bytes, action, successors_end });
            let is_detached = step.detached;
            let state = StepState { waits: *waits, is_queued, is_detached, ..StepState::default() };
            self.states.push(state);
        }
        self.add_order(order, costs.network.overhead_ps > 0);
        self.ends.push(RankEnds {
            steps: self.all.len() as u32,
            order: self.order.len() as u32,
            sends: self.sends.len() as u32,
            missing: self.missing.len() as u32,
        });
        self.totals.add(MessageTotals::of(schedule));
        self.rounds = self.rounds.max(schedule.rounds());
    }

    /// Adds the order in which the engines of the next rank take its steps.
    fn add_order(&mut self, mut order: Vec<u64>, takes_sends: bool) {
        order.sort_unstable();
        let takes = |key: &u64| takes_sends || key & AFTER_SENDS != 0;
        let (order, sends): (Vec<u64>, Vec<u64>) = order.into_iter().partition(takes);
        self.order.extend(order.into_iter().map(|key| key as StepId));
        self.sends.extend(sends.into_iter().map(|key| key as StepId));
    }

    /// Where what a rank has begins in each list.
    pub(super) fn start(&self, rank: u32) -> RankEnds {
        (rank as usize).checked_sub(1).map_or(RankEnds::default(), |before| self.ends[before])
    }

    /// The places of the successors of the step at `index` in the list of all.
    #[inline]
    pub(super) fn successors(&self, index: usize) -> Range<usize> {
        let start = index.checked_sub(1).map_or(0, |before| self.all[before].successors_end);
        start as usize..self.all[index].successors_end as usize
    }

    #[inline]
    pub(super) fn successor(&self, place: usize) -> StepId {
        self.successors[place]
    }

    /// Finds the step that receives each message.
    fn match_messages(&mut self, messages: MessageEnds) -> Result<(), String> {
        let MessageEnds { mut sends, mut receives } = messages;
        sends.sort_unstable();
        receives.sort_unstable();
        if let Some([twice, _]) =
            receives.array_windows().find(|[one, two]| one.name() == two.name())
        {
            let (rank, peer, label) = twice.parts();
            return Err(format!("rank {rank} receives message {label} of rank {peer} twice"));
        }
        let mut receives = receives.into_iter().peekable();
        for send in sends {
            while receives.next_if(|receive| receive.name() < send.name()).is_some() {}
            let (rank, from, label) = send.parts();
            let Some(found) = receives.peek().filter(|found| found.name() == send.name()) else {
                return Err(format!("rank {rank} does not receive message {label} of rank {from}"));
            };
            let index = self.start(from).steps + send.step();
            if let EventAction::Send { receive, .. } = &mut self.all[index as usize].action {
                *receive = found.step();
            }
        }
        Ok(())
    }
}
