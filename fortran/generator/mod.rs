//! Everything that is generated from the table of routines. `build.rs` and tests include this module.

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
