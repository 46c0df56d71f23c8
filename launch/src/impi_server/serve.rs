//! The event loop of `suiro-impi-server`.
//!
//! ```text
//!   connection ── bytes ──> ImpiServer ── bytes ──> connection ── ends ──> half closed ──> closed
//! ```
//!
//! A connection that the server ends is closed for writing first, and what the other end still sends is
//! thrown away for a moment: otherwise the kernel would reset it, and the other end would not read why.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use platform::base::Span;
use platform::impi::ImpiServer;
use platform::sys::poll::PollSet;
use platform::sys::signals::Signals;
use platform::sys::tcp::{Moved, SendPart, StreamConnection, TcpAcceptor};

use super::say;

/// Connections in all, at most: clients, those that have not joined, and those that end. The kernel holds
/// further ones until there is room.
const CONNECTIONS_MAX: usize = 1024;

/// How long a connection that ends may still send.
const LINGER: Duration = Duration::from_secs(1);

/// The kernel ends a connection whose other end does not acknowledge for this time: as between clients, so
/// that the server ends with a world that ends because a link is silent.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(4);

const READ_BYTES: usize = 64 << 10;

/// Why the server has ended.
pub(super) enum ServeEnd {
    /// There is nothing left to do.
    Over,
    /// This signal.
    Signal(i32),
}

#[derive(Clone, Copy, Debug)]
enum ServeToken {
    Signals,
    Accept,
    Connection(u32),
}

/// A connection, and once it ends, when it is closed.
struct Served {
    connection: StreamConnection,
    closes_at: Option<Instant>,
}

struct ServeTable<'a> {
    server: &'a mut ImpiServer,
    connections: BTreeMap<u32, Served>,
    /// The number of the next connection; none is used twice.
    next: u32,
}

/// Serves until all has ended, or a signal arrives.
///
/// # Errors
/// The system's, when it cannot wait for connections.
pub(super) fn until_end(
    acceptor: &TcpAcceptor, server: &mut ImpiServer, signals: &Signals,
) -> io::Result<ServeEnd> {
    let connections = BTreeMap::new();
    let mut table = ServeTable { server, connections, next: 0 };
    let mut ended_by = None;
    loop {
        let now = Instant::now();
        table.settle(now);
        if table.server.outcome().is_some() && table.connections.is_empty() {
            return Ok(ended_by.map_or(ServeEnd::Over, ServeEnd::Signal));
        }
        let tokens = table.wait(acceptor, signals, now)?;
        // The wait may have been long.
        let now = Instant::now();
        for token in tokens {
            match token {
                ServeToken::Signals => {
                    if let Some(signal) = signals.take() {
                        ended_by.get_or_insert(signal);
                        table.server.interrupt("a signal has ended the server");
                    }
                }
                ServeToken::Accept => table.accept(acceptor, now),
                ServeToken::Connection(number) => table.read(number),
            }
        }
    }
}

impl ServeTable<'_> {
    fn accepts(&self, now: Instant) -> bool {
        self.connections.len() < CONNECTIONS_MAX
            && self.server.has_room(now)
            && self.server.outcome().is_none()
    }

    fn wait(
        &self, acceptor: &TcpAcceptor, signals: &Signals, now: Instant,
    ) -> io::Result<Vec<ServeToken>> {
        let mut set = PollSet::default();
        set.add_read(signals.as_fd(), ServeToken::Signals);
        if self.accepts(now) {
            set.add_read(acceptor.as_fd(), ServeToken::Accept);
        }
        let mut deadline = self.server.next_deadline(now);
        for (number, Served { connection, closes_at }) in &self.connections {
            let token = ServeToken::Connection(*number);
            match closes_at {
                Some(at) => {
                    set.add_read(connection.as_fd(), token);
                    deadline = Some(deadline.map_or(*at, |other| other.min(*at)));
                }
                None if self.server.takes_input(*number) => {
                    set.add_read(connection.as_fd(), token);
                }
                None => set.add_end(connection.as_fd(), token),
            }
            if self.server.has_unsent(*number) {
                set.add_write(connection.as_fd(), token);
            }
        }
        set.wait(deadline.map(|at| at.saturating_duration_since(now)))
    }

    fn accept(&mut self, acceptor: &TcpAcceptor, now: Instant) {
        while self.accepts(now)
            && let Some(connection) = acceptor.accept()
        {
            let Some(peer) = connection.peer_address() else { continue };
            if connection.configure(SILENCE_TIMEOUT).is_err() {
                continue;
            }
            let peer = SocketAddr::new(peer.ip().to_canonical(), peer.port());
            self.server.connected(self.next, &peer.to_string(), now);
            self.connections.insert(self.next, Served { connection, closes_at: None });
            self.next += 1;
        }
    }

    /// Reads once.
    fn read(&mut self, number: u32) {
        let Some(served) = self.connections.get(&number) else { return };
        let mut buffer = [0; READ_BYTES];
        match served.connection.receive(Span::EMPTY, &mut buffer) {
            Ok(Moved::Bytes(count)) if served.closes_at.is_none() => {
                self.server.received(number, &buffer[..count]);
            }
            Ok(Moved::Bytes(_) | Moved::Nothing) => {}
            Ok(Moved::End) | Err(_) => self.close(number),
        }
    }

    fn close(&mut self, number: u32) {
        self.server.closed(number);
        drop(self.connections.remove(&number));
    }

    /// Does what is due after events: what is late, what is to be sent, said or closed.
    fn settle(&mut self, now: Instant) {
        self.server.tick(now);
        // A connection that fails may end those before it.
        loop {
            let numbers: Vec<_> = self.connections.keys().copied().collect();
            numbers.into_iter().for_each(|number| self.write(number, now));
            let mut open = self.connections.iter().filter(|(_, it)| it.closes_at.is_none());
            if !open.any(|(number, _)| self.server.is_ending(*number)) {
                break;
            }
        }
        self.server.take_notes().iter().for_each(|note| say(note));
    }

    /// Sends what the other end takes now, and closes a connection whose time has come.
    fn write(&mut self, number: u32, now: Instant) {
        let Some(served) = self.connections.get_mut(&number) else { return };
        if served.closes_at.is_some_and(|at| now >= at) {
            return self.close(number);
        }
        let unsent = self.server.unsent(number);
        let mut is_over = false;
        while !unsent.is_empty() && !is_over {
            match served.connection.send(&[SendPart::Bytes(unsent)]) {
                Ok(Moved::Bytes(count)) => drop(unsent.drain(..count)),
                Ok(Moved::Nothing) => break,
                Ok(Moved::End) | Err(_) => is_over = true,
            }
        }
        let is_sent = unsent.is_empty();
        if is_over {
            self.close(number);
        } else if self.server.is_ending(number) && served.closes_at.is_none() {
            served.closes_at = Some(now + LINGER);
            if is_sent {
                served.connection.end_sending();
            }
        }
    }
}
