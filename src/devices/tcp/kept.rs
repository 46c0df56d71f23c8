//! Connections inside this host that both ends have no use for now. The next two links between the same
//! processes take them over, without a new connection and its proof: the end that has opened it calls
//! again, by a message that proves the key of its call ([`LocalSession`]).
//!
//! ```text
//!   link, open ── forgotten: the last frame says that ──> kept ── call ──> a greeting, asked
//!                                                          └── closed, or too many ──> gone
//! ```
//!
//! An end that is forgotten first keeps what the other one sends until that has forgotten it, too. A call
//! with a key that is not known closes the connection; the caller connects anew, and is treated as any
//! other.

use super::Tcp;
use super::card::{Hello, KeyId, Keyring};
use super::connection::OpenConnection;
use super::frame::FrameClass;
use super::frame_reader::{FrameReader, FrameSink};
use super::greeting::Greeting;
use super::link::LinkState;
use super::near::NearRings;
use super::opening::{KEPT, OPENING};
use crate::device::{Header, PacketSink};
use platform::base::{Peer, Span};
use platform::network::{LocalSession, SharedSecret};
use platform::sys::clock::monotonic_ns;
use platform::sys::tcp::{Moved, StreamConnection};

/// Kept connections of a process at most: each holds a descriptor.
const KEPT_MAX: usize = 16;

/// Bytes of a call: the name of a key, and what the session adds to a hello.
const KEY_BYTES: usize = size_of::<KeyId>();

/// How long a caller waits for an answer, in nanoseconds: it may connect anew.
const CALL_NS: u64 = 1_000_000_000;

/// The end of a connection inside this host, without its frames.
pub(crate) struct LocalEnd {
    pub(crate) session: LocalSession,
    /// Whether this end has opened the connection.
    pub(crate) connects: bool,
    /// The shared memory of the last link.
    pub(crate) near: Option<Box<NearRings>>,
    /// Packets before one is offered.
    pub(crate) offer_after: u32,
}

/// The kept connections of a process, the oldest first, by the numbers of their tokens.
#[derive(Default)]
pub(crate) struct KeptConnections {
    all: Vec<(u32, KeptConnection)>,
    next: u32,
    /// Whether one may have been called before it was kept.
    pub(super) is_unread: bool,
}

struct KeptConnection {
    connection: StreamConnection,
    end: LocalEnd,
    /// The frames of the other end, until it has no use for the connection, and what follows them.
    reader: FrameReader,
    job: [u8; 16],
    rank: u32,
}

/// The other end of a kept connection has called.
struct LaterCall {
    key: KeyId,
    hello: Hello,
}

impl Tcp {
    /// Ends the link to a peer, and keeps its connection if that may be of use to another one. Otherwise, the
    /// connection stays with the link.
    pub(super) fn release(&mut self, peer: Peer) {
        let Some(link) = &mut self.links[peer as usize] else { return };
        let (job, rank) = (link.job, link.rank);
        let is_whole = link.queue.is_written() && link.queue.is_between_frames();
        let LinkState::Open(connection) = &mut link.state else { return };
        if !(connection.is_local() && connection.is_ready() && is_whole) {
            return;
        }
        let offer_after = link.near.offers_after();
        let near = link.near.take();
        let words = near.as_ref().map_or([0; 2], |near| near.words());
        connection.push_words(FrameClass::Released, words, link.reader.received());
        if link.write(false).is_err() {
            return;
        }
        let LinkState::Open(connection) = std::mem::replace(&mut link.state, LinkState::Idle)
        else {
            return;
        };
        let reader = std::mem::take(&mut link.reader);
        let Some(mut kept) = KeptConnection::of(*connection, reader, job, rank) else { return };
        (kept.end.near, kept.end.offer_after) = (near, offer_after);
        let number = self.kept.next;
        self.kept.next = number.wrapping_add(1);
        self.kept.is_unread |= !kept.reader.behind_release().is_empty();
        self.watched.change(&kept.connection, KEPT | u64::from(number), false);
        self.kept.all.push((number, kept));
        if self.kept.all.len() > KEPT_MAX {
            self.drop_kept(0);
        }
    }

    /// Something has arrived on a kept connection.
    pub(super) fn advance_kept(&mut self, number: u32, sink: &mut impl PacketSink) {
        let Some(place) = self.kept.all.iter().position(|(it, _)| *it == number) else { return };
        let (_, kept) = &mut self.kept.all[place];
        let is_useful = kept.read();
        let call = match is_useful && !kept.end.connects {
            true => kept.take_call(&self.keys),
            false => Ok(None),
        };
        match call {
            Ok(None) if is_useful => {}
            Ok(None) | Err(()) => self.drop_kept(place),
            Ok(Some(call)) => {
                let (_, kept) = self.kept.all.remove(place);
                self.watched.remove(&kept.connection);
                self.decide(kept.into_greeting(&call), call.hello, false, sink);
            }
        }
    }

    /// Reads the kept connections that may have been called before they were kept.
    pub(super) fn read_kept(&mut self, sink: &mut impl PacketSink) {
        self.kept.is_unread = false;
        let numbers: Vec<_> = self.kept.all.iter().map(|(number, _)| *number).collect();
        numbers.into_iter().for_each(|number| self.advance_kept(number, sink));
    }

