//! A client joins a world: the start-up with blocking I/O and a deadline.
//!
//! ```text
//!   resolve, connect (again while the server does not listen yet) ── commands ──> World, ServerConnection
//! ```

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::thread;
use std::time::{Duration, Instant};

use super::authentication::{Authentication, ImpiSecurity};
use super::channel::ImpiChannel;
use super::client::ImpiClient;
use super::commands::{ImpiCommand, push};
use super::world::{ClientOffer, World};
use crate::base::Span;
use crate::sys::poll::PollSet;
use crate::sys::tcp::{Moved, SendPart, StreamConnection};

/// How long a server that does not listen yet is tried again, and how often.
const RETRY: Duration = Duration::from_secs(3);
const RETRY_PAUSE: Duration = Duration::from_millis(50);

/// The time for a connection to one address, so that others are tried before the deadline.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(4);

/// The kernel ends a connection whose other end does not acknowledge for this time: during the start-up,
/// and after it, when the server is not needed any more.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(4);
const LATER_SILENCE_TIMEOUT: Duration = Duration::from_secs(120);

/// The time for the last command.
const FINI_TIMEOUT: Duration = Duration::from_secs(1);

const READ_BYTES: usize = 64 << 10;

/// The connection to the server after the start-up.
pub struct ServerConnection {
    link: ServerLink,
}

struct ServerLink {
    connection: StreamConnection,
    channel: ImpiChannel,
}

/// Whether a text is `HOST:PORT`, with a name or an address of the host.
pub fn is_server_address(text: &str) -> bool {
    if let Ok(place) = text.parse::<SocketAddr>() {
        return place.port() > 0;
    }
    let is_name = |name: &str| {
        let is_good = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        !name.is_empty() && name.bytes().all(is_good)
    };
    let parts = text.split_once(':');
    parts
        .is_some_and(|(host, port)| is_name(host) && port.parse::<u16>().is_ok_and(|port| port > 0))
}

/// Joins a world as client number `client`: waits for all other clients. `server` is `HOST:PORT`.
///
/// # Errors
/// A sentence that names the server: it cannot be reached, refuses this client, has ended the start-up, or
/// does not follow the protocol; or the deadline has passed.
pub fn join(
    server: &str, client: u32, offer: &ClientOffer, security: &ImpiSecurity, deadline: Instant,
) -> Result<(World, ServerConnection), String> {
    join_at(server, client, offer, security, deadline)
        .map_err(|why| format!("cannot join the IMPI server {server} as client {client}: {why}"))
}

fn join_at(
    server: &str, client: u32, offer: &ClientOffer, security: &ImpiSecurity, deadline: Instant,
) -> Result<(World, ServerConnection), String> {
    let places: Vec<_> = server.to_socket_addrs().map_err(|error| error.to_string())?.collect();
    let begin = Instant::now();
    let connection = connect_any(&places, begin, deadline)?;
    connection.configure(SILENCE_TIMEOUT).map_err(|error| error.to_string())?;
    let (channel, authentication) = match security {
        ImpiSecurity::Sealed(secret) => {
            (ImpiChannel::sealed_client(secret), Authentication { accepts_none: true, key: None })
        }
        ImpiSecurity::Cleartext(authentication) => (ImpiChannel::cleartext(), *authentication),
    };
    let mut link = ServerLink { connection, channel };
    let late = |what: &str| {
        let waited = begin.elapsed().as_secs_f64();
        format!("waited {waited:.1} s for {what}; SUIRO_IMPI_TIMEOUT sets this time")
    };
    while !link.channel.is_open() {
        if !link.move_bytes(deadline).map_err(LinkEnd::before_proof)? {
            return Err(late("the server to prove the key"));
        }
    }
    let (mut out, id) = (Vec::new(), link.channel.world());
    let mut client = ImpiClient::new(client, offer.clone(), authentication, id, &mut out)?;
    loop {
        link.channel.send(&out);
        out.clear();
        let moved = link.move_bytes(deadline);
        // What has arrived before the end of the connection says more.
        if let Some(world) = client.advance(&mut link.channel.input, &mut out)? {
            // Without effect is no harm: the connection only tells the server of the end.
            let _ = link.connection.configure(LATER_SILENCE_TIMEOUT);
            return Ok((world, ServerConnection { link }));
        }
        match moved {
            Ok(true) => {}
            Ok(false) => return Err(late(&client.awaited())),
            Err(end) => return Err(end.after_proof(security, &client)),
        }
    }
}

