//! A connection to the server, until it is that of a client.
//!
//! ```text
//!   Proving ──key──> Authenticating ──AUTH──> Keying ──IMPI──> Joined(number)
//!                          └──── AUTH, no proof needed ──> Naming ──IMPI──┘
//!   each state ── what a stranger may not say, or not in time ──> Ending
//! ```
//!
//! In cleartext, the channel proves nothing, and the commands AUTH and what follows it do.

use std::time::Instant;

use crate::impi::authentication::{Authentication, Mechanism};
use crate::impi::channel::ImpiChannel;
use crate::impi::commands::{FAIL_MAX_BYTES, ImpiCommand, push, push_word, split_word, take};

/// Bytes that a connection that is no client may leave unread here.
const STRANGER_MAX_BYTES: usize = 4096;

/// Bytes that a client may leave unread here: its longest value and the next commands.
const CLIENT_MAX_BYTES: usize = (2 << 20) + (64 << 10);

/// A connection.
pub(super) struct ClientConnection {
    pub(super) channel: ImpiChannel,
    /// The address of the other end, for messages.
    pub(super) peer: String,
    pub(super) state: ConnectionState,
    /// When a connection that has not joined is closed.
    pub(super) until: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConnectionState {
    /// The command AUTH is next, once the channel is open.
    Authenticating,
    /// The key is next.
    Keying,
    /// The command IMPI is next.
    Naming,
    /// It is this client.
    Joined(u32),
    /// What is unsent is still sent, and nothing is read.
    Ending,
}

impl ClientConnection {
    /// Whether bytes of it are to be read.
    pub(super) fn takes_input(&self) -> bool {
        let max = match self.state {
            ConnectionState::Ending => return false,
            ConnectionState::Joined(_) => CLIENT_MAX_BYTES,
            _ => STRANGER_MAX_BYTES,
        };
        self.channel.waiting_bytes() < max
    }

    /// Whether it has not joined, and may.
    pub(super) fn is_stranger(&self) -> bool {
        !matches!(self.state, ConnectionState::Joined(_) | ConnectionState::Ending)
    }

    /// Takes what a connection says before it has joined; the number of the client that it wants to be.
    ///
    /// # Errors
    /// What it does wrong, beginning with "it".
    pub(super) fn greet(&mut self, authentication: &Authentication) -> Result<Option<u32>, String> {
        loop {
            if !self.channel.is_open() {
                return Ok(None);
            }
            let next = match self.state {
                ConnectionState::Authenticating => self.authenticate(authentication)?,
                ConnectionState::Keying => self.check_key(authentication)?,
                ConnectionState::Naming => return self.name(),
                ConnectionState::Joined(_) | ConnectionState::Ending => return Ok(None),
            };
            match next {
                Some(state) => self.state = state,
                None => return Ok(None),
            }
        }
    }

    fn authenticate(
        &mut self, authentication: &Authentication,
    ) -> Result<Option<ConnectionState>, String> {
        let Some(payload) = self.take_command(ImpiCommand::Auth, 4)? else { return Ok(None) };
        let mask = split_word(&payload).map_or(0, |(mask, _)| mask);
        let mechanism = authentication.choose(mask).ok_or_else(|| {
            let accepted = authentication.mask();
            format!(
                "it offers the authentication {mask:#x}; accepted is {accepted:#x} (1: none, 2: key)"
            )
        })?;
        let mut answer = Vec::new();
        push_word(&mut answer, mechanism.number());
        push_word(&mut answer, mechanism.proof_bytes() as u32);
        self.channel.send(&answer);
        Ok(Some(match mechanism {
            Mechanism::None => ConnectionState::Naming,
            Mechanism::Key => ConnectionState::Keying,
        }))
    }

    fn check_key(
        &mut self, authentication: &Authentication,
    ) -> Result<Option<ConnectionState>, String> {
        let Some(key) = self.channel.input.first_chunk() else { return Ok(None) };
        // A guess learns nothing from the time of a comparison of one word.
        if authentication.key != Some(u64::from_be_bytes(*key)) {
            return Err("it has another IMPI_AUTH_KEY".to_owned());
        }
        self.channel.input.drain(..size_of::<u64>());
        Ok(Some(ConnectionState::Naming))
    }

    fn name(&mut self) -> Result<Option<u32>, String> {
        let payload = self.take_command(ImpiCommand::Impi, 4)?;
        Ok(payload.and_then(|payload| split_word(&payload).map(|(number, _)| number)))
    }

    /// Takes a command with a payload of `len` bytes.
    pub(super) fn take_command(
        &mut self, expected: ImpiCommand, len: usize,
    ) -> Result<Option<Vec<u8>>, String> {
        let taken =
            take(&mut self.channel.input, |command| (command == expected).then_some(len..=len));
        let taken = taken.map_err(|error| format!("{error}; expected {}", expected.name()))?;
        Ok(taken.map(|(_, payload)| payload))
    }

    /// Says why, if the other end can hear it, and ends.
    pub(super) fn end(&mut self, why: Option<&str>) {
        if let Some(why) = why {
            let mut text = Vec::new();
            let mut len = why.len().min(FAIL_MAX_BYTES);
            while !why.is_char_boundary(len) {
                len -= 1;
            }
            push(&mut text, ImpiCommand::Fail, &why.as_bytes()[..len]);
            self.channel.send(&text);
        }
        self.state = ConnectionState::Ending;
    }
}
