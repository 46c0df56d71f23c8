//! Stream sockets between a launcher and its ranks.
//!
//! Sends never raise SIGPIPE: a library must not end its program because the launcher exited.

use std::io::{self, IoSliceMut};
use std::net::TcpStream;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, MsgFlags, SockFlag, SockType, UnixCredentials, getsockopt,
    recvmsg, send, setsockopt, socketpair, sockopt,
};

use super::descriptor;

/// A connected stream socket.
#[derive(Debug)]
pub struct SocketStream(OwnedFd);

/// Result of one receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Number of bytes; 0 means that the other side closed.
    pub len_bytes: usize,
    /// The process that sent the bytes, if the stream requested it and the system reports it.
    pub sender: Option<u32>,
}

impl SocketStream {
    /// A connected pair, closed on exec.
    pub fn pair() -> io::Result<(Self, Self)> {
        let (one, other) =
            socketpair(AddressFamily::Unix, SockType::Stream, None, SockFlag::SOCK_CLOEXEC)?;
        Ok((Self(one), Self(other)))
    }

    /// The socket that this process inherited as `number` (see [`descriptor::inherit`]).
    ///
    /// # Errors
    /// When no such descriptor is open, or it is no socket.
    pub fn inherit(number: i32) -> io::Result<Self> {
        let copy = descriptor::duplicate(number)?;
        getsockopt(&copy, sockopt::SockType)?;
        descriptor::close_on_exec(number);
        Ok(Self(copy))
    }

    /// Connects to `address`, `host:port`.
    pub(crate) fn connect(address: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Self(stream.into()))
    }

    /// The process that made this pair of sockets, if the system reports it.
    pub(crate) fn maker(&self) -> Option<u32> {
        let credentials = getsockopt(&self.0, sockopt::PeerCredentials).ok()?;
        u32::try_from(credentials.pid()).ok()
    }

    /// A copy of the descriptor.
    pub(crate) fn copy(&self) -> io::Result<Self> {
        self.0.try_clone().map(Self)
    }

    /// Waits until the other side of a pair is closed, whether or not all data has been received.
    pub fn wait_for_end(&self) {
        while !self.is_ended_within(PollTimeout::NONE) {}
    }

    /// [`SocketStream::wait_for_end`] for about `timeout` at most; whether the other side is closed. A signal
    /// may end the wait early.
    pub fn is_ended_within(&self, timeout: impl Into<PollTimeout>) -> bool {
        // The end of a pair is reported without being asked for. An error is an interruption, or a lack of
        // memory that passes.
        let mut entries = [PollFd::new(self.0.as_fd(), PollFlags::empty())];
        poll(&mut entries, timeout.into()).is_ok_and(|ended| ended > 0)
    }

    /// Requests the number of the sending process with each receive.
    pub fn name_senders(&self) -> io::Result<()> {
        Ok(setsockopt(&self.0, sockopt::PassCred, &true)?)
    }

    /// Sends all of `bytes`, without a time limit.
    pub fn send_all(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match send(self.0.as_raw_fd(), bytes, MsgFlags::MSG_NOSIGNAL) {
                Ok(count) => bytes = &bytes[count..],
                Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Sends the bytes that fit now, and returns their number.
    ///
    /// # Errors
    /// `WouldBlock` when nothing fits.
    pub fn send_some(&self, bytes: &[u8]) -> io::Result<usize> {
        let flags = MsgFlags::MSG_NOSIGNAL | MsgFlags::MSG_DONTWAIT;
        Ok(send(self.0.as_raw_fd(), bytes, flags)?)
    }

    /// Receives available bytes; waits for at least one byte or the end.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Received> {
        loop {
            match self.receive_with(buffer, MsgFlags::empty()) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return result,
            }
        }
    }

    /// Receives available bytes.
    ///
    /// # Errors
    /// `WouldBlock` when there are none.
    pub fn receive_now(&self, buffer: &mut [u8]) -> io::Result<Received> {
        self.receive_with(buffer, MsgFlags::MSG_DONTWAIT)
    }

    fn receive_with(&self, buffer: &mut [u8], flags: MsgFlags) -> io::Result<Received> {
        let mut control = nix::cmsg_space!(UnixCredentials);
        let mut slices = [IoSliceMut::new(buffer)];
        let flags = flags | MsgFlags::MSG_CMSG_CLOEXEC;
        let message = recvmsg::<()>(self.0.as_raw_fd(), &mut slices, Some(&mut control), flags)?;
        let sender = message.cmsgs()?.find_map(|item| match item {
            ControlMessageOwned::ScmCredentials(who) => u32::try_from(who.pid()).ok(),
            _ => None,
        });
        Ok(Received { len_bytes: message.bytes, sender: sender.filter(|pid| *pid != 0) })
    }
}

impl AsFd for SocketStream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receive_names_its_sender_when_asked() {
        let (one, other) = SocketStream::pair().unwrap();
        other.name_senders().unwrap();
        one.send_all(b"hello").unwrap();
        let mut buffer = [0; 16];
        let received = other.receive_now(&mut buffer).unwrap();
        assert_eq!(&buffer[..received.len_bytes], b"hello");
        assert_eq!(received.sender, Some(std::process::id()));
    }

    #[test]
    fn the_end_of_the_other_side_is_noticed_behind_data() {
        let (one, other) = SocketStream::pair().unwrap();
        assert_eq!(one.copy().unwrap().maker(), Some(std::process::id()));
        let waiting = std::thread::spawn(move || one.wait_for_end());
        other.send_all(b"x").unwrap();
        drop(other);
        waiting.join().unwrap();
    }

    #[test]
    fn sending_to_nobody_is_an_error_not_a_signal() {
        let (one, other) = SocketStream::pair().unwrap();
        drop(other);
        assert_eq!(one.send_all(b"x").unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}
