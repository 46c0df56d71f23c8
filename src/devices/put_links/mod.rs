//! Puts and additions to counters of ranks that an interface reaches by TCP.
//!
//! ```text
//!   application, engine thread ──post──> OutgoingPuts ──frames──> socket
//!   engine thread <── addition ── IncomingPuts <──frames── socket
//! ```
//!
//! Each two ranks whose programs name each other have a connection, for interfaces alone. The device `tcp`
//! makes it when the first program is made, as it makes its own: both ends prove the job's secret
//! ([`ConnectionDesk`]). What the posting thread cannot write at once, the engine thread writes when the
//! socket has room; it reads whatever happens, so no cycle of full sockets stops. An application that waits
//! may do so in its place.
//!
//! A lost connection is not made again: the programs that name the peer end with an error. The kernel
//! notices a silent peer, with the times of the device's connections.
//!
//! It knows no programs, and memory and counters by [`Landing`] only.

mod desk;
mod frame;
mod incoming;
mod link;
mod links;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, RwLock};

use crate::device::rma::{MemoryKey, RemoteAddress};
use crate::devices::interface::{ActionId, DueAction, InterfaceAction, PART_MAX, Signal};
pub(crate) use desk::{ConnectionDesk, ProvenStream};
use frame::PutFrame;
use incoming::IncomingPuts;
pub(crate) use incoming::Landing;
pub(crate) use link::process_failed;
use link::{ActionEnd, EndSink, OutgoingPuts, PutLinkState};
pub(crate) use links::InterfaceLinks;
use platform::base::{ErrorClass, MpiError, Peer, Result, Span};
use platform::sys::doorbell::{Doorbell, DoorbellAddress};
use platform::sys::poll::is_readable;
use platform::sys::ready_set::Ready;
use platform::sys::tcp::{Moved, StreamConnection, Watched};

/// Bytes that are received beside the data of a put.
const SCRATCH_BYTES: usize = 32 << 10;

/// Bytes that one look takes from a connection, about.
const READ_MAX: usize = 1 << 20;

const CLOSED: &str = "the other end closed the connection";

/// The connections of one rank.
pub(crate) struct PutLinks {
    me: Peer,
    /// Ranks of the job.
    size: Peer,
    /// Whether ranks of this host are reached by TCP, too.
    is_everywhere: bool,
    desk: Arc<ConnectionDesk>,
    watched: Arc<Watched>,
    /// Rung by ranks of this host.
    doorbell: Doorbell,
    links: RwLock<BTreeMap<Peer, Arc<PutLink>>>,
    /// Connections that are lost.
    lost: Mutex<Vec<LostLink>>,
    /// Held while bytes land.
    landing: Mutex<Box<[u8]>>,
}

/// The link to one peer.
#[derive(Default)]
struct PutLink {
    outgoing: Mutex<OutgoingPuts>,
    incoming: Mutex<IncomingPuts>,
    /// The process at the other end.
    process: Mutex<String>,
}

/// A peer without a connection from now on.
#[derive(Debug)]
pub(crate) struct LostLink {
    pub(crate) peer: Peer,
    /// The error of operations with it.
    pub(crate) error: Box<MpiError>,
    /// Whether those in progress end: the peer had not announced its end.
    pub(crate) ends_programs: bool,
}

/// What has happened since the last look. It is used again: a look allocates no memory.
#[derive(Debug, Default)]
pub(crate) struct LinkNews {
    /// Actions that have ended.
    pub(crate) ended: Vec<ActionEnd>,
    pub(crate) lost: Vec<LostLink>,
    /// Whether anything has arrived.
    pub(crate) has_arrivals: bool,
    /// Room for what the sockets report.
    ready: Vec<Ready>,
}

impl PutLinks {
    /// The links of rank `me` of `size`: to ranks of other hosts, or to all.
    ///
    /// # Errors
    /// `Other` if this process may not have more descriptors.
    pub(crate) fn new(me: Peer, size: Peer, is_everywhere: bool) -> Result<Self> {
        let failed = |error: io::Error| {
            let why = format!("the interface of a rank cannot watch sockets: {error}");
            ErrorClass::Other.error(why)
        };
        let watched = Arc::new(Watched::new().map_err(failed)?);
        let doorbell = Doorbell::new().map_err(failed)?;
        watched.add_beside(&doorbell).map_err(failed)?;
        Ok(Self {
            me,
            size,
            is_everywhere,
            desk: Arc::new(ConnectionDesk::new(me, watched.clone())),
            watched,
            doorbell,
            links: RwLock::default(),
            lost: Mutex::default(),
            landing: Mutex::new(vec![0; SCRATCH_BYTES].into()),
        })
    }

