//! Collective operations (MPI 5.0 §6, §8.6).
//!
//! One collective call has three nouns:
//!
//! ```text
//!                    ┌───────────── messages ───────────────┐
//!  C arguments       │ RunPlan: schedule and buffers        │ engine's run of a schedule
//!      │             ├───────────── shared memory ──────────┤
//!      │ abi         │ shared segment and the call itself   │ Running, in shared/
//!      v             ├───────────── network interface ──────┤
//!    Call ───bind──► │ program: counters and puts           │ engine's run of a program
//!                    └──────────────────────────────────────┘
//!     [Call]                 Bound                     ──start──►      Running   ──► Outcome
//!     checked arguments      algorithm or program                      state of one
//!                            chosen, memory placed                     execution
//! ```
//!
//! * [`Call`](calls::Call): the checked arguments. `abi` parses them once, also for persistent calls.
//! * `Bound`: a blocking or nonblocking call starts it and drops it; a persistent request keeps it in
//!   the engine or in a shared collective, and starts it any number of times.
//! * Running: a request names it ([`Activity`](super::request::Activity)) and waits for it.
//!
//! A persistent call takes messages to bind, because all ranks have to agree on a shared segment or on
//! a program. `PersistentInit` is the state of that agreement.
//!
//! | question | folder |
//! |---|---|
//! | arguments and checks of a function? | [`calls`] |
//! | which algorithm does a call take? | [`selection`]: its list, its costs, the settings |
//! | messages of an algorithm? | [`algorithms`], a folder for each operation |
//! | from the call to its execution? | `binding` |
//! | ranks that share memory? | [`shared`] |
//! | `MPI_*_init`? | `persistent` |
//! | words that all ranks tell each other, when an object is created? | `exchange` |
//! | a persistent call as a program of a network interface? | `offload`: the agreement of the ranks; then [`offload::compile`](crate::offload::compile) |

pub mod algorithms;
pub mod binding;
pub mod calls;
pub(crate) mod exchange;
pub(crate) mod offload;
pub(crate) mod persistent;
pub mod reduction_operator;
pub mod selection;
pub mod shared;
