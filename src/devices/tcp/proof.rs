//! The proof of a new connection and what it leaves: between hosts an exchange of keys and a cipher, inside
//! a host codes.

use super::card::Verdict;
use platform::network::{
    HELLO_MAX, Handshake, HandshakeStep, LocalProof, LocalSession, Refusal, SealedChannel,
    SharedSecret,
};

/// A proof that has begun.
pub(crate) enum ConnectionProof {
    Network(Handshake),
    Local(LocalProof),
}

/// What both ends of a proven connection have in common.
pub(crate) enum ProvenConnection {
    Network(SealedChannel),
    Local(LocalSession),
}

impl ConnectionProof {
    /// The end that has connected, with its first message in `out`.
    pub(crate) fn initiate(
        is_local: bool, secret: &SharedSecret, hello: &[u8], out: &mut Vec<u8>,
    ) -> Self {
        match is_local {
            true => Self::Local(LocalProof::initiate(secret, hello, out)),
            false => Self::Network(Handshake::initiate(secret, hello, out)),
        }
    }

    /// The end that has accepted.
    pub(crate) fn respond(is_local: bool, secret: &SharedSecret, hello: &[u8]) -> Self {
        match is_local {
            true => Self::Local(LocalProof::respond(secret, hello)),
            false => Self::Network(Handshake::respond(secret, hello)),
        }
    }

    /// Takes messages from `input` and appends replies to `out`.
    ///
    /// # Errors
    /// Why the connection is of no use.
    pub(crate) fn advance(
        &mut self, input: &mut Vec<u8>, out: &mut Vec<u8>,
    ) -> Result<HandshakeStep, Refusal> {
        match self {
            Self::Network(handshake) => handshake.advance(input, out),
            Self::Local(proof) => proof.advance(input, out),
        }
    }

    /// After [`HandshakeStep::Proven`].
    pub(crate) fn into_proven(self) -> ProvenConnection {
        match self {
            Self::Network(handshake) => ProvenConnection::Network(handshake.into_channel()),
            Self::Local(proof) => ProvenConnection::Local(proof.into_session()),
        }
    }
}

impl ProvenConnection {
    /// Appends the verdict of the end that accepts.
    pub(crate) fn say(&mut self, verdict: Verdict, out: &mut Vec<u8>) {
        match self {
            Self::Network(channel) => channel.seal(&verdict.emit(), out),
            Self::Local(session) => session.say_verdict(&verdict.emit(), out),
        }
    }

    /// The verdict, once it is there, or bytes that are none.
    ///
    /// # Errors
    /// Why the connection is of no use.
    pub(crate) fn take_verdict(
        &mut self, input: &mut Vec<u8>,
    ) -> Result<Option<Option<Verdict>>, Refusal> {
        match self {
            Self::Network(channel) => {
                let mut said = Vec::new();
                let is_there = channel.open_one(HELLO_MAX, input, &mut said)?;
                Ok(is_there.then(|| Verdict::parse(&said)))
            }
            Self::Local(session) => {
                let said = session.take_verdict::<{ Verdict::LEN }>(input)?;
                Ok(said.map(|said| Verdict::parse(&said)))
            }
        }
    }
}
