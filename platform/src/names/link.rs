//! A job's end of the connection to the name server: it connects when a request needs that, and stays
//! connected, because its end removes the names of the job.
//!
//! ```text
//!   Idle ──request──> Connecting ──> Talking: proof, then requests and replies in order
//!    ^                    │ next place  │
//!    └──── none is left, or the connection has ended: all requests without a reply have failed
//! ```

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use super::NameServerAddress;
use super::sealed_lines::SealedLines;
use crate::bootstrap::{NameReply, NameRequest};
use crate::network::SharedSecret;
use crate::sys::poll::PollSet;
use crate::sys::tcp::StreamConnection;

/// The time for a connection to one place and the proof: longer than strangers keep the server from
/// accepting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The time for a reply.
const REPLY_TIMEOUT: Duration = Duration::from_secs(10);

/// The connection of this job.
pub struct NameServerLink {
    address: NameServerAddress,
    state: NameLinkState,
    /// Requests without a reply, the oldest first; so many of them have been sent.
    waiting: VecDeque<NameRequest>,
    sent: usize,
    replies: VecDeque<(NameRequest, NameReply)>,
    /// When a place, or the server, is given up.
    deadline: Option<Instant>,
}

enum NameLinkState {
    Idle,
    Connecting(StreamConnection, Places),
    Talking(Box<SealedLines>, Places),
}

/// The place in use, those to try after it, and what to prove there.
struct Places {
    current: SocketAddr,
    rest: VecDeque<SocketAddr>,
    secret: SharedSecret,
}

impl NameServerLink {
    /// The connection to a server; nothing is done before the first request.
    pub fn new(address: NameServerAddress) -> Self {
        Self {
            address,
            state: NameLinkState::Idle,
            waiting: VecDeque::new(),
            sent: 0,
            replies: VecDeque::new(),
            deadline: None,
        }
    }

    /// Sends a request; its reply comes in the order of the requests.
    pub fn ask(&mut self, request: NameRequest, now: Instant) {
        self.waiting.push_back(request);
        self.advance(now);
    }

    /// Sends a request and waits for its reply: of a caller that has no other request.
    pub fn ask_and_wait(&mut self, request: NameRequest) -> NameReply {
        self.ask(request, Instant::now());
        loop {
            if let Some((_, reply)) = self.replies.pop_front() {
                return reply;
            }
            let timeout = self.deadline.map(|at| at.saturating_duration_since(Instant::now()));
            let mut set = PollSet::default();
            self.interests(&mut set, ());
            if let Err(error) = set.wait(timeout) {
                self.fail(&error.to_string());
            }
            self.advance(Instant::now());
        }
    }

    /// The oldest reply that has arrived, with its request.
    pub fn take_reply(&mut self) -> Option<(NameRequest, NameReply)> {
        self.replies.pop_front()
    }

