//! The commands between a client and the start-up server.
//!
//! ```text
//!   command: code in 4 bytes │ length of the payload in 4 bytes │ payload          big-endian
//!
//!   AUTH  client: mask of mechanisms │ server: mechanism, length of what it expects (without a header)
//!   IMPI  client: its number         │ server: the number of clients
//!   COLL  client: label, value       │ server: label, mask of clients, the values of all clients
//!   DONE  client: nothing            │ server: nothing
//!   FINI  client: nothing            │
//!   FAIL                             │ server: why the start-up has ended, as text
//! ```
//!
//! FAIL is an extension: the protocol only closes the connection. It is the last command of a server, so
//! a client that does not know it fails as it would without.

use std::fmt;
use std::ops::RangeInclusive;

/// Bytes of a code and a length.
pub(super) const COMMAND_HEADER_BYTES: usize = 8;

/// The longest text of [`ImpiCommand::Fail`].
pub(super) const FAIL_MAX_BYTES: usize = 2048;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ImpiCommand {
    Auth,
    Impi,
    Coll,
    Done,
    Fini,
    Fail,
}

/// What a COLL command is about, in the order of the start-up: values of a client (C), of each host (H),
/// of each process (P).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Label {
    Version,
    HostCount,
    ProcessCount,
    DataLen,
    TagBound,
    CollectiveXsize,
    CollectiveMaxLinear,
    HostAddress,
    HostPort,
    HostProcesses,
    AckMark,
    HighWater,
    ProcessAddress,
    ProcessPid,
}

/// Why bytes are no command of the start-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CommandError {
    /// No command has this code.
    Unknown(u32),
    /// The command does not belong here.
    Unexpected(ImpiCommand),
    /// A payload of this length has no meaning.
    Length(ImpiCommand, u32),
}

impl ImpiCommand {
    const ALL: [Self; 6] = [Self::Auth, Self::Impi, Self::Coll, Self::Done, Self::Fini, Self::Fail];

    /// The name, which is also the code.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Auth => "AUTH",
            Self::Impi => "IMPI",
            Self::Coll => "COLL",
            Self::Done => "DONE",
            Self::Fini => "FINI",
            Self::Fail => "FAIL",
        }
    }

    fn code(self) -> [u8; 4] {
        let name = self.name().as_bytes();
        [name[0], name[1], name[2], name[3]]
    }

    fn from_code(code: [u8; 4]) -> Result<Self, CommandError> {
        let found = Self::ALL.into_iter().find(|command| command.code() == code);
        found.ok_or(CommandError::Unknown(u32::from_be_bytes(code)))
    }
}

impl Label {
    pub(super) const ALL: [Self; 14] = [
        Self::Version,
        Self::HostCount,
        Self::ProcessCount,
        Self::DataLen,
        Self::TagBound,
        Self::CollectiveXsize,
        Self::CollectiveMaxLinear,
        Self::HostAddress,
        Self::HostPort,
        Self::HostProcesses,
        Self::AckMark,
        Self::HighWater,
        Self::ProcessAddress,
        Self::ProcessPid,
    ];

    pub(super) const fn code(self) -> u32 {
        match self {
            Self::Version => 0x1000,
            Self::HostCount => 0x1100,
            Self::ProcessCount => 0x1200,
            Self::DataLen => 0x1300,
            Self::TagBound => 0x1400,
            Self::CollectiveXsize => 0x1500,
            Self::CollectiveMaxLinear => 0x1600,
            Self::HostAddress => 0x2000,
            Self::HostPort => 0x2100,
            Self::HostProcesses => 0x2200,
            Self::AckMark => 0x2300,
            Self::HighWater => 0x2400,
            Self::ProcessAddress => 0x3000,
            Self::ProcessPid => 0x3100,
        }
    }

