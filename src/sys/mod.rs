//! Linux behind safe functions: the only callers of libc, nix and memmap2.

pub mod futex;

pub mod clock;
