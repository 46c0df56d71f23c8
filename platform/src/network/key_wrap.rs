//! A short secret, encrypted and authenticated under another one, for a message that is not secret.
//!
//! It is the first message of the pattern that connections begin with ([`handshake`](super::handshake)):
//! a fresh public key, then the ciphertext under keys from it and the outer secret. So equal secrets
//! look different each time, and a changed message opens nowhere.

use snow::Builder;

use super::handshake::{PATTERN, SharedSecret};

/// The length of a wrapped secret, in bytes: a public key, the secret, a tag.
pub const WRAPPED_BYTES: usize = 32 + 32 + 16;

/// Binds the keys to this use.
const PROLOGUE: &[u8] = b"suiro key wrap 1";

/// Encrypts `inner` for processes that know `outer`.
///
/// # Panics
/// If the system has no random numbers.
pub fn wrap(outer: &SharedSecret, inner: &SharedSecret) -> [u8; WRAPPED_BYTES] {
    let mut wrapped = [0; WRAPPED_BYTES];
    let noise = builder(outer).and_then(Builder::build_initiator);
    let written = noise.and_then(|mut noise| noise.write_message(&inner.0, &mut wrapped));
    let len = written.expect("the pattern needs a secret and random numbers only");
    debug_assert_eq!(len, WRAPPED_BYTES);
    wrapped
}

/// The secret in `wrapped`; `None` if it was wrapped with another one or changed.
pub fn unwrap(outer: &SharedSecret, wrapped: &[u8; WRAPPED_BYTES]) -> Option<SharedSecret> {
    let mut inner = [0; WRAPPED_BYTES];
    let mut noise = builder(outer).and_then(Builder::build_responder).ok()?;
    let len = noise.read_message(wrapped, &mut inner).ok()?;
    inner[..len].try_into().ok().map(SharedSecret)
}

fn builder(outer: &SharedSecret) -> Result<Builder<'_>, snow::Error> {
    Builder::new(PATTERN.parse()?).prologue(PROLOGUE)?.psk(0, &outer.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrapped_secret_opens_with_the_same_outer_one_only() {
        let (outer, inner) = (SharedSecret([1; 32]), SharedSecret([2; 32]));
        let wrapped = wrap(&outer, &inner);
        assert_ne!(wrapped, wrap(&outer, &inner));
        assert_eq!(unwrap(&outer, &wrapped).map(|it| it.0), Some(inner.0));
        assert!(unwrap(&inner, &wrapped).is_none());
        for at in 0..WRAPPED_BYTES {
            let mut changed = wrapped;
            changed[at] ^= 1;
            assert!(unwrap(&outer, &changed).is_none(), "byte {at}");
        }
    }
}