/// Connects to the first place that answers. One that refuses, because the server does not listen yet, is
/// tried again for a short time.
fn connect_any(
    places: &[SocketAddr], begin: Instant, deadline: Instant,
) -> Result<StreamConnection, String> {
    let mut last = "its name has no address".to_owned();
    loop {
        for place in places {
            match connect(*place, deadline.min(Instant::now() + CONNECT_TIMEOUT)) {
                Ok(connection) => return Ok(connection),
                Err(error) => last = format!("{place}: {error}"),
            }
        }
        let now = Instant::now();
        if places.is_empty() || now >= deadline || now >= begin + RETRY {
            return Err(last);
        }
        thread::sleep(RETRY_PAUSE);
    }
}

fn connect(place: SocketAddr, until: Instant) -> io::Result<StreamConnection> {
    let connection = StreamConnection::start(place)?;
    let is_ready = wait_until(until, |set| set.add_write(connection.as_fd(), ()))?;
    match connection.error() {
        Some(error) => Err(error),
        None if is_ready => Ok(connection),
        None => Err(io::ErrorKind::TimedOut.into()),
    }
}

/// Waits until a descriptor is ready; false once it is too late.
fn wait_until<'a>(until: Instant, interests: impl Fn(&mut PollSet<'a, ()>)) -> io::Result<bool> {
    loop {
        let mut set = PollSet::default();
        interests(&mut set);
        let left = until.saturating_duration_since(Instant::now());
        // Nothing is ready after an interruption, too.
        if !set.wait(Some(left))?.is_empty() {
            return Ok(true);
        }
        if left.is_zero() {
            return Ok(false);
        }
    }
}

/// How a connection ends.
enum LinkEnd {
    Closed,
    Failed(io::Error),
    /// What the other end does, beginning with "it".
    Refused(String),
}

impl ServerLink {
    /// Sends what is unsent and reads what has arrived; waits until something moves. False once it is too
    /// late.
    fn move_bytes(&mut self, deadline: Instant) -> Result<bool, LinkEnd> {
        let is_ready = wait_until(deadline, |set| {
            set.add_read(self.connection.as_fd(), ());
            if !self.channel.unsent.is_empty() {
                set.add_write(self.connection.as_fd(), ());
            }
        });
        if !is_ready.map_err(LinkEnd::Failed)? {
            return Ok(false);
        }
        // An end that cannot hear may still have said why.
        let sent = self.send();
        self.receive()?;
        sent.map(|()| true)
    }

    fn send(&mut self) -> Result<(), LinkEnd> {
        let unsent = &mut self.channel.unsent;
        while !unsent.is_empty() {
            let parts = [SendPart::Bytes(unsent)];
            match self.connection.send(&parts).map_err(LinkEnd::Failed)? {
                Moved::Bytes(count) => drop(unsent.drain(..count)),
                Moved::Nothing => break,
                Moved::End => return Err(LinkEnd::Closed),
            }
        }
        Ok(())
    }

    fn receive(&mut self) -> Result<(), LinkEnd> {
        let mut buffer = vec![0; READ_BYTES];
        loop {
            match self.connection.receive(Span::EMPTY, &mut buffer).map_err(LinkEnd::Failed)? {
                Moved::Bytes(count) => {
                    self.channel.receive(&buffer[..count]).map_err(LinkEnd::Refused)?;
                }
                Moved::Nothing => return Ok(()),
                Moved::End => return Err(LinkEnd::Closed),
            }
        }
    }
}

impl ServerConnection {
    /// Tells the server that this client has ended. A server that has gone harms nobody.
    pub fn fini(mut self) {
        let mut command = Vec::new();
        push(&mut command, ImpiCommand::Fini, &[]);
        self.link.channel.send(&command);
        let deadline = Instant::now() + FINI_TIMEOUT;
        while !self.link.channel.unsent.is_empty()
            && matches!(self.link.move_bytes(deadline), Ok(true))
        {}
    }
}

impl AsFd for ServerConnection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.link.connection.as_fd()
    }
}

impl LinkEnd {
    /// Of an encrypted connection that has proved nothing.
    fn before_proof(self) -> String {
        match self {
            Self::Closed => {
                "it has closed the connection, because it has another key, or was started \
                             with --cleartext"
                    .to_owned()
            }
            Self::Refused(why) => {
                format!("{why} (is it an IMPI server, started without --cleartext?)")
            }
            Self::Failed(error) => error.to_string(),
        }
    }

