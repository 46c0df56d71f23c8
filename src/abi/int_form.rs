//! The `int` forms that only widen their arguments, made by `generator/int_form.rs`.

#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void};

use super::bodies::*;
use super::types::*;
use super::width::{narrowed, narrowed_in_place};

include!(concat!(env!("OUT_DIR"), "/int_form.rs"));
