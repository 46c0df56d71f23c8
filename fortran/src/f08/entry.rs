//! The generated entry points.

use std::ffi::{c_char, c_void};

use super::descriptor::Descriptor;
use super::elements::Elements;
use crate::argument::{answer, handle, number};
use crate::c;
use crate::c::*;
use crate::entry::*;
use crate::sentinel;
use crate::sentinel::choice;
use crate::text::Text;

include!(concat!(env!("OUT_DIR"), "/f08.rs"));
