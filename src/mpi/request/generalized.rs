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

use crate::device::Device;
use crate::mpi::Mpi;
use crate::mpi::communicator::COMM_SELF;
use crate::mpi::handle::Handle;
use crate::mpi::request::{Activity, Request, not_a_request};
use platform::base::{ErrorClass, Result};

/// The application's functions for one request, as addresses, and what they are called with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GrequestFunctions {
    /// Fills the status.
    pub(crate) query: usize,
    /// Frees what belongs to the request.
    pub(crate) free: usize,
    /// Is asked to cancel.
    pub(crate) cancel: usize,
    /// What all of them are given.
    pub(crate) extra_state: usize,
}

/// How far a generalized request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GrequestState {
    /// The application has not said that its operation is complete.
    Active,
    /// It has.
    Complete,
    /// The request has been freed, and is kept until the operation is complete.
    Freed,
}

/// A generalized request.
#[derive(Debug)]
pub struct GeneralizedRequest {
    /// What to call.
    pub(crate) functions: GrequestFunctions,
    /// How far it is.
    pub(crate) state: GrequestState,
}

impl<D: Device> Mpi<D> {
    /// A request whose operation the application carries out. It belongs to no communicator, so
    /// errors go to that of `MPI_COMM_SELF`.
    ///
    /// # Errors
    /// `NoMem` without a free handle.
    pub(crate) fn start_generalized(&mut self, functions: GrequestFunctions) -> Result<Handle> {
        let general = GeneralizedRequest { functions, state: GrequestState::Active };
        self.request(COMM_SELF, Activity::Generalized(Box::new(general)))
    }

    /// The operation of a generalized request is complete. The functions if the request had been
    /// freed before: now it is time to call that which frees.
    ///
    /// # Errors
    /// `Request` if it is no generalized request, or complete already.
    pub(crate) fn complete_generalized(
        &mut self, handle: Handle,
    ) -> Result<Option<GrequestFunctions>> {
        let request = self.requests.get_mut(handle).ok_or_else(|| not_a_request(handle))?;
        let Some(Activity::Generalized(general)) = &mut request.activity else {
            let why = format!("request {handle:#x} is not a generalized request");
            return Err(ErrorClass::Request.error(why));
        };
        let GeneralizedRequest { functions, state: progress } = &mut **general;
        let functions = *functions;
        match progress {
            GrequestState::Active => {
                *progress = GrequestState::Complete;
                self.engine.note_event();
                Ok(None)
            }
            GrequestState::Complete => {
                let why = format!("generalized request {handle:#x} has been completed already");
                Err(ErrorClass::Request.error(why))
            }
            GrequestState::Freed => {
                self.requests.remove(handle);
                Ok(Some(functions))
            }
        }
    }

    /// Whether there is an operation that the application carries out and has not completed.
    pub(crate) fn has_generalized(&self) -> bool {
        self.requests.iter().any(|(_, request)| {
            let activity = request.activity.as_ref();
            matches!(activity, Some(Activity::Generalized(it)) if it.state != GrequestState::Complete)
        })
    }

    /// The functions of a request, if it is a generalized one.
    pub(crate) fn functions(&self, handle: Handle) -> Option<GrequestFunctions> {
        self.activity(handle)?.functions()
    }
}

impl Activity {
    /// The functions of a generalized request.
    #[inline]
    pub(crate) fn functions(&self) -> Option<GrequestFunctions> {
        match self {
            Self::Generalized(general) => Some(general.functions),
            _ => None,
        }
    }
}

impl Request {
    /// Whether this is a generalized request that has been freed and only waits for its completion:
    /// for all other purposes it is none.
    pub(crate) fn is_freed(&self) -> bool {
        match &self.activity {
            Some(Activity::Generalized(general)) => general.state == GrequestState::Freed,
            _ => false,
        }
    }
}