    /// The name in the protocol document.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Version => "C_VERSION",
            Self::HostCount => "C_NHOSTS",
            Self::ProcessCount => "C_NPROCS",
            Self::DataLen => "C_DATALEN",
            Self::TagBound => "C_TAGUB",
            Self::CollectiveXsize => "C_COLL_XSIZE",
            Self::CollectiveMaxLinear => "C_COLL_MAXLINEAR",
            Self::HostAddress => "H_IPV6",
            Self::HostPort => "H_PORT",
            Self::HostProcesses => "H_NPROCS",
            Self::AckMark => "H_ACKMARK",
            Self::HighWater => "H_HIWATER",
            Self::ProcessAddress => "P_IPV6",
            Self::ProcessPid => "P_PID",
        }
    }

    fn from_code(code: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|label| label.code() == code)
    }

    /// The label with this code in words, also if there is none.
    pub(super) fn describe(code: u32) -> String {
        match Self::from_code(code) {
            Some(label) => label.name().to_owned(),
            None => format!("0x{code:04x}, which does not exist"),
        }
    }
}

/// Appends a command.
pub(super) fn push(out: &mut Vec<u8>, command: ImpiCommand, payload: &[u8]) {
    out.extend_from_slice(&command.code());
    push_word(out, payload.len() as u32);
    out.extend_from_slice(payload);
}

/// Appends a COLL command of a client.
pub(super) fn push_coll(out: &mut Vec<u8>, label: Label, value: &[u8]) {
    out.extend_from_slice(&ImpiCommand::Coll.code());
    push_word(out, 4 + value.len() as u32);
    push_word(out, label.code());
    out.extend_from_slice(value);
}

/// Appends the server's answer to a COLL command.
pub(super) fn push_coll_reply(out: &mut Vec<u8>, label: Label, mask: u32, values: &[Vec<u8>]) {
    let len: usize = values.iter().map(Vec::len).sum();
    out.extend_from_slice(&ImpiCommand::Coll.code());
    push_word(out, 8 + len as u32);
    push_word(out, label.code());
    push_word(out, mask);
    values.iter().for_each(|value| out.extend_from_slice(value));
}

pub(super) fn push_word(out: &mut Vec<u8>, word: u32) {
    out.extend_from_slice(&word.to_be_bytes());
}

/// Takes a word from the front of `bytes`.
pub(super) fn split_word(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (word, rest) = bytes.split_first_chunk::<4>()?;
    Some((u32::from_be_bytes(*word), rest))
}

/// The command at the front of `input`, once its header is there.
///
/// # Errors
/// No command has its code.
pub(super) fn peek(input: &[u8]) -> Result<Option<ImpiCommand>, CommandError> {
    match input.first_chunk::<COMMAND_HEADER_BYTES>() {
        Some([a, b, c, d, ..]) => ImpiCommand::from_code([*a, *b, *c, *d]).map(Some),
        None => Ok(None),
    }
}

/// Takes the command at the front of `input`, once all of it is there; its payload. `lengths` are the
/// possible lengths of a payload, which are checked before the payload has arrived: `None` for a command
/// that may not come now.
///
/// # Errors
/// There is no such command, it may not come now, or its length is impossible; `input` is unchanged.
pub(super) fn take(
    input: &mut Vec<u8>, lengths: impl Fn(ImpiCommand) -> Option<RangeInclusive<usize>>,
) -> Result<Option<(ImpiCommand, Vec<u8>)>, CommandError> {
    let Some(command) = peek(input)? else { return Ok(None) };
    let lengths = lengths(command).ok_or(CommandError::Unexpected(command))?;
    let Some((len, rest)) = split_word(&input[4..]) else { return Ok(None) };
    let payload_len = usize::try_from(len).ok().filter(|len| lengths.contains(len));
    let payload_len = payload_len.ok_or(CommandError::Length(command, len))?;
    let Some(payload) = rest.get(..payload_len) else { return Ok(None) };
    let payload = payload.to_vec();
    input.drain(..COMMAND_HEADER_BYTES + payload_len);
    Ok(Some((command, payload)))
}

