//! `mpirun` from outside: exit codes, signals, streams, PMI, and no remaining processes or files.
//!
//! Ranks are shell programs, or this executable again in a role (see [`launch::role`]).

mod launch {
    #[path = "../../../tests/harness/mod.rs"]
    pub mod harness;
    pub mod role;

    mod acp;
    mod branches;
    mod calls;
    mod deadlock;
    mod debugger;
    mod departure;
    mod failure;
    mod faults;
    mod forms;
    mod fortran;
    mod impi;
    mod kill;
    mod names;
    mod options;
    mod placement;
    mod pmi;
    mod rules;
    mod several_hosts;
    mod spawn;
    mod starters;
    mod streams;
    mod table;
    mod timeout;
    mod wrapper;
}
