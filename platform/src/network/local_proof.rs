//! Both ends of a connection inside one host prove that they know a secret, as a value: bytes in, bytes
//! out.
//!
//! ```text
//!   initiator                                               responder
//!   1: preamble, nonce, hello                          ──>
//!                       <──  2: preamble, nonce, hello, code           proves the responder
//!   3: code                                            ──>             proves the initiator
//!                       <──  4: verdict, code                          of the session
//!
//!   later, on the same connection
//!   5: hello, code of a secret that may be another one ──>             proves the initiator
//!                       <──  6: verdict, code                          proves the responder
//!
//!   initiator: Called ── 2 ──> Proven      responder: Listening ── 1 ──> Answered ── 3 ──> Proven
//! ```
//!
//! A code is a keyed hash of all messages before it (BLAKE2s, RFC 7693), with the secret as the key and the
//! role of its sender in it: it proves the secret, belongs to this connection and to its place there
//! because both ends have drawn a nonce, and is no answer to itself. A call that comes later (5) continues
//! the hash, so its code is good once.
//!
//! There is no exchange of keys and no cipher, other than in [`handshake`](super::handshake): the kernel carries the bytes from one process to the other, no process in between
//! can read or change them, and the kernel has named the user of the other end, which is that of this one.
//! A process of this user that relays the bytes of two others gains nothing: it may read their memory.
//!
//! A hello is a length in 16 bits, little-endian, and the caller's bytes.

use std::mem;

use blake2::digest::{FixedOutput, KeyInit, Mac, Update};
use blake2::{Blake2s256, Blake2sMac256, Digest};
use chacha20poly1305::aead::OsRng;
use chacha20poly1305::aead::rand_core::RngCore;

use super::handshake::{HELLO_MAX, HandshakeStep, PREAMBLE, Refusal, SharedSecret, check_preamble};

/// Bytes of a nonce and of a code.
const NONCE_BYTES: usize = 16;
const CODE_BYTES: usize = 32;
const LENGTH_BYTES: usize = 2;

/// Tells this use of a secret from others, and the codes from each other.
const USE: &[u8] = b"suiro local proof 1";
const INITIATOR: &[u8] = b"initiator";
const RESPONDER: &[u8] = b"responder";
const VERDICT: &[u8] = b"verdict";
const CALL: &[u8] = b"call";

/// One end of a new connection.
pub struct LocalProof {
    state: LocalProgress,
}

enum LocalProgress {
    /// The initiator, before message 2; `said` is message 1 without its preamble.
    Called {
        secret: SharedSecret,
        said: Vec<u8>,
    },
    /// The responder, before message 1.
    Listening {
        secret: SharedSecret,
        hello: Box<[u8]>,
    },
    /// The responder, before message 3.
    Answered {
        session: LocalSession,
        hello: Vec<u8>,
    },
    Proven(LocalSession),
    Refused(Refusal),
}

impl LocalProof {
    /// The end that has connected, with message 1 in `out`. The responder hears `hello`.
    ///
    /// # Panics
    /// If `hello` is longer than [`HELLO_MAX`], or the system has no random numbers.
    pub fn initiate(secret: &SharedSecret, hello: &[u8], out: &mut Vec<u8>) -> Self {
        let said = introduction(hello);
        out.extend_from_slice(&PREAMBLE);
        out.extend_from_slice(&said);
        Self { state: LocalProgress::Called { secret: secret.clone(), said } }
    }

    /// The end that has accepted. The initiator hears `hello`.
    ///
    /// # Panics
    /// If `hello` is longer than [`HELLO_MAX`].
    pub fn respond(secret: &SharedSecret, hello: &[u8]) -> Self {
        assert!(hello.len() <= HELLO_MAX, "a hello of {} bytes", hello.len());
        Self { state: LocalProgress::Listening { secret: secret.clone(), hello: hello.into() } }
    }

    /// Takes messages from the front of `input` and appends replies to `out`. What follows the last
    /// message stays in `input`.
    ///
    /// # Errors
    /// Why the connection is of no use, then and later.
    ///
    /// # Panics
    /// After [`HandshakeStep::Proven`], or if the system has no random numbers.
    pub fn advance(
        &mut self, input: &mut Vec<u8>, out: &mut Vec<u8>,
    ) -> Result<HandshakeStep, Refusal> {
        let state = mem::replace(&mut self.state, LocalProgress::Refused(Refusal::Secret));
        let next = match state {
            LocalProgress::Called { secret, said } => called(secret, said, input, out),
            LocalProgress::Listening { secret, hello } => listening(secret, hello, input, out),
            LocalProgress::Answered { session, hello } => answered(session, hello, input),
            LocalProgress::Proven(_) => panic!("the peer has already proved the secret"),
            LocalProgress::Refused(refusal) => Err(refusal),
        };
        let (state, step) = match next {
            Ok((state, step)) => (state, Ok(step)),
            Err(refusal) => (LocalProgress::Refused(refusal), Err(refusal)),
        };
        self.state = state;
        step
    }

