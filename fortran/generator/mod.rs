//! What is made from the table of routines. `build.rs` includes this, and so do tests.

#![allow(dead_code, reason = "each includer takes what it needs")]

pub mod entry;
pub mod f08;
#[path = "../../generator/functions.rs"]
pub mod functions;
pub mod library;
#[path = "../../generator/prototype.rs"]
pub mod prototype;
pub mod sentinel;
pub mod table;
