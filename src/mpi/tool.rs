//! The tool interface (MPI 5.0, chapter 15): initialization count, sessions, handles, and performance
//! variables.
//!
//! Works also before initialization and after finalization, where all variables are 0. The module
//! does not know C, or the settings of the library, which are its control variables.

use super::Mpi;
use crate::device::Device;
use crate::global_memory::counts::WayCounts;
use crate::mpi::file::counters::FileCounts;
use crate::mpi::handle::{Handle, HandleKind, HandleTable};
use platform::base::Result;

/// A performance variable: a read-only number of 64 bits, of this process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PerformanceVariable {
    pub(crate) name: &'static str,
    /// Description for the application.
    pub(crate) meaning: &'static str,
    pub(crate) class: VariableClass,
    source: VariableSource,
}

/// Class of a performance variable (§15.3.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VariableClass {
    /// The current amount of a resource.
    Level,
    /// The number of events until now.
    Counter,
}

#[derive(Clone, Copy, Debug)]
enum VariableSource {
    Posted,
    Unexpected,
    Outgoing,
    HostPrograms,
    Accesses(fn(WayCounts) -> u64),
    WindowAccesses,
    Files(fn(FileCounts) -> u64),
}

/// All performance variables.
pub(crate) const VARIABLES: &[PerformanceVariable] = &[
    PerformanceVariable {
        name: "suiro_posted_receives",
        meaning: "posted receives without a matching message",
        class: VariableClass::Level,
        source: VariableSource::Posted,
    },
    PerformanceVariable {
        name: "suiro_unexpected_messages",
        meaning: "unexpected messages: received, without a matching receive",
        class: VariableClass::Level,
        source: VariableSource::Unexpected,
    },
    PerformanceVariable {
        name: "suiro_outgoing_messages",
        meaning: "messages that have not been sent completely",
        class: VariableClass::Level,
        source: VariableSource::Outgoing,
    },
    PerformanceVariable {
        name: "suiro_offload_host_programs",
        meaning: "persistent collectives that software runs as the network interface lacks \
                  counters or slots for them",
        class: VariableClass::Counter,
        source: VariableSource::HostPrograms,
    },
    accesses("suiro_acp_by_processor", "accesses of ACP by the processor of this rank", |counts| {
        counts.processor
    }),
    accesses("suiro_acp_by_device", "accesses of ACP by the device", |counts| counts.device),
    accesses(
        "suiro_acp_deferred",
        "accesses of ACP that the device also kept in order",
        |counts| counts.deferred,
    ),
    accesses(
        "suiro_acp_delegated",
        "accesses of ACP that other ranks have made for this one",
        |counts| counts.delegated,
    ),
    accesses("suiro_acp_served", "accesses of ACP that this rank has made for others", |counts| {
        counts.served
    }),
    PerformanceVariable {
        name: "suiro_rma_by_device",
        meaning: "puts and gets on windows that the device makes beside the messages",
        class: VariableClass::Counter,
        source: VariableSource::WindowAccesses,
    },
    files("suiro_file_calls", "reads and writes of files by the system", |counts| counts.calls),
    files("suiro_file_read_bytes", "bytes read from files, gaps included", |counts| counts.read),
    files("suiro_file_written_bytes", "bytes written to files", |counts| counts.written),
    files(
        "suiro_file_gap_bytes",
        "bytes of gaps that were read from files with the pieces beside them",
        |counts| counts.gaps,
    ),
];

const fn files(
    name: &'static str, meaning: &'static str, of: fn(FileCounts) -> u64,
) -> PerformanceVariable {
    let (class, source) = (VariableClass::Counter, VariableSource::Files(of));
    PerformanceVariable { name, meaning, class, source }
}

const fn accesses(
    name: &'static str, meaning: &'static str, of: fn(WayCounts) -> u64,
) -> PerformanceVariable {
    let (class, source) = (VariableClass::Counter, VariableSource::Accesses(of));
    PerformanceVariable { name, meaning, class, source }
}

impl<D: Device> Mpi<D> {
    /// The current value of the variable `index` of [`VARIABLES`].
    ///
    /// # Panics
    /// If there is none.
    pub(crate) fn read_variable(&mut self, index: usize) -> u64 {
        let queues = self.engine.queues();
        match VARIABLES[index].source {
            VariableSource::Posted => queues.posted as u64,
            VariableSource::Unexpected => queues.unexpected as u64,
            VariableSource::Outgoing => queues.outgoing as u64,
            VariableSource::HostPrograms => self.engine.host_programs(),
            VariableSource::Accesses(of) => of(self.global_memory.counts()),
            VariableSource::WindowAccesses => self.windows.device_accesses(),
            VariableSource::Files(of) => of(self.files.counters.counts()),
        }
    }
}