    /// What the connection has from now on.
    ///
    /// # Panics
    /// Before [`HandshakeStep::Proven`].
    pub fn into_session(self) -> LocalSession {
        match self.state {
            LocalProgress::Proven(session) => session,
            _ => panic!("the peer has not proved the secret"),
        }
    }
}

/// The initiator waits for message 2, and answers with message 3.
fn called(
    secret: SharedSecret, said: Vec<u8>, input: &mut Vec<u8>, out: &mut Vec<u8>,
) -> Result<(LocalProgress, HandshakeStep), Refusal> {
    let Some((introduced, hello)) = introduced(input, CODE_BYTES)? else {
        return Ok((LocalProgress::Called { secret, said }, HandshakeStep::Pending));
    };
    let theirs = &input[PREAMBLE.len()..introduced];
    let session = LocalSession { chain: chained(&[USE, &said, theirs]), secret };
    let taken = introduced + CODE_BYTES;
    session.check(RESPONDER, &[], &input[introduced..taken])?;
    out.extend_from_slice(&session.code(INITIATOR, &[]));
    input.drain(..taken);
    Ok((LocalProgress::Proven(session), HandshakeStep::Proven { hello }))
}

/// The responder waits for message 1, and answers with message 2.
fn listening(
    secret: SharedSecret, hello: Box<[u8]>, input: &mut Vec<u8>, out: &mut Vec<u8>,
) -> Result<(LocalProgress, HandshakeStep), Refusal> {
    let Some((taken, theirs)) = introduced(input, 0)? else {
        return Ok((LocalProgress::Listening { secret, hello }, HandshakeStep::Pending));
    };
    let said = introduction(&hello);
    let chain = chained(&[USE, &input[PREAMBLE.len()..taken], &said]);
    let session = LocalSession { chain, secret };
    out.extend_from_slice(&PREAMBLE);
    out.extend_from_slice(&said);
    out.extend_from_slice(&session.code(RESPONDER, &[]));
    input.drain(..taken);
    Ok((LocalProgress::Answered { session, hello: theirs }, HandshakeStep::Pending))
}

/// The responder waits for message 3.
fn answered(
    session: LocalSession, hello: Vec<u8>, input: &mut Vec<u8>,
) -> Result<(LocalProgress, HandshakeStep), Refusal> {
    let Some(code) = input.get(..CODE_BYTES) else {
        return Ok((LocalProgress::Answered { session, hello }, HandshakeStep::Pending));
    };
    session.check(INITIATOR, &[], code)?;
    input.drain(..CODE_BYTES);
    Ok((LocalProgress::Proven(session), HandshakeStep::Proven { hello }))
}

/// A nonce and a hello.
fn introduction(hello: &[u8]) -> Vec<u8> {
    assert!(hello.len() <= HELLO_MAX, "a hello of {} bytes", hello.len());
    let mut nonce = [0; NONCE_BYTES];
    OsRng.fill_bytes(&mut nonce);
    [&nonce[..], &(hello.len() as u16).to_le_bytes(), hello].concat()
}

/// The end of an introduction at the front of `input`, behind a preamble, and its hello, once it and
/// `more` bytes are there.
fn introduced(input: &[u8], more: usize) -> Result<Option<(usize, Vec<u8>)>, Refusal> {
    let Some(rest) = check_preamble(input)? else { return Ok(None) };
    let Some((length, rest)) =
        rest.get(NONCE_BYTES..).and_then(|rest| rest.split_first_chunk::<LENGTH_BYTES>())
    else {
        return Ok(None);
    };
    let len = usize::from(u16::from_le_bytes(*length));
    if len > HELLO_MAX {
        return Err(Refusal::Length(len));
    }
    let end = PREAMBLE.len() + NONCE_BYTES + LENGTH_BYTES + len;
    Ok((rest.len() >= len + more).then(|| (end, rest[..len].to_vec())))
}

fn chained(parts: &[&[u8]]) -> [u8; 32] {
    let mut hash = Blake2s256::new();
    parts.iter().for_each(|part| Digest::update(&mut hash, part));
    hash.finalize().into()
}

/// What both ends of a proven connection have in common.
#[derive(Clone)]
pub struct LocalSession {
    /// A hash of all that was said.
    chain: [u8; 32],
    secret: SharedSecret,
}

