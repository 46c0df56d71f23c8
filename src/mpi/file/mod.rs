//! Files (MPI 5.0 §14).
//!
//! ```text
//!   independent access       view ──> access ──> storage             without the lock of MPI
//!   collective access        operation: ranges of all ranks ──> plan ──┬──> access ───────────┬──> agreement
//!                                                                      └──> two_phase: rounds ─┘
//!   shared file pointer      pointer ──> position, then as above
//! ```
//!
//! | file | content |
//! |---|---|
//! | `mode`, `name`, `hints` | how a file is opened |
//! | `storage`, `counters` | what an open file can do, and has done; errors of the system |
//! | `view`, `representation` | which bytes of the file, in which order, and how data is in them |
//! | `access` | data between memory and the file, at one rank |
//! | `plan`, `two_phase` | data of all ranks, by a few of them |
//! | `conversion` | functions of the application that convert data |
//! | `pointer` | individual and shared file pointers |
//! | `idle_pointer` | the window of a shared pointer between two files |
//! | `operation` | an access in progress: its stages |
//! | `agreement` | errors that all ranks hear of |
//! | `failures` | ranks that have failed, files that are revoked |
//!
//! A file has a private communicator, that of the window with its shared pointer. Accesses that the system
//! makes are values ([`FileWork`]): a blocking function does them in its own thread, an [`Executor`] those of
//! all others. This layer makes no call of the system but by its [`Storage`].

pub(crate) mod access;
pub(crate) mod agreement;
pub(crate) mod conversion;
pub(crate) mod counters;
mod failures;
pub(crate) mod hints;
pub(crate) mod idle_pointer;
pub(crate) mod mode;
pub(crate) mod name;
pub(crate) mod operation;
mod plan;
pub(crate) mod pointer;
pub(crate) mod representation;
pub(crate) mod storage;
#[cfg(test)]
mod tests;
mod two_phase;
pub(crate) mod view;

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use crate::mpi::communicator::Context;
use crate::mpi::errhandler::Handler;
use crate::mpi::handle::{Handle, HandleKind, HandleTable};
use crate::mpi::info::Info;
use conversion::ConversionWork;
use counters::FileCounters;
use hints::FileHints;
use mode::FileMode;
use operation::{FileOperation, FileOperationId, FileWork};
use platform::base::{ErrorClass, MpiError, Result};
use pointer::SharedPointer;
use representation::UserRepresentations;
use storage::Storage;
use two_phase::PeerViews;
use view::View;

/// `MPI_FILE_NULL` of the standard ABI.
pub(crate) const FILE_NULL: Handle = 0x118;

/// An open file.
#[derive(Debug)]
pub(crate) struct File {
    pub(crate) comm: Handle,
    /// For messages.
    pub(crate) name: String,
    /// The name for the system.
    pub(crate) path: Vec<u8>,
    pub(crate) mode: FileMode,
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) view: Arc<View>,
    pub(crate) hints: FileHints,
    pub(crate) handler: Handler,
    /// The individual file pointer, as a position in the view.
    pub(crate) pointer: u64,
    pub(crate) shared: SharedPointer,
    /// The communicator that keeps the window of the shared pointer after the file, with its context.
    pub(crate) parent: Option<(Handle, Context)>,
    pub(crate) is_atomic: bool,
    /// The ranks that access the file for others.
    pub(crate) aggregators: Vec<u32>,
    /// Whether all ranks are on one node.
    is_one_node: bool,
    /// The views of all ranks, at an aggregator, once they were told.
    peer_views: Option<PeerViews>,
    /// Whether the views of all ranks were told since they changed.
    are_views_told: bool,
    /// Collective accesses, in the order of their calls, which is that of all ranks.
    queue: VecDeque<FileOperationId>,
    /// Accesses in progress.
    pending: usize,
    /// Collective accesses that each rank has made alone, and in two phases.
    pub(crate) planned: [u64; 2],
    /// A split collective access that has begun (§14.4.5).
    pub(crate) split: Option<SplitAccess>,
}

/// A split collective access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SplitAccess {
    /// The function that ends it, without its prefix.
    pub(crate) ends_with: &'static str,
    pub(crate) operation: FileOperationId,
}

/// Does work with files for calls that do not wait.
pub(crate) trait Executor: Send + Sync {
    /// Takes over work; [`Mpi::end_file_work`](crate::mpi::Mpi::end_file_work) follows. The work, if no thread can do
    /// it.
    fn submit(&self, operation: FileOperationId, work: FileWork) -> Option<FileWork>;
}

