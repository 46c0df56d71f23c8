//! Waits for many descriptors, most of which are quiet: each is registered once, and a wait costs
//! as much as the ready ones.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::rc::Rc;

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

/// Number of ready descriptors that are taken at once; the others come next.
const READY_MAX: usize = 64;

/// Descriptors that are waited for, made by the first.
///
/// It is itself a descriptor that can be read while one of them is ready, so a
/// [`PollSet`](super::poll::PollSet) can wait for it.
#[derive(Debug, Default)]
pub struct ReadySet(Option<Rc<Epoll>>);

/// What is waited for at a descriptor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interest {
    /// That it can be read.
    pub read: bool,
    /// That it can be written.
    pub write: bool,
}

impl Interest {
    /// Nothing, not even the end.
    pub const NONE: Self = Self { read: false, write: false };
    /// That it can be read.
    pub const READ: Self = Self { read: true, write: false };

    fn flags(self) -> EpollFlags {
        let flag = |is_set, flag| if is_set { flag } else { EpollFlags::empty() };
        flag(self.read, EpollFlags::EPOLLIN) | flag(self.write, EpollFlags::EPOLLOUT)
    }
}

/// A ready descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    /// The number that its owner gave it.
    pub token: u64,
    /// Whether it can be read, or has ended or failed.
    pub readable: bool,
    /// Whether it can be written, or has failed.
    pub writable: bool,
}

impl Ready {
    pub(super) fn of(event: &EpollEvent) -> Self {
        let over = EpollFlags::EPOLLHUP | EpollFlags::EPOLLERR;
        let has = |flags| event.events().intersects(flags | over);
        Self {
            token: event.data(),
            readable: has(EpollFlags::EPOLLIN),
            writable: has(EpollFlags::EPOLLOUT),
        }
    }
}

impl ReadySet {
    /// A descriptor to wait for; none if nothing has been added.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.0.as_ref().map(|epoll| epoll.0.as_fd())
    }

    /// Adds `inner`, for which nothing is waited yet.
    ///
    /// # Errors
    /// The system has no descriptor left.
    pub fn add<T: AsFd>(&mut self, inner: T, token: u64) -> io::Result<Polled<T>> {
        let epoll = match &self.0 {
            Some(epoll) => epoll.clone(),
            None => {
                let epoll = Rc::new(Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?);
                self.0.insert(epoll).clone()
            }
        };
        Ok(Polled { inner, epoll, token, interest: Interest::NONE })
    }

    /// The descriptors that are ready now, a limited number at once.
    pub fn take(&self) -> Vec<Ready> {
        let mut events = [EpollEvent::empty(); READY_MAX];
        let Some(epoll) = &self.0 else { return Vec::new() };
        // It fails only for wrong arguments, and may be interrupted: then the caller comes again.
        let count = epoll.wait(&mut events, EpollTimeout::ZERO).unwrap_or(0);
        events[..count].iter().map(Ready::of).collect()
    }
}

/// A descriptor of a [`ReadySet`], which leaves the set when it is dropped.
///
/// Closing it would not be enough: a forked process may have it, too.
pub struct Polled<T: AsFd> {
    inner: T,
    epoll: Rc<Epoll>,
    token: u64,
    interest: Interest,
}

impl<T: AsFd> Polled<T> {
    /// Waits for this from now on.
    ///
    /// # Errors
    /// The system has no memory, or allows no more of these (`fs.epoll.max_user_watches`).
    pub fn wait_for(&mut self, interest: Interest) -> io::Result<()> {
        if interest == self.interest {
            return Ok(());
        }
        let (epoll, fd) = (&self.epoll, &self.inner);
        let mut event = EpollEvent::new(interest.flags(), self.token);
        match (self.interest, interest) {
            // An end is reported to each member, whatever it waits for.
            (_, Interest::NONE) => epoll.delete(fd)?,
            (Interest::NONE, _) => epoll.add(fd, event)?,
            _ => epoll.modify(fd, &mut event)?,
        }
        self.interest = interest;
        Ok(())
    }

    /// The descriptor.
    pub fn get(&self) -> &T {
        &self.inner
    }

    /// The descriptor.
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.inner
    }
}

impl<T: AsFd> Drop for Polled<T> {
    fn drop(&mut self) {
        // It is a member, so this cannot fail.
        let _: Result<(), Errno> = match self.interest {
            Interest::NONE => Ok(()),
            _ => self.epoll.delete(&self.inner),
        };
    }
}

impl<T: AsFd + fmt::Debug> fmt::Debug for Polled<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Polled").field(&self.inner).field(&self.interest).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::descriptor;
    use crate::sys::poll::PollSet;
    use std::fs::File;
    use std::io::{Read, Write};
    use std::time::Duration;

    fn tokens(set: &ReadySet) -> Vec<u64> {
        set.take().iter().map(|ready| ready.token).collect()
    }

    #[test]
    fn only_what_is_ready_and_waited_for_is_named() {
        let mut set = ReadySet::default();
        assert!(set.fd().is_none() && set.take().is_empty());
        let (read, write) = descriptor::pipe().unwrap();
        let (mut read, mut write) =
            (set.add(File::from(read), 1).unwrap(), set.add(File::from(write), 2).unwrap());
        write.wait_for(Interest { read: false, write: true }).unwrap();
        assert_eq!(set.take(), [Ready { token: 2, readable: false, writable: true }]);
        read.wait_for(Interest::READ).unwrap();
        write.wait_for(Interest::NONE).unwrap();
        assert_eq!(set.take(), []);
        write.get_mut().write_all(b"x").unwrap();
        let mut both = PollSet::default();
        both.add_read(set.fd().unwrap(), 'r');
        assert_eq!(both.wait(Some(Duration::ZERO)).unwrap(), ['r']);
        assert_eq!(tokens(&set), [1]);
        read.get_mut().read_exact(&mut [0]).unwrap();
        assert_eq!(tokens(&set), []);
        // The end is ready, but not for one that waits for nothing.
        drop(write);
        assert_eq!(tokens(&set), [1]);
        read.wait_for(Interest::NONE).unwrap();
        assert_eq!(tokens(&set), []);
    }

    #[test]
    fn a_dropped_descriptor_is_not_named_if_a_copy_of_it_is_open() {
        let mut set = ReadySet::default();
        let (read, write) = descriptor::pipe().unwrap();
        let copy = read.try_clone().unwrap();
        let mut watched = set.add(read, 1).unwrap();
        watched.wait_for(Interest::READ).unwrap();
        drop(write);
        assert_eq!(tokens(&set), [1]);
        drop(watched);
        assert_eq!(tokens(&set), []);
        // Its number and its token may be used again.
        let mut again = set.add(copy, 1).unwrap();
        again.wait_for(Interest::READ).unwrap();
        assert_eq!(tokens(&set), [1]);
    }

    #[test]
    fn each_of_many_ready_descriptors_is_named_in_turn() {
        let mut set = ReadySet::default();
        let mut pipes = Vec::new();
        for token in 0..100 {
            let (read, write) = descriptor::pipe().unwrap();
            let mut read = set.add(read, token).unwrap();
            read.wait_for(Interest::READ).unwrap();
            File::from(write.try_clone().unwrap()).write_all(b"x").unwrap();
            pipes.push((read, write));
        }
        let mut seen = [tokens(&set), tokens(&set)].concat();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen, (0..100).collect::<Vec<_>>());
    }
}
