//! Stream sockets that never block, those of TCP first, and the epoll instance that watches them.
//!
//! Bytes go and come by gathering and scattering calls: headers and packets lie in memory of the
//! library, long data in buffers of the application ([`Span`]). Sends never raise SIGPIPE. It knows no
//! packets and no peers.
//!
//! Sources: tcp(7), epoll(7), timerfd_create(2), eventfd(2).
#![allow(unsafe_code)]

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::ops::RangeInclusive;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrIn, SockaddrIn6, SockaddrLike, setsockopt, socket,
    sockopt,
};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};

use super::iovec;
use super::ready_set::Ready;
use crate::base::Span;

/// Parts of one gathering or scattering call.
const PARTS_MAX: usize = 64;

/// Events of one look at an epoll instance.
const EVENTS_MAX: usize = 64;

/// The backlog of a listening socket: connections that the kernel holds until they are accepted.
const BACKLOG: i32 = 1024;

/// A part of a gathering send.
#[derive(Clone, Copy, Debug)]
pub enum SendPart<'a> {
    /// Memory of the library.
    Bytes(&'a [u8]),
    /// Memory of the application.
    Memory(Span),
}

/// What one call moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved {
    /// This number of bytes, at least 1.
    Bytes(usize),
    /// Nothing now.
    Nothing,
    /// Nothing, and never again: the other end has closed its side.
    End,
}

/// What the kernel knows of the bytes that were given to it ([`StreamConnection::traffic`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpTraffic {
    /// Whether some have not arrived at the other kernel.
    pub has_data: bool,
    /// Whether the other kernel owes an answer: to data, or to the question if it has room again.
    pub awaits_answer: bool,
    /// The time since its last answer, in milliseconds.
    pub last_answer_ms: u32,
}

/// A connection, by TCP or inside the kernel of this host.
#[derive(Debug)]
pub struct StreamConnection {
    stream: TcpStream,
    is_local: bool,
}

impl StreamConnection {
    /// A socket of [`local_socket`](super::local_socket) that is connected.
    pub(super) fn local(socket: OwnedFd) -> Self {
        // Sends and receives are those of any stream.
        Self { stream: TcpStream::from(socket), is_local: true }
    }

    /// Whether the kernel of this host carries the bytes.
    pub fn is_local(&self) -> bool {
        self.is_local
    }

    /// Begins to connect. The socket can be written once the attempt has ended.
    ///
    /// # Errors
    /// The system's error, if the attempt has failed already.
    pub fn start(to: SocketAddr) -> io::Result<Self> {
        let family = if to.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let socket = socket(family, SockType::Stream, flags, None)?;
        let started = match to {
            SocketAddr::V4(to) => connect_to(&socket, &SockaddrIn::from(to)),
            SocketAddr::V6(to) => connect_to(&socket, &SockaddrIn6::from(to)),
        };
        match started {
            Ok(()) | Err(Errno::EINPROGRESS) => Ok(Self::from(socket)),
            Err(error) => Err(error.into()),
        }
    }

    /// The error with which the attempt to connect or the connection ended, if it did.
    pub fn error(&self) -> Option<io::Error> {
        self.stream.take_error().unwrap_or_else(Some)
    }