/// Initialization count of the tool interface, its sessions and handles.
#[derive(Debug)]
pub(crate) struct ToolInterface {
    users: usize,
    pub(crate) controls: HandleTable<ControlHandle>,
    sessions: HandleTable<()>,
    performance: HandleTable<PerformanceHandle>,
}

/// A handle to a control variable.
#[derive(Debug)]
pub(crate) struct ControlHandle {
    /// Index of the variable.
    pub(crate) variable: usize,
    /// The value when the handle was created: the tool has room for no longer one.
    pub(crate) value: String,
}

/// A handle to a performance variable.
#[derive(Clone, Copy, Debug)]
struct PerformanceHandle {
    session: Handle,
    variable: usize,
}

impl Default for ToolInterface {
    fn default() -> Self {
        Self {
            users: 0,
            controls: HandleTable::new(HandleKind::ToolControl),
            sessions: HandleTable::new(HandleKind::ToolSession),
            performance: HandleTable::new(HandleKind::ToolPerformance),
        }
    }
}

impl ToolInterface {
    /// Increments the initialization count.
    pub(crate) fn enter(&mut self) {
        self.users += 1;
    }

    /// Decrements the initialization count, unless it is 0; whether it was not. At 0, frees all
    /// sessions and handles.
    pub(crate) fn leave(&mut self) -> bool {
        match self.users {
            0 => return false,
            1 => *self = Self::default(),
            _ => self.users -= 1,
        }
        true
    }

    /// Whether the initialization count is not 0.
    pub(crate) fn is_used(&self) -> bool {
        self.users > 0
    }

    /// A new session.
    ///
    /// # Errors
    /// `NoMem` without a free handle.
    pub(crate) fn open(&mut self) -> Result<Handle> {
        self.sessions.insert(())
    }

    /// Frees a session and its handles; whether the session existed.
    pub(crate) fn close(&mut self, session: Handle) -> bool {
        let inside = self.performance.iter().filter(|(_, reading)| reading.session == session);
        let inside: Vec<_> = inside.map(|(handle, _)| handle).collect();
        for handle in inside {
            self.performance.remove(handle);
        }
        self.sessions.remove(session).is_some()
    }

    /// Whether there is such a session.
    pub(crate) fn is_open(&self, session: Handle) -> bool {
        self.sessions.get(session).is_some()
    }

    /// A handle to a performance variable, in an open session.
    ///
    /// # Errors
    /// `NoMem` without a free handle.
    pub(crate) fn bind(&mut self, session: Handle, variable: usize) -> Result<Handle> {
        self.performance.insert(PerformanceHandle { session, variable })
    }

    /// The performance variable of a handle of this session.
    pub(crate) fn bound(&self, session: Handle, handle: Handle) -> Option<usize> {
        let reading = self.performance.get(handle).filter(|reading| reading.session == session);
        reading.map(|reading| reading.variable)
    }

    /// Frees a handle of this session; whether the handle existed.
    pub(crate) fn unbind(&mut self, session: Handle, handle: Handle) -> bool {
        self.bound(session, handle).is_some() && self.performance.remove(handle).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_takes_its_handles_along_and_knows_no_others() {
        let mut tools = ToolInterface::default();
        let (one, two) = (tools.open().unwrap(), tools.open().unwrap());
        let handle = tools.bind(one, 1).unwrap();
        assert_eq!((tools.bound(one, handle), tools.bound(two, handle)), (Some(1), None));
        assert!(!tools.unbind(two, handle));
        assert!(tools.close(one) && !tools.close(one));
        assert_eq!(tools.bound(one, handle), None);
        assert!(tools.is_open(two));
    }

    #[test]
    fn the_last_user_takes_everything_along() {
        let mut tools = ToolInterface::default();
        assert!(!tools.leave());
        tools.enter();
        tools.enter();
        let session = tools.open().unwrap();
        assert!(tools.leave() && tools.is_open(session));
        assert!(tools.leave() && !tools.is_open(session) && !tools.is_used());
    }
}
