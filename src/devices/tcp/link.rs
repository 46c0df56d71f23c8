//! The way to one peer, over any number of connections, one at a time.
//!
//! ```text
//!             first packet         proven, accepted
//!   Idle ──────────────────> Opening ─────────────> Open
//!    ▲                        │    ▲                  │
//!    │                        │    └── lost ──────────┤
//!    │                        └── nobody answers ──> Failed
//!    └────── lost, and the peer was leaving ──────────┘
//! ```
//!
//! A connection that a peer opens leads to `Open` from any state but `Failed`. What was not
//! acknowledged on a lost connection is written again on the next one. While that opens, the link accepts
//! packets as always; before the first one is open, it refuses them.

use super::card::{Hello, KeyId, KnownPeer, ListeningPlace, TcpCard};
use super::connection::OpenConnection;
use super::frame::FrameClass;
use super::frame_reader::{FrameReader, FrameSink};
use super::greeting::{Greeting, GreetingError};
use super::near::{NearState, OFFER_AFTER, SegmentNotice};
use super::send_queue::SendQueue;
use crate::device::PacketSink;
use platform::base::Peer;

/// The longest time for one address, in nanoseconds.
const ATTEMPT_NS: u64 = 5_000_000_000;

/// The longest time before all addresses are tried again.
const PAUSE_MAX_NS: u64 = 1_000_000_000;

/// The first time for which a connection that crosses this one is awaited; four times as long after each. It
/// comes at once, or there is none: the other end knows a link that this one has forgotten, until it has
/// disconnected, too.
const CROSSED_MIN_NS: u64 = 2_000_000;

pub(crate) struct Link {
    pub(crate) peer: Peer,
    card: TcpCard,
    host: Box<str>,
    /// The job of the peer, its rank there, and the key of connections.
    pub(crate) job: [u8; 16],
    pub(crate) rank: u32,
    pub(crate) key: KeyId,
    pub(crate) state: LinkState,
    pub(crate) queue: SendQueue,
    pub(crate) reader: FrameReader,
    /// A packet was refused; the peer of the engine hears of room.
    pub(crate) owes_room: bool,
    /// Whether the end of this process was announced on the connection.
    pub(crate) said_leaving: bool,
    /// When the connection was opened, in nanoseconds of the host's clock.
    pub(crate) opened_ns: u64,
    /// The process was found to have ended when a datagram was to be sent to it.
    pub(crate) has_ended: bool,
    /// The datagram for which a connection is being opened.
    pub(crate) first_datagram: Option<Box<[u8]>>,
    /// Shared memory beside the connection.
    pub(crate) near: NearState,
    /// Whether it was open before.
    pub(crate) was_near: bool,
    /// What is to be said of it.
    pub(crate) notice: Option<SegmentNotice>,
    /// Packets by the connection before it is offered.
    pub(crate) offer_after: u32,
}

pub(crate) enum LinkState {
    Idle,
    Opening(Box<Opening>),
    Open(Box<OpenConnection>),
    Failed,
}

/// Attempts to connect.
pub(crate) struct Opening {
    /// The connection that is tried.
    pub(crate) greeting: Option<Greeting>,
    places: Vec<ListeningPlace>,
    key: KeyId,
    /// The place that is tried next.
    next: usize,
    pause_ns: u64,
    crossed_ns: u64,
    /// When the next attempt begins, unless one is under way.
    pub(crate) retry_ns: u64,
    /// When the first attempt began.
    pub(crate) since_ns: u64,
    /// When the peer has failed: after `patience_ns` in which no system has accepted a connection. A
    /// process that computes accepts none, but its system does.
    deadline_ns: u64,
    patience_ns: u64,
    /// Attempts of this round that were refused: no process listens there.
    refused: usize,
    /// Why the last attempt failed.
    why: String,
}

impl Link {
    pub(crate) fn new(peer: Peer, known: KnownPeer) -> Self {
        let KnownPeer { card, host, job, rank, key } = known;
        Self {
            peer,
            card,
            host,
            job,
            rank,
            key,
            state: LinkState::Idle,
            queue: SendQueue::default(),
            reader: FrameReader::default(),
            owes_room: false,
            said_leaving: false,
            opened_ns: 0,
            has_ended: false,
            first_datagram: None,
            near: NearState::default(),
            was_near: false,
            notice: None,
            offer_after: OFFER_AFTER,
        }
    }

    /// Takes over what is known of the peer by now.
    pub(crate) fn learn(&mut self, known: &KnownPeer) {
        self.card = known.card.clone();
        self.host = known.host.clone();
        self.key = known.key;
    }