    /// Turns the delay of small packets off. The kernel ends the connection if the other end is silent
    /// for `timeout`. Inside a host neither is needed.
    ///
    /// # Errors
    /// The system's error.
    pub fn configure(&self, timeout: Duration) -> io::Result<()> {
        if self.is_local {
            return Ok(());
        }
        self.stream.set_nodelay(true)?;
        let silent_ms = u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX);
        // Four questions, the first of which comes at half of the time.
        let seconds = |part: Duration| u32::try_from(part.as_secs().max(1)).unwrap_or(u32::MAX);
        setsockopt(&self.stream, sockopt::TcpUserTimeout, &silent_ms)?;
        setsockopt(&self.stream, sockopt::TcpKeepIdle, &seconds(timeout / 2))?;
        setsockopt(&self.stream, sockopt::TcpKeepInterval, &seconds(timeout / 8))?;
        setsockopt(&self.stream, sockopt::TcpKeepCount, &4)?;
        setsockopt(&self.stream, sockopt::KeepAlive, &true)?;
        Ok(())
    }

    /// Turns the delay of small packets off. The kernel ends the connection if nothing is under way and
    /// the other end is silent for `silence`, to whole seconds; for the rest see
    /// [`StreamConnection::traffic`].
    ///
    /// Unlike [`StreamConnection::configure`], it waits for ever for a process that does not read: its kernel
    /// answers. `TCP_USER_TIMEOUT` would end that connection, too (tcp(7)).
    ///
    /// # Errors
    /// The system's error.
    pub fn keep_alive(&self, silence: Duration) -> io::Result<()> {
        self.stream.set_nodelay(true)?;
        let seconds = |part: Duration| u32::try_from(part.as_secs().max(1)).unwrap_or(u32::MAX);
        setsockopt(&self.stream, sockopt::TcpKeepIdle, &seconds(silence / 2))?;
        setsockopt(&self.stream, sockopt::TcpKeepInterval, &seconds(silence / 4))?;
        setsockopt(&self.stream, sockopt::TcpKeepCount, &2)?;
        setsockopt(&self.stream, sockopt::KeepAlive, &true)?;
        Ok(())
    }

    /// What is under way to the other end.
    ///
    /// # Errors
    /// The system's error.
    pub fn traffic(&self) -> io::Result<TcpTraffic> {
        let mut unsent = 0;
        // SAFETY: the request writes one integer.
        let asked =
            unsafe { libc::ioctl(self.stream.as_raw_fd(), libc::TIOCOUTQ, &raw mut unsent) };
        Errno::result(asked)?;
        if unsent == 0 {
            return Ok(TcpTraffic { has_data: false, awaits_answer: false, last_answer_ms: 0 });
        }
        // SAFETY: all bytes of the structure may be zero: integers.
        let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
        let mut len = size_of::<libc::tcp_info>() as libc::socklen_t;
        // SAFETY: the structure has the length that is given.
        let asked = unsafe {
            libc::getsockopt(
                self.stream.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_INFO,
                (&raw mut info).cast(),
                &raw mut len,
            )
        };
        Errno::result(asked)?;
        Ok(TcpTraffic {
            has_data: true,
            awaits_answer: info.tcpi_unacked > 0 || info.tcpi_probes > 0,
            last_answer_ms: info.tcpi_last_ack_recv,
        })
    }

    /// Ends the connection at both ends, with the loss of what is under way.
    pub fn cut(&self) {
        // With this setting, the kernel resets the connection when it is closed.
        let linger = libc::linger { l_onoff: 1, l_linger: 0 };
        let _ = setsockopt(&self.stream, sockopt::Linger, &linger);
        let _ = self.stream.shutdown(std::net::Shutdown::Both);
    }

    /// Tells the other end that nothing follows; it may still send.
    pub fn end_sending(&self) {
        let _ = self.stream.shutdown(std::net::Shutdown::Write);
    }

    /// The address of the other end.
    pub fn peer_address(&self) -> Option<SocketAddr> {
        self.stream.peer_addr().ok()
    }

    /// Sends the parts in order, as far as there is room.
    ///
    /// # Errors
    /// The system's error: the connection is over.
    pub fn send(&self, parts: &[SendPart<'_>]) -> io::Result<Moved> {
        let mut vectors = [EMPTY; PARTS_MAX];
        let count = parts.len().min(PARTS_MAX);
        for (vector, part) in vectors.iter_mut().zip(parts) {
            *vector = match part {
                SendPart::Bytes(bytes) => iovec(bytes.as_ptr().addr(), bytes.len()),
                SendPart::Memory(span) => iovec(span.address(), span.len()),
            };
        }
        let mut message = message(&mut vectors[..count]);
        // SAFETY: the parts are readable for the length of the call: slices, and spans as their owner
        // promised (`Span::new`).
        let sent = unsafe {
            libc::sendmsg(
                self.stream.as_raw_fd(),
                &raw mut message,
                libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT,
            )
        };
        moved(sent, false)
    }

    /// Receives into `memory`, then into `rest`.
    ///
    /// # Errors
    /// The system's error: the connection is over.
    pub fn receive(&self, memory: Span, rest: &mut [u8]) -> io::Result<Moved> {
        if memory.is_empty() {
            // SAFETY: `rest` is writable for the length of the call.
            let received = unsafe {
                libc::recv(
                    self.stream.as_raw_fd(),
                    rest.as_mut_ptr().cast(),
                    rest.len(),
                    libc::MSG_DONTWAIT,
                )
            };
            return moved(received, true);
        }
        let mut vectors =
            [iovec(memory.address(), memory.len()), iovec(rest.as_mut_ptr().addr(), rest.len())];
        let mut message = message(&mut vectors);
        // SAFETY: both parts are writable for the length of the call: `rest` is borrowed, and the span
        // was made for a receive (`Span::new`).
        let received =
            unsafe { libc::recvmsg(self.stream.as_raw_fd(), &raw mut message, libc::MSG_DONTWAIT) };
        moved(received, true)
    }
}

