//! Conversions between Fortran and C that need no MPI: strings, truth values, lists of handles.

#![allow(unsafe_code)]

#[path = "../src/handles.rs"]
mod handles;
#[path = "../src/logical.rs"]
mod logical;
#[path = "../src/text.rs"]
mod text;

use std::ffi::{CStr, c_char};

use handles::Handles;
use logical::{logical, logicals, truth, truths};
use text::{CharacterBuffer, Text};

fn as_c(text: &Text) -> &str {
    // SAFETY: a `Text` ends with a zero and lives as long as this.
    unsafe { CStr::from_ptr(text.as_ptr()) }.to_str().unwrap()
}

fn trimmed(given: &str) -> String {
    // SAFETY: the bytes are there.
    as_c(&unsafe { Text::trimmed(given.as_ptr().cast(), given.len()) }).to_owned()
}

fn stripped(given: &str) -> String {
    // SAFETY: the bytes are there.
    as_c(&unsafe { Text::stripped(given.as_ptr().cast(), given.len()) }).to_owned()
}

#[test]
fn trailing_blanks_are_removed() {
    for (given, expected) in
        [("", ""), (" ", ""), ("a", "a"), ("a  ", "a"), (" a b  ", " a b"), ("a\tb ", "a\tb")]
    {
        assert_eq!(trimmed(given), expected, "{given:?}");
        assert_eq!(stripped(given), expected.trim_start(), "{given:?}");
    }
    // SAFETY: nothing is read of no bytes.
    let nothing = unsafe { Text::trimmed(std::ptr::null(), 0) };
    assert!(nothing.is_empty() && as_c(&nothing).is_empty());
}

#[test]
fn a_string_of_c_fills_a_character_variable() {
    for (given, len, expected) in
        [("", 3, "   "), ("ab", 4, "ab  "), ("ab", 2, "ab"), ("abc", 2, "ab"), ("abc", 0, "")]
    {
        let mut buffer = CharacterBuffer::new(8);
        for (at, byte) in given.bytes().enumerate() {
            // SAFETY: there are eight bytes.
            unsafe { *buffer.as_mut_ptr().add(at) = byte as c_char };
        }
        let mut variable = vec![b'#'; len];
        // SAFETY: the variable has `len` bytes.
        unsafe { buffer.put(variable.as_mut_ptr().cast(), len) };
        assert_eq!(variable, expected.as_bytes(), "{given:?} in {len}");
    }
}

#[test]
fn the_lowest_bit_of_a_logical_is_its_value() {
    assert_eq!([0, 1, -1].map(truth), [0, 1, 1]);
    assert_eq!([0, 1, 7].map(logical), [0, 1, 1]);
    let given = [-1, 0, 1];
    // SAFETY: there are three.
    let (all, none) = unsafe { (truths(given.as_ptr(), 3), truths(given.as_ptr(), -3)) };
    assert_eq!((all, none), (vec![1, 0, 1], Vec::new()));
    let mut stored = [5, 0, 1, 9];
    // SAFETY: there are more than three.
    unsafe { logicals(stored.as_mut_ptr(), 3) };
    assert_eq!(stored, [1, 0, 1, 9]);
}

#[test]
fn lists_of_handles_are_converted_back_unchanged() {
    for count in [0, 1, 32, 33, 1000] {
        let given: Vec<i32> = (0..count).map(|at| i32::MAX - at).chain([-1]).collect();
        let mut back = vec![-1; given.len()];
        // SAFETY: both have more than `count` elements.
        unsafe {
            let mut handles = Handles::of(given.as_ptr(), count);
            let seen = handles.as_mut_slice().iter().map(|handle| handle.addr());
            assert!(seen.eq(given[..count as usize].iter().map(|number| *number as u32 as usize)));
            handles.put(back.as_mut_ptr());
        }
        assert_eq!(back, given, "{count}");
    }
    // SAFETY: a negative count means no elements.
    unsafe { Handles::of(std::ptr::null(), -1).put(std::ptr::null_mut()) };
}
