//! The first bytes of an agent, after which its messages begin.
//!
//! ```text
//!   Text of login scripts --greeting--> messages
//!         \--too long, or the end--> broken
//! ```
//!
//! A remote shell runs login scripts, which may print to the standard output that becomes the
//! connection. The text before the greeting is skipped.

use serde::de::DeserializeOwned;

use super::frame::BrokenFrame;
use super::{AgentCommand, AgentEvent};

/// A message of one direction.
pub(crate) trait ControlMessage: DeserializeOwned {
    /// Whether agents send it.
    const IS_OF_AGENT: bool;
}

impl ControlMessage for AgentCommand {
    const IS_OF_AGENT: bool = false;
}

impl ControlMessage for AgentEvent {
    const IS_OF_AGENT: bool = true;
}

/// No text contains zero bytes.
pub(super) const GREETING: &[u8] = b"\0suiro agent\0";

/// Longest text before the greeting.
const TEXT_MAX_BYTES: usize = 64 * 1024;

/// Looks for the greeting in what arrives.
#[derive(Debug, Default)]
pub(super) struct GreetingSearch {
    text: Vec<u8>,
}

impl GreetingSearch {
    /// Takes bytes that have arrived; what follows the greeting, once it is there.
    ///
    /// # Errors
    /// The text is too long: the other end is no agent.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<Option<Vec<u8>>, BrokenFrame> {
        // The greeting may have begun before.
        let known = self.text.len().saturating_sub(GREETING.len());
        self.text.extend_from_slice(bytes);
        let mut windows = self.text[known..].windows(GREETING.len());
        if let Some(at) = windows.position(|window| window == GREETING) {
            return Ok(Some(self.text.split_off(known + at + GREETING.len())));
        }
        match self.text.len() > TEXT_MAX_BYTES {
            true => Err(self.broken().unwrap_or_else(|| BrokenFrame("it sent blanks".to_owned()))),
            false => Ok(None),
        }
    }

    /// What is wrong if nothing more arrives, unless nothing has arrived.
    pub(super) fn broken(&self) -> Option<BrokenFrame> {
        let start = String::from_utf8_lossy(&self.text[..self.text.len().min(64)]);
        let line = start.trim().lines().next()?;
        Some(BrokenFrame(format!("it sent {line:?}, which is no message")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::fuzz;
    use proptest::collection::vec;
    use proptest::prelude::*;

    /// What follows the greeting in `bytes`, which arrive in pieces of this size.
    fn found(bytes: &[u8], piece: usize) -> Result<Option<Vec<u8>>, BrokenFrame> {
        let mut search = GreetingSearch::default();
        let mut pieces = bytes.chunks(piece);
        while let Some(bytes) = pieces.next() {
            if let Some(mut rest) = search.push(bytes)? {
                pieces.for_each(|bytes| rest.extend_from_slice(bytes));
                return Ok(Some(rest));
            }
        }
        Ok(None)
    }

    #[test]
    fn fuzz_text_of_any_login_script_is_skipped() {
        let texts = (vec(any::<u8>(), 0..100), vec(any::<u8>(), 0..100), 1_usize..40);
        fuzz::for_each(texts, |(mut text, rest, piece)| {
            // Half a greeting is text too.
            text.retain(|byte| *byte != GREETING[1]);
            prop_assert_eq!(found(&text, piece), Ok(None));
            text.extend_from_slice(&GREETING[..1]);
            text.extend_from_slice(GREETING);
            text.extend_from_slice(&rest);
            prop_assert_eq!(found(&text, piece), Ok(Some(rest)));
            Ok(())
        });
    }

    #[test]
    fn a_text_without_end_is_quoted() {
        let endless = "Welcome to node1\nToday is Monday\n".repeat(9000);
        let why = found(endless.as_bytes(), 4096).unwrap_err().0;
        assert_eq!(why, "it sent \"Welcome to node1\", which is no message");
        assert_eq!(GreetingSearch::default().broken(), None);
    }
}