/// A stream socket that is connected and does not block, such as one of a pair.
impl From<OwnedFd> for StreamConnection {
    fn from(socket: OwnedFd) -> Self {
        Self { stream: TcpStream::from(socket), is_local: false }
    }
}

impl From<StreamConnection> for OwnedFd {
    fn from(connection: StreamConnection) -> Self {
        connection.stream.into()
    }
}

impl AsFd for StreamConnection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

const EMPTY: libc::iovec = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };

fn message(vectors: &mut [libc::iovec]) -> libc::msghdr {
    // SAFETY: all bytes of the structure may be zero: null pointers and lengths of zero.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = vectors.as_mut_ptr();
    message.msg_iovlen = vectors.len() as _;
    message
}

fn moved(result: isize, zero_is_end: bool) -> io::Result<Moved> {
    match usize::try_from(result) {
        Ok(0) if zero_is_end => Ok(Moved::End),
        Ok(0) => Ok(Moved::Nothing),
        Ok(bytes) => Ok(Moved::Bytes(bytes)),
        Err(_) => match Errno::last() {
            Errno::EAGAIN | Errno::EINTR => Ok(Moved::Nothing),
            // The system has no memory for buffers now.
            Errno::ENOBUFS | Errno::ENOMEM => Ok(Moved::Nothing),
            error => Err(error.into()),
        },
    }
}

fn connect_to(socket: &OwnedFd, to: &dyn SockaddrLike) -> Result<(), Errno> {
    // SAFETY: the address is a structure of the length that it reports.
    Errno::result(unsafe { libc::connect(socket.as_raw_fd(), to.as_ptr(), to.len()) }).map(drop)
}

/// A socket that accepts connections to one port.
#[derive(Debug)]
pub struct TcpAcceptor {
    listener: TcpListener,
    port: u16,
}

impl TcpAcceptor {
    /// Listens on the first free port of `ports`, on any free one if `None`, at all addresses of the
    /// host: IPv6 and IPv4 if the system has both.
    ///
    /// # Errors
    /// The system's error, if no port is free.
    pub fn listen(ports: Option<RangeInclusive<u16>>) -> io::Result<Self> {
        let mut last = io::Error::from(io::ErrorKind::AddrInUse);
        for port in ports.unwrap_or(0..=0) {
            for any in [IpAddr::V6(Ipv6Addr::UNSPECIFIED), IpAddr::V4(Ipv4Addr::UNSPECIFIED)] {
                match Self::at(SocketAddr::new(any, port)) {
                    Ok(acceptor) => return Ok(acceptor),
                    Err(error) => last = error,
                }
            }
        }
        Err(last)
    }

    fn at(address: SocketAddr) -> io::Result<Self> {
        let family = if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let socket = socket(family, SockType::Stream, flags, None)?;
        if address.port() != 0 {
            // Connections of a listener that has ended keep a given port for a minute otherwise.
            setsockopt(&socket, sockopt::ReuseAddr, &true)?;
        }
        let bound = match address {
            SocketAddr::V4(address) => {
                nix::sys::socket::bind(socket.as_raw_fd(), &SockaddrIn::from(address))
            }
            SocketAddr::V6(address) => {
                setsockopt(&socket, sockopt::Ipv6V6Only, &false)?;
                nix::sys::socket::bind(socket.as_raw_fd(), &SockaddrIn6::from(address))
            }
        };
        bound?;
        // SAFETY: listen takes two integers.
        Errno::result(unsafe { libc::listen(socket.as_raw_fd(), BACKLOG) })?;
        let listener = TcpListener::from(socket);
        let port = listener.local_addr()?.port();
        Ok(Self { listener, port })
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The next connection, if one waits.
    pub fn accept(&self) -> Option<StreamConnection> {
        // An error is that of a connection that has gone again, or of a process without descriptors:
        // the next look tries again.
        let (stream, _) = self.listener.accept().ok()?;
        stream.set_nonblocking(true).ok()?;
        Some(StreamConnection { stream, is_local: false })
    }
}

impl AsFd for TcpAcceptor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

/// Descriptors to watch, with a timer and a wake-up of its own.
#[derive(Debug)]
pub struct Watched {
    epoll: Arc<OwnedFd>,
    instance: Epoll,
    timer: TimerFd,
    doorbell: EventFd,
}

/// The tokens of the timer and of the wake-up.
const TIMER: u64 = u64::MAX;
const DOORBELL: u64 = u64::MAX - 1;
/// The token of what only makes the descriptor readable.
const BESIDE: u64 = u64::MAX - 2;

impl Watched {
    /// Nothing to watch.
    ///
    /// # Errors
    /// The system's error.
    pub fn new() -> io::Result<Self> {
        let instance = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let flags = TimerFlags::TFD_CLOEXEC | TimerFlags::TFD_NONBLOCK;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, flags)?;
        let doorbell = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?;
        instance.add(&timer, EpollEvent::new(EpollFlags::EPOLLIN, TIMER))?;
        instance.add(&doorbell, EpollEvent::new(EpollFlags::EPOLLIN, DOORBELL))?;
        let epoll = Arc::new(instance.0.try_clone()?);
        Ok(Self { epoll, instance, timer, doorbell })
    }

