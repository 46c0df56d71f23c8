//! Suiro (水路, "waterway"): an MPI library with the standard ABI of MPI 5.0.
//!
//! # Layers
//!
//! ```text
//!                 abi                         bin/mpirun        bin/suiro-sim
//!                  │                               │                  │
//!               process ──────────────┐         launch               sim
//!              /   │   \              │            │               /   │
//!            mpi devices bootstrap ───┼────────────┤            mpi  device
//!             │    │        │         │            │
//!            core  │        └── sys ──┴────────────┘
//!           /    \ │          /
//!      offload   device ◄────/
//!           \     /
//!            base
//! ```
//!
//! Imports run downwards only; `tests/tidy.rs` has the exact table and enforces it.
//!
//! * `platform::base`: errors, peers, slabs, spans of memory. Knows nothing of MPI or Linux.
//! * `platform::sys`: Linux behind safe functions. The only callers of libc, nix and memmap2.
//! * [`offload`]: a collective operation as data, a [`Schedule`](offload::Schedule); its compiler to a
//!   [`Program`](offload::Program), which a network interface with counters runs; how puts are packed
//!   on engines.
//! * [`device`]: the contract of anything that carries packets, one-sided access or programs; its
//!   conformance suite; devices around devices for faults, delay and traces; a network interface
//!   (`nic`) and a network (`torus`) as values, for devices and simulators.
//! * [`devices`]: `loopback` (ranks in one process), `shm` (one host) and `tofu` (one host, as if each
//!   rank had a network interface). None knows another, or the engine.
//! * [`engine`]: the engine: matching, protocols, operations, runs of schedules. It has no clock, no
//!   thread and makes no system call; it moves when it is called.
//! * [`mpi`]: what the standard says: communicators, groups, datatypes, operations, requests, the
//!   algorithms of collectives. As free of the system as the engine.
//! * `platform::bootstrap`: how a process learns who it is (PMI), and the launcher's side of that.
//! * [`process`]: settings, wire-up and devices become a running MPI; calls wait here.
//! * [`abi`]: every exported symbol, and the only global.
//! * `launch/`: `mpirun` and the compiler wrappers.
//! * `fortran/`, a workspace member: the entry points of Fortran, made from a table of all routines.
//!   It calls the C functions of whichever library has them, and knows nothing of this crate.
//! * `sim/`: what networks make of communication, in virtual time, for `suiro-sim`.
//! * `launch/info/`: what this installation is and can do, for `suiro-info`; it asks all others.
//!
//! # Six ideas that everything rests on
//!
//! **A collective is data.** An algorithm is a pure function from (shape of the communicator, rank,
//! arguments) to a schedule: a graph of sends, receives, copies and reductions. The engine runs
//! schedules; tests run them on symbolic bytes for all ranks at once. Blocking and nonblocking
//! calls share them.
//!
//! **What a network interface can run is data, too.** A program is work that waits for levels of
//! counters, compiled from a schedule. The interface runs it, or the host where that lacks something,
//! with the same behaviour on the wire; a model checker tries all orders of arrival.
//!
//! **The engine is a value.** Time and I/O are arguments, so many ranks run in one test, in an
//! order that a seed decides.
//!
//! **The device contract fits on a page.** A device takes a packet or says it is busy; it never
//! blocks, queues or retries. What has no room waits in the engine, in order.
//!
//! **User code never runs inside.** Reduction functions, attribute callbacks and error handlers are
//! called with the process lock free, on a thread of the application.
//!
//! **Waiting costs nobody a processor.** Calls spin only where each local rank has a processor,
//! or where that proves faster; they yield for a millisecond, then sleep on a futex.

pub mod abi;
pub mod device;
pub mod devices;
pub mod engine;
pub mod mpi;
pub mod offload;
pub mod process;
pub mod shared_memory;
