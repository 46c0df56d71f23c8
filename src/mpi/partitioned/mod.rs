//! Partitioned communication (MPI 5.0 chapter 4): messages of which parts become ready on their own.
//!
//! ```text
//!   sender                                    receiver
//!   MPI_Start, the first one                  MPI_Start, the first one
//!       setup ────────────────────────────────────> its partitions: both sides know the messages
//!   MPI_Pready of the last partition              a receive for each message
//!       of a message ─────────────────────────────> its bytes arrive in place
//! ```
//!
//! Nothing is sent back, except where an interface of the device makes signalled puts ([`by_put`]): the
//! receiver answers with the keys of its memory, and each message is a put that adds to a counter there.
//! Elsewhere each message is one of the engine.
//!
//! A setup message has the tag of the application, in a context of its own, so setups match as other messages
//! do. Data messages have tags that the sender has chosen, one for each message of an operation, in another
//! context.
//!
//! **Order.** Operations match in the order of their creation, but the first start announces an operation,
//! so that one that is freed before it was started leaves nothing behind. A start first announces the
//! older operations with the same rank and tag ([`lifecycle`]).
//!
//! **Threads.** `MPI_Pready` and `MPI_Parrived` find the [`state`] of an operation in a [`table`] without
//! the process lock. Only the thread that completes a message takes the lock, to send it.
//!
//! | file | content |
//! |---|---|
//! | `division` | which message carries which partition |
//! | `ready` | the partitions that the threads of a sender have released |
//! | `arrived` | the messages that a receiver has |
//! | `state` | what threads see of an operation without the lock |
//! | `table` | the states by handle |
//! | `setup` | the setup message, and the answer to it |
//! | `put_state` | the state of an operation by puts, on each side |
//! | `operation` | operations as values |
//! | `lifecycle` | creation, start, messages, completion, end |
//! | `by_put` | the same by signalled puts |
//! | `calls` | the partitions that a call names, and its errors |

pub(crate) mod arrived;
mod by_put;
mod calls;
pub(crate) mod division;
mod lifecycle;
pub(crate) mod operation;
mod put_state;
pub(crate) mod ready;
mod setup;
pub(crate) mod state;
pub(crate) mod table;
