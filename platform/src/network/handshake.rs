//! Both ends of a new connection prove the job's secret to each other, as a value: bytes in, bytes out.
//!
//! The protocol is Noise, pattern NNpsk0 (The Noise Protocol Framework, revision 34, 2018): the keys of
//! a connection come from the secret and from fresh keys of both ends, so the recording of a connection
//! proves nothing to another one.
//!
//! ```text
//!   initiator                                             responder
//!   1: preamble, length, key                         ──>
//!                            <──  2: preamble, length, key, hello       proves the responder
//!   3: record: hello                                 ──>                proves the initiator
//!                            <──  4: record: verdict                    through the channel
//!
//!   initiator: Called ── 2 ──> Proven      responder: Listening ── 1 ──> Answered ── 3 ──> Proven
//!   each state ── bytes that no process of this job sends ──> Refused
//! ```
//!
//! Message 1 needs the secret, too, but may be repeated by anyone; therefore message 3. The preamble is
//! a magic and a version; a wrong byte in it is refused at once. A length is a 16-bit little-endian word
//! within fixed limits. Nothing is computed, and no state of the protocol is made, before message 1 is
//! complete. Hellos and verdict are the caller's bytes.

use std::fmt;
use std::mem;
use std::ops::RangeInclusive;

use snow::{Builder, HandshakeState};

use super::sealed_channel::{LENGTH_BYTES, SealedChannel, TAG_BYTES};

/// The longest hello or verdict, in bytes.
pub const HELLO_MAX: usize = 256;

/// Curve, cipher and hash have one implementation that is fast on all processors; AES is slow where the
/// processor has no instructions for it.
const PATTERN: &str = "Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s";

/// The first bytes of messages 1 and 2: no other protocol begins so, because the first is not ASCII.
pub const MAGIC: [u8; 6] = *b"\xf5suiro";
/// Incremented with each change of the handshake and of what follows it.
const VERSION: u16 = 3;
pub(super) const PREAMBLE: [u8; 8] = {
    let ([a, b, c, d, e, f], [low, high]) = (MAGIC, VERSION.to_le_bytes());
    [a, b, c, d, e, f, low, high]
};

/// A public key of X25519.
const KEY_BYTES: usize = 32;
/// A key and a tag.
const FIRST_BYTES: usize = KEY_BYTES + TAG_BYTES;
/// A key, a hello and a tag.
const SECOND_MAX: usize = FIRST_BYTES + HELLO_MAX;

/// What the processes of a job know, and no other process.
#[derive(Clone)]
pub struct SharedSecret(pub [u8; 32]);

/// What [`Handshake::advance`] has reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HandshakeStep {
    /// More bytes are needed.
    Pending,
    /// The peer has proved the secret.
    Proven {
        /// That of the peer.
        hello: Vec<u8>,
    },
}

/// Why a connection is of no use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The first bytes are not those of this protocol.
    Magic,
    /// The peer has this other version.
    Version(u16),
    /// A message has this length, outside its limits.
    Length(usize),
    /// A message does not prove the secret.
    Secret,
    /// A record was changed on its way, or is out of its place.
    Record,
}

/// One end of a new connection.
pub struct Handshake {
    state: HandshakeProgress,
}

enum HandshakeProgress {
    /// The initiator, before message 2.
    Called {
        noise: Box<HandshakeState>,
        hello: Box<[u8]>,
    },
    /// The responder, before message 1.
    Listening {
        secret: SharedSecret,
        hello: Box<[u8]>,
    },
    /// The responder, before message 3.
    Answered(SealedChannel),
    Proven(SealedChannel),
    Refused(Refusal),
}

impl Handshake {
    /// The end that has connected, with message 1 in `out`. The responder hears `hello`.
    ///
    /// # Panics
    /// If `hello` is longer than [`HELLO_MAX`], or the system has no random numbers.
    pub fn initiate(secret: &SharedSecret, hello: &[u8], out: &mut Vec<u8>) -> Self {
        assert!(hello.len() <= HELLO_MAX, "a hello of {} bytes", hello.len());
        let noise = builder(secret).and_then(Builder::build_initiator);
        let mut noise = Box::new(noise.expect("the pattern needs a secret only"));
        append_message(&mut noise, &[], out);
        Self { state: HandshakeProgress::Called { noise, hello: hello.into() } }
    }

