//! The bytes of one connection of a start-up, in the clear or sealed, as a value.
//!
//! ```text
//!   sealed:    Proving ── both ends have proved the key ──> Sealed
//!   cleartext: Cleartext from the beginning
//! ```
//!
//! The hello of a server has the id of the world; that of a client only tells that it is one, so that no
//! connection between hosts is taken for one of the start-up.

use crate::network::{Handshake, HandshakeStep, Refusal, SealedChannel, SharedSecret};

/// The hellos, each with the version of what follows.
const SERVER_HELLO: &[u8] = b"suiro impi server 1";
const CLIENT_HELLO: &[u8] = b"suiro impi client 1";

/// One end of a connection.
pub(super) struct ImpiChannel {
    seal: ChannelSeal,
    /// Bytes that have arrived and are not opened.
    sealed_input: Vec<u8>,
    /// Bytes of the other end that were not taken yet.
    pub(super) input: Vec<u8>,
    /// What is to be sent.
    pub(super) unsent: Vec<u8>,
    /// What the server says of the world; zero in cleartext.
    world: [u8; 16],
}

enum ChannelSeal {
    Cleartext,
    Proving { handshake: Handshake, expected: &'static [u8] },
    Sealed(SealedChannel),
    Broken,
}

impl ImpiChannel {
    /// A connection in the clear.
    pub(super) fn cleartext() -> Self {
        Self::of(ChannelSeal::Cleartext, Vec::new(), [0; 16])
    }

    /// The client's end.
    pub(super) fn sealed_client(secret: &SharedSecret) -> Self {
        let mut unsent = Vec::new();
        let handshake = Handshake::initiate(secret, CLIENT_HELLO, &mut unsent);
        let seal = ChannelSeal::Proving { handshake, expected: SERVER_HELLO };
        Self::of(seal, unsent, [0; 16])
    }

    /// The server's end.
    pub(super) fn sealed_server(secret: &SharedSecret, world: [u8; 16]) -> Self {
        let handshake = Handshake::respond(secret, &[SERVER_HELLO, &world].concat());
        let seal = ChannelSeal::Proving { handshake, expected: CLIENT_HELLO };
        Self::of(seal, Vec::new(), world)
    }

    fn of(seal: ChannelSeal, unsent: Vec<u8>, world: [u8; 16]) -> Self {
        Self { seal, sealed_input: Vec::new(), input: Vec::new(), unsent, world }
    }

    /// Whether commands can be sent.
    pub(super) fn is_open(&self) -> bool {
        matches!(self.seal, ChannelSeal::Cleartext | ChannelSeal::Sealed(_))
    }

    /// The id of the world; for a client, once the channel is open.
    pub(super) fn world(&self) -> [u8; 16] {
        self.world
    }

    /// Bytes that wait to be taken or opened.
    pub(super) fn waiting_bytes(&self) -> usize {
        self.sealed_input.len() + self.input.len()
    }

    /// Sends bytes; without effect on a channel that is not open.
    pub(super) fn send(&mut self, bytes: &[u8]) {
        match &mut self.seal {
            ChannelSeal::Cleartext => self.unsent.extend_from_slice(bytes),
            ChannelSeal::Sealed(channel) => channel.seal(bytes, &mut self.unsent),
            ChannelSeal::Proving { .. } | ChannelSeal::Broken => {}
        }
    }

    /// Takes bytes of the connection.
    ///
    /// # Errors
    /// The other end does not prove the key, or is no such end: what it does, beginning with "it".
    pub(super) fn receive(&mut self, bytes: &[u8]) -> Result<(), String> {
        if let ChannelSeal::Cleartext = self.seal {
            self.input.extend_from_slice(bytes);
            return Ok(());
        }
        self.sealed_input.extend_from_slice(bytes);
        let received = self.prove().and_then(|()| match &mut self.seal {
            ChannelSeal::Sealed(channel) => {
                channel.open(&mut self.sealed_input, &mut self.input).map_err(|it| it.to_string())
            }
            ChannelSeal::Cleartext | ChannelSeal::Proving { .. } | ChannelSeal::Broken => Ok(()),
        });
        if received.is_err() {
            self.seal = ChannelSeal::Broken;
        }
        received
    }