impl LocalSession {
    /// Appends a verdict of the responder and its code to `out`.
    pub fn say_verdict(&self, verdict: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(verdict);
        out.extend_from_slice(&self.code(VERDICT, verdict));
    }

    /// Takes a verdict of `N` bytes from the front of `input`, once it is there.
    ///
    /// # Errors
    /// `Secret` if its code is wrong.
    pub fn take_verdict<const N: usize>(
        &self, input: &mut Vec<u8>,
    ) -> Result<Option<[u8; N]>, Refusal> {
        self.take(VERDICT, input)
    }

    /// The initiator calls once more, with a secret that may be another one.
    pub fn call_again(&mut self, secret: &SharedSecret, hello: &[u8], out: &mut Vec<u8>) {
        self.continue_with(secret);
        out.extend_from_slice(hello);
        out.extend_from_slice(&self.code(INITIATOR, hello));
    }

    /// The responder takes that call with a hello of `N` bytes from the front of `input`, once it is there.
    ///
    /// # Errors
    /// `Secret` if its code is wrong.
    pub fn take_call<const N: usize>(
        &mut self, secret: &SharedSecret, input: &mut Vec<u8>,
    ) -> Result<Option<[u8; N]>, Refusal> {
        if input.len() < N + CODE_BYTES {
            return Ok(None);
        }
        self.continue_with(secret);
        self.take(INITIATOR, input)
    }

    fn continue_with(&mut self, secret: &SharedSecret) {
        self.chain = chained(&[CALL, &self.chain]);
        self.secret = secret.clone();
    }

    fn take<const N: usize>(
        &self, role: &[u8], input: &mut Vec<u8>,
    ) -> Result<Option<[u8; N]>, Refusal> {
        let Some(message) = input.get(..N + CODE_BYTES) else { return Ok(None) };
        let Some((said, code)) = message.split_first_chunk::<N>() else { return Ok(None) };
        self.check(role, said, code)?;
        let said = *said;
        input.drain(..N + CODE_BYTES);
        Ok(Some(said))
    }

    fn hashed(&self, role: &[u8], said: &[u8]) -> Blake2sMac256 {
        let mac = <Blake2sMac256 as KeyInit>::new_from_slice(&self.secret.0);
        let mac = mac.expect("a secret is as long as a key of BLAKE2s");
        let length = [role.len() as u8];
        mac.chain(USE).chain(length).chain(role).chain(self.chain).chain(said)
    }

    fn code(&self, role: &[u8], said: &[u8]) -> [u8; CODE_BYTES] {
        self.hashed(role, said).finalize_fixed().into()
    }

