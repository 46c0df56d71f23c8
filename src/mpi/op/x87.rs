//! Arithmetic on the x87, the only unit with 80-bit numbers.
#![allow(unsafe_code)]

use std::arch::asm;

use super::float::F80;
use super::kernels::{Number, Real};

impl Number for F80 {
    #[inline(always)]
    fn sum(self, other: Self) -> Self {
        x87_sum(self, other)
    }

    #[inline(always)]
    fn product(self, other: Self) -> Self {
        x87_product(self, other)
    }
}

impl Real for F80 {
    #[inline(always)]
    fn difference(self, other: Self) -> Self {
        x87_difference(self, other)
    }
}

/// Defines a function of one instruction.
macro_rules! x87 {
    ($($name:ident, $instruction:literal;)*) => {$(
        fn $name(one: F80, mut other: F80) -> F80 {
            // SAFETY: the instructions read 10 bytes at each pointer and write 10 at the second;
            // the arrays have 16. The register stack is empty before (all of its registers are
            // declared as overwritten) and after.
            unsafe {
                asm!(
                    "fld tbyte ptr [{one}]",
                    "fld tbyte ptr [{other}]",
                    $instruction,
                    "fstp tbyte ptr [{other}]",
                    one = in(reg) one.0.as_ptr(),
                    other = in(reg) other.0.as_mut_ptr(),
                    out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                    out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                    options(nostack),
                );
            }
            other
        }
    )*};
}

x87! {
    x87_sum, "faddp st(1), st";
    x87_product, "fmulp st(1), st";
    x87_difference, "fsubp st(1), st";
}
