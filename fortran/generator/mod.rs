//! x
pub mod module; pub mod module_constants; pub mod module_f08; pub mod module_f90; pub mod module_header; pub mod module_types; pub mod sentinel; pub mod table;