    /// What the device that connects gets.
    pub(crate) fn desk(&self) -> Arc<ConnectionDesk> {
        self.desk.clone()
    }

    fn send(
        &self, peer: Peer, id: Option<ActionId>, frame: PutFrame, data: Span,
        ended: &mut EndSink<'_>,
    ) {
        let link = self.link(peer);
        let mut outgoing = link.outgoing.lock();
        let waits = !outgoing.is_written();
        outgoing.push(id, frame, data).into_iter().for_each(&mut *ended);
        // Otherwise the engine thread writes when there is room.
        if !waits {
            self.write(peer, &link, &mut outgoing, ended);
        }
    }

    fn link(&self, peer: Peer) -> Arc<PutLink> {
        if let Some(link) = self.links.read().get(&peer) {
            return link.clone();
        }
        self.links.write().entry(peer).or_default().clone()
    }

    /// Writes what the socket takes, and watches it for room if that is not all.
    fn write(
        &self, peer: Peer, link: &PutLink, outgoing: &mut OutgoingPuts, ended: &mut EndSink<'_>,
    ) {
        match outgoing.write(ended) {
            Ok(is_written) => {
                if let PutLinkState::Open(connection) = &outgoing.state
                    && outgoing.is_blocked == is_written
                {
                    self.watched.change(&**connection, u64::from(peer), !is_written);
                    outgoing.is_blocked = !is_written;
                }
            }
            Err(why) => {
                let error = unanswered(peer, &link.process.lock(), &why);
                self.lose(peer, outgoing, error, true, ended);
                self.watched.ring();
            }
        }
    }

    fn lose(
        &self, peer: Peer, outgoing: &mut OutgoingPuts, error: Box<MpiError>, ends_programs: bool,
        ended: &mut EndSink<'_>,
    ) {
        if let PutLinkState::Open(connection) = &outgoing.state {
            self.watched.remove(&**connection);
        }
        if outgoing.lose(&error, ended) {
            tracing::debug!(peer, why = error.why, "the connection of two interfaces has ended");
            self.lost.lock().push(LostLink { peer, error, ends_programs });
        }
    }
}

/// One thread at a time.
impl PutLinks {
    fn serve(&self, landing: &dyn Landing, news: &mut LinkNews) {
        news.ended.clear();
        news.has_arrivals = false;
        let ready = std::mem::take(&mut news.ready);
        for (peer, stream) in self.desk.take_arrived() {
            self.adopt(peer, stream, landing, news);
        }
        for event in &ready {
            let peer = event.token as Peer;
            let Some(link) = self.links.read().get(&peer).cloned() else { continue };
            if event.writable {
                self.write(peer, &link, &mut link.outgoing.lock(), &mut |it| news.ended.push(it));
            }
            if event.readable {
                self.read(peer, &link, landing, news);
            }
        }
        news.ready = ready;
        news.lost = std::mem::take(&mut self.lost.lock());
    }

    fn adopt(&self, peer: Peer, stream: ProvenStream, landing: &dyn Landing, news: &mut LinkNews) {
        let ProvenStream { connection, early, unsent, process } = stream;
        let (link, connection) = (self.link(peer), Arc::new(connection));
        *link.process.lock() = process;
        let mut outgoing = link.outgoing.lock();
        if let Err(why) = self.watched.add(&*connection, u64::from(peer), false) {
            let error = unanswered(peer, &link.process.lock(), &why.to_string());
            return self.lose(peer, &mut outgoing, error, true, &mut |it| news.ended.push(it));
        }
        outgoing.open(connection, unsent);
        self.write(peer, &link, &mut outgoing, &mut |it| news.ended.push(it));
        drop(outgoing);
        let fed = {
            let _held = self.landing.lock();
            link.incoming.lock().feed(&early, landing)
        };
        news.has_arrivals |= !early.is_empty();
        if let Err(error) = fed {
            self.expel(peer, &link, &error.why, news);
        }
    }

    /// The peer breaks the rules.
    fn expel(&self, peer: Peer, link: &PutLink, why: &str, news: &mut LinkNews) {
        let why = format!("breaks the rules ({why})");
        let error = process_failed(peer, &link.process.lock(), &why);
        self.lose(peer, &mut link.outgoing.lock(), error, true, &mut |it| news.ended.push(it));
    }

    /// The connection has ended.
    fn end(&self, peer: Peer, link: &PutLink, why: &str, is_leaving: bool, news: &mut LinkNews) {
        let error = unanswered(peer, &link.process.lock(), why);
        self.lose(peer, &mut link.outgoing.lock(), error, !is_leaving, &mut |it| {
            news.ended.push(it)
        });
    }

