//! Requests of other ranks for memory of this one.
//!
//! ```text
//!   request ──> waiting ──all before it from that rank are done──> in progress ──> answered
//! ```
//!
//! Requests of one rank are carried out one after the other, so what it delegates keeps its order. Only
//! copies to another rank overlap, by one way that keeps their order. Requests of several ranks have no
//! order. A store that is refused takes its data all the same.

use std::collections::{BTreeMap, VecDeque};

use super::access::{GlobalAccess, GlobalPlace};
use super::address::GlobalAddress;
use super::executor::GlobalExecutor;
use super::peers::Location;
use super::queue::{AccessExecutor, AccessStart, AccessTicket, AccessWay, ChosenWay};
use super::request::{
    ANSWER_TAG, MemoryRequest, REQUEST_TAG, RequestAnswer, RequestData, RequestTicket, senseless,
};
use crate::device::Device;
use crate::device::rma::{NumberKind, Update};
use crate::engine::channel::ArrivingMessage;
use crate::engine::memory::{Memory, OwnedBytes};
use crate::engine::point_to_point::operation::OperationId;
use platform::base::{ErrorClass, MpiError, Result, Span};

/// The requests of all other ranks.
#[derive(Debug, Default)]
pub(crate) struct AccessService {
    arriving: Option<ArrivingMessage>,
    origins: BTreeMap<u32, VecDeque<ServedRequest>>,
    /// Answers that were refused for want of room.
    is_busy: bool,
}

#[derive(Debug)]
struct ServedRequest {
    ticket: RequestTicket,
    state: ServedState,
}

#[derive(Debug)]
enum ServedState {
    Waiting(ServedWork),
    /// A copy to another rank, by this way.
    Copying(AccessTicket, AccessWay),
    /// Data of a load leave, after the answer.
    Loading(OperationId),
    /// Data of a store arrive here; the buffer takes what is refused.
    Storing {
        receive: OperationId,
        refusal: Option<Box<MpiError>>,
        _dropped: OwnedBytes,
    },
}

#[derive(Debug)]
enum ServedWork {
    Copy { to: GlobalAddress, from: GlobalAddress, len: u64 },
    Update { at: GlobalAddress, kind: NumberKind, update: Update },
    StoreInline { to: GlobalAddress, data: Box<[u8]> },
    Store { to: GlobalAddress, len: u64 },
    Load { from: GlobalAddress, len: u64 },
}

/// What became of a request.
enum ServedStep {
    Waits,
    Begun(ServedState),
    Done(Result<u64>),
    /// It has been answered before.
    Ended,
}

impl From<MemoryRequest<'_>> for ServedWork {
    fn from(request: MemoryRequest<'_>) -> Self {
        match request {
            MemoryRequest::Copy { to, from, len } => Self::Copy { to, from, len },
            MemoryRequest::Update { at, kind, update } => Self::Update { at, kind, update },
            MemoryRequest::Store { to, data: RequestData::Inline(data) } => {
                Self::StoreInline { to, data: data.into() }
            }
            MemoryRequest::Store { to, data: RequestData::Follows(len) } => Self::Store { to, len },
            MemoryRequest::Load { from, len } => Self::Load { from, len },
        }
    }
}

impl AccessService {
    /// Takes requests that have arrived and continues all of them; whether there was anything.
    ///
    /// # Errors
    /// `Intern` for a message that makes no sense.
    pub(crate) fn advance<D: Device>(
        &mut self, executor: &mut GlobalExecutor<'_, D>,
    ) -> Result<bool> {
        let mut any = false;
        while let Some((origin, message)) =
            executor.channel.next_message(executor.engine, REQUEST_TAG, &mut self.arriving)
        {
            any = true;
            let (ticket, request) =
                MemoryRequest::parse(&message).ok_or_else(|| senseless(origin, message.len()))?;
            let state = ServedState::Waiting(request.into());
            self.origins.entry(origin).or_default().push_back(ServedRequest { ticket, state });
        }
        self.is_busy = false;
        for (origin, requests) in &mut self.origins {
            any |= advance_origin(executor, *origin, requests);
            let next = requests.front().map(|first| &first.state);
            self.is_busy |= matches!(next, Some(ServedState::Waiting(_)));
        }
        self.origins.retain(|_, requests| !requests.is_empty());
        Ok(any)
    }

    /// Whether requests are not done.
    pub(crate) fn is_active(&self) -> bool {
        self.arriving.is_some() || !self.origins.is_empty()
    }

    /// Whether a request waits for room, which only a call finds.
    pub(crate) fn has_due(&self) -> bool {
        self.is_busy
    }
}

/// Continues the requests of one rank; whether there was anything.
fn advance_origin<D: Device>(
    executor: &mut GlobalExecutor<'_, D>, origin: u32, requests: &mut VecDeque<ServedRequest>,
) -> bool {
    let mut any = false;
    let mut at = 0;
    let mut before = None;
    while let Some(request) = requests.get_mut(at) {
        let ticket = request.ticket;
        match step(executor, origin, request, before) {
            ServedStep::Waits => {
                let ServedState::Copying(_, way) = request.state else { break };
                before = Some(way);
                at += 1;
                continue;
            }
            ServedStep::Begun(state) => request.state = state,
            ServedStep::Done(end) => {
                answer(executor, origin, RequestAnswer { ticket, end });
                requests.remove(at);
            }
            ServedStep::Ended => {
                requests.remove(at);
            }
        }
        any = true;
    }
    any
}

