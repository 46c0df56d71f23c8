//! Calls of user-defined reduction functions (MPI 5.0, §6.9.5), without the lock.
//!
//! ```text
//!  packed operands ── dense datatype ───────────────────────────────> function
//!         └────────── any other: unpack ──> elements with gaps ─────> function ──> pack
//! ```
//!
//! The function gets elements of the datatype in the MPI call. Unpacked elements begin at a
//! multiple of 16 bytes, which aligns every basic type.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::mem::transmute;
use std::sync::Arc;

use crate::abi::handles::handle;
use crate::abi::types::{MPI_Count, MPI_User_function, MPI_User_function_c};
use crate::mpi::Layout;
use crate::mpi::Memory;
use crate::mpi::collective::reduction_operator::ReductionOperator;
use crate::mpi::datatype::Datatype;
use crate::mpi::handle::Handle;
use crate::mpi::objects::HandleUse;
use crate::mpi::op::UserFunction;
use platform::base::Span;

/// Alignment of unpacked elements in bytes.
const ALIGNMENT: usize = 16;

/// The reduction by `function` on elements of `datatype` with this handle, which the reduction
/// keeps valid.
pub(crate) fn combining(
    function: UserFunction, datatype: &Datatype,
    (type_handle, handle_use): (Handle, Option<HandleUse>),
) -> ReductionOperator {
    let layout = Arc::clone(datatype.layout());
    let kernel = move |from: Span, into: Span| {
        let _in_use = &handle_use;
        let elements = from.len() / layout.size();
        if layout.is_dense() {
            let (from, into) = (from.address() as *mut u8, into.address() as *mut u8);
            call(function, from, into, elements, layout.extent(), type_handle);
        } else {
            let (mut from, mut into) = (
                UnpackedElements::new(&layout, elements, from),
                UnpackedElements::new(&layout, elements, into),
            );
            call(function, from.base(), into.base(), elements, layout.extent(), type_handle);
            into.pack();
        }
    };
    ReductionOperator::application(function.commutative, datatype, Arc::new(kernel))
}

/// Calls the function for `elements` elements, in several calls if its count is too narrow.
fn call(
    function: UserFunction, mut from: *mut u8, mut into: *mut u8, elements: usize, extent: isize,
    type_handle: Handle,
) {
    let mut datatype = handle(type_handle as c_int);
    let address = function.address as *const c_void;
    if function.large {
        let mut len = elements as MPI_Count;
        // SAFETY: the address was registered with this type by `MPI_Op_create_c`; both arrays have
        // `len` elements of the datatype, as the standard requires.
        unsafe {
            if let Some(call) = transmute::<*const c_void, MPI_User_function_c>(address) {
                call(from.cast(), into.cast(), &mut len, &mut datatype);
            }
        }
        return;
    }
    let mut left = elements;
    while left > 0 {
        let some = left.min(c_int::MAX as usize);
        let mut len = some as c_int;
        // SAFETY: as above, for `MPI_Op_create`.
        unsafe {
            if let Some(call) = transmute::<*const c_void, MPI_User_function>(address) {
                call(from.cast(), into.cast(), &mut len, &mut datatype);
            }
        }
        left -= some;
        let distance = extent.wrapping_mul(some as isize);
        from = from.wrapping_offset(distance);
        into = into.wrapping_offset(distance);
    }
}

/// Copy of packed elements in the layout of their datatype.
struct UnpackedElements {
    /// Every byte in the range of the elements.
    bytes: Vec<u8>,
    /// Address of the first element relative to `bytes`; outside if the element begins with a gap.
    offset: isize,
    /// The elements in `bytes`.
    memory: Memory,
    packed: Span,
}

impl UnpackedElements {
    /// Unpacks `elements` elements from `packed`.
    fn new(layout: &Arc<Layout>, elements: usize, packed: Span) -> Self {
        let last = layout.extent().wrapping_mul(elements.saturating_sub(1) as isize);
        let low = layout.true_lb() + last.min(0);
        let high = layout.true_lb() + layout.true_extent() + last.max(0);
        let mut bytes = vec![0; (high - low) as usize + ALIGNMENT];
        // The beginning of the element is aligned, as in the application's buffer.
        let begin = (bytes.as_ptr().addr() as isize).wrapping_sub(low);
        let padding = (-begin).rem_euclid(ALIGNMENT as isize);
        let offset = padding - low;
        // SAFETY: `bytes` covers `low` to `high` around `offset` and is not moved. Only this memory
        // and the application access `bytes` during the life of `UnpackedElements`.
        let mut memory =
            unsafe { Memory::new(bytes.as_mut_ptr().wrapping_offset(offset), elements, layout) };
        Memory::Span(packed).copy(0, &mut memory, 0, packed.len());
        Self { bytes, offset, memory, packed }
    }

    /// Address of the first element.
    fn base(&mut self) -> *mut u8 {
        self.bytes.as_mut_ptr().wrapping_offset(self.offset)
    }

    /// Packs the elements back into the packed operand.
    fn pack(&self) {
        self.memory.copy(0, &mut Memory::Span(self.packed), 0, self.packed.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mpi::datatype::{ConstructorForm, predefined};

    const INT: Handle = 0x209;
    const GAP: isize = 12;

    /// `inout = 10 × in + inout` on one int per element, at the true lower bound -4.
    unsafe extern "C" fn sequence(
        from: *mut c_void, into: *mut c_void, len: *mut c_int,
        _: *mut crate::abi::types::MPI_Datatype,
    ) {
        // SAFETY: the test gives `len` elements of this datatype.
        unsafe {
            for index in 0..*len as isize {
                let at = |base: *mut c_void| base.byte_offset(index * GAP - 4).cast::<c_int>();
                assert_eq!((from.addr() % ALIGNMENT, into.addr() % ALIGNMENT), (0, 0));
                *at(into) += 10 * *at(from);
            }
        }
    }

    #[test]
    fn a_function_sees_the_elements_with_their_gaps() {
        let int = predefined(INT).unwrap();
        let shifted = Datatype::hindexed(ConstructorForm::Int, &[1], &[-4], &int).unwrap();
        let sparse = Datatype::resized(ConstructorForm::Int, &shifted, -4, GAP as i64).unwrap();
        let address = sequence as *const () as usize;
        let function = UserFunction { address, large: false, commutative: false };
        let combining = combining(function, &sparse, (77, None));
        let packed = |numbers: [i32; 3]| {
            Memory::owned(numbers.into_iter().flat_map(i32::to_ne_bytes).collect::<Vec<u8>>())
        };
        let into = packed([1, 2, 3]);
        combining.combine(packed([4, 5, 6]), into.alias());
        let mut result = [0; 12];
        into.pack(0, &mut result);
        assert_eq!(result, [41i32, 52, 63].map(i32::to_ne_bytes).as_flattened());
    }
}
