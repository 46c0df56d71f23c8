//! Frames: where a message begins and ends in a stream of bytes.

use std::collections::VecDeque;
use std::marker::PhantomData;

use serde::Serialize;
use serde::de::DeserializeOwned;

const LENGTH_BYTES: usize = 4;

/// Why a stream is of no use any more, in a sentence without a final stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BrokenFrame(pub String);

/// Appends `message`, in its frame, to `out`.
///
/// # Panics
/// If the message has 4 GiB or more.
pub(crate) fn emit(message: &impl Serialize, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(&[0; LENGTH_BYTES]);
    *out = postcard::to_extend(message, std::mem::take(out)).expect("memory takes every message");
    let len = u32::try_from(out.len() - start - LENGTH_BYTES).expect("messages are below 4 GiB");
    out[start..start + LENGTH_BYTES].copy_from_slice(&len.to_le_bytes());
}

/// `message` without a frame, for [`parse`] or [`emit_bytes`].
pub(crate) fn message_bytes(message: &impl Serialize) -> Vec<u8> {
    postcard::to_stdvec(message).expect("memory takes every message")
}

/// As [`emit`], of what [`message_bytes`] made of the message.
pub(crate) fn emit_bytes(message: &[u8], out: &mut Vec<u8>) {
    let len = u32::try_from(message.len()).expect("messages are below 4 GiB");
    out.extend_from_slice(&len.to_le_bytes());
    out.extend_from_slice(message);
}

/// The message in its frame.
///
/// # Errors
/// The other end speaks another protocol.
pub(crate) fn parse<Message: DeserializeOwned>(bytes: &[u8]) -> Result<Message, BrokenFrame> {
    let len = bytes.len();
    match postcard::take_from_bytes(bytes) {
        Ok((message, [])) => Ok(message),
        Ok((_, rest)) => {
            Err(BrokenFrame(format!("a message of {len} bytes has {} too many", rest.len())))
        }
        Err(error) => Err(BrokenFrame(format!("a message of {len} bytes is invalid: {error}"))),
    }
}

/// Takes messages from a stream of bytes.
#[derive(Debug)]
pub(crate) struct ControlReader<Message> {
    received: VecDeque<u8>,
    message_max_bytes: usize,
    message: PhantomData<Message>,
}

impl<Message: DeserializeOwned> ControlReader<Message> {
    /// A reader of messages of at most `message_max_bytes`.
    pub(crate) fn new(message_max_bytes: usize) -> Self {
        Self { received: VecDeque::new(), message_max_bytes, message: PhantomData }
    }

    /// Adds received bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.received.extend(bytes);
    }

    /// The next whole message.
    ///
    /// # Errors
    /// The other end speaks another protocol; nothing that follows has a meaning.
    pub(crate) fn next_message(&mut self) -> Result<Option<Message>, BrokenFrame> {
        let received = self.received.make_contiguous();
        let Some((length, rest)) = received.split_first_chunk::<LENGTH_BYTES>() else {
            return Ok(None);
        };
        let len = u32::from_le_bytes(*length) as usize;
        if len > self.message_max_bytes {
            let why = format!("a message of {len} bytes is too long");
            return Err(BrokenFrame(why));
        }
        let Some(bytes) = rest.get(..len) else { return Ok(None) };
        let message = parse(bytes)?;
        self.received.drain(..LENGTH_BYTES + len);
        Ok(Some(message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::fuzz;
    use crate::control::{AgentCommand, AgentEvent};
    use proptest::collection::vec;
    use proptest::prelude::*;

    /// Messages of at most this many bytes.
    const MAX: usize = 1 << 16;

    fn all<Message: DeserializeOwned>(
        reader: &mut ControlReader<Message>,
    ) -> Result<Vec<Message>, BrokenFrame> {
        std::iter::from_fn(|| reader.next_message().transpose()).collect()
    }

    #[test]
    fn messages_arrive_in_any_pieces() {
        let sent = [
            AgentCommand::Signal(10),
            AgentCommand::Input { rank: 3, bytes: vec![7; 300] },
            AgentCommand::Kill,
        ];
        let mut bytes = Vec::new();
        sent.iter().for_each(|message| emit(message, &mut bytes));
        for piece in [1, 2, 5, 1000] {
            let mut reader = ControlReader::new(MAX);
            let mut received: Vec<AgentCommand> = Vec::new();
            for part in bytes.chunks(piece) {
                reader.push(part);
                received.extend(all(&mut reader).unwrap());
            }
            assert_eq!(received, sent);
        }
    }

    #[test]
    fn a_length_is_bounded() {
        let mut reader = ControlReader::<AgentEvent>::new(MAX);
        reader.push(&[0, 0, 0, 1]);
        let why = reader.next_message().unwrap_err().0;
        assert_eq!(why, "a message of 16777216 bytes is too long");
    }

    #[test]
    fn bytes_after_a_message_in_its_frame_are_an_error() {
        let mut bytes = Vec::new();
        emit(&AgentCommand::Kill, &mut bytes);
        bytes.push(0);
        bytes[0] += 1;
        let mut reader = ControlReader::<AgentCommand>::new(MAX);
        reader.push(&bytes);
        assert!(reader.next_message().unwrap_err().0.ends_with("has 1 too many"));
    }

    fn read_all<Message: DeserializeOwned>(bytes: &[u8]) -> Vec<Message> {
        let mut reader = ControlReader::<Message>::new(MAX);
        reader.push(bytes);
        all(&mut reader).unwrap_or_default()
    }

    #[test]
    fn a_message_that_is_passed_on_is_that_which_was_sent() {
        let sent = AgentCommand::Input { rank: 3, bytes: vec![7; 300] };
        let (mut direct, mut passed) = (Vec::new(), Vec::new());
        emit(&sent, &mut direct);
        emit_bytes(&message_bytes(&sent), &mut passed);
        assert_eq!((passed, parse(&message_bytes(&sent))), (direct, Ok(sent)));
    }

    /// Anything, or a frame of anything.
    #[test]
    fn fuzz_bytes_of_strangers_are_no_messages() {
        let kinds = (0_u8..32, vec(any::<u8>(), 0..300), any::<bool>());
        fuzz::for_each(kinds, |(kind, mut bytes, is_framed)| {
            if is_framed {
                bytes.insert(0, kind);
                let len = (bytes.len() as u32).to_le_bytes();
                bytes.splice(..0, len);
            }
            for command in read_all::<AgentCommand>(&bytes) {
                if let AgentCommand::Pass { message, .. } = command {
                    let _ = parse::<AgentCommand>(&message);
                }
            }
            for event in read_all::<AgentEvent>(&bytes) {
                if let AgentEvent::From { message, .. } = event {
                    let _ = parse::<AgentEvent>(&message);
                }
            }
            Ok(())
        });
    }
}
