//! Requests of this rank to the owners of memory, from the request to its answer.
//!
//! ```text
//!   ask ──> sent ──answer──┬──> ended
//!                          └──of a load──> data arrive ──> ended
//!      the other rank fails ─────────────────────────────> ended, with an error
//! ```

use std::collections::BTreeMap;

use super::address::GlobalAddress;
use super::request::{
    ANSWER_TAG, INLINE_MAX, MemoryRequest, REQUEST_TAG, RequestAnswer, RequestData, RequestTicket,
    senseless,
};
use crate::device::Device;
use crate::device::rma::write_number;
use crate::engine::Engine;
use crate::engine::channel::{ArrivingMessage, MessageChannel};
use crate::engine::memory::Memory;
use crate::engine::point_to_point::operation::OperationId;
use platform::base::{ErrorClass, Result, Span};

/// The requests of this rank.
#[derive(Debug, Default)]
pub(crate) struct Delegation {
    next: u32,
    sent: BTreeMap<RequestTicket, SentRequest>,
    /// An answer whose bytes have not arrived.
    arriving: Option<ArrivingMessage>,
}

#[derive(Debug)]
struct SentRequest {
    to: u32,
    state: RequestState,
    /// Where the old number or the data go.
    into: Span,
    is_load: bool,
    /// The data of a store, until they have left.
    data: Option<OperationId>,
}

#[derive(Debug)]
enum RequestState {
    Sent,
    /// The data of a load.
    Receiving(OperationId),
    Ended(Result<()>),
}

impl Delegation {
    /// Asks a rank. The old number, or the data of a load, go to `into`; a store sends `from`.
    pub(crate) fn ask<D: Device>(
        &mut self, engine: &mut Engine<D>, channel: &MessageChannel, to: u32,
        request: MemoryRequest<'_>, into: Span,
    ) -> RequestTicket {
        let ticket = self.ticket();
        let is_load = matches!(request, MemoryRequest::Load { .. });
        let message = Memory::owned(request.emit(ticket));
        channel.send_detached(engine, to, REQUEST_TAG, message);
        self.sent.insert(
            ticket,
            SentRequest { to, state: RequestState::Sent, into, is_load, data: None },
        );
        ticket
    }

    /// Asks a rank to write `from` to its memory.
    pub(crate) fn store<D: Device>(
        &mut self, engine: &mut Engine<D>, channel: &MessageChannel, to: u32, at: GlobalAddress,
        from: Span,
    ) -> RequestTicket {
        if from.len() <= INLINE_MAX {
            let mut bytes = vec![0; from.len()];
            from.read(0, &mut bytes);
            let data = RequestData::Inline(&bytes);
            return self.ask(
                engine,
                channel,
                to,
                MemoryRequest::Store { to: at, data },
                Span::EMPTY,
            );
        }
        let data = RequestData::Follows(from.len() as u64);
        let ticket =
            self.ask(engine, channel, to, MemoryRequest::Store { to: at, data }, Span::EMPTY);
        let sent = channel.send(engine, to, ticket.data_tag(), Memory::Span(from));
        if let Some(request) = self.sent.get_mut(&ticket) {
            request.data = sent;
        }
        ticket
    }

    fn ticket(&mut self) -> RequestTicket {
        let mut ticket = RequestTicket::from(self.next);
        while self.sent.contains_key(&ticket) {
            ticket = ticket.next();
        }
        self.next = ticket.next().number();
        ticket
    }

    /// Takes answers and data that have arrived; whether there were any.
    ///
    /// # Errors
    /// `Intern` for a message that makes no sense.
    pub(crate) fn advance<D: Device>(
        &mut self, engine: &mut Engine<D>, channel: &MessageChannel,
    ) -> Result<bool> {
        let mut any = false;
        while let Some((source, message)) =
            channel.next_message(engine, ANSWER_TAG, &mut self.arriving)
        {
            any = true;
            let answer =
                RequestAnswer::parse(&message).ok_or_else(|| senseless(source, message.len()))?;
            self.answered(engine, channel, source, answer)?;
        }
        for request in self.sent.values_mut() {
            any |= request.advance(engine);
        }
        Ok(any)
    }

    fn answered<D: Device>(
        &mut self, engine: &mut Engine<D>, channel: &MessageChannel, source: u32,
        answer: RequestAnswer,
    ) -> Result {
        let ticket = answer.ticket;
        let request = self.sent.get_mut(&ticket);
        let Some(request) = request.filter(|request| request.to == source) else {
            let why = format!("rank {source} has answered a request that it was not asked for");
            return Err(ErrorClass::Intern.error(why));
        };
        request.state = match answer.end {
            Err(error) => RequestState::Ended(Err(error)),
            Ok(_) if request.is_load => {
                let memory = Memory::Span(request.into);
                let receive = channel.receive(engine, source, ticket.data_tag(), memory);
                RequestState::Receiving(receive)
            }
            Ok(old) => {
                write_number(old, request.into);
                RequestState::Ended(Ok(()))
            }
        };
        Ok(())
    }

    /// Whether a request has ended; it is asked for once then.
    ///
    /// # Errors
    /// Why the owner refuses it, or the failure of that rank.
    pub(crate) fn has_ended<D: Device>(
        &mut self, engine: &Engine<D>, channel: &MessageChannel, ticket: RequestTicket,
    ) -> Result<bool> {
        let Some(request) = self.sent.get_mut(&ticket) else { return Ok(true) };
        match std::mem::replace(&mut request.state, RequestState::Sent) {
            RequestState::Ended(end) if request.data.is_none() => {
                self.sent.remove(&ticket);
                end.map(|()| true)
            }
            state => {
                request.state = state;
                let failure = engine.failure(channel.peer(request.to));
                failure.map_or(Ok(false), Err)
            }
        }
    }

    /// Whether requests have not ended.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.sent.is_empty()
    }

    /// The rank that a request was sent to.
    pub(crate) fn asked(&self, ticket: RequestTicket) -> Option<u32> {
        self.sent.get(&ticket).map(|request| request.to)
    }
}

impl SentRequest {
    fn advance<D: Device>(&mut self, engine: &mut Engine<D>) -> bool {
        let before = self.data;
        self.data = self.data.filter(|data| engine.take_completion(*data).is_none());
        let mut any = self.data != before;
        if let RequestState::Receiving(receive) = self.state
            && let Some(completion) = engine.take_completion(receive)
        {
            self.state = RequestState::Ended(completion.error.map_or(Ok(()), Err));
            any = true;
        }
        any
    }
}
