//! Types of the data library in C, as in its header.

use std::ffi::c_int;
use std::mem::{offset_of, size_of};

use crate::data::Element;
use crate::space::SpaceAddress;

/// Bytes in the memory of a rank.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct acp_element_t {
    /// Their address; 0 if there are none.
    pub ga: u64,
    /// Their number.
    pub size: usize,
}

/// A key and its value, or two pieces of a range of bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct acp_pair_t {
    /// The key, or the first piece.
    pub first: acp_element_t,
    /// The value, or the second piece.
    pub second: acp_element_t,
}

impl From<acp_element_t> for Element {
    fn from(element: acp_element_t) -> Self {
        Self::new(SpaceAddress(element.ga), element.size as u64)
    }
}

impl From<Element> for acp_element_t {
    fn from(element: Element) -> Self {
        Self { ga: element.at.0, size: element.len_bytes as usize }
    }
}

impl From<[Element; 2]> for acp_pair_t {
    fn from([first, second]: [Element; 2]) -> Self {
        Self { first: first.into(), second: second.into() }
    }
}

/// A container that its address alone identifies, and its iterator with a field of this name for
/// the container.
macro_rules! addressed {
    ($container:ident, $iterator:ident { $field:ident, $place:ident: $type:ty }) => {
        /// A container.
        #[repr(C)]
        #[derive(Clone, Copy, Debug, Default)]
        pub struct $container {
            /// The address of its header; 0 if there is no container.
            pub ga: u64,
        }

        /// A position in a container.
        #[repr(C)]
        #[derive(Clone, Copy, Debug, Default)]
        pub struct $iterator {
            /// The container.
            pub $field: $container,
            /// The place in it.
            pub $place: $type,
        }

        const _: () = assert!(size_of::<$container>() == 8);
        const _: () = assert!(size_of::<$iterator>() == 16 && offset_of!($iterator, $place) == 8);
    };
}

addressed!(acp_vector_t, acp_vector_it_t { vector, index: c_int });
addressed!(acp_deque_t, acp_deque_it_t { deque, index: c_int });
addressed!(acp_list_t, acp_list_it_t { list, elem: u64 });

/// A container of keys, and its iterator with a field of this name for the container.
macro_rules! hashed {
    ($container:ident, $iterator:ident { $field:ident }) => {
        /// A container of keys.
        #[repr(C)]
        #[derive(Clone, Copy, Debug, Default)]
        pub struct $container {
            /// The address of its directory; 0 if there is no container.
            pub ga: u64,
            /// The number of its tables.
            pub num_ranks: u64,
            /// The number of slots of a table.
            pub num_slots: u64,
        }

        /// A position in a container of keys.
        #[repr(C)]
        #[derive(Clone, Copy, Debug, Default)]
        pub struct $iterator {
            /// The container.
            pub $field: $container,
            /// The index of the table; the number of tables at the end.
            pub rank: c_int,
            /// The slot.
            pub slot: c_int,
            /// The address of the element; 0 at the end.
            pub elem: u64,
        }

        const _: () = assert!(size_of::<$container>() == 24);
        const _: () = assert!(
            size_of::<$iterator>() == 40
                && offset_of!($iterator, rank) == 24
                && offset_of!($iterator, slot) == 28
                && offset_of!($iterator, elem) == 32
        );
    };
}

hashed!(acp_set_t, acp_set_it_t { set });
hashed!(acp_multiset_t, acp_multiset_it_t { set });
hashed!(acp_map_t, acp_map_it_t { map });

const _: () = assert!(size_of::<acp_element_t>() == 16 && size_of::<acp_pair_t>() == 32);
const _: () = assert!(offset_of!(acp_element_t, size) == 8 && offset_of!(acp_pair_t, second) == 16);
