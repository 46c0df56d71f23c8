//! Suiro (水路, "waterway"): an MPI library with the standard ABI of MPI 5.0.
//!
//! # Crates
//!
//! ```text
//!   launch/        launch/{info,tune}/     sim/            programs: mpirun and the wrappers,
//!      │               │   │   │            │  │           suiro-info, suiro-tune, suiro-sim
//!      │   ┌───────────┘   │   │            │  │
//!      │   │            (launch)     src/ ──┘  │           this library; fortran/ and acp/ above its C symbols
//!      ▼   ▼                          │        │
//!    platform/ ◄──────────────────────┴────────┘           errors, Linux, wire-up, diagnosis
//! ```
//!
//! Cargo enforces these arrows. `chart/` (SVG charts), `npb-harness/` (NAS benchmarks) and `models/`
//! (the model checker loom) use nothing above them.
//!
//! # Layers of the library
//!
//! ```text
//!                 abi               C symbols, and the only global
//!                  │
//!               process             settings, wire-up, locks, waiting, the progress thread
//!              /    |    \
//!            mpi bridge devices     communicators, datatypes, collectives │ loopback, shm, tcp, tofu, carrier
//!             │          │
//!       global_memory    │          accesses to the memory of any rank by addresses: the basic layer of ACP
//!             │          │
//!          engine        │          matching, protocols, runs of schedules
//!          /    \        │
//!     offload   device ◄─┘          schedules and programs as data │ the contract of devices
//!                  │
//!            shared_memory          segments that ranks share, as values over bytes
//! ```
//!
//! Imports run downwards only; `tests/tidy.rs` has the exact table and enforces it. All layers may use
//! [`platform::base`]; `devices` and `process` alone use [`platform::sys`].
//!
//! * [`platform`]: errors, settings and spans of memory (`base`); Linux behind safe functions (`sys`),
//!   the only caller of libc, nix and memmap2; how a process joins a job by PMI (`bootstrap`);
//!   addresses and proofs of connections (`network`); the name server of several jobs (`names`); the wire
//!   and the start-up of IMPI (`impi`); why a job does not go on (`diagnosis`).
//! * [`shared_memory`]: the segment that the ranks of a communicator share, and the atomics under it.
//! * [`offload`]: a collective operation as data, a [`Schedule`](offload::Schedule); its compiler to a
//!   [`Program`](offload::Program), which a network interface with counters runs; the packing of puts
//!   on engines.
//! * [`device`]: the contract of a transport: packets, one-sided access, programs. Its conformance suite,
//!   and middleware for faults, delays and traces.
//! * [`devices`]: `loopback` (ranks in one process), `shm` (one host), `tcp` (any hosts), `tofu` (one
//!   host, with a simulated network interface per rank) and `carrier` (any hosts, by another MPI library or
//!   libfabric). A device knows no other device and no engine.
//! * [`engine`]: matching, eager and rendezvous protocols, operations, runs of schedules. The engine has
//!   no clock and no thread, and makes no system call; it moves when it is called.
//! * `bridge`: between the engine and `devices::impi`, the connections with other clusters of a world
//!   (IMPI): the packets of the one as packets of the other.
//! * `global_memory`: the basic layer of ACP: addresses, the order of accesses and their ways, by the
//!   processor, by the device, or by other ranks that are asked. It knows no communicator and no thread.
//! * [`mpi`]: the objects and rules of the standard: communicators, groups, datatypes, operations,
//!   requests, collectives. Like the engine, it does not know the system.
//! * [`process`]: settings, wire-up and devices become a running MPI; a call waits here.
//! * [`abi`]: the exported symbols.
//!
//! # Six ideas
//!
//! **A collective is data.** An algorithm is a pure function from (shape of the communicator, rank,
//! arguments) to a schedule: a graph of sends, receives, copies and reductions. The engine runs
//! schedules. Tests run them on symbolic bytes for all ranks at once. Blocking, nonblocking and
//! persistent calls share them.
//!
//! **A program for a network interface is data, too.** A program is work that waits for levels of
//! counters, compiled from a schedule. The interface runs it, or the host if the interface lacks a
//! resource, with the same behaviour on the wire. A model checker tries all orders of arrival.
//!
//! **The engine is a value.** Time and I/O are arguments, so one test runs many ranks, in an order
//! that a seed decides.
//!
//! **The device contract fits on a page.** A device accepts a packet or returns `Busy`. It never
//! blocks. A packet without room waits in the engine, in order. A job may have several devices, one for
//! each peer; the failure of a peer is an event.
//!
//! **User code never runs inside.** Reduction functions, attribute callbacks and error handlers run
//! on a thread of the application, without the process lock.
//!
//! **A waiting call costs no processor that another rank needs.** A call spins only if each local rank
//! has a processor, or if spinning has proved faster. Otherwise it yields for a millisecond, then sleeps
//! on a futex.

pub mod abi;
pub(crate) mod bridge;
pub mod device;
pub mod devices;
pub mod engine;
pub(crate) mod global_memory;
pub mod mpi;
pub mod offload;
pub mod process;
pub mod shared_memory;
