//! What is made from the table of routines. `build.rs` includes this, and so do tests.

#![allow(dead_code, reason = "each includer takes what it needs")]

pub(crate) mod entry;
pub(crate) mod f08;
#[path = "../../generator/functions.rs"]
pub(crate) mod functions;
pub(crate) mod library;
#[path = "../../generator/prototype.rs"]
pub(crate) mod prototype;
pub(crate) mod sentinel;
pub(crate) mod table;
