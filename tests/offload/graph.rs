//! Schedules that no collective operation has: any messages between ranks, each after some others.

use mpi_abi::offload::{Buffer, Region, Schedule, ScheduleBuilder, StepAction, StepId, Wait};

/// A message; each rank has one buffer.
#[derive(Clone, Debug)]
pub struct Message {
    /// The sending rank, and the first byte there.
    pub from: (u32, usize),
    /// The receiving rank, and the first byte there.
    pub to: (u32, usize),
    /// The number of bytes.
    pub len: usize,
    /// The round, later than the rounds of all messages that it waits for.
    pub round: u32,
    /// The messages to the sender that have arrived before it is sent.
    pub after: Vec<usize>,
    /// The messages from or to the receiver that have completed there before it may arrive.
    pub ready: Vec<usize>,
}

fn region(start: usize, len: usize) -> Region {
    if len > 0 { Buffer::User(0).region(start, len) } else { Region::EMPTY }
}

/// The schedule of each rank, which lists its messages in the order of `messages`.
pub fn schedules(ranks: u32, messages: &[Message]) -> Vec<Schedule> {
    let mut plans: Vec<ScheduleBuilder> = (0..ranks).map(|_| ScheduleBuilder::new()).collect();
    // The steps of each message at its sender and its receiver.
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
