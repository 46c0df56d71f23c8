//! Waits for several descriptors at once.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll, ppoll};

/// The descriptors of one wait, each with a token chosen by the caller.
#[derive(Debug)]
pub struct PollSet<'fd, Token> {
    entries: Vec<PollFd<'fd>>,
    tokens: Vec<Token>,
}

impl<Token> Default for PollSet<'_, Token> {
    fn default() -> Self {
        Self { entries: Vec::new(), tokens: Vec::new() }
    }
}

impl<'fd, Token: Copy> PollSet<'fd, Token> {
    /// Also waits until `fd` can be read or has ended.
    pub fn add_read(&mut self, fd: BorrowedFd<'fd>, token: Token) {
        self.entries.push(PollFd::new(fd, PollFlags::POLLIN));
        self.tokens.push(token);
    }

    /// Also waits until `fd` can be written or has failed.
    pub fn add_write(&mut self, fd: BorrowedFd<'fd>, token: Token) {
        self.entries.push(PollFd::new(fd, PollFlags::POLLOUT));
        self.tokens.push(token);
    }

    /// Also waits until the other end of `fd` has gone.
    pub fn add_end(&mut self, fd: BorrowedFd<'fd>, token: Token) {
        // Of a socket, this tells the end of what the other end sends.
        self.entries.push(PollFd::new(fd, PollFlags::from_bits_retain(libc::POLLRDHUP)));
        self.tokens.push(token);
    }

    /// Waits for at most `timeout` (`None`: no limit) and returns the tokens of the ready
    /// descriptors.
    ///
    /// An interruption counts as a wait in which no descriptor became ready.
    ///
    /// # Errors
    /// The system's error, when it has no memory or there are too many descriptors.
    pub fn wait(&mut self, timeout: Option<Duration>) -> io::Result<Vec<Token>> {
        match poll(&mut self.entries, milliseconds(timeout)) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        let entries = self.entries.iter().zip(&self.tokens);
        // `None` are flags without a name in the crate.
        let ready = entries.filter(|(entry, _)| entry.any() != Some(false));
        Ok(ready.map(|(_, token)| *token).collect())
    }
}

/// Waits for at most `timeout`, to the microsecond, until `fd` can be read or has ended; whether it can
/// or has. False after an interruption.
pub fn is_readable(fd: impl AsFd, timeout: Duration) -> bool {
    let mut entry = [PollFd::new(fd.as_fd(), PollFlags::POLLIN)];
    match ppoll(&mut entry, Some(timeout.into()), None) {
        Ok(ready) => ready > 0,
        // An error of the system is no reason to wait: the caller looks, and comes back.
        Err(error) => error != Errno::EINTR,
    }
}

/// Rounded up, so that a wait never ends just before its time.
fn milliseconds(timeout: Option<Duration>) -> PollTimeout {
    let Some(timeout) = timeout else { return PollTimeout::NONE };
    let rounded_up = timeout.as_micros().div_ceil(1000);
    PollTimeout::try_from(rounded_up).unwrap_or(PollTimeout::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_ready_is_named() {
        let (quiet, _keep) = crate::sys::descriptor::pipe().unwrap();
        let (ended, writer) = crate::sys::descriptor::pipe().unwrap();
        drop(writer);
        let mut set = PollSet::default();
        set.add_read(quiet.as_fd(), 'q');
        set.add_read(ended.as_fd(), 'e');
        set.add_end(ended.as_fd(), 'E');
        let (unread, _writer) = crate::sys::descriptor::pipe().unwrap();
        set.add_end(unread.as_fd(), 'u');
        let (left, leaving) = std::os::unix::net::UnixStream::pair().unwrap();
        leaving.shutdown(std::net::Shutdown::Write).unwrap();
        set.add_end(left.as_fd(), 's');
        let (busy, mut other) = std::os::unix::net::UnixStream::pair().unwrap();
        std::io::Write::write_all(&mut other, b"data").unwrap();
        set.add_end(busy.as_fd(), 'b');
        assert_eq!(set.wait(Some(Duration::ZERO)).unwrap(), ['e', 'E', 's']);
    }
}
