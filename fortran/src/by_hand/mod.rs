//! The routines that need more than a conversion of each argument; one file for each reason.

mod alltoallw;
mod attribute;
mod buffer;
mod deleted;
mod function;
mod info;
mod outside;
mod predefined;
mod setup;
mod spawn;

pub(crate) use alltoallw::*;
pub(crate) use attribute::*;
pub(crate) use buffer::*;
pub(crate) use deleted::*;
pub(crate) use function::*;
pub(crate) use info::*;
pub(crate) use outside::*;
pub(crate) use predefined::*;
pub(crate) use setup::*;
pub(crate) use spawn::*;