    fn after_proof(self, security: &ImpiSecurity, client: &ImpiClient) -> String {
        let awaited = client.awaited();
        match self {
            Self::Closed | Self::Failed(_) if client.is_unanswered() => match security {
                ImpiSecurity::Sealed(_) => "it has closed the connection".to_owned(),
                ImpiSecurity::Cleartext(_) => "it has closed the connection without an answer: it \
                                               accepts no authentication of this client, or was \
                                               started without --cleartext"
                    .to_owned(),
            },
            Self::Closed => {
                format!("it has closed the connection while this client waited for {awaited}")
            }
            Self::Failed(error) => format!("{error} while this client waited for {awaited}"),
            Self::Refused(why) => why,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::impi::world::tests::{offers, world};
    use crate::impi::{ImpiOutcome, ImpiServer};
    use crate::network::SharedSecret;
    use crate::sys::tcp::TcpAcceptor;
    use std::collections::HashMap;

    const SECRET: SharedSecret = SharedSecret([7; 32]);

    /// Serves until all is over; how.
    fn serve(acceptor: &TcpAcceptor, security: ImpiSecurity, count: u32) -> ImpiOutcome {
        let timeout = Some(Duration::from_secs(60));
        let mut server =
            ImpiServer::new(count, security, [7; 16], timeout, Instant::now()).unwrap();
        let mut connections: HashMap<u32, StreamConnection> = HashMap::new();
        let mut number = 0;
        let mut buffer = [0; 4096];
        loop {
            while let Some(connection) = acceptor.accept() {
                server.connected(number, "a test", Instant::now());
                connections.insert(number, connection);
                number += 1;
            }
            connections.retain(|number, connection| {
                if server.takes_input(*number) {
                    match connection.receive(Span::EMPTY, &mut buffer) {
                        Ok(Moved::Bytes(count)) => server.received(*number, &buffer[..count]),
                        Ok(Moved::Nothing) => {}
                        Ok(Moved::End) | Err(_) => {
                            server.closed(*number);
                            return false;
                        }
                    }
                }
                let unsent = server.unsent(*number);
                if let Ok(Moved::Bytes(count)) = connection.send(&[SendPart::Bytes(unsent)]) {
                    unsent.drain(..count);
                }
                true
            });
            if let Some(outcome) = server.outcome() {
                return outcome.clone();
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    type Joined = Result<World, String>;

    fn join_all(
        server: &ImpiSecurity, clients: &[(u32, ImpiSecurity)],
    ) -> (ImpiOutcome, Vec<Joined>) {
        let acceptor = TcpAcceptor::listen(None).unwrap();
        let place = format!("localhost:{}", acceptor.port());
        let (place, offers) = (&place, &offers());
        thread::scope(|scope| {
            let serving = scope.spawn(|| serve(&acceptor, server.clone(), 3));
            let join = |(number, security): &(u32, ImpiSecurity)| {
                let (number, security) = (*number, security.clone());
                scope.spawn(move || {
                    let deadline = Instant::now() + Duration::from_secs(60);
                    let offer = &offers[number as usize % 3];
                    join(place, number, offer, &security, deadline)
                })
            };
            let joining: Vec<_> = clients.iter().map(join).collect();
            let mut results = Vec::new();
            for one in joining {
                match one.join().unwrap() {
                    Ok((world, connection)) => {
                        results.push(Ok(world));
                        connection.fini();
                    }
                    Err(why) => results.push(Err(why)),
                }
            }
            let outcome = serving.join().unwrap();
            (outcome, results)
        })
    }

    #[test]
    fn a_server_has_a_host_and_a_port() {
        for text in ["head:4000", "10.0.0.1:1", "[fd00::1]:65535", "a.b-c_d.e:80"] {
            assert!(is_server_address(text), "{text}");
        }
        for text in
            ["", "head", ":4000", "head:", "head:0", "head:65536", "a b:1", "fd00::1:1", "head:x"]
        {
            assert!(!is_server_address(text), "{text}");
        }
    }

    #[test]
    fn clients_join_sealed_and_in_the_clear() {
        let key = Authentication { accepts_none: false, key: Some(5) };
        for security in [ImpiSecurity::Sealed(SECRET), ImpiSecurity::Cleartext(key)] {
            let clients = [2, 0, 1].map(|number| (number, security.clone()));
            let (outcome, results) = join_all(&security, &clients);
            assert_eq!(outcome, ImpiOutcome::Finished { lost: Vec::new() });
            let id = if let ImpiSecurity::Sealed(_) = security { [7; 16] } else { [0; 16] };
            let expected = World { id, ..world() };
            assert!(results.iter().all(|result| *result == Ok(expected.clone())), "{results:?}");
        }
    }
}