    #[inline]
    pub(crate) fn connection(&mut self) -> Option<&mut OpenConnection> {
        match &mut self.state {
            LinkState::Open(connection) => Some(connection),
            _ => None,
        }
    }

    pub(crate) fn opening(&mut self) -> Option<&mut Opening> {
        match &mut self.state {
            LinkState::Opening(opening) => Some(opening),
            _ => None,
        }
    }

    pub(crate) fn connection_is_open(&self) -> bool {
        matches!(self.state, LinkState::Open(_))
    }

    /// Whether all packets have arrived at the device of the peer, if that lives.
    pub(crate) fn is_settled(&self) -> bool {
        let is_written = |connection: &OpenConnection| {
            connection.is_local() && connection.has_written() && self.queue.is_written()
        };
        match &self.state {
            LinkState::Open(connection) if is_written(connection) => true,
            LinkState::Failed => true,
            _ => self.queue.is_empty(),
        }
    }

    /// Whether there is a connection, inside this host.
    #[inline]
    pub(crate) fn is_local(&self) -> bool {
        matches!(&self.state, LinkState::Open(connection) if connection.is_local())
    }

    pub(crate) fn has_failed(&self) -> bool {
        matches!(self.state, LinkState::Failed)
    }

    /// Whether there has been a connection.
    #[inline]
    pub(crate) fn has_been_open(&self) -> bool {
        self.opened_ns > 0
    }

    /// Whether packets have not arrived, or wait at the caller for room.
    pub(crate) fn has_packets(&self) -> bool {
        self.owes_room || !self.queue.is_empty()
    }

    /// Whether a connection is lost and the next one is not open.
    pub(crate) fn is_reopening(&self) -> bool {
        let is_opening = matches!(self.state, LinkState::Opening(_));
        is_opening && self.has_been_open() && self.first_datagram.is_none()
    }

    /// Begins to connect: the first attempt at `retry_ns`, the last within `patience_ns`; `pause_ns` before
    /// all addresses are tried for the second time.
    pub(crate) fn begin(&mut self, times: [u64; 4], why: String) {
        let opening = Opening::new(self.card.places().collect(), self.key, times, why);
        self.state = LinkState::Opening(Box::new(opening));
    }

    /// Takes over a connection whose other end has received the packets before `received`. False if
    /// that cannot be.
    pub(crate) fn open(
        &mut self, mut connection: OpenConnection, received: u64, sink: &mut impl PacketSink,
    ) -> bool {
        let peer = self.peer;
        if self.queue.rewind(received, |token| sink.sent(peer, token)).is_err() {
            return false;
        }
        self.reader.restart();
        (self.said_leaving, self.has_ended) = (false, false);
        if let Some(data) = self.first_datagram.take() {
            connection.push_datagram(self.reader.received(), &data);
        }
        self.state = LinkState::Open(Box::new(connection));
        true
    }

    /// The peer is lost; drops all packets to it. Returns why, as a sentence.
    pub(crate) fn fail(&mut self, why: &str) -> String {
        self.state = LinkState::Failed;
        self.queue.clear();
        self.owes_room = false;
        format!("{} {why}", self.card.process_on(&self.host))
    }

    /// Writes what the socket takes, an acknowledgement too if one is due `now`.
    ///
    /// # Errors
    /// Why the connection is lost, as part of a sentence.
    pub(crate) fn write(&mut self, acknowledges: bool) -> Result<(), String> {
        let LinkState::Open(connection) = &mut self.state else { return Ok(()) };
        loop {
            let is_due = acknowledges && self.reader.owes_acknowledgement();
            let is_due = is_due || self.reader.owes_at_once();
            if is_due && self.queue.is_between_frames() {
                connection.push_control(FrameClass::Acknowledgement, self.reader.received());
                self.reader.note_acknowledged();
            }
            if self.queue.is_between_frames()
                && let Some(SegmentNotice { class, words }) = self.notice.take()
            {
                connection.push_words(class, words, self.reader.received());
            }
            let is_written = connection.write(&mut self.queue).map_err(|why| why.to_string())?;
            // One that had to wait for the end of a frame leaves now.
            if !(is_written && self.reader.owes_at_once()) {
                return Ok(());
            }
        }
    }

    /// Announces on the open connection that this process may exit.
    ///
    /// # Errors
    /// As [`Link::write`].
    pub(crate) fn say_leaving(&mut self) -> Result<(), String> {
        if let LinkState::Open(connection) = &mut self.state
            && self.queue.is_between_frames()
            && !self.said_leaving
        {
            connection.push_control(FrameClass::Leaving, self.reader.received());
            self.said_leaving = true;
        }
        self.write(true)
    }

