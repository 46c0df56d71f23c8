//! Bytes as hexadecimal text: two lower-case digits each. Upper-case digits are read, too.

use std::fmt::Write;

/// Appends `bytes` to `text`.
pub fn push(text: &mut String, bytes: &[u8]) {
    for byte in bytes {
        // Writing to a string never fails.
        let _ = write!(text, "{byte:02x}");
    }
}

/// `bytes` as text.
pub fn text(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    push(&mut text, bytes);
    text
}

/// The bytes in `text`; `None` for an odd length or another character than digits.
pub fn bytes(text: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    pairs.iter().map(byte).collect()
}

/// The byte of two digits.
fn byte(&[high, low]: &[u8; 2]) -> Option<u8> {
    let value = |digit: u8| char::from(digit).to_digit(16);
    Some((value(high)? << 4 | value(low)?) as u8)
}

/// The `N` bytes in `text`; `None` if it has another length or another character than digits.
pub fn parse<const N: usize>(text: &str) -> Option<[u8; N]> {
    bytes(text)?.try_into().ok()
}