    /// Adds the connection to poll.
    pub fn interests<'a, Token: Copy>(&'a self, set: &mut PollSet<'a, Token>, token: Token) {
        match &self.state {
            NameLinkState::Idle => {}
            NameLinkState::Connecting(connection, _) => set.add_write(connection.as_fd(), token),
            NameLinkState::Talking(lines, _) => {
                set.add_read(lines.as_fd(), token);
                if lines.unsent_bytes() > 0 {
                    set.add_write(lines.as_fd(), token);
                }
            }
        }
    }

    /// The time to call [`NameServerLink::advance`] at the latest.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Does what is possible now.
    pub fn advance(&mut self, now: Instant) {
        while self.step(now) {}
    }

    /// One step; whether another may be possible.
    fn step(&mut self, now: Instant) -> bool {
        let is_late = self.deadline.is_some_and(|deadline| now >= deadline);
        match std::mem::replace(&mut self.state, NameLinkState::Idle) {
            NameLinkState::Idle => {
                if !self.waiting.is_empty() {
                    self.begin(now);
                }
                !matches!(self.state, NameLinkState::Idle)
            }
            NameLinkState::Connecting(connection, places) => {
                if let Some(error) = connection.error() {
                    self.next_place(places, &error, now);
                    return true;
                }
                if connection.peer_address().is_some() {
                    let lines = SealedLines::initiate(connection, &places.secret);
                    self.state = NameLinkState::Talking(Box::new(lines), places);
                    return true;
                }
                if is_late {
                    self.next_place(places, &io::ErrorKind::TimedOut.into(), now);
                    return true;
                }
                self.state = NameLinkState::Connecting(connection, places);
                false
            }
            NameLinkState::Talking(mut lines, places) => {
                let talked = self.talk(&mut lines, now).and_then(|()| match is_late {
                    true if !self.waiting.is_empty() || !lines.is_open() => {
                        Err(io::Error::new(io::ErrorKind::TimedOut, "it does not answer"))
                    }
                    _ => Ok(()),
                });
                match talked {
                    Ok(()) => {
                        self.state = NameLinkState::Talking(lines, places);
                        false
                    }
                    Err(error) if !lines.is_open() => {
                        let error = match error.kind() {
                            io::ErrorKind::UnexpectedEof => io::Error::other(
                                "it does not accept the key of the file, which may be of another server",
                            ),
                            _ => error,
                        };
                        self.next_place(places, &error, now);
                        true
                    }
                    Err(error) => {
                        self.deadline = None;
                        // A server that has ended before this request: another may run by now.
                        if self.sent > 0 {
                            self.fail(&format!("{}: {}", places.current, what(&error)));
                        }
                        true
                    }
                }
            }
        }
    }

    /// Connects to the first place.
    fn begin(&mut self, now: Instant) {
        self.sent = 0;
        match self.address.find() {
            Err(why) => self.fail(&why),
            Ok((places, secret)) => {
                let mut rest = VecDeque::from(places);
                match rest.pop_front() {
                    None => self.fail("it has no address"),
                    Some(current) => self.connect(Places { current, rest, secret }, now),
                }
            }
        }
    }

    fn connect(&mut self, places: Places, now: Instant) {
        self.deadline = Some(now + CONNECT_TIMEOUT);
        match StreamConnection::start(places.current) {
            Ok(connection) => self.state = NameLinkState::Connecting(connection, places),
            Err(error) => self.next_place(places, &error, now),
        }
    }

    /// The current place is of no use.
    fn next_place(&mut self, mut places: Places, error: &io::Error, now: Instant) {
        self.sent = 0;
        match places.rest.pop_front() {
            Some(next) => {
                places.current = next;
                self.connect(places, now);
            }
            None => self.fail(&format!("{}: {}", places.current, what(error))),
        }
    }

    /// Reads replies, sends requests.
    fn talk(&mut self, lines: &mut SealedLines, now: Instant) -> io::Result<()> {
        lines.write()?;
        let was_open = lines.is_open();
        // Replies that arrived before the end of the connection count.
        let read = loop {
            match lines.read() {
                Ok(true) => {}
                Ok(false) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        while self.sent > 0
            && let Some(line) = lines.next_line()?
        {
            let Some(request) = self.waiting.pop_front() else { break };
            self.sent -= 1;
            let reply = NameReply::parse(line, &request)
                .ok_or_else(|| io::Error::other("it sent what is no reply"))?;
            self.replies.push_back((request, reply));
            self.deadline = None;
        }
        read?;
        if !lines.is_open() {
            return Ok(());
        }
        if !was_open {
            self.deadline = None;
        }
        for request in self.waiting.iter().skip(self.sent) {
            lines.send(&request.clone().into_line().into_bytes());
        }
        self.sent = self.waiting.len();
        if self.sent > 0 {
            self.deadline.get_or_insert(now + REPLY_TIMEOUT);
        }
        lines.write()
    }

    /// All requests without a reply have failed.
    fn fail(&mut self, why: &str) {
        (self.state, self.sent, self.deadline) = (NameLinkState::Idle, 0, None);
        let why = format!("the name server {} cannot be reached: {why}", self.address.text());
        let failed =
            self.waiting.drain(..).map(|request| (request, NameReply::Failed(why.clone())));
        self.replies.extend(failed);
    }
}

fn what(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "it has closed the connection".to_owned(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bootstrap::NameService;
    use crate::names::contact::tests::{TestFile, contact};
    use crate::names::{NameCaller, NameServerContact};
    use crate::sys::tcp::TcpAcceptor;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    fn publish(service: &str, port: &str) -> NameRequest {
        NameRequest::publish(service, port)
    }

    fn lookup(service: &str) -> NameRequest {
        NameRequest::lookup(service)
    }

    /// A server on a thread, which ends at the end of `test`, and serves this number of requests of a
    /// connection at most.
    fn with_server(
        contact: &NameServerContact, acceptor: TcpAcceptor, count: usize, test: impl FnOnce(),
    ) {
        let is_over = AtomicBool::new(false);
        let secret = contact.secret();
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut names = NameService::of_jobs();
                let mut callers: Vec<(u32, NameCaller)> = Vec::new();
                let (mut number, mut served) = (0, 0);
                while !is_over.load(Ordering::Relaxed) {
                    while let Some(connection) = acceptor.accept() {
                        number += 1;
                        callers.push((number, NameCaller::new(connection, &secret)));
                    }
                    callers.retain_mut(|(number, caller)| {
                        let advanced = caller.advance(|request| {
                            served += 1;
                            let reply = names.serve(*number, &request);
                            request.reply_bytes(reply)
                        });
                        let stays = advanced.is_ok() && served <= count;
                        if !stays {
                            names.forget(*number);
                        }
                        stays
                    });
                    thread::sleep(Duration::from_millis(1));
                }
            });
            test();
            is_over.store(true, Ordering::Relaxed);
        });
    }

    fn listening(name: &str) -> (TestFile, NameServerContact, TcpAcceptor, NameServerAddress) {
        let acceptor = TcpAcceptor::listen(None).unwrap();
        let (file, contact) = (TestFile::new(name), contact(acceptor.port()));
        contact.write(&file.0).unwrap();
        let address = NameServerAddress::parse(&format!("file:{}", file.0.display())).unwrap();
        (file, contact, acceptor, address)
    }

    #[test]
    fn two_jobs_share_names_until_the_publisher_ends() {
        let (_file, contact, acceptor, address) = listening("link-share");
        with_server(&contact, acceptor, usize::MAX, || {
            let mut one = NameServerLink::new(address.clone());
            let mut two = NameServerLink::new(address);
            let long = "p".repeat(16_000);
            assert_eq!(one.ask_and_wait(publish("a b", &long)), NameReply::Done);
            assert_eq!(two.ask_and_wait(lookup("a b")), NameReply::Port(long));
            assert!(matches!(two.ask_and_wait(publish("a b", "x")), NameReply::Refused(_)));
            // Many at once, in order.
            let now = Instant::now();
            for number in 0..300 {
                two.ask(publish(&format!("s{number}"), &number.to_string()), now);
                two.ask(lookup(&format!("s{number}")), now);
            }
            let mut ports = Vec::new();
            while ports.len() < 300 {
                two.advance(Instant::now());
                while let Some((request, reply)) = two.take_reply() {
                    match reply {
                        NameReply::Port(port) => ports.push(port),
                        reply => assert_eq!(reply, NameReply::Done, "{request:?}"),
                    }
                }
            }
            assert!((0..300).map(|number: u32| number.to_string()).eq(ports));
            drop(one);
            let gone = || two.ask_and_wait(lookup("a b"));
            let gone = std::iter::repeat_with(gone).find(|it| matches!(it, NameReply::Refused(_)));
            assert_eq!(gone, Some(NameReply::Refused("no such service".to_owned())));
        });
    }

    #[test]
    fn a_server_that_is_not_there_is_told_once_for_each_request() {
        let (file, _contact, acceptor, address) = listening("link-none");
        let port = acceptor.port();
        drop(acceptor);
        let mut link = NameServerLink::new(address);
        for _ in 0..2 {
            let NameReply::Failed(why) = link.ask_and_wait(lookup("a")) else { panic!() };
            let expected = format!(
                "the name server file:{} cannot be reached: [::1]:{port}: Connection refused",
                file.0.display()
            );
            assert!(why.starts_with(&expected), "{why}");
        }
        std::fs::remove_file(&file.0).unwrap();
        let NameReply::Failed(why) = link.ask_and_wait(lookup("a")) else { panic!() };
        assert!(why.contains("No such file"), "{why}");
    }

    #[test]
    fn a_wrong_key_is_refused() {
        let (file, real, acceptor, address) = listening("link-key");
        let other = contact(real.port);
        other.write(&file.0).unwrap();
        with_server(&real, acceptor, usize::MAX, || {
            let reply = NameServerLink::new(address).ask_and_wait(publish("a", "b"));
            let NameReply::Failed(why) = reply else { panic!("{reply:?}") };
            assert!(why.contains("does not accept the key"), "{why}");
        });
    }

    #[test]
    fn a_server_that_has_ended_in_between_is_connected_again() {
        let (_file, contact, acceptor, address) = listening("link-again");
        // The connection is cut behind its second request.
        with_server(&contact, acceptor, 1, || {
            let mut link = NameServerLink::new(address.clone());
            assert_eq!(link.ask_and_wait(publish("a", "b")), NameReply::Done);
            let reply = link.ask_and_wait(lookup("a"));
            assert!(matches!(reply, NameReply::Port(_) | NameReply::Failed(_)), "{reply:?}");
        });
        let (_file, contact, acceptor, address) = listening("link-again-2");
        let mut link = NameServerLink::new(address);
        with_server(&contact, acceptor, usize::MAX, || {
            assert_eq!(link.ask_and_wait(publish("a", "b")), NameReply::Done);
        });
        // The same port, another server with the same key.
        let acceptor = TcpAcceptor::listen(Some(contact.port..=contact.port));
        if let Ok(acceptor) = acceptor {
            with_server(&contact, acceptor, usize::MAX, || {
                assert_eq!(link.ask_and_wait(publish("a", "c")), NameReply::Done);
                assert_eq!(link.ask_and_wait(lookup("a")), NameReply::Port("c".to_owned()));
            });
        }
    }

    #[test]
    fn strangers_prove_nothing_and_are_not_served() {
        use std::io::{Read, Write};
        let (_file, contact, acceptor, address) = listening("link-strangers");
        let port = acceptor.port();
        with_server(&contact, acceptor, usize::MAX, || {
            for bytes in [
                &b"GET / HTTP/1.1\r\n\r\n"[..],
                b"cmd=publish_name service=a port=b\n",
                &[0xf5; 2000],
                b"\xf5suiro\x02\x00\xff\xff",
            ] {
                let mut stranger = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
                stranger.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
                let _ = stranger.write_all(bytes);
                let mut answer = Vec::new();
                let _ = stranger.read_to_end(&mut answer);
                assert_eq!(answer, b"");
            }
            let mut link = NameServerLink::new(address);
            assert!(matches!(link.ask_and_wait(lookup("a")), NameReply::Refused(_)));
        });
    }
}