/// The text of a FAIL command, without characters that would change a terminal.
pub(super) fn fail_text(payload: &[u8]) -> String {
    let text = String::from_utf8_lossy(payload);
    text.chars().map(|it| if it.is_control() { ' ' } else { it }).collect()
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(code) => {
                write!(f, "it sent 0x{code:08x}, which is no command of IMPI")?;
                let bytes = code.to_be_bytes();
                match bytes.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ') {
                    true => write!(f, " (\"{}\")", String::from_utf8_lossy(&bytes)),
                    false => Ok(()),
                }
            }
            Self::Unexpected(command) => {
                write!(f, "it sent the command {}, which has no meaning now", command.name())
            }
            Self::Length(command, len) => {
                write!(
                    f,
                    "it sent a command {} of {len} bytes, which has no meaning now",
                    command.name()
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::fuzz;
    use proptest::collection::vec;
    use proptest::prelude::*;

    #[test]
    fn codes_are_those_of_the_protocol() {
        let codes: Vec<u32> =
            ImpiCommand::ALL.iter().map(|it| u32::from_be_bytes(it.code())).collect();
        let expected =
            [0x4155_5448, 0x494d_5049, 0x434f_4c4c, 0x444f_4e45, 0x4649_4e49, 0x4641_494c];
        assert_eq!(codes, expected);
        for label in Label::ALL {
            assert_eq!(Label::from_code(label.code()), Some(label));
        }
        assert_eq!(Label::describe(0x2100), "H_PORT");
        assert_eq!(Label::describe(0x9), "0x0009, which does not exist");
    }

    #[test]
    fn a_command_is_taken_when_all_of_it_is_there() {
        let mut whole = Vec::new();
        push(&mut whole, ImpiCommand::Impi, &[0, 0, 0, 7]);
        assert_eq!(whole, b"IMPI\0\0\0\x04\0\0\0\x07");
        whole.extend_from_slice(b"next");
        let lengths = |_| Some(4..=4);
        for len in 0..12 {
            assert_eq!(take(&mut whole[..len].to_vec(), lengths), Ok(None), "{len}");
        }
        assert_eq!(take(&mut whole, lengths), Ok(Some((ImpiCommand::Impi, vec![0, 0, 0, 7]))));
        assert_eq!(whole, b"next");
    }

    #[test]
    fn a_wrong_header_is_refused_before_its_payload_has_arrived() {
        let lengths = |command| (command != ImpiCommand::Done).then_some(0..=FAIL_MAX_BYTES);
        let of = |bytes: &[u8]| take(&mut bytes.to_vec(), lengths).unwrap_err();
        assert_eq!(of(b"GET / HT"), CommandError::Unknown(0x4745_5420));
        assert_eq!(of(b"DONE\0\0\0\0"), CommandError::Unexpected(ImpiCommand::Done));
        assert_eq!(of(b"COLL\xff\xff\xff\xff"), CommandError::Length(ImpiCommand::Coll, u32::MAX));
        let text = CommandError::Unknown(0x4745_5420).to_string();
        assert_eq!(text, "it sent 0x47455420, which is no command of IMPI (\"GET \")");
    }

    #[test]
    fn random_bytes_are_commands_or_errors_and_nothing_is_lost() {
        fuzz::for_each((vec(any::<u8>(), 0..64), 0..7_usize), |(mut bytes, index)| {
            if let (Some(start), Some(command)) = (bytes.get_mut(..4), ImpiCommand::ALL.get(index))
            {
                start.copy_from_slice(&command.code());
            }
            let before = bytes.clone();
            match take(&mut bytes, |_| Some(0..=32)) {
                Ok(Some((command, payload))) => {
                    let mut again = Vec::new();
                    push(&mut again, command, &payload);
                    again.extend_from_slice(&bytes);
                    prop_assert_eq!(again, before);
                }
                Ok(None) | Err(_) => prop_assert_eq!(bytes, before),
            }
            Ok(())
        });
    }
}