    /// The end that has accepted. The initiator hears `hello`.
    ///
    /// # Panics
    /// If `hello` is longer than [`HELLO_MAX`].
    pub fn respond(secret: &SharedSecret, hello: &[u8]) -> Self {
        assert!(hello.len() <= HELLO_MAX, "a hello of {} bytes", hello.len());
        let (secret, hello) = (secret.clone(), hello.into());
        Self { state: HandshakeProgress::Listening { secret, hello } }
    }

    /// Takes messages from the front of `input` and appends replies to `out`. What the peer sends after
    /// its last message of the handshake stays in `input`.
    ///
    /// # Errors
    /// Why the connection is of no use, then and later.
    ///
    /// # Panics
    /// After [`HandshakeStep::Proven`], or if the system has no random numbers.
    pub fn advance(
        &mut self, input: &mut Vec<u8>, out: &mut Vec<u8>,
    ) -> Result<HandshakeStep, Refusal> {
        let state = mem::replace(&mut self.state, HandshakeProgress::Refused(Refusal::Secret));
        let (state, step) = match state {
            HandshakeProgress::Called { noise, hello } => called(noise, hello, input, out),
            HandshakeProgress::Listening { secret, hello } => listening(secret, hello, input, out),
            HandshakeProgress::Answered(channel) => answered(channel, input),
            HandshakeProgress::Proven(_) => panic!("the peer has already proved the secret"),
            HandshakeProgress::Refused(refusal) => Err(refusal),
        }
        .unwrap_or_else(|refusal| (HandshakeProgress::Refused(refusal), HandshakeStep::Pending));
        self.state = state;
        match self.state {
            HandshakeProgress::Refused(refusal) => Err(refusal),
            _ => Ok(step),
        }
    }

    /// The connection's keys.
    ///
    /// # Panics
    /// Before [`HandshakeStep::Proven`].
    pub fn into_channel(self) -> SealedChannel {
        match self.state {
            HandshakeProgress::Proven(channel) => channel,
            _ => panic!("the peer has not proved the secret"),
        }
    }
}

/// The initiator waits for message 2, and answers with message 3.
fn called(
    mut noise: Box<HandshakeState>, hello: Box<[u8]>, input: &mut Vec<u8>, out: &mut Vec<u8>,
) -> Result<(HandshakeProgress, HandshakeStep), Refusal> {
    let Some(len) = message_len(input, FIRST_BYTES..=SECOND_MAX)? else {
        return Ok((HandshakeProgress::Called { noise, hello }, HandshakeStep::Pending));
    };
    let theirs = take_message(&mut noise, len, input)?;
    let mut channel = SealedChannel::new(*noise);
    channel.seal_one(&hello, out);
    Ok((HandshakeProgress::Proven(channel), HandshakeStep::Proven { hello: theirs }))
}

/// The responder waits for message 1, and answers with message 2.
fn listening(
    secret: SharedSecret, hello: Box<[u8]>, input: &mut Vec<u8>, out: &mut Vec<u8>,
) -> Result<(HandshakeProgress, HandshakeStep), Refusal> {
    let Some(len) = message_len(input, FIRST_BYTES..=FIRST_BYTES)? else {
        return Ok((HandshakeProgress::Listening { secret, hello }, HandshakeStep::Pending));
    };
    let noise = builder(&secret).and_then(Builder::build_responder);
    let mut noise = noise.expect("the pattern needs a secret only");
    take_message(&mut noise, len, input)?;
    append_message(&mut noise, &hello, out);
    Ok((HandshakeProgress::Answered(SealedChannel::new(noise)), HandshakeStep::Pending))
}

/// The responder waits for message 3.
fn answered(
    mut channel: SealedChannel, input: &mut Vec<u8>,
) -> Result<(HandshakeProgress, HandshakeStep), Refusal> {
    let mut hello = Vec::new();
    match channel.open_one(HELLO_MAX, input, &mut hello) {
        Ok(true) => Ok((HandshakeProgress::Proven(channel), HandshakeStep::Proven { hello })),
        Ok(false) => Ok((HandshakeProgress::Answered(channel), HandshakeStep::Pending)),
        Err(Refusal::Record) => Err(Refusal::Secret),
        Err(refusal) => Err(refusal),
    }
}

/// The preamble is bound to the keys, so ends of different versions never agree.
fn builder(secret: &SharedSecret) -> Result<Builder<'_>, snow::Error> {
    Builder::new(PATTERN.parse()?).prologue(&PREAMBLE)?.psk(0, &secret.0)
}

