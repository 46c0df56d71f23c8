//! Measures the algorithms of collective operations on the machine of a user, and writes the rules that the
//! measurement speaks for, for `SUIRO_COLL_RULES`.
//!
//! ```text
//!   plan ──► jobs of mpirun, one for each algorithm, in repeated rounds ──► medians ──► winners
//!                                                                                          │
//!   rules ◄── winners that win again ◄── jobs with and without them, in rounds ◄── trial file
//! ```
//!
//! Each job runs this program again, as its ranks ([`measure`]), with the settings `SUIRO_COLL_*` of the
//! algorithm: what is measured is what a user gets by the same setting. Rounds interleave the algorithms,
//! so that a busy minute of the machine meets all of them. The best of many measurements is partly
//! luck; so winners are measured again, and only those that win twice become rules.
//!
//! | module | content |
//! |---|---|
//! | [`plan`] | what is measured: ranks, operations, bytes; the algorithms that fit |
//! | [`job`] | one job of `mpirun`, with a time limit, ended with this process |
//! | [`campaign`] | the rounds of jobs, and the budget of time |
//! | [`choice`] | medians, winners, and ranges of bytes: no input but times |
//! | [`rules_text`] | the file |
//! | [`measure`] | the ranks of a job |

pub mod campaign;
pub mod choice;
pub mod job;
pub mod measure;
pub mod plan;
pub mod rules_text;