    /// A descriptor that can be read while a watched one is ready.
    pub fn descriptor(&self) -> Arc<OwnedFd> {
        self.epoll.clone()
    }

    /// Watches a descriptor until it is closed: whether it can be read, and also written.
    ///
    /// # Errors
    /// The system's error.
    pub fn add(&self, fd: impl AsFd, token: u64, writable: bool) -> io::Result<()> {
        Ok(self.instance.add(fd, EpollEvent::new(interest(writable), token))?)
    }

    /// Makes the descriptor of this value readable also while `fd` can be read, which [`Watched::look`]
    /// does not report.
    ///
    /// # Errors
    /// The system's error.
    pub fn add_beside(&self, fd: impl AsFd) -> io::Result<()> {
        self.add(fd, BESIDE, false)
    }

    /// Changes what a descriptor is watched for.
    pub fn change(&self, fd: impl AsFd, token: u64, writable: bool) {
        // Fails only for a descriptor that is not watched.
        let _ = self.instance.modify(fd, &mut EpollEvent::new(interest(writable), token));
    }

    /// Watches a descriptor no longer.
    pub fn remove(&self, fd: impl AsFd) {
        let _ = self.instance.delete(fd);
    }

    /// Fills `ready` with what is ready now. The timer and the rings until now are forgotten.
    pub fn look(&self, ready: &mut Vec<Ready>) {
        self.look_with(ready, |token| match token {
            // The caller looks at all its times anyway.
            TIMER => drop(self.timer.unset()),
            DOORBELL => drop(self.doorbell.read()),
            _ => {}
        });
    }

    /// The same, for a thread that is not the one that sleeps: rings and the timer stay.
    pub fn look_beside(&self, ready: &mut Vec<Ready>) {
        self.look_with(ready, |_| ());
    }

    fn look_with(&self, ready: &mut Vec<Ready>, own: impl Fn(u64)) {
        let mut events = [EpollEvent::empty(); EVENTS_MAX];
        let count = self.instance.wait(&mut events, EpollTimeout::ZERO).unwrap_or(0);
        ready.clear();
        for event in &events[..count] {
            match event.data() {
                token @ (TIMER | DOORBELL | BESIDE) => own(token),
                _ => ready.push(Ready::of(event)),
            }
        }
    }

    /// Makes the descriptor readable once, from any thread.
    pub fn ring(&self) {
        let _ = self.doorbell.write(1);
    }

    /// Makes the descriptor readable at `at_ns` of the clock of the host, instead of an earlier order;
    /// `None`: never.
    pub fn set_timer(&self, at_ns: Option<u64>) {
        let Some(at_ns) = at_ns else {
            let _ = self.timer.unset();
            return;
        };
        let at = TimeSpec::from(Duration::from_nanos(at_ns.max(1)));
        let flags = TimerSetTimeFlags::TFD_TIMER_ABSTIME;
        let _ = self.timer.set(Expiration::OneShot(at), flags);
    }
}

