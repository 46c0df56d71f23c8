//! The functions that the library does not have yet, made by `generator/unsupported.rs`.

#![allow(unsafe_code)]
#![allow(unused_variables, reason = "nothing is done with the arguments")]

use std::ffi::{c_char, c_int, c_void};

use crate::abi::entry_point::{Scope, unsupported};
use crate::abi::handles::MPI_FILE_NULL;
use crate::abi::types::*;

include!(concat!(env!("OUT_DIR"), "/unsupported.rs"));
