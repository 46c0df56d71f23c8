//! Encrypted and authenticated records, in both directions of a connection.
//!
//! ```text
//!   record: length of the rest in 2 bytes, little-endian │ ciphertext │ tag in 16 bytes
//! ```
//!
//! A record opens only in its place in its direction of its connection. The keys change after
//! [`RECORDS_PER_KEY`] records, at both ends, so a process that is broken into does not give away all it
//! has received; the number of records in a direction, 64 bits, does not run out.

use snow::{HandshakeState, TransportState};

use super::handshake::Refusal;

pub(super) const LENGTH_BYTES: usize = 2;
/// What authenticates a record (RFC 8439).
pub(super) const TAG_BYTES: usize = 16;

/// The longest plaintext of a record, in bytes: longer ones make a receiver wait longer for the end of
/// the first, and are not sealed faster.
const PLAIN_MAX: usize = 32 << 10;

const RECORDS_PER_KEY: u64 = 1 << 16;

/// The keys of one connection.
pub struct SealedChannel {
    transport: TransportState,
}

impl SealedChannel {
    /// # Panics
    /// If the handshake has not ended.
    pub(super) fn new(handshake: HandshakeState) -> Self {
        let transport = handshake.into_transport_mode();
        Self { transport: transport.expect("both ends have sent their keys") }
    }

    /// Appends `plain` to `out`, in as many records as are needed: none for no bytes.
    pub fn seal(&mut self, plain: &[u8], out: &mut Vec<u8>) {
        out.reserve(plain.len() + plain.len().div_ceil(PLAIN_MAX) * (LENGTH_BYTES + TAG_BYTES));
        for part in plain.chunks(PLAIN_MAX) {
            self.seal_one(part, out);
        }
    }

    /// Appends one record to `out`; `plain` may be empty.
    ///
    /// # Panics
    /// If `plain` is too long for one record.
    pub fn seal_one(&mut self, plain: &[u8], out: &mut Vec<u8>) {
        assert!(plain.len() <= PLAIN_MAX);
        let sealed = plain.len() + TAG_BYTES;
        out.extend_from_slice(&(sealed as u16).to_le_bytes());
        let start = out.len();
        out.resize(start + sealed, 0);
        let written = self.transport.write_message(plain, &mut out[start..]);
        written.expect("a direction has fewer than 2^64 records");
        if self.transport.sending_nonce().is_multiple_of(RECORDS_PER_KEY) {
            self.transport.rekey_outgoing();
        }
    }

    /// Takes all whole records from the front of `input` and appends what they hold to `plain`.
    ///
    /// # Errors
    /// Why the connection is of no use; `plain` has what came before.
    pub fn open(&mut self, input: &mut Vec<u8>, plain: &mut Vec<u8>) -> Result<(), Refusal> {
        let mut taken = 0;
        while let Some(bytes) = self.open_first(PLAIN_MAX, &input[taken..], plain)? {
            taken += bytes;
        }
        input.drain(..taken);
        Ok(())
    }

    /// Takes one record of at most `len_max` bytes of plaintext, and leaves what follows it; whether a
    /// whole record was there.
    ///
    /// # Errors
    /// As [`SealedChannel::open`].
    pub fn open_one(
        &mut self, len_max: usize, input: &mut Vec<u8>, plain: &mut Vec<u8>,
    ) -> Result<bool, Refusal> {
        let taken = self.open_first(len_max, input, plain)?;
        input.drain(..taken.unwrap_or(0));
        Ok(taken.is_some())
    }

