//! Generalized requests: operations that the application carries out itself (MPI 5.0 §13.2).
//!
//! ```text
//!              Grequest_complete              wait, test
//!  Active ─────────────────────> Complete ─────────────────> query, free, gone
//!    │ Request_free                 └─────── Request_free ─> free, gone
//!    └────────────> Freed ── Grequest_complete ────────────> free, gone
//! ```
//!
//! Here is only the state; whoever asks is told which function of the application is to be called,
//! with the lock free.

use super::Mpi;
use super::comm::COMM_SELF;
use super::request::{Activity, Request, not_a_request};
use super::table::Handle;
use crate::base::{ErrorClass, Result};
use crate::device::Device;

/// The application's functions for one request, as addresses, and what they are called with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Functions {
    /// Fills the status.
    pub query: usize,
    /// Frees what belongs to the request.
    pub free: usize,
    /// Is asked to cancel.
    pub cancel: usize,
    /// What all of them are given.
    pub extra_state: usize,
}

/// How far a generalized request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The application has not said that its operation is complete.
    Active,
    /// It has.
    Complete,
    /// The request has been freed, and is kept until the operation is complete.
    Freed,
}

/// A generalized request.
#[derive(Debug)]
pub struct General {
    /// What to call.
    pub functions: Functions,
    /// How far it is.
    pub progress: Progress,
}

impl<D: Device> Mpi<D> {
    /// A request whose operation the application carries out. It belongs to no communicator, so
    /// errors go to that of `MPI_COMM_SELF`.
    ///
    /// # Errors
    /// `NoMem` without a free handle.
    pub fn start_general(&mut self, functions: Functions) -> Result<Handle> {
        let general = General { functions, progress: Progress::Active };
        self.request(COMM_SELF, Activity::General(Box::new(general)))
    }

    /// The operation of a generalized request is complete. The functions if the request had been
    /// freed before: now it is time to call that which frees.
    ///
    /// # Errors
    /// `Request` if it is no generalized request, or complete already.
    pub fn complete_general(&mut self, handle: Handle) -> Result<Option<Functions>> {
        let request = self.requests.get_mut(handle).ok_or_else(|| not_a_request(handle))?;
        let Some(Activity::General(general)) = &mut request.activity else {
            let why = format!("request {handle:#x} is not a generalized request");
            return Err(ErrorClass::Request.error(why));
        };
        let General { functions, progress } = &mut **general;
        let functions = *functions;
        match progress {
            Progress::Active => {
                *progress = Progress::Complete;
                self.engine.note_event();
                Ok(None)
            }
            Progress::Complete => {
                let why = format!("generalized request {handle:#x} has been completed already");
                Err(ErrorClass::Request.error(why))
            }
            Progress::Freed => {
                self.requests.remove(handle);
                Ok(Some(functions))
            }
        }
    }

    /// Whether there is an operation that the application carries out and has not completed.
    pub fn has_general(&self) -> bool {
        self.requests.iter().any(|(_, request)| {
            let activity = request.activity.as_ref();
            matches!(activity, Some(Activity::General(it)) if it.progress != Progress::Complete)
        })
    }

    /// The functions of a request, if it is a generalized one.
    pub fn functions(&self, handle: Handle) -> Option<Functions> {
        self.activity(handle)?.functions()
    }
}

impl Activity {
    /// The functions of a generalized request.
    #[inline]
    pub(super) fn functions(&self) -> Option<Functions> {
        match self {
            Self::General(general) => Some(general.functions),
            _ => None,
        }
    }
}

impl Request {
    /// Whether this is a generalized request that has been freed and only waits for its completion:
    /// for all other purposes it is none.
    pub(super) fn is_freed(&self) -> bool {
        match &self.activity {
            Some(Activity::General(general)) => general.progress == Progress::Freed,
            _ => false,
        }
    }
}
