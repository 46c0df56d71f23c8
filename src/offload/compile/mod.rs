//! The compiler from schedules to programs. Each rank compiles its own schedule, with two short
//! exchanges between neighbors.
//!
//! ```text
//!   schedule ──► Draft ──grants───► peers that send to it: the messages of each ready-to-receive
//!                  ◄────grants───── peers that it sends to
//!                  ──targets──► all peers: the addition of each of their arrivals, and its memory
//!                  ◄─targets───
//!                finish ──► Program
//! ```
//!
//! A receive becomes an addition to the sender's counter, *ready-to-receive*, after everything that
//! the receive waits on. A send becomes a put with an addition to the receiver's counter, after the
//! ready-to-receive. All other waits are for arrivals at counters of the rank: data, ends of sends,
//! copies and reductions. `dependency_graph` finds them, `digits` counts them.
//!
//! So two tanks by parity are safe for every schedule: a put of an instance is after its receiver has
//! started the instance. A ready-to-receive of instance `j` is after the end of `j - 1` at its sender;
//! that is after the start of `j - 1` at the receiver of the ready-to-receive, which had sent data by
//! then and had emptied the tank of `j - 2`.
//!
//! The exchanged lists have an order that both sides know from their schedules: messages by label,
//! then groups of messages by number. Nothing here sends them.
//!
//! | file | content |
//! |---|---|
//! | `draft` | one rank's program in the making |
//! | `dependency_graph` | what arrives at a rank, and what its work waits for |
//! | `digits` | weights and thresholds: how one counter counts many arrivals |
//! | `prematched` | three counters for each message instead, for comparison |
//! | `arrival_target` | the counter and the memory of the receiver for an arrival |
//! | `rules` | the countermeasures that make a program safe |
//! | `link` | all ranks in one process, for tests and tools |

mod arrival_target;
mod dependency_graph;
mod digits;
mod draft;
mod link;
mod prematched;
mod rules;

pub(crate) use arrival_target::ArrivalTarget;
pub(crate) use draft::Draft;
pub use link::{link_all, link_one, link_some};
pub use rules::{Rules, SingleSource};
