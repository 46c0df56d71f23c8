//! The routines whose arguments take more than a conversion each; one file for each reason.

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

pub use alltoallw::*;
pub use attribute::*;
pub use buffer::*;
pub use deleted::*;
pub use function::*;
pub use info::*;
pub use outside::*;
pub use predefined::*;
pub use setup::*;
pub use spawn::*;
