//! Linux behind safe functions: the only callers of libc, nix and memmap2.

pub mod clock;
pub mod descriptor;
pub mod futex;
pub mod host;
pub mod poll;
pub mod process;
pub mod signals;
pub mod socket;
