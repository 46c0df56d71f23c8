//! The tool interface (MPI 5.0, chapter 15): its users, sessions and handles, and which performance
//! variables there are.
//!
//! Works before initialization and after finalization, too: then nothing has been counted. It knows
//! no C; control variables are the settings of the library, which it does not know either.

use super::Mpi;
use super::table::{Handle, Kind, Table};
use crate::base::Result;
use crate::device::Device;

/// A performance variable: a number of 64 bits, of this process alone, that only the library changes.
#[derive(Clone, Copy, Debug)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// What it counts, in a sentence.
    pub meaning: &'static str,
    /// How it changes.
    pub class: Class,
    /// Where it is.
    gauge: Gauge,
}

/// How a performance variable changes (§15.3.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// How much of something there is now.
    Level,
    /// How often something has happened.
    Counter,
}

#[derive(Clone, Copy, Debug)]
enum Gauge {
    Posted,
    Unexpected,
    Outgoing,
    HostPrograms,
}

/// All performance variables.
pub const VARIABLES: &[Variable] = &[
    Variable {
        name: "suiro_posted_receives",
        meaning: "receives that no message has matched",
        class: Class::Level,
        gauge: Gauge::Posted,
    },
    Variable {
        name: "suiro_unexpected_messages",
        meaning: "messages that have come and that no receive has matched",
        class: Class::Level,
        gauge: Gauge::Unexpected,
    },
    Variable {
        name: "suiro_outgoing_messages",
        meaning: "messages that have not left yet",
        class: Class::Level,
        gauge: Gauge::Outgoing,
    },
    Variable {
        name: "suiro_offload_host_programs",
        meaning: "persistent collectives that the host runs as the network interface lacks \
                  counters or slots for them",
        class: Class::Counter,
        gauge: Gauge::HostPrograms,
    },
];

impl<D: Device> Mpi<D> {
    /// What the variable `index` of [`VARIABLES`] says now.
    ///
    /// # Panics
    /// If there is none.
    pub fn measure(&mut self, index: usize) -> u64 {
        let queues = self.engine.queues();
        match VARIABLES[index].gauge {
            Gauge::Posted => queues.posted as u64,
            Gauge::Unexpected => queues.unexpected as u64,
            Gauge::Outgoing => queues.outgoing as u64,
            Gauge::HostPrograms => self.engine.host_programs(),
        }
    }
}

/// Who uses the tool interface, and what they hold.
#[derive(Debug)]
pub struct Tools {
    users: usize,
    /// The index of a control variable.
    pub controls: Table<usize>,
    sessions: Table<()>,
    readings: Table<Reading>,
}

/// A handle to a performance variable.
#[derive(Clone, Copy, Debug)]
struct Reading {
    session: Handle,
    variable: usize,
}

impl Default for Tools {
    fn default() -> Self {
        Self {
            users: 0,
            controls: Table::new(Kind::ToolControl),
            sessions: Table::new(Kind::ToolSession),
            readings: Table::new(Kind::ToolReading),
        }
    }
}

impl Tools {
    /// One more user.
    pub fn enter(&mut self) {
        self.users += 1;
    }

    /// One user less; whether there was one. The last one takes all sessions and handles along.
    pub fn leave(&mut self) -> bool {
        match self.users {
            0 => return false,
            1 => *self = Self::default(),
            _ => self.users -= 1,
        }
        true
    }

    /// Whether anybody uses it.
    pub fn is_used(&self) -> bool {
        self.users > 0
    }

    /// A new session.
    ///
    /// # Errors
    /// `NoMem` without a free handle.
    pub fn open(&mut self) -> Result<Handle> {
        self.sessions.insert(())
    }

    /// Ends a session and all handles in it; whether there was one.
    pub fn close(&mut self, session: Handle) -> bool {
        let inside = self.readings.iter().filter(|(_, reading)| reading.session == session);
        let inside: Vec<_> = inside.map(|(handle, _)| handle).collect();
        for handle in inside {
            self.readings.remove(handle);
        }
        self.sessions.remove(session).is_some()
    }

    /// Whether there is such a session.
    pub fn is_open(&self, session: Handle) -> bool {
        self.sessions.get(session).is_some()
    }

    /// A handle to a performance variable, in a session that is open.
    ///
    /// # Errors
    /// `NoMem` without a free handle.
    pub fn bind(&mut self, session: Handle, variable: usize) -> Result<Handle> {
        self.readings.insert(Reading { session, variable })
    }

    /// The performance variable of a handle of this session.
    pub fn bound(&self, session: Handle, handle: Handle) -> Option<usize> {
        let reading = self.readings.get(handle).filter(|reading| reading.session == session);
        reading.map(|reading| reading.variable)
    }

    /// Frees a handle of this session; whether there was one.
    pub fn unbind(&mut self, session: Handle, handle: Handle) -> bool {
        self.bound(session, handle).is_some() && self.readings.remove(handle).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_takes_its_handles_along_and_knows_no_others() {
        let mut tools = Tools::default();
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
        let mut tools = Tools::default();
        assert!(!tools.leave());
        tools.enter();
        tools.enter();
        let session = tools.open().unwrap();
        assert!(tools.leave() && tools.is_open(session));
        assert!(tools.leave() && !tools.is_open(session) && !tools.is_used());
    }
}
