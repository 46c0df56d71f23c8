//! Functions that `build.rs` generates from the table of functions, `generator/functions.tsv`.

pub(crate) mod bodies;
pub(crate) mod int_form;
pub(crate) mod profile;
