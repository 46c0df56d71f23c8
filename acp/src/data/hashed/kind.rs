//! What distinguishes set, multiset and map: the words of an element before its key.
//!
//! ```text
//!   set        | next | previous | key size | key
//!   multiset   | next | previous | count | key size | key
//!   map        | next | previous | 8 + key size + value size | key size | key | value
//! ```

use crate::words::WORD;

/// What an element has.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Content {
    pub(super) key_bytes: u64,
    /// Of a map; 0 otherwise.
    pub(super) value_bytes: u64,
    /// Of a multiset; 1 otherwise.
    pub(super) count: u64,
}

/// A kind of container.
pub(crate) trait Kind {
    /// Bytes of an element before its key.
    const HEADER: u64;

    /// Where an element has its count, if it has one.
    const COUNT: Option<u64> = None;

    /// The words behind the links; only those before [`Kind::HEADER`] count.
    fn words(content: Content) -> [u64; 2];

    /// The content with these words behind the links; `None` if they contradict each other.
    fn content(words: [u64; 2]) -> Option<Content>;
}

#[derive(Debug)]
pub(crate) enum SetKind {}

#[derive(Debug)]
pub(crate) enum MultisetKind {}

#[derive(Debug)]
pub(crate) enum MapKind {}

impl Kind for SetKind {
    const HEADER: u64 = 3 * WORD;

    fn words(content: Content) -> [u64; 2] {
        [content.key_bytes, 0]
    }

    fn content([key_bytes, _]: [u64; 2]) -> Option<Content> {
        Some(Content { key_bytes, value_bytes: 0, count: 1 })
    }
}

impl Kind for MultisetKind {
    const HEADER: u64 = 4 * WORD;
    const COUNT: Option<u64> = Some(2 * WORD);

    fn words(content: Content) -> [u64; 2] {
        [content.count, content.key_bytes]
    }

    fn content([count, key_bytes]: [u64; 2]) -> Option<Content> {
        Some(Content { key_bytes, value_bytes: 0, count })
    }
}

impl Kind for MapKind {
    const HEADER: u64 = 4 * WORD;

    fn words(content: Content) -> [u64; 2] {
        [WORD + content.key_bytes + content.value_bytes, content.key_bytes]
    }

    fn content([size, key_bytes]: [u64; 2]) -> Option<Content> {
        let value_bytes = size.checked_sub(WORD)?.checked_sub(key_bytes)?;
        Some(Content { key_bytes, value_bytes, count: 1 })
    }
}