/// Appends a preamble and the next message.
fn append_message(noise: &mut HandshakeState, payload: &[u8], out: &mut Vec<u8>) {
    let mut message = [0; SECOND_MAX];
    let len = noise.write_message(payload, &mut message);
    let len = len.expect("it is the turn of this end, and the system has random numbers");
    out.extend_from_slice(&PREAMBLE);
    out.extend_from_slice(&(len as u16).to_le_bytes());
    out.extend_from_slice(&message[..len]);
}

/// What follows the preamble, once that is there.
pub(super) fn check_preamble(input: &[u8]) -> Result<Option<&[u8]>, Refusal> {
    let magic = input.len().min(MAGIC.len());
    if input[..magic] != MAGIC[..magic] {
        return Err(Refusal::Magic);
    }
    let Some((preamble, rest)) = input.split_first_chunk::<{ PREAMBLE.len() }>() else {
        return Ok(None);
    };
    if *preamble != PREAMBLE {
        return Err(Refusal::Version(u16::from_le_bytes([preamble[6], preamble[7]])));
    }
    Ok(Some(rest))
}

/// The length of the message behind a preamble, once all of it is there.
fn message_len(input: &[u8], limits: RangeInclusive<usize>) -> Result<Option<usize>, Refusal> {
    let Some(rest) = check_preamble(input)? else { return Ok(None) };
    let Some((length, rest)) = rest.split_first_chunk::<LENGTH_BYTES>() else { return Ok(None) };
    let len = usize::from(u16::from_le_bytes(*length));
    if !limits.contains(&len) {
        return Err(Refusal::Length(len));
    }
    Ok((rest.len() >= len).then_some(len))
}

/// Takes a whole message of `len` bytes behind a preamble; its payload.
fn take_message(
    noise: &mut HandshakeState, len: usize, input: &mut Vec<u8>,
) -> Result<Vec<u8>, Refusal> {
    let start = PREAMBLE.len() + LENGTH_BYTES;
    let mut payload = vec![0; len];
    let read = noise.read_message(&input[start..start + len], &mut payload);
    payload.truncate(read.map_err(|_| Refusal::Secret)?);
    input.drain(..start + len);
    Ok(payload)
}

