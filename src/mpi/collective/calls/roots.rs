//! The role of a process in an operation with a root, and the checks of `MPI_IN_PLACE`
//! (MPI 5.0 §6.2.3, §6.4).

use crate::mpi::communicator::Comm;
use crate::mpi::request::status::PROC_NULL;
use platform::base::{ErrorClass, Result};

/// `MPI_ROOT` of the standard ABI.
pub const ROOT: i32 = -4;

/// The role of a process in an operation with a root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RootRole {
    /// The root of an intracommunicator, which has a block of its own.
    Root,
    /// The root on an intercommunicator (`MPI_ROOT`): all other participants are in the remote group.
    InterRoot,
    /// A process that sends to the root or receives from it.
    NonRoot,
    /// A process in the group of the root of an intercommunicator (`MPI_PROC_NULL`): no data.
    ProcNull,
}

impl Comm {
    /// The role of this process in an operation with the root `root`, and the root as a member (this
    /// process, for [`RootRole::ProcNull`]).
    ///
    /// # Errors
    /// `Root` if there is no such rank.
    pub fn root_role(&self, root: i32) -> Result<(RootRole, u32)> {
        match root {
            ROOT if self.is_inter() => Ok((RootRole::InterRoot, self.member())),
            PROC_NULL if self.is_inter() => Ok((RootRole::ProcNull, self.member())),
            root => {
                let root = self.member_of(self.check_root(root)?);
                let is_here = root == self.member();
                Ok((if is_here { RootRole::Root } else { RootRole::NonRoot }, root))
            }
        }
    }

    /// Refuses `MPI_IN_PLACE` on intercommunicators.
    ///
    /// # Errors
    /// `Buffer` if this is an intercommunicator.
    pub(crate) fn check_in_place(&self) -> Result {
        match self.is_inter() {
            false => Ok(()),
            true => {
                let title = self.title();
                let why = format!("{title} is an intercommunicator: MPI_IN_PLACE is not for it");
                Err(ErrorClass::Buffer.error(why))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::mpi::communicator::Context;
    use crate::mpi::errhandler::Handler;
    use crate::mpi::group::Group;

    #[test]
    fn roots_of_an_intercommunicator_are_remote() {
        // Processes 0 and 1 in one group, 2, 3 and 4 in the other; this is process 3.
        let (local, remote) = (Group::range(2, 3, 3), Group::range(0, 2, 3));
        let context = Context::new(0, 7);
        let (local, remote) = (Arc::new(local), Arc::new(remote));
        let inter = Comm::new_inter(context, (Arc::clone(&local), 1), remote, Handler::Fatal);
        let inter = inter.unwrap();
        assert_eq!(inter.root_role(ROOT).unwrap(), (RootRole::InterRoot, 3));
        assert_eq!(inter.root_role(PROC_NULL).unwrap().0, RootRole::ProcNull);
        assert_eq!(inter.root_role(1).unwrap(), (RootRole::NonRoot, 1));
        assert!(inter.root_role(2).is_err() && inter.root_role(-2).is_err());
        assert!(inter.check_in_place().is_err());
        let intra = Comm::new(context, local, Handler::Fatal).unwrap();
        assert_eq!(intra.root_role(1).unwrap(), (RootRole::Root, 1));
        assert_eq!(intra.root_role(2).unwrap(), (RootRole::NonRoot, 2));
        assert!(intra.root_role(ROOT).is_err() && intra.root_role(PROC_NULL).is_err());
        assert!(intra.check_in_place().is_ok());
    }
}
