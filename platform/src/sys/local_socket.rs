//! Stream sockets between processes of one kernel, by names in Linux's abstract namespace: no file is
//! left, and the name ends with the socket.
//!
//! A name is known in one network namespace: a process of another host or container finds nothing
//! there. The kernel says whose process is at the other end; a process of another user, or of a user
//! that this user namespace does not know, is refused.
//!
//! Sources: unix(7), SO_PEERCRED in socket(7).

use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, UnixAddr, accept4, bind, connect, getsockopt,
    listen, socket, sockopt,
};

use super::secret::JobCredentials;
use super::tcp::StreamConnection;
use crate::base::hex;

/// Connections that the kernel holds until they are accepted.
const BACKLOG: i32 = 1024;

/// The name of a socket: random, so that no process has it by accident.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct LocalName([u8; 16]);

impl LocalName {
    /// Reads what `Display` writes: 32 hexadecimal digits.
    pub fn parse(text: &str) -> Option<Self> {
        hex::parse(text).map(Self)
    }

    fn address(self) -> io::Result<UnixAddr> {
        Ok(UnixAddr::new_abstract(format!("suiro-{self}").as_bytes())?)
    }
}

/// Connects to the socket with this name. The kernel connects at once, or not at all.
///
/// # Errors
/// `ConnectionRefused` if there is no such socket in this network namespace, `PermissionDenied` if its
/// process belongs to another user; the system's error, also if too many connections wait there.
pub fn connect_to(name: LocalName) -> io::Result<StreamConnection> {
    let socket = new_socket()?;
    connect(socket.as_raw_fd(), &name.address()?)?;
    if !is_of_own_user(&socket) {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    Ok(StreamConnection::local(socket))
}

/// A socket that accepts connections of processes of the same user.
#[derive(Debug)]
pub struct LocalAcceptor {
    socket: OwnedFd,
    name: LocalName,
}

/// What [`LocalAcceptor::accept`] finds.
#[derive(Debug)]
pub enum LocalArrival {
    /// A process of the same user.
    Own(StreamConnection),
    /// A process of another user; its connection is closed.
    Stranger,
}

impl LocalAcceptor {
    /// Listens under a new name.
    ///
    /// # Errors
    /// The system's error.
    pub fn listen_anywhere() -> io::Result<Self> {
        let name = LocalName(JobCredentials::draw()?.id);
        let socket = new_socket()?;
        bind(socket.as_raw_fd(), &name.address()?)?;
        listen(&socket, Backlog::new(BACKLOG)?)?;
        Ok(Self { socket, name })
    }

    /// The name.
    pub fn name(&self) -> LocalName {
        self.name
    }

    /// The next connection, if one waits.
    pub fn accept(&self) -> Option<LocalArrival> {
        let accepted = accept4(self.socket.as_raw_fd(), flags()).ok()?;
        let socket = own(accepted);
        Some(match is_of_own_user(&socket) {
            true => LocalArrival::Own(StreamConnection::local(socket)),
            false => LocalArrival::Stranger,
        })
    }
}

impl AsFd for LocalAcceptor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[allow(unsafe_code)]
fn own(descriptor: i32) -> OwnedFd {
    // SAFETY: accept4 has just returned this descriptor, which has no other owner.
    unsafe { OwnedFd::from_raw_fd(descriptor) }
}

fn flags() -> SockFlag {
    SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK
}

fn new_socket() -> Result<OwnedFd, Errno> {
    socket(AddressFamily::Unix, SockType::Stream, flags(), None)
}

/// Whether the process that has connected, or that listens at the other end, belongs to the user of this
/// one.
fn is_of_own_user(socket: &OwnedFd) -> bool {
    let other = getsockopt(socket, sockopt::PeerCredentials);
    other.is_ok_and(|other| other.uid() == nix::unistd::geteuid().as_raw())
}

impl fmt::Display for LocalName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        hex::push(&mut text, &self.0);
        f.write_str(&text)
    }
}

impl fmt::Debug for LocalName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Span;
    use crate::sys::tcp::{Moved, SendPart};

    #[test]
    fn a_name_leads_to_its_socket_while_that_is_open() {
        let acceptor = LocalAcceptor::listen_anywhere().unwrap();
        let name = LocalName::parse(&acceptor.name().to_string()).unwrap();
        let one = connect_to(name).unwrap();
        let Some(LocalArrival::Own(other)) = acceptor.accept() else { panic!("not accepted") };
        assert!(acceptor.accept().is_none() && one.is_local() && other.is_local());
        one.send(&[SendPart::Bytes(b"hello")]).unwrap();
        let mut bytes = [0; 9];
        assert_eq!(other.receive(Span::EMPTY, &mut bytes).unwrap(), Moved::Bytes(5));
        drop(acceptor);
        let refused = connect_to(name).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
    }

    #[test]
    fn what_is_no_name_is_refused() {
        for bad in ["", "12", &"x".repeat(32), &"1".repeat(33)] {
            assert!(LocalName::parse(bad).is_none(), "{bad}");
        }
    }
}
