//! Generalized requests: operations of the application (MPI 5.0 §13.2).
//!
//! ```text
//!              Grequest_complete              wait, test
//!  Active ─────────────────────> Complete ─────────────────> query, free, handle freed
//!    │ Request_free                 └─────── Request_free ─> free, handle freed
//!    └────────────> Freed ── Grequest_complete ────────────> free, handle freed
//! ```
//!
//! This module has only the state; the caller calls the functions of the application, outside of the
//! lock.

use crate::device::Device;
use crate::mpi::Mpi;
use crate::mpi::communicator::COMM_SELF;
use crate::mpi::handle::Handle;
use crate::mpi::request::{Activity, Request, not_a_request};
use platform::base::{ErrorClass, Result};

/// The functions of one request, as addresses, and their extra state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GrequestFunctions {
    /// Fills the status.
    pub(crate) query: usize,
    /// Frees the extra state.
    pub(crate) free: usize,
    /// Cancels the operation.
    pub(crate) cancel: usize,
    /// The first argument of all functions.
    pub(crate) extra_state: usize,
}

/// State of a generalized request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GrequestState {
    /// The operation is in progress.
    Active,
    /// The application has called `MPI_Grequest_complete`.
    Complete,
    /// The request has been freed, and exists until the operation is complete.
    Freed,
}

/// A generalized request.
#[derive(Debug)]
pub struct GeneralizedRequest {
    pub(crate) functions: GrequestFunctions,
    pub(crate) state: GrequestState,
}

impl<D: Device> Mpi<D> {
    /// A generalized request. It has no communicator, so its errors call the handler of
    /// `MPI_COMM_SELF`.
    ///
    /// # Errors
    /// `NoMem` without a free handle.
    pub(crate) fn start_generalized(&mut self, functions: GrequestFunctions) -> Result<Handle> {
        let general = GeneralizedRequest { functions, state: GrequestState::Active };
        self.request(COMM_SELF, Activity::Generalized(Box::new(general)))
    }

    /// Completes the operation of a generalized request. Returns the functions if the request was
    /// freed before; the caller must call free.
    ///
    /// # Errors
    /// `Request` if it is not a generalized request, or already complete.
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
                let why = format!(
                    "generalized request {handle:#x} is already complete: complete it once"
                );
                Err(ErrorClass::Request.error(why))
            }
            GrequestState::Freed => {
                self.requests.remove(handle);
                Ok(Some(functions))
            }
        }
    }

    /// Whether a generalized request is in progress.
    pub(crate) fn has_generalized(&self) -> bool {
        self.requests.iter().any(|(_, request)| {
            let activity = request.activity.as_ref();
            matches!(activity, Some(Activity::Generalized(it)) if it.state != GrequestState::Complete)
        })
    }

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
    /// Whether this is a freed generalized request that waits for its completion; for all other
    /// purposes it does not exist.
    pub(crate) fn is_freed(&self) -> bool {
        match &self.activity {
            Some(Activity::Generalized(general)) => general.state == GrequestState::Freed,
            _ => false,
        }
    }
}