fn interest(writable: bool) -> EpollFlags {
    if writable { EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT } else { EpollFlags::EPOLLIN }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::poll::is_readable;

    fn pair() -> (StreamConnection, StreamConnection) {
        let acceptor = TcpAcceptor::listen(None).unwrap();
        let to = SocketAddr::from((Ipv4Addr::LOCALHOST, acceptor.port()));
        let dialed = StreamConnection::start(to).unwrap();
        let accepted = std::iter::repeat_with(|| acceptor.accept()).flatten().next().unwrap();
        assert!(is_readable(&accepted, Duration::ZERO) || dialed.error().is_none());
        (dialed, accepted)
    }

    fn ready(watched: &Watched) -> Vec<Ready> {
        let mut ready = Vec::new();
        watched.look(&mut ready);
        ready
    }

    #[test]
    fn parts_are_gathered_and_scattered() {
        let (one, other) = pair();
        one.configure(Duration::from_secs(60)).unwrap();
        let mut data = *b"span";
        // SAFETY: the array outlives the call and has no other user meanwhile.
        let span = unsafe { Span::of(&mut data) };
        let sent = one.send(&[SendPart::Bytes(b"bytes "), SendPart::Memory(span)]).unwrap();
        assert_eq!(sent, Moved::Bytes(10));
        assert!(is_readable(&other, Duration::from_secs(30)));
        let (mut head, mut rest) = ([0; 3], [0; 20]);
        // SAFETY: as above.
        let into = unsafe { Span::of(&mut head) };
        assert_eq!(other.receive(into, &mut rest).unwrap(), Moved::Bytes(10));
        assert_eq!((&head, &rest[..7]), (b"byt", &b"es span"[..]));
        assert_eq!(other.receive(Span::EMPTY, &mut rest).unwrap(), Moved::Nothing);
        drop(one);
        assert!(is_readable(&other, Duration::from_secs(30)));
        assert_eq!(other.receive(Span::EMPTY, &mut rest).unwrap(), Moved::End);
    }

    #[test]
    fn only_ready_descriptors_are_named() {
        let (one, other) = pair();
        let watched = Watched::new().unwrap();
        watched.add(&one, 1, true).unwrap();
        watched.add(&other, 2, false).unwrap();
        assert_eq!(ready(&watched), [Ready { token: 1, readable: false, writable: true }]);
        watched.change(&one, 1, false);
        assert!(!is_readable(watched.descriptor(), Duration::ZERO));
        one.send(&[SendPart::Bytes(b"x")]).unwrap();
        assert!(is_readable(watched.descriptor(), Duration::from_secs(30)));
        assert_eq!(ready(&watched), [Ready { token: 2, readable: true, writable: false }]);
        watched.remove(&other);
        watched.ring();
        let mut beside = Vec::new();
        watched.look_beside(&mut beside);
        assert!(beside.is_empty() && is_readable(watched.descriptor(), Duration::ZERO));
        assert_eq!(ready(&watched), []);
        watched.set_timer(Some(1));
        assert!(is_readable(watched.descriptor(), Duration::from_secs(30)));
        assert_eq!(ready(&watched), []);
        assert!(!is_readable(watched.descriptor(), Duration::ZERO));
    }

    #[test]
    fn the_kernel_knows_what_is_under_way() {
        let (one, other) = pair();
        one.keep_alive(Duration::from_secs(4)).unwrap();
        let nothing = TcpTraffic { has_data: false, awaits_answer: false, last_answer_ms: 0 };
        assert_eq!(one.traffic().unwrap(), nothing);
        let bytes = vec![0; 1 << 20];
        while one.send(&[SendPart::Bytes(&bytes)]).unwrap() != Moved::Nothing {}
        assert!(one.traffic().unwrap().has_data);
        let mut rest = vec![0; 1 << 20];
        let begin = std::time::Instant::now();
        while one.traffic().unwrap().has_data {
            assert!(begin.elapsed() < Duration::from_secs(30));
            other.receive(Span::EMPTY, &mut rest).unwrap();
        }
        assert_eq!(one.traffic().unwrap(), nothing);
    }

    #[test]
    fn a_range_of_ports_has_an_end() {
        let first = TcpAcceptor::listen(None).unwrap();
        let taken = first.port()..=first.port();
        assert_eq!(TcpAcceptor::listen(Some(taken)).unwrap_err().kind(), io::ErrorKind::AddrInUse);
    }

    #[test]
    fn a_port_is_free_again_when_its_listener_has_ended() {
        let free = TcpAcceptor::listen(None).unwrap().port();
        // Another test may have taken it.
        let Ok(listener) = TcpAcceptor::listen(Some(free..=free)) else { return };
        let to = SocketAddr::from((Ipv4Addr::LOCALHOST, free));
        let dialed = StreamConnection::start(to).unwrap();
        let accepted = std::iter::repeat_with(|| listener.accept()).flatten().next().unwrap();
        // The end that closes first keeps the port.
        drop(accepted);
        drop(listener);
        assert!(is_readable(&dialed, Duration::from_secs(30)));
        drop(dialed);
        assert_eq!(TcpAcceptor::listen(Some(free..=free)).unwrap().port(), free);
    }
}
