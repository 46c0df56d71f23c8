//! What the standard says. Knows no device, system call, thread, clock or global.

pub mod coll;
pub mod datatype;
pub mod op;