impl fmt::Debug for SharedSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedSecret")
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Magic => f.write_str("it does not speak the protocol of this library"),
            Self::Version(version) => write!(
                f,
                "it speaks version {version} of the protocol and this process version {VERSION}: use \
                 one build of the library on all hosts"
            ),
            Self::Length(len) => {
                write!(f, "it sent a message of {len} bytes, which has no meaning")
            }
            Self::Secret => f.write_str("it does not know the secret of this job"),
            Self::Record => f.write_str("it sent data that were changed on their way"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::fuzz;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::Index;

    const SECRET: SharedSecret = SharedSecret([7; 32]);

    /// The bytes of messages 1, 2 and 3, and both channels.
    struct Talk {
        messages: [Vec<u8>; 3],
        initiator: SealedChannel,
        responder: SealedChannel,
    }

    fn proven(hello: &[u8]) -> Result<HandshakeStep, Refusal> {
        Ok(HandshakeStep::Proven { hello: hello.to_vec() })
    }

    fn talk() -> Talk {
        let (mut one, mut two, mut three) = (Vec::new(), Vec::new(), Vec::new());
        let mut initiator = Handshake::initiate(&SECRET, b"initiator", &mut one);
        let mut responder = Handshake::respond(&SECRET, b"responder");
        assert_eq!(responder.advance(&mut one.clone(), &mut two), Ok(HandshakeStep::Pending));
        assert_eq!(initiator.advance(&mut two.clone(), &mut three), proven(b"responder"));
        assert_eq!(responder.advance(&mut three.clone(), &mut one), proven(b"initiator"));
        one.truncate(PREAMBLE.len() + LENGTH_BYTES + FIRST_BYTES);
        let (initiator, responder) = (initiator.into_channel(), responder.into_channel());
        Talk { messages: [one, two, three], initiator, responder }
    }

    /// Both roles, the responder also after a good message 1.
    fn roles() -> [Handshake; 3] {
        let mut answered = Handshake::respond(&SECRET, b"");
        answered.advance(&mut talk().messages[0].clone(), &mut Vec::new()).unwrap();
        let initiator = Handshake::initiate(&SECRET, b"", &mut Vec::new());
        [initiator, Handshake::respond(&SECRET, b""), answered]
    }

    #[test]
    fn both_ends_agree_and_the_verdict_is_sealed() {
        let Talk { mut initiator, mut responder, .. } = talk();
        let (mut wire, mut verdict) = (Vec::new(), Vec::new());
        responder.seal_one(b"welcome", &mut wire);
        assert!(!wire.windows(7).any(|part| part == b"welcome"));
        wire.extend_from_slice(b"what follows");
        assert_eq!(initiator.open_one(HELLO_MAX, &mut wire, &mut verdict), Ok(true));
        assert_eq!((&verdict[..], &wire[..]), (&b"welcome"[..], &b"what follows"[..]));
    }

    #[test]
    fn messages_come_in_pieces_and_what_follows_them_stays() {
        for size in 1..80 {
            let (mut one, mut input) = (Vec::new(), Vec::new());
            let (mut two, mut three) = (Vec::new(), Vec::new());
            let mut initiator = Handshake::initiate(&SECRET, &[1; HELLO_MAX], &mut one);
            let mut responder = Handshake::respond(&SECRET, &[2; HELLO_MAX]);
            let mut feed = |end: &mut Handshake, message: &[u8], out: &mut Vec<u8>| {
                let mut step = HandshakeStep::Pending;
                for piece in message.chunks(size) {
                    assert_eq!(step, HandshakeStep::Pending);
                    input.extend_from_slice(piece);
                    step = end.advance(&mut input, out).unwrap();
                }
                (step, mem::take(&mut input))
            };
            let step = feed(&mut responder, &one, &mut two);
            assert_eq!(step, (HandshakeStep::Pending, Vec::new()));
            let step = feed(&mut initiator, &two, &mut three);
            assert_eq!(step, (proven(&[2; HELLO_MAX]).unwrap(), Vec::new()));
            let mut last = three.clone();
            last.extend_from_slice(b"frames");
            assert_eq!(responder.advance(&mut last, &mut two), proven(&[1; HELLO_MAX]));
            assert_eq!(last, b"frames");
        }
    }

    #[test]
    fn another_secret_is_refused_by_whichever_end_hears_it_first() {
        let (mut one, mut two) = (Vec::new(), Vec::new());
        let other = SharedSecret([8; 32]);
        Handshake::initiate(&other, b"", &mut one);
        let mut responder = Handshake::respond(&SECRET, b"for members only");
        assert_eq!(responder.advance(&mut one.clone(), &mut two), Err(Refusal::Secret));
        assert_eq!(two, b"");
        // Later bytes do not help.
        let mut good = talk().messages[0].clone();
        assert_eq!(responder.advance(&mut good, &mut two), Err(Refusal::Secret));

        let mut initiator = Handshake::initiate(&SECRET, b"", &mut Vec::new());
        Handshake::respond(&other, b"").advance(&mut one, &mut two).unwrap();
        assert_eq!(initiator.advance(&mut two, &mut Vec::new()), Err(Refusal::Secret));
    }

    #[test]
    fn a_recorded_connection_proves_nothing() {
        let Talk { messages: [one, two, three], .. } = talk();
        let mut out = Vec::new();
        let mut responder = Handshake::respond(&SECRET, b"responder");
        assert_eq!(responder.advance(&mut one.clone(), &mut out), Ok(HandshakeStep::Pending));
        assert_ne!(out, two);
        assert_eq!(responder.advance(&mut three.clone(), &mut out), Err(Refusal::Secret));

        let mut initiator = Handshake::initiate(&SECRET, b"", &mut out);
        assert_eq!(initiator.advance(&mut two.clone(), &mut out), Err(Refusal::Secret));
        // Nor do its own words prove anything to the initiator.
        let mut own = Vec::new();
        let mut initiator = Handshake::initiate(&SECRET, b"", &mut own);
        assert_eq!(initiator.advance(&mut own, &mut out), Err(Refusal::Secret));
    }

    #[test]
    fn the_first_wrong_byte_is_refused() {
        for bytes in [&b"G"[..], b"\xf5suirx", &[MAGIC.len() as u8]] {
            for role in &mut roles()[..2] {
                let refused = role.advance(&mut bytes.to_vec(), &mut Vec::new());
                assert_eq!(refused, Err(Refusal::Magic));
            }
        }
        let mut other_version = PREAMBLE.to_vec();
        other_version[6] = 9;
        for role in &mut roles()[..2] {
            let refused = role.advance(&mut other_version.clone(), &mut Vec::new());
            assert_eq!(refused, Err(Refusal::Version(9)));
        }
        let why = Refusal::Version(9).to_string();
        assert!(why.contains("version 9") && why.contains("process version 3: use"), "{why}");
    }

    #[test]
    fn lengths_outside_their_limits_are_refused_before_the_message() {
        let preambles = [&PREAMBLE[..], &PREAMBLE[..], &[]];
        let limits = [(FIRST_BYTES, SECOND_MAX), (FIRST_BYTES, FIRST_BYTES)];
        let limits = [limits[0], limits[1], (TAG_BYTES, TAG_BYTES + HELLO_MAX)];
        for (number, (min, max)) in limits.into_iter().enumerate() {
            for len in [0, min - 1, max + 1, usize::from(u16::MAX)] {
                let mut input = preambles[number].to_vec();
                input.extend_from_slice(&(len as u16).to_le_bytes());
                let refused = roles()[number].advance(&mut input, &mut Vec::new());
                assert_eq!(refused, Err(Refusal::Length(len)), "role {number}");
            }
            for len in [min, max] {
                let mut input = preambles[number].to_vec();
                input.extend_from_slice(&(len as u16).to_le_bytes());
                let pending = roles()[number].advance(&mut input, &mut Vec::new());
                assert_eq!(pending, Ok(HandshakeStep::Pending), "role {number}");
            }
        }
    }

    #[test]
    fn each_bit_matters() {
        let Talk { messages: [one, ..], .. } = talk();
        for bit in 0..one.len() * 8 {
            let mut changed = one.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            let mut responder = Handshake::respond(&SECRET, b"");
            let refused = responder.advance(&mut changed, &mut Vec::new());
            // The top bit of a public key has no meaning to X25519, but is authenticated.
            assert!(refused.is_err(), "bit {bit}: {refused:?}");
        }
    }

    #[test]
    fn a_secret_is_not_printed() {
        assert_eq!(format!("{SECRET:?}"), "SharedSecret");
    }

    #[test]
    fn fuzz_bytes_prove_nothing() {
        let framed = (vec(any::<u8>(), 0..400), 0_usize..3, any::<u16>(), 0..100_usize);
        fuzz::for_each(framed, |(bytes, shape, len, cut)| {
            for (number, mut role) in roles().into_iter().enumerate() {
                let mut input = match (shape, number) {
                    (0, _) => Vec::new(),
                    (_, 2) => len.to_le_bytes().to_vec(),
                    _ => [&PREAMBLE[..], &len.to_le_bytes()[..]].concat(),
                };
                if shape == 2 {
                    let end = input.len();
                    input[end - 2..].copy_from_slice(&(bytes.len() as u16).to_le_bytes());
                }
                input.extend_from_slice(&bytes);
                let rest = input.split_off(cut.min(input.len()));
                for piece in [rest, Vec::new()] {
                    let step = role.advance(&mut input, &mut Vec::new());
                    prop_assert!(!matches!(step, Ok(HandshakeStep::Proven { .. })), "{:?}", step);
                    input.extend_from_slice(&piece);
                }
            }
            Ok(())
        });
    }

    #[test]
    fn fuzz_a_changed_message_proves_nothing() {
        let change = (0_usize..3, any::<Index>(), any::<u8>(), any::<bool>());
        fuzz::for_each(change, |(number, place, byte, truncates)| {
            let (mut one, mut two, mut three) = (Vec::new(), Vec::new(), Vec::new());
            let mut initiator = Handshake::initiate(&SECRET, b"initiator", &mut one);
            let mut responder = Handshake::respond(&SECRET, b"responder");
            let mut is_changed = false;
            let mut damage = |message: &mut Vec<u8>, now: usize| {
                if now != number {
                } else if truncates {
                    message.truncate(place.index(message.len()));
                    is_changed = true;
                } else {
                    let place = place.index(message.len());
                    is_changed = message[place] != byte;
                    message[place] = byte;
                }
            };
            damage(&mut one, 0);
            let first = responder.advance(&mut one, &mut two);
            damage(&mut two, 1);
            let second = initiator.advance(&mut two, &mut three);
            damage(&mut three, 2);
            let third = if first.is_ok() { responder.advance(&mut three, &mut two) } else { first };
            prop_assert_eq!(
                matches!(third, Ok(HandshakeStep::Proven { .. })),
                !is_changed,
                "{:?}, {:?}",
                second,
                third
            );
            Ok(())
        });
    }
}