    fn check(&self, role: &[u8], said: &[u8], code: &[u8]) -> Result<(), Refusal> {
        self.hashed(role, said).verify_slice(code).map_err(|_| Refusal::Secret)
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
    const OTHER: SharedSecret = SharedSecret([8; 32]);

    fn proven(hello: &[u8]) -> Result<HandshakeStep, Refusal> {
        Ok(HandshakeStep::Proven { hello: hello.to_vec() })
    }

    /// The messages 1 to 3, and both sessions.
    fn talk() -> ([Vec<u8>; 3], [LocalSession; 2]) {
        let (mut one, mut two, mut three) = (Vec::new(), Vec::new(), Vec::new());
        let mut initiator = LocalProof::initiate(&SECRET, b"initiator", &mut one);
        let mut responder = LocalProof::respond(&SECRET, b"responder");
        assert_eq!(responder.advance(&mut one.clone(), &mut two), Ok(HandshakeStep::Pending));
        let mut input = [&two[..], b"rest"].concat();
        assert_eq!(initiator.advance(&mut input, &mut three), proven(b"responder"));
        assert_eq!(input, b"rest");
        assert_eq!(responder.advance(&mut three.clone(), &mut Vec::new()), proven(b"initiator"));
        ([one, two, three], [initiator.into_session(), responder.into_session()])
    }

    #[test]
    fn messages_come_in_pieces() {
        let (mut one, mut two, mut input) = (Vec::new(), Vec::new(), Vec::new());
        let mut initiator = LocalProof::initiate(&SECRET, &[1; HELLO_MAX], &mut one);
        let mut responder = LocalProof::respond(&SECRET, b"");
        for byte in one {
            assert_eq!(two, b"");
            input.push(byte);
            assert_eq!(responder.advance(&mut input, &mut two), Ok(HandshakeStep::Pending));
        }
        let last = two.pop().unwrap();
        assert_eq!(initiator.advance(&mut two, &mut Vec::new()), Ok(HandshakeStep::Pending));
        two.push(last);
        assert_eq!(initiator.advance(&mut two, &mut input), proven(b""));
        assert_eq!(responder.advance(&mut input, &mut two), proven(&[1; HELLO_MAX]));
    }

    #[test]
    fn another_secret_and_messages_of_another_connection_are_refused() {
        let mut one = Vec::new();
        LocalProof::initiate(&OTHER, b"", &mut one);
        let mut two = Vec::new();
        LocalProof::respond(&SECRET, b"").advance(&mut one, &mut two).unwrap();
        let mut initiator = LocalProof::initiate(&OTHER, b"", &mut Vec::new());
        assert_eq!(initiator.advance(&mut two.clone(), &mut one), Err(Refusal::Secret));
        assert_eq!(one, b"");
        let mut initiator = LocalProof::initiate(&SECRET, b"", &mut Vec::new());
        assert_eq!(initiator.advance(&mut two, &mut one), Err(Refusal::Secret), "its nonce");
        let ([mut first, _, mut third], _) = talk();
        let mut responder = LocalProof::respond(&SECRET, b"responder");
        responder.advance(&mut first, &mut Vec::new()).unwrap();
        let repeated = responder.advance(&mut third, &mut Vec::new());
        assert_eq!(repeated, Err(Refusal::Secret), "repeated");
        // A code is no answer to itself.
        let mut one = Vec::new();
        let mut initiator = LocalProof::initiate(&SECRET, b"", &mut one);
        one.extend_from_slice(&[0; CODE_BYTES]);
        assert_eq!(initiator.advance(&mut one, &mut Vec::new()), Err(Refusal::Secret));
    }

    #[test]
    fn a_session_carries_verdicts_and_later_calls_in_their_places_only() {
        let (_, [mut initiator, mut responder]) = talk();
        let mut wire = Vec::new();
        responder.say_verdict(b"yes", &mut wire);
        wire.extend_from_slice(b"more");
        assert_eq!(initiator.take_verdict(&mut wire), Ok(Some(*b"yes")));
        assert_eq!(wire, b"more");
        let mut call = Vec::new();
        initiator.call_again(&OTHER, b"again", &mut call);
        let wrong = responder.clone().take_call::<5>(&SECRET, &mut call.clone());
        assert_eq!(wrong, Err(Refusal::Secret));
        let mut part = call[..20].to_vec();
        assert_eq!(responder.take_call::<5>(&OTHER, &mut part), Ok(None));
        assert_eq!(responder.take_call(&OTHER, &mut call.clone()), Ok(Some(*b"again")));
        let repeated = responder.clone().take_call::<5>(&OTHER, &mut call);
        assert_eq!(repeated, Err(Refusal::Secret), "repeated");
        let mut old = Vec::new();
        talk().1[1].say_verdict(b"yes", &mut old);
        assert_eq!(initiator.take_verdict::<3>(&mut old), Err(Refusal::Secret));
        responder.say_verdict(b"yes", &mut wire);
        wire.drain(..4);
        assert_eq!(initiator.take_verdict(&mut wire), Ok(Some(*b"yes")));
    }

    #[test]
    fn fuzz_a_changed_message_proves_nothing() {
        let change = (0_usize..3, any::<Index>(), any::<u8>(), vec(any::<u8>(), 0..300));
        fuzz::for_each(change, |(number, place, byte, garbage)| {
            let (mut one, mut two, mut three) = (Vec::new(), Vec::new(), Vec::new());
            let mut initiator = LocalProof::initiate(&SECRET, b"initiator", &mut one);
            let mut responder = LocalProof::respond(&SECRET, b"responder");
            let mut is_changed = false;
            let mut damage = |message: &mut Vec<u8>, now: usize| {
                if now == number && !message.is_empty() {
                    let place = place.index(message.len());
                    is_changed |= message[place] != byte;
                    message[place] = byte;
                }
            };
            damage(&mut one, 0);
            let _ = responder.advance(&mut one, &mut two);
            damage(&mut two, 1);
            let _ = initiator.advance(&mut two, &mut three);
            damage(&mut three, 2);
            let last = responder.advance(&mut three, &mut Vec::new());
            prop_assert_eq!(matches!(last, Ok(HandshakeStep::Proven { .. })), !is_changed);
            let mut input = garbage;
            let stranger = LocalProof::respond(&SECRET, b"").advance(&mut input, &mut Vec::new());
            prop_assert!(!matches!(stranger, Ok(HandshakeStep::Proven { .. })), "{:?}", stranger);
            Ok(())
        });
    }
}
