//! Advanced Communication Primitives (ACP) 3: global addresses, channels and distributed containers, beside
//! MPI and over the same devices.
//!
//! ```text
//!                       c                      what acp.h declares
//!        ┌──────────────┼─────────────┐
//!     channel    segment_buffer   work_space   data, heap      the middle layer
//!        │              │             │            │
//!     messages        hooks           └── space ◄──┘           functions of MPI │ memory of all ranks
//!        └──────┬───────┘
//!          libmpi_abi                                          the basic layer (`global_memory` there)
//! ```
//!
//! The basic layer is in `libmpi_abi`, as it shares devices and progress with MPI; `hooks` calls it. The data
//! library is generic over [`space::GlobalSpace`], so its tests need no processes. `library` has the only
//! state.
//!
//! Source of the interface: ACP 3.0 of the ACE project (Advanced Communication for Exa).

mod c;
mod channel;
mod data;
mod failure;
mod heap;
mod hooks;
mod library;
mod lock;
mod messages;
mod options;
mod segment_buffer;
mod space;
#[cfg(test)]
mod test_space;
mod words;
mod work_space;
