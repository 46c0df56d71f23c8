//! Arguments of C: pointers, strings, buffers, and counts of two widths.

pub(crate) mod pointer;
pub(crate) mod text;
pub(crate) mod user_memory;
pub(crate) mod width;