    fn read(&self, peer: Peer, link: &PutLink, landing: &dyn Landing, news: &mut LinkNews) {
        let connection = match &link.outgoing.lock().state {
            PutLinkState::Open(connection) => connection.clone(),
            PutLinkState::Opening | PutLinkState::Lost(_) => return,
        };
        let mut incoming = link.incoming.lock();
        let mut taken = 0;
        while taken < READ_MAX {
            let is_leaving = incoming.is_leaving;
            match self.receive(&connection, &mut incoming, landing) {
                Ok(Ok(Moved::Bytes(bytes))) => {
                    taken += bytes;
                    continue;
                }
                Ok(Ok(Moved::Nothing)) => (),
                Ok(Ok(Moved::End)) => self.end(peer, link, CLOSED, is_leaving, news),
                Ok(Err(error)) => self.end(peer, link, &error.to_string(), is_leaving, news),
                Err(error) => self.expel(peer, link, &error.why, news),
            }
            break;
        }
        news.has_arrivals |= taken > 0;
    }

    /// Receives once; the error of the connection.
    ///
    /// # Errors
    /// The rule that the peer breaks.
    fn receive(
        &self, connection: &StreamConnection, incoming: &mut IncomingPuts, landing: &dyn Landing,
    ) -> Result<io::Result<Moved>> {
        let mut scratch = self.landing.lock();
        let place = incoming.place(landing)?;
        let moved = connection.receive(place, &mut scratch);
        if let Ok(Moved::Bytes(bytes)) = moved {
            let placed = bytes.min(place.len());
            if placed > 0 {
                incoming.placed(placed, landing)?;
            }
            incoming.feed(&scratch[..bytes - placed], landing)?;
        }
        Ok(moved)
    }
}

impl InterfaceLinks for PutLinks {
    fn are_everywhere(&self) -> bool {
        self.is_everywhere
    }

    fn put_max(&self) -> usize {
        PART_MAX
    }

    fn knows(&self, peer: Peer) -> bool {
        peer < self.size && peer != self.me
    }

    fn connect(&self, peer: Peer) -> Option<Result<(), String>> {
        if let Some(link) = self.links.read().get(&peer)
            && let PutLinkState::Lost(error) = &link.outgoing.lock().state
        {
            return Some(Err(error.why.clone()));
        }
        self.desk.connect(peer)
    }

    fn post(&self, due: &DueAction) -> Option<Result> {
        let (peer, frame, data) = match due.action {
            InterfaceAction::Put { from, to, signal } => {
                (to.peer, put(to, from.len(), signal), from)
            }
            InterfaceAction::Signal { peer, signal } => {
                let nowhere = RemoteAddress { peer, key: MemoryKey(0), offset: 0 };
                (peer, put(nowhere, 0, Some(signal)), Span::EMPTY)
            }
            _ => {
                let why = "an interface puts to other hosts, and does nothing else there";
                return Some(Err(ErrorClass::Intern.error(why)));
            }
        };
        let mut end = None;
        // What waits before it is written by the engine thread, so no other action ends here.
        self.send(peer, Some(due.id), frame, data, &mut |(_, own)| end = Some(own));
        end
    }

    fn leave(&self) {
        let peers: Vec<Peer> = self.links.read().keys().copied().collect();
        for peer in peers {
            self.send(peer, None, PutFrame::Leaving, Span::EMPTY, &mut |_| ());
        }
    }

    fn look(&self, landing: &dyn Landing, news: &mut LinkNews) {
        self.watched.look(&mut news.ready);
        self.serve(landing, news);
    }

    fn look_beside(&self, landing: &dyn Landing, news: &mut LinkNews) {
        self.watched.look_beside(&mut news.ready);
        self.serve(landing, news);
    }

    fn fence(&self) {
        drop(self.landing.lock());
    }

    fn doorbell(&self) -> DoorbellAddress {
        self.doorbell.address()
    }

    fn ring(&self) {
        self.watched.ring();
    }

    fn prepare_sleep(&self) {
        self.doorbell.drain();
    }

    fn sleep(&self, timeout: Duration) {
        is_readable(&*self.watched.descriptor(), timeout);
    }
}

/// The error of operations with a peer to which there is no connection any more.
fn unanswered(peer: Peer, process: &str, why: &str) -> Box<MpiError> {
    process_failed(peer, process, &format!("does not answer ({why})"))
}

fn put(to: RemoteAddress, len: usize, signal: Option<Signal>) -> PutFrame {
    // Without bytes it names no memory.
    let (key, offset) = if len > 0 { (to.key, to.offset) } else { (MemoryKey(0), 0) };
    PutFrame::Put { key, offset, len: len as u32, signal }
}