    /// Calls a peer, to which a connection is being opened, on a kept one, if there is one.
    pub(super) fn call_kept(&mut self, peer: Peer) {
        let Some(link) = &self.links[peer as usize] else { return };
        let hello = self.hello(link.rank, link.reader.received());
        let may_call = |(_, kept): &mut (u32, KeptConnection)| {
            let is_of = (kept.job, kept.rank) == (link.job, link.rank) && kept.end.connects;
            is_of && (kept.may_call() || kept.read() && kept.may_call())
        };
        let Some(place) = self.kept.all.iter_mut().position(may_call) else { return };
        let Some(link) = &mut self.links[peer as usize] else { return };
        let Some((key, secret)) = self.keys.get(link.key).map(|it| (link.key, it)) else { return };
        let Some(opening) = link.opening() else { return };
        let (_, kept) = self.kept.all.remove(place);
        let greeting = kept.call(key, secret, hello, monotonic_ns() + CALL_NS);
        let token = OPENING | u64::from(peer);
        self.watched.change(greeting.connection(), token, greeting.wants_to_write());
        opening.greeting = Some(greeting);
    }

    fn drop_kept(&mut self, place: usize) {
        let (_, kept) = self.kept.all.remove(place);
        // A child of this process may have a copy of the descriptor.
        self.watched.remove(&kept.connection);
    }
}

impl KeptConnection {
    /// Keeps the connection of a link to the process `rank` of `job`; `None` if it is none of this host, or
    /// a packet has been sent in part, or is being received to memory of the application.
    fn of(
        connection: OpenConnection, reader: FrameReader, job: [u8; 16], rank: u32,
    ) -> Option<Self> {
        let (connection, end) = connection.into_local()?;
        (!reader.holds_memory()).then_some(Self { connection, end, reader, job, rank })
    }

    /// Whether this end may call.
    fn may_call(&self) -> bool {
        self.end.connects && self.reader.is_released() && self.reader.behind_release().is_empty()
    }

    /// Reads what has arrived; whether the connection is of use.
    fn read(&mut self) -> bool {
        let mut bytes = [0; 2 << 10];
        loop {
            match self.connection.receive(Span::EMPTY, &mut bytes) {
                Ok(Moved::Bytes(count)) => {
                    if self.reader.feed(0, &bytes[..count], &mut NoSink).is_err() {
                        return false;
                    }
                    if count < bytes.len() {
                        // The socket was empty.
                        break;
                    }
                }
                Ok(Moved::Nothing) => break,
                Ok(Moved::End) | Err(_) => return false,
            }
        }
        // The end that has opened the connection is not called, and a call is short.
        let said = self.reader.behind_release().len();
        said < bytes.len() && !(self.end.connects && said > 0)
    }

    /// Calls the other end with a key.
    fn call(
        mut self, key: KeyId, secret: &SharedSecret, hello: Hello, deadline_ns: u64,
    ) -> Greeting {
        let near = self.shared_near();
        let LocalEnd { mut session, offer_after, .. } = self.end;
        let mut call = key.to_vec();
        session.call_again(secret, &hello.emit(), &mut call);
        let end = LocalEnd { session, connects: true, near, offer_after };
        Greeting::called(self.connection, key, end, call, deadline_ns)
    }

    /// The call of the other end, once it is there.
    ///
    /// # Errors
    /// Nothing: the connection is of no use.
    fn take_call(&mut self, keys: &Keyring) -> Result<Option<LaterCall>, ()> {
        let said = self.reader.behind_release();
        let Some(key) = said.first_chunk::<KEY_BYTES>().copied() else { return Ok(None) };
        let secret = keys.get(key).ok_or(())?;
        let mut call = said[KEY_BYTES..].to_vec();
        let hello = self.end.session.take_call::<{ Hello::LEN }>(secret, &mut call);
        let Some(hello) = hello.map_err(drop)? else { return Ok(None) };
        let hello = Hello::parse(&hello).ok_or(())?;
        // A connection belongs to two processes. A caller waits for the answer.
        let is_same = (hello.job, hello.rank) == (self.job, self.rank);
        if is_same && call.is_empty() { Ok(Some(LaterCall { key, hello })) } else { Err(()) }
    }

    /// Answers a call.
    fn into_greeting(mut self, call: &LaterCall) -> Greeting {
        let near = self.shared_near();
        let end = LocalEnd { near, ..self.end };
        Greeting::asked(self.connection, call.key, end)
    }

    /// The shared memory that both ends have kept.
    fn shared_near(&mut self) -> Option<Box<NearRings>> {
        let words = self.reader.kept_segment();
        self.end.near.take().filter(|near| near.words() == words)
    }
}

/// Nothing of a link that is forgotten is delivered.
struct NoSink;

impl PacketSink for NoSink {
    fn packet(&mut self, _from: Peer, _header: &Header, _data: &[u8]) {}
}

impl FrameSink for NoSink {
    fn access(&mut self, _from: Peer, _header: &Header, _data: &[u8]) {}
}
