//! The profiling interface (MPI 5.0, chapter 15): `MPI_x` is a jump to `PMPI_x`.
//!
//! The jump is the whole function: no frame, no argument is touched, so one form serves every
//! signature, the variadic one included. A symbol of `global_asm!` would not be exported from the
//! shared library; a naked function is. The list is made by `generator/profile.rs`.

#![allow(unsafe_code)]

use super::bodies::*;

/// Defines each name on the left as a jump to the function on the right.
macro_rules! profile {
    ($($name:ident => $body:ident;)*) => {
        $(
            #[doc = concat!("Jumps to [`", stringify!($body), "`].")]
            #[unsafe(naked)]
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name() {
                #[cfg(target_arch = "x86_64")]
                std::arch::naked_asm!("jmp {}", sym $body);
                #[cfg(target_arch = "aarch64")]
                std::arch::naked_asm!("b {}", sym $body);
            }
        )*
    };
}

include!(concat!(env!("OUT_DIR"), "/profile.rs"));
