//! The world model of this process: its stage and its level of thread support (MPI 5.0 §11.2,
//! §11.6).

use std::sync::atomic::Ordering;

use super::{Process, running_mpi};
use platform::base::{ErrorClass, MpiError, Result};

/// Levels of thread support (§11.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ThreadLevel {
    /// The process has one thread.
    Single,
    /// Only the thread that initialized calls MPI.
    Funneled,
    /// One thread at a time calls MPI.
    Serialized,
    /// Threads call MPI at any time.
    Multiple,
}

impl ThreadLevel {
    /// The name in the standard.
    pub fn name(self) -> &'static str {
        match self {
            Self::Single => "MPI_THREAD_SINGLE",
            Self::Funneled => "MPI_THREAD_FUNNELED",
            Self::Serialized => "MPI_THREAD_SERIALIZED",
            Self::Multiple => "MPI_THREAD_MULTIPLE",
        }
    }
}

/// The world model in this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WorldModel {
    Before,
    Running { level: ThreadLevel, main: std::thread::ThreadId },
    After,
}

impl WorldModel {
    pub(super) fn stage(self) -> WorldStage {
        match self {
            Self::Before => WorldStage::Before,
            Self::Running { .. } => WorldStage::Running,
            Self::After => WorldStage::After,
        }
    }
}

/// The stage of the world model, for `MPI_Initialized` and `MPI_Finalized`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum WorldStage {
    /// Before `MPI_Init`.
    Before,
    /// Between `MPI_Init` and `MPI_Finalize`.
    Running,
    /// After `MPI_Finalize`.
    After,
}

impl Process {
    /// The stage of the world model, whatever sessions exist. Any thread may call this at any time,
    /// also while another thread initializes.
    pub(crate) fn stage(&self) -> WorldStage {
        match self.stage.load(Ordering::Acquire) {
            stage if stage == WorldStage::Before as u8 => WorldStage::Before,
            stage if stage == WorldStage::Running as u8 => WorldStage::Running,
            _ => WorldStage::After,
        }
    }

    /// The level of thread support of the world model, and whether the caller is the thread that
    /// initialized it.
    ///
    /// # Errors
    /// `Other` outside the world model.
    pub(crate) fn threads(&self) -> Result<(ThreadLevel, bool)> {
        let mut state = self.state.visit();
        match running_mpi(&mut state)?.world {
            WorldModel::Running { level, main } => Ok((level, main == std::thread::current().id())),
            WorldModel::Before | WorldModel::After => Err(no_world()),
        }
    }
}

#[cold]
pub(super) fn no_world() -> Box<MpiError> {
    ErrorClass::Other.error("this works between MPI_Init and MPI_Finalize only")
}
