//! Bytes as hexadecimal text: two lower-case digits each. Upper-case digits are read, too.

use std::fmt::Write;

/// Appends `bytes` to `text`.
pub fn push(text: &mut String, bytes: &[u8]) {
    for byte in bytes {
        // Writing to a string never fails.
        let _ = write!(text, "{byte:02x}");
    }
}

/// The `N` bytes in `text`; `None` if it has another length or another character than digits.
pub fn parse<const N: usize>(text: &str) -> Option<[u8; N]> {
    let (digits, rest) = text.as_bytes().as_chunks::<2>();
    if digits.len() != N || !rest.is_empty() {
        return None;
    }
    let value = |digit: u8| char::from(digit).to_digit(16);
    let mut bytes = [0; N];
    for (byte, [high, low]) in bytes.iter_mut().zip(digits) {
        *byte = (value(*high)? << 4 | value(*low)?) as u8;
    }
    Some(bytes)
}
