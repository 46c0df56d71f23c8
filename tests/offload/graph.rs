//! Schedules that no collective operation has: any messages between ranks, each after some others.

use mpi_abi::offload::{Buffer, Region, Schedule, ScheduleBuilder, StepAction, StepId, Wait};

/// A message; each rank has one buffer.
#[derive(Clone, Debug)]
pub struct Message {
    /// Who sends it, from which byte on.
    pub from: (u32, usize),
    /// Who gets it, from which byte on.
    pub to: (u32, usize),
    /// How many bytes.
    pub len: usize,
    /// Its round, at least one more than those of the messages that it waits for.
    pub round: u32,
    /// The messages to the sender that it is sent after.
    pub after: Vec<usize>,
    /// The messages from or to the receiver that must be over there before it may arrive.
    pub ready: Vec<usize>,
}

fn region(start: usize, len: usize) -> Region {
    if len > 0 { Buffer::User(0).region(start, len) } else { Region::EMPTY }
}

/// The part of each rank, which lists what it receives and sends in the order of `messages`.
pub fn schedules(ranks: u32, messages: &[Message]) -> Vec<Schedule> {
    let mut plans: Vec<ScheduleBuilder> = (0..ranks).map(|_| ScheduleBuilder::new()).collect();
    // The steps of each message: those of its sender and of its receiver.
    let mut steps: Vec<[(u32, StepId); 2]> = Vec::new();
    for (label, message) in (0..).zip(messages) {
        let &Message { from: (from, read), to: (to, written), len, round, .. } = message;
        let step_at = |rank: u32, other: &usize| {
            let [sent, received] = steps[*other];
            if received.0 == rank { received.1 } else { sent.1 }
        };
        let ready: Vec<StepId> = message.ready.iter().map(|other| step_at(to, other)).collect();
        let after: Vec<StepId> = message.after.iter().map(|other| step_at(from, other)).collect();
        let receive = StepAction::Receive { peer: from, region: region(written, len), label };
        let receive = plans[to as usize].push(receive, round, Wait::All, &ready);
        let send = StepAction::Send { peer: to, region: region(read, len), label };
        let send = plans[from as usize].push(send, round, Wait::All, &after);
        steps.push([(from, send), (to, receive)]);
    }
    plans.into_iter().map(ScheduleBuilder::finish).collect()
}