/// Begins or continues a request; `before` is the way of the copy in progress before it.
fn step<D: Device>(
    executor: &mut GlobalExecutor<'_, D>, origin: u32, request: &mut ServedRequest,
    before: Option<AccessWay>,
) -> ServedStep {
    match &mut request.state {
        ServedState::Copying(ticket, _) => match executor.has_finished(*ticket) {
            Ok(false) => ServedStep::Waits,
            Ok(true) => ServedStep::Done(Ok(0)),
            Err(error) => ServedStep::Done(Err(error)),
        },
        ServedState::Loading(send) => match executor.engine.take_completion(*send) {
            None => ServedStep::Waits,
            Some(_) => ServedStep::Ended,
        },
        ServedState::Storing { receive, refusal, .. } => {
            let Some(completion) = executor.engine.take_completion(*receive) else {
                return ServedStep::Waits;
            };
            let error = refusal.take().or(completion.error);
            ServedStep::Done(error.map_or(Ok(0), Err))
        }
        ServedState::Waiting(ServedWork::Copy { to, from, len }) => {
            let (to, from) = (GlobalPlace::Global(*to), GlobalPlace::Global(*from));
            let Ok(len) = usize::try_from(*len) else { return too_long(*len) };
            begin_copy(executor, GlobalAccess::Copy { to, from, len }, before)
        }
        ServedState::Waiting(_) if before.is_some() => ServedStep::Waits,
        ServedState::Waiting(work) => begin(executor, origin, request.ticket, work),
    }
}

fn begin_copy<D: Device>(
    executor: &mut GlobalExecutor<'_, D>, copy: GlobalAccess, before: Option<AccessWay>,
) -> ServedStep {
    let way = match executor.choose(&copy) {
        ChosenWay::Refused(error) => return ServedStep::Done(Err(error)),
        ChosenWay::Unknown => return ServedStep::Waits,
        ChosenWay::Known(way) => way,
    };
    let overlaps = before.is_none_or(|before| before == way && way.keeps_order());
    if !overlaps {
        return ServedStep::Waits;
    }
    match executor.start(&copy, way, false) {
        AccessStart::Finished => ServedStep::Done(Ok(0)),
        AccessStart::InProgress(ticket) => ServedStep::Begun(ServedState::Copying(ticket, way)),
        AccessStart::Busy => ServedStep::Waits,
        AccessStart::Refused(error) => ServedStep::Done(Err(error)),
    }
}

fn begin<D: Device>(
    executor: &mut GlobalExecutor<'_, D>, origin: u32, ticket: RequestTicket, work: &ServedWork,
) -> ServedStep {
    match work {
        ServedWork::Copy { .. } => ServedStep::Waits,
        ServedWork::Update { at, kind, update } => {
            let number = own_memory(executor, *at, kind.bytes() as u64);
            let number = number.and_then(|number| match number.number() {
                Some(_) => Ok(number),
                None => Err(ErrorClass::Arg.error("the number of an update is not aligned")),
            });
            ServedStep::Done(number.map(|number| update.perform(number, *kind)))
        }
        ServedWork::StoreInline { to, data } => {
            let memory = own_memory(executor, *to, data.len() as u64);
            ServedStep::Done(memory.map(|memory| {
                memory.write_untorn(data);
                0
            }))
        }
        ServedWork::Store { to, len } => {
            let (memory, refusal) = match own_memory(executor, *to, *len) {
                Ok(memory) => (memory, None),
                Err(error) => (Span::EMPTY, Some(error)),
            };
            // The origin says how long it is; a length that no memory has is not believed.
            let dropped = if refusal.is_some() { (*len).min(1 << 32) as usize } else { 0 };
            let buffer = OwnedBytes::zeroed(dropped);
            let into = if refusal.is_some() { buffer.span() } else { memory };
            let tag = ticket.data_tag();
            let channel = executor.channel;
            let receive = channel.receive(executor.engine, origin, tag, Memory::Span(into));
            ServedStep::Begun(ServedState::Storing { receive, refusal, _dropped: buffer })
        }
        ServedWork::Load { from, len } => match own_memory(executor, *from, *len) {
            Ok(memory) => {
                answer(executor, origin, RequestAnswer { ticket, end: Ok(0) });
                let (channel, tag) = (executor.channel, ticket.data_tag());
                let sent = channel.send(executor.engine, origin, tag, Memory::Span(memory));
                sent.map_or(ServedStep::Ended, |send| ServedStep::Begun(ServedState::Loading(send)))
            }
            Err(error) => ServedStep::Done(Err(error)),
        },
    }
}

/// Memory of this rank.
fn own_memory<D: Device>(
    executor: &mut GlobalExecutor<'_, D>, at: GlobalAddress, len: u64,
) -> Result<Span> {
    let Ok(bytes) = usize::try_from(len) else {
        return Err(ErrorClass::RmaRange.error(format!("no memory has {len} bytes")));
    };
    let rank = executor.front.layout().split(at).map(|fields| fields.rank);
    match executor.locate(GlobalPlace::Global(at), bytes) {
        Location::Here(memory) if rank == Some(executor.front.rank()) => Ok(memory),
        Location::Refused(error) => Err(error),
        _ => Err(ErrorClass::Rank.error("a request names memory of another rank")),
    }
}

fn too_long(len: u64) -> ServedStep {
    ServedStep::Done(Err(ErrorClass::RmaRange.error(format!("no memory has {len} bytes"))))
}

fn answer<D: Device>(executor: &mut GlobalExecutor<'_, D>, origin: u32, answer: RequestAnswer) {
    executor.counts.served += 1;
    let message = Memory::owned(answer.emit());
    executor.channel.send_detached(executor.engine, origin, ANSWER_TAG, message);
}
