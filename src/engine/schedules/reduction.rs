//! Reductions: by the library inside the engine, or by the application outside of it.

pub use crate::device::trigger::ReductionKernel;
use crate::offload::{Arithmetic, StepId};
use platform::base::Span;

/// How the reductions of a run are computed.
#[derive(Clone)]
pub enum ReductionMethod {
    /// There are none.
    None,
    /// By the library, inside the engine.
    Kernel(ReductionKernel),
    /// By the library, on numbers of 8 bytes; with the equivalent operation of an interface.
    Numbers(ReductionKernel, Arithmetic),
    /// By a function of the application: each reduction becomes a [`ReductionWork`].
    Application(ReductionKernel),
}

/// A reduction that a function of the application must compute, outside of the engine.
///
/// Both spans hold packed elements. They are valid until
/// [`Engine::work_done`](crate::engine::Engine::work_done).
pub struct ReductionWork {
    pub(crate) origin: WorkOrigin,
    pub(crate) step: StepId,
    pub(crate) kernel: ReductionKernel,
    pub(crate) from: Span,
    pub(crate) into: Span,
}

/// The operation that a reduction is a step of.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WorkOrigin {
    /// The run with this key.
    Run(u32),
    /// The offloaded operation with this key.
    Program(u32),
}

impl ReductionWork {
    /// Calls the function of the application. No lock may be held.
    pub fn execute(&self) {
        (self.kernel)(self.from, self.into);
    }
}
