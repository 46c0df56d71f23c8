//! The generated bodies, and all other names of the routines.

use std::ffi::{c_char, c_void};

use crate::argument::{answer, count_from_one, from_one, handle, number};
use crate::by_hand::*;
use crate::c;
use crate::c::*;
use crate::handles::Handles;
use crate::logical::{logical, logicals, truth, truths};
use crate::sentinel::{self, choice};
use crate::text::{CharacterBuffer, Text};

include!(concat!(env!("OUT_DIR"), "/entry.rs"));
include!(concat!(env!("OUT_DIR"), "/large.rs"));
include!(concat!(env!("OUT_DIR"), "/meaning.rs"));
