//! The `int` forms that only widen their arguments, made by `generator/int_form.rs`.

#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void};

use super::bodies::*;
use crate::abi::arguments::width::{narrowed, narrowed_in_place};
use crate::abi::types::*;

include!(concat!(env!("OUT_DIR"), "/int_form.rs"));
