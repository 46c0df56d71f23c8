//! The event loop of `suiro-names`.
//!
//! ```text
//!   connection ── proof in time ──> job: requests, replies ── its end ──> its names are removed
//!        └── no proof, or not in time ──> closed
//! ```
//!
//! Strangers cost a bounded number of connections for a bounded time. What a job may keep is bounded
//! by [`NameService`], what waits for it by [`NameCaller`].

use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use platform::base::Slab;
use platform::bootstrap::NameService;
use platform::names::NameCaller;
use platform::network::SharedSecret;
use platform::sys::poll::PollSet;
use platform::sys::signals::Signals;
use platform::sys::tcp::TcpAcceptor;

/// Connections that have proved nothing, at most, and the time for the proof. The kernel holds further
/// ones until there is room.
const UNPROVEN_MAX: usize = 64;
const PROOF_TIMEOUT: Duration = Duration::from_secs(2);

/// Connections in all, at most.
const CALLERS_MAX: usize = 8192;

/// A connection.
struct NameConnection {
    caller: NameCaller,
    /// When a proof is too late.
    until: Instant,
}

#[derive(Clone, Copy, Debug)]
enum NameToken {
    Signals,
    Accept,
    Caller(u32),
}

/// Serves jobs until a signal arrives; its number.
///
/// # Errors
/// The system's, when it cannot wait for connections.
pub(super) fn until_signal(
    acceptor: &TcpAcceptor, secret: &SharedSecret, signals: &Signals,
) -> io::Result<i32> {
    let mut table = NameTable { names: NameService::of_jobs(), connections: Slab::default() };
    loop {
        let now = Instant::now();
        table.drop_late(now);
        let tokens = table.wait(acceptor, signals, now)?;
        // The wait may have been long.
        let now = Instant::now();
        for token in tokens {
            match token {
                NameToken::Signals => {
                    if let Some(signal) = signals.take() {
                        return Ok(signal);
                    }
                }
                NameToken::Accept => table.accept(acceptor, secret, now),
                NameToken::Caller(key) => table.advance(key),
            }
        }
    }
}

struct NameTable {
    /// The publisher is the key of the connection.
    names: NameService,
    connections: Slab<NameConnection>,
}

impl NameTable {
    fn unproven(&self) -> impl Iterator<Item = (u32, &NameConnection)> {
        self.connections.iter().filter(|(_, connection)| !connection.caller.is_proven())
    }

    fn has_room(&self) -> bool {
        self.connections.len() < CALLERS_MAX && self.unproven().count() < UNPROVEN_MAX
    }

    fn wait(
        &self, acceptor: &TcpAcceptor, signals: &Signals, now: Instant,
    ) -> io::Result<Vec<NameToken>> {
        let mut set = PollSet::default();
        set.add_read(signals.as_fd(), NameToken::Signals);
        if self.has_room() {
            set.add_read(acceptor.as_fd(), NameToken::Accept);
        }
        for (key, NameConnection { caller, .. }) in self.connections.iter() {
            if caller.takes_requests() {
                set.add_read(caller.as_fd(), NameToken::Caller(key));
            }
            if caller.has_unsent() {
                set.add_write(caller.as_fd(), NameToken::Caller(key));
            }
        }
        let deadline = self.unproven().map(|(_, connection)| connection.until).min();
        set.wait(deadline.map(|at| at.saturating_duration_since(now)))
    }

    fn accept(&mut self, acceptor: &TcpAcceptor, secret: &SharedSecret, now: Instant) {
        while self.has_room()
            && let Some(connection) = acceptor.accept()
        {
            let (caller, until) = (NameCaller::new(connection, secret), now + PROOF_TIMEOUT);
            self.connections.insert(NameConnection { caller, until });
        }
    }

    /// Serves a connection, which may be gone.
    fn advance(&mut self, key: u32) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        let names = &mut self.names;
        let advanced = connection.caller.advance(|request| {
            let reply = names.serve(key, &request);
            request.reply_bytes(reply)
        });
        if advanced.is_err() {
            self.remove(key);
        }
    }

    fn drop_late(&mut self, now: Instant) {
        let late = self.unproven().filter(|(_, connection)| now >= connection.until);
        let late: Vec<_> = late.map(|(key, _)| key).collect();
        late.into_iter().for_each(|key| self.remove(key));
    }

    fn remove(&mut self, key: u32) {
        drop(self.connections.remove(key));
        self.names.forget(key);
    }
}