    /// Opens the record at the front of `input`, if all of it is there; its length with that word.
    fn open_first(
        &mut self, len_max: usize, input: &[u8], plain: &mut Vec<u8>,
    ) -> Result<Option<usize>, Refusal> {
        let Some((length, rest)) = input.split_first_chunk::<LENGTH_BYTES>() else {
            return Ok(None);
        };
        let sealed = usize::from(u16::from_le_bytes(*length));
        if !(TAG_BYTES..=TAG_BYTES + len_max.min(PLAIN_MAX)).contains(&sealed) {
            return Err(Refusal::Length(sealed));
        }
        let Some(record) = rest.get(..sealed) else { return Ok(None) };
        let start = plain.len();
        plain.resize(start + sealed - TAG_BYTES, 0);
        if self.transport.read_message(record, &mut plain[start..]).is_err() {
            plain.truncate(start);
            return Err(Refusal::Record);
        }
        if self.transport.receiving_nonce().is_multiple_of(RECORDS_PER_KEY) {
            self.transport.rekey_incoming();
        }
        Ok(Some(LENGTH_BYTES + sealed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::fuzz;
    use crate::network::handshake::{Handshake, SharedSecret};
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn pair() -> (SealedChannel, SealedChannel) {
        let secret = SharedSecret([7; 32]);
        let (mut there, mut back) = (Vec::new(), Vec::new());
        let mut initiator = Handshake::initiate(&secret, b"", &mut there);
        let mut responder = Handshake::respond(&secret, b"");
        responder.advance(&mut there, &mut back).unwrap();
        initiator.advance(&mut back, &mut there).unwrap();
        responder.advance(&mut there, &mut back).unwrap();
        (initiator.into_channel(), responder.into_channel())
    }

    #[test]
    fn any_length_arrives_in_records_and_pieces() {
        let (mut initiator, mut responder) = pair();
        let (mut wire, mut input, mut plain) = (Vec::new(), Vec::new(), Vec::new());
        let sent: Vec<u8> = (0..3 * PLAIN_MAX + 5).map(|at| (at % 251) as u8).collect();
        let lengths = [0, 1, PLAIN_MAX - 1, PLAIN_MAX, PLAIN_MAX + 1, sent.len()];
        for len in lengths {
            initiator.seal(&sent[..len], &mut wire);
        }
        for piece in wire.chunks(777) {
            input.extend_from_slice(piece);
            responder.open(&mut input, &mut plain).unwrap();
        }
        assert_eq!(input, b"");
        let parts = lengths.map(|len| &sent[..len]);
        assert!(plain == parts.concat());
        responder.seal(b"back", &mut input);
        initiator.open(&mut input, &mut Vec::new()).unwrap();
    }

    #[test]
    fn a_record_opens_in_its_place_only() {
        let sealed = |channel: &mut SealedChannel, plain: &[u8]| {
            let mut wire = Vec::new();
            channel.seal(plain, &mut wire);
            wire
        };
        let open = |channel: &mut SealedChannel, mut wire: Vec<u8>| {
            channel.open(&mut wire, &mut Vec::new()).map(|()| wire.len())
        };
        let (mut initiator, mut responder) = pair();
        let (one, two) = (sealed(&mut initiator, b"one"), sealed(&mut initiator, b"two"));
        assert_eq!(open(&mut responder, two.clone()), Err(Refusal::Record));
        assert_eq!(open(&mut responder, one.clone()), Ok(0));
        assert_eq!(open(&mut responder, one.clone()), Err(Refusal::Record), "repeated");
        assert_eq!(open(&mut initiator, two.clone()), Err(Refusal::Record), "reflected");
        assert_eq!(open(&mut pair().1, one), Err(Refusal::Record), "another connection");
        assert_eq!(open(&mut responder, two[..two.len() - 1].to_vec()), Ok(two.len() - 1));
        for len in [0, TAG_BYTES - 1, TAG_BYTES + PLAIN_MAX + 1, usize::from(u16::MAX)] {
            let length = (len as u16).to_le_bytes().to_vec();
            assert_eq!(open(&mut responder, length), Err(Refusal::Length(len)));
        }
        assert_eq!(open(&mut responder, two), Ok(0));
    }

    #[test]
    fn the_keys_change_at_both_ends() {
        let (mut initiator, mut responder) = pair();
        let (mut wire, mut plain) = (Vec::new(), Vec::new());
        // Message 3 was the first record.
        for _ in 1..RECORDS_PER_KEY - 1 {
            initiator.seal_one(b"", &mut wire);
            responder.open(&mut wire, &mut plain).unwrap();
        }
        initiator.seal(b"last", &mut wire);
        // Below the channel, the keys stay.
        let mut last = [0; 4];
        responder.transport.read_message(&wire[LENGTH_BYTES..], &mut last).unwrap();
        wire.clear();
        initiator.seal(b"first", &mut wire);
        assert_eq!(responder.open(&mut wire, &mut plain), Err(Refusal::Record));
        responder.transport.rekey_incoming();
        initiator.seal(b" and second", &mut wire);
        responder.open(&mut wire, &mut plain).unwrap();
        assert_eq!((&last[..], &plain[..]), (&b"last"[..], &b"first and second"[..]));
    }

    #[test]
    fn fuzz_records_of_strangers_do_not_open() {
        fuzz::for_each((vec(any::<u8>(), 0..300), any::<bool>()), |(bytes, has_length)| {
            let (_, mut responder) = pair();
            let length = (bytes.len() as u16).to_le_bytes();
            let mut input = if has_length { [&length, &bytes[..]].concat() } else { bytes };
            let mut plain = Vec::new();
            let _ = responder.open(&mut input, &mut plain);
            prop_assert!(plain.is_empty());
            Ok(())
        });
    }
}
