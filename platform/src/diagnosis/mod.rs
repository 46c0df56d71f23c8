//! Diagnosis: why a job does not continue.
//!
//! ```text
//!   a rank that waits                                     the launcher, at a time limit or signal
//!     wait_report    one call and what it waits for ─┐      job_report   the text about all ranks
//!     wait_monitor   when to publish and to report   │        ▲     ▲
//!       ├─ hang_report   the line about a long wait  │        │     └── call stacks
//!       └─ deadlock      decides; its text           ▼        │
//!                └─ job_status ───────── status_table (rank_status): one record per rank of a host
//!                       └── status_exchange: what other hosts answer
//!     ended_ranks    which ranks have ended, for ranks that survive failures
//!     wait_graph     which ranks wait for which, in sentences, for both texts
//! ```
//!
//! Nothing here prints, knows a communicator, or reads a clock.

pub mod deadlock;
pub mod ended_ranks;
pub mod hang_report;
pub mod job_report;
pub mod job_status;
pub mod rank_status;
pub mod status_exchange;
pub mod status_table;
pub mod wait_graph;
pub mod wait_monitor;
pub mod wait_report;