    /// Sends a datagram if there is a connection with room for it.
    ///
    /// # Errors
    /// As [`Link::write`].
    pub(crate) fn send_datagram(&mut self, data: &[u8]) -> Result<(), String> {
        if let LinkState::Open(connection) = &mut self.state
            && self.queue.is_between_frames()
            && connection.is_ready()
        {
            connection.push_datagram(self.reader.received(), data);
        }
        self.write(false)
    }

    /// Delivers what has arrived; the number of packets.
    ///
    /// # Errors
    /// Why the connection is lost, as part of a sentence.
    #[inline]
    pub(crate) fn read(
        &mut self, scratch: &mut [u8], sink: &mut impl FrameSink, packets: &mut usize,
    ) -> Result<(), String> {
        let LinkState::Open(connection) = &mut self.state else { return Ok(()) };
        let read = connection.read(self.peer, &mut self.reader, scratch, sink, packets);
        let peer = self.peer;
        let acknowledged = self.reader.acknowledged();
        let known = self.queue.acknowledge(acknowledged, |token| sink.sent(peer, token));
        known.map_err(|_| "the other end acknowledged packets that were not sent".to_owned())?;
        if self.owes_room && self.queue.has_much_room() {
            self.owes_room = false;
            sink.room(peer);
        }
        read?;
        if self.reader.owes_at_once() { self.write(true) } else { Ok(()) }
    }
}

/// What an attempt has led to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// One is under way, or one will begin.
    Pending,
    /// There will be none: why, as part of a sentence.
    Hopeless(String),
    /// The same: no process listens at any address.
    Ended(String),
}

impl Opening {
    /// Attempts at these places, with the times of [`Link::begin`].
    pub(crate) fn new(
        places: Vec<ListeningPlace>, key: KeyId,
        [now_ns, retry_ns, patience_ns, pause_ns]: [u64; 4], why: String,
    ) -> Self {
        Self {
            greeting: None,
            places,
            key,
            next: 0,
            pause_ns,
            crossed_ns: CROSSED_MIN_NS,
            retry_ns,
            since_ns: now_ns,
            deadline_ns: now_ns + patience_ns,
            patience_ns,
            refused: 0,
            why,
        }
    }

    /// The attempt under way had no answer in its time.
    pub(crate) fn unanswered(&mut self, now_ns: u64) {
        if self.greeting.as_ref().is_some_and(Greeting::is_connected) {
            self.deadline_ns = now_ns + self.patience_ns;
        }
        self.lost(now_ns, GreetingError { why: "no answer".to_owned(), is_refusal: false });
    }

    /// The attempt under way has failed.
    pub(crate) fn lost(&mut self, now_ns: u64, error: GreetingError) {
        self.greeting = None;
        // A kept connection may be refused where a new one is not.
        self.refused += usize::from(error.is_refusal && self.next > 0);
        self.why = error.why;
        if self.next == self.places.len() {
            self.retry_ns = now_ns + self.pause_ns;
            self.pause_ns = (2 * self.pause_ns).min(PAUSE_MAX_NS);
        } else {
            self.retry_ns = now_ns;
        }
    }

    /// The peer connects to this process at the same time: that connection is awaited for a while.
    pub(crate) fn crossed(&mut self, now_ns: u64) {
        self.greeting = None;
        self.next = 0;
        self.refused = 0;
        self.retry_ns = now_ns + self.crossed_ns;
        self.crossed_ns = (4 * self.crossed_ns).min(PAUSE_MAX_NS);
    }

    /// Begins the next attempt if it is time.
    pub(crate) fn proceed(&mut self, now_ns: u64, hello: Hello) -> Attempt {
        while self.greeting.is_none() && now_ns >= self.retry_ns {
            if self.next == self.places.len() {
                if self.refused == self.places.len() {
                    return Attempt::Ended(format!("has ended ({})", self.why));
                }
                (self.next, self.refused) = (0, 0);
            }
            if now_ns >= self.deadline_ns {
                return Attempt::Hopeless(format!("does not answer ({})", self.why));
            }
            let to = self.places[self.next];
            self.next += 1;
            let deadline_ns = now_ns + self.patience_ns.min(ATTEMPT_NS);
            match Greeting::start(to, self.key, hello, deadline_ns) {
                Ok(greeting) => self.greeting = Some(greeting),
                Err(error) => self.lost(now_ns, error.into()),
            }
        }
        Attempt::Pending
    }

    /// When something has to be done without an event.
    pub(crate) fn due_ns(&self) -> u64 {
        match &self.greeting {
            Some(greeting) => greeting.deadline_ns,
            None => self.retry_ns,
        }
    }
}