    fn prove(&mut self) -> Result<(), String> {
        let ChannelSeal::Proving { handshake, expected } = &mut self.seal else { return Ok(()) };
        let expected = *expected;
        match handshake.advance(&mut self.sealed_input, &mut self.unsent).map_err(describe)? {
            HandshakeStep::Pending => Ok(()),
            HandshakeStep::Proven { hello } => {
                self.hear(expected, &hello)?;
                let seal = std::mem::replace(&mut self.seal, ChannelSeal::Broken);
                if let ChannelSeal::Proving { handshake, .. } = seal {
                    self.seal = ChannelSeal::Sealed(handshake.into_channel());
                }
                Ok(())
            }
        }
    }

    fn hear(&mut self, expected: &[u8], hello: &[u8]) -> Result<(), String> {
        let rest = hello.strip_prefix(expected).ok_or_else(|| {
            let (hello, expected) = (hello.escape_ascii(), expected.escape_ascii());
            format!("it is \"{hello}\"; expected \"{expected}\"")
        })?;
        if expected == SERVER_HELLO {
            self.world = rest.try_into().map_err(|_| "it has named no world".to_owned())?;
        }
        Ok(())
    }
}

fn describe(refusal: Refusal) -> String {
    match refusal {
        Refusal::Magic => "it does not speak the encrypted protocol of Suiro".to_owned(),
        Refusal::Secret => "it does not know the key".to_owned(),
        Refusal::Version(_) | Refusal::Length(_) | Refusal::Record => refusal.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: SharedSecret = SharedSecret([7; 32]);

    /// Moves all bytes between both ends, one at a time.
    fn exchange(client: &mut ImpiChannel, server: &mut ImpiChannel) -> Result<(), String> {
        while !client.unsent.is_empty() || !server.unsent.is_empty() {
            for byte in std::mem::take(&mut client.unsent) {
                server.receive(&[byte])?;
            }
            for byte in std::mem::take(&mut server.unsent) {
                client.receive(&[byte])?;
            }
        }
        Ok(())
    }

    #[test]
    fn sealed_ends_prove_the_key_and_the_client_hears_the_world() {
        let mut client = ImpiChannel::sealed_client(&SECRET);
        let mut server = ImpiChannel::sealed_server(&SECRET, [9; 16]);
        exchange(&mut client, &mut server).unwrap();
        assert!(client.is_open() && server.is_open());
        assert_eq!(client.world(), [9; 16]);
        client.send(b"to the server");
        assert!(!client.unsent.windows(6).any(|part| part == b"server"));
        exchange(&mut client, &mut server).unwrap();
        assert_eq!(server.input, b"to the server");
    }

    #[test]
    fn other_keys_and_other_ends_are_refused() {
        let mut other = ImpiChannel::sealed_client(&SharedSecret([8; 32]));
        let mut server = ImpiChannel::sealed_server(&SECRET, [9; 16]);
        assert_eq!(exchange(&mut other, &mut server), Err("it does not know the key".to_owned()));
        assert_eq!((server.is_open(), server.unsent.len()), (false, 0));
        server.send(b"AUTH");
        assert!(server.unsent.is_empty());
        let mut server = ImpiChannel::sealed_server(&SECRET, [9; 16]);
        let why = server.receive(b"AUTH\0\0\0\x04").unwrap_err();
        assert_eq!(why, "it does not speak the encrypted protocol of Suiro");
        let mut client = ImpiChannel::sealed_client(&SECRET);
        let mut host = ImpiChannel {
            seal: ChannelSeal::Proving {
                handshake: Handshake::respond(&SECRET, b"a host"),
                expected: CLIENT_HELLO,
            },
            ..ImpiChannel::cleartext()
        };
        let why = exchange(&mut client, &mut host).unwrap_err();
        assert_eq!(why, "it is \"a host\"; expected \"suiro impi server 1\"");
    }
}