/// All open files.
pub(crate) struct Files {
    table: HandleTable<File>,
    /// By number; `None`: the number is free, or the operation advances just now.
    operations: Vec<Option<Box<FileOperation>>>,
    /// Numbers without an operation.
    free: Vec<usize>,
    /// Operations that are not complete.
    active: usize,
    /// Reads that functions of the application convert next.
    conversions: VecDeque<ConversionWork>,
    executor: Option<Arc<dyn Executor>>,
    /// Whether reads of several rounds overlap with their messages: where the executor has a processor of its own, or
    /// the user wants threads to do what they can.
    pub(crate) reads_ahead: bool,
    pub(crate) counters: Arc<FileCounters>,
    /// What the application has registered.
    pub(crate) representations: UserRepresentations,
}

impl Default for Files {
    fn default() -> Self {
        let table = HandleTable::new(HandleKind::File);
        let representations = UserRepresentations::default();
        let (operations, free, conversions) = (Vec::new(), Vec::new(), VecDeque::new());
        let (executor, counters) = (None, Arc::default());
        Self {
            table,
            operations,
            free,
            active: 0,
            conversions,
            executor,
            reads_ahead: false,
            counters,
            representations,
        }
    }
}

impl Files {
    /// # Errors
    /// `File` if there is no such file.
    #[inline]
    pub(crate) fn get(&self, file: Handle) -> Result<&File> {
        self.table.get(file).ok_or_else(|| not_a_file(file))
    }

    /// # Errors
    /// `File` if there is no such file.
    #[inline]
    pub(crate) fn get_mut(&mut self, file: Handle) -> Result<&mut File> {
        self.table.get_mut(file).ok_or_else(|| not_a_file(file))
    }

    /// # Errors
    /// `NoMem` without a free handle.
    pub(crate) fn insert(&mut self, file: File) -> Result<Handle> {
        self.table.insert(file)
    }

    /// # Errors
    /// `File` if there is no such file.
    pub(crate) fn remove(&mut self, file: Handle) -> Result<File> {
        self.table.remove(file).ok_or_else(|| not_a_file(file))
    }

    /// Whether there are no operations in progress.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.active == 0
    }

    /// Whether the system makes an access, or the application converts its data.
    pub(crate) fn is_working(&self) -> bool {
        self.operations.iter().flatten().any(|operation| operation.is_working())
    }

    /// Whether functions of the application are to be called.
    #[inline]
    pub(crate) fn has_conversions(&self) -> bool {
        !self.conversions.is_empty()
    }

    /// The next read whose data the application converts.
    pub(crate) fn take_conversion(&mut self) -> Option<ConversionWork> {
        self.conversions.pop_front()
    }

    /// Whether something does work for calls that do not wait.
    pub(crate) fn has_executor(&self) -> bool {
        self.executor.is_some()
    }

    pub(crate) fn set_executor(&mut self, executor: Arc<dyn Executor>) {
        self.executor = Some(executor);
    }
}

impl fmt::Debug for Files {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("Files").field("table", &self.table).finish_non_exhaustive()
    }
}

impl File {
    /// A file that ranks on these nodes have opened, without file pointers yet.
    pub(crate) fn new(
        comm: Handle, name: String, mode: FileMode, storage: Arc<dyn Storage>, view: View,
        hints: FileHints, nodes: &[u32],
    ) -> Self {
        let aggregators = plan::aggregators(nodes, hints.aggregators);
        Self {
            comm,
            name,
            path: Vec::new(),
            mode,
            storage,
            view: Arc::new(view),
            hints,
            handler: Handler::Return,
            pointer: 0,
            shared: SharedPointer::Own(0),
            parent: None,
            is_atomic: false,
            aggregators,
            is_one_node: nodes.iter().all(|node| *node == nodes[0]),
            peer_views: None,
            are_views_told: false,
            queue: VecDeque::new(),
            pending: 0,
            planned: [0; 2],
            split: None,
        }
    }

    /// The hints in use, with the number of aggregators.
    ///
    /// # Errors
    /// Only internal errors.
    pub(crate) fn told_hints(&self) -> Result<Info> {
        self.hints.told(self.aggregators.len())
    }

    /// Whether accesses are in progress.
    pub(crate) fn is_busy(&self) -> bool {
        self.pending > 0
    }

    /// Takes another view, on all ranks; the individual pointer is at its begin.
    pub(crate) fn set_view(&mut self, view: View) {
        self.view = Arc::new(view);
        self.pointer = 0;
        (self.peer_views, self.are_views_told) = (None, false);
    }

    /// The error of a change while accesses are in progress.
    ///
    /// # Errors
    /// `Io`.
    pub(crate) fn check_idle(&self) -> Result {
        match &self.split {
            None => Ok(()),
            Some(split) => Err(ErrorClass::Io.error(format!(
                "a split collective access of the file \"{}\" is in progress: {} ends it",
                self.name, split.ends_with
            ))),
        }
    }
}

#[cold]
fn not_a_file(file: Handle) -> Box<MpiError> {
    ErrorClass::File.error(match file {
        FILE_NULL => "the file is MPI_FILE_NULL".into(),
        _ => format!("{file:#x} is not a file; it may have been closed"),
    })
}
