//! A short secret, encrypted and authenticated under another one, for a message that is not secret.
//!
//! The cipher is XChaCha20-Poly1305 with a random nonce, so equal secrets look different each time, and a
//! changed message opens nowhere. The cipher's key is a hash of the outer secret and of the use, BLAKE2s as
//! in connections: the outer secret itself is a key of [`handshake`](super::handshake).

use blake2::{Blake2s256, Digest};
use chacha20poly1305::aead::{AeadCore, AeadInPlace, KeyInit, OsRng};
use chacha20poly1305::{Tag, XChaCha20Poly1305, XNonce};

use super::handshake::SharedSecret;

const NONCE_BYTES: usize = 24;
const SECRET_BYTES: usize = 32;
const TAG_BYTES: usize = 16;

/// The length of a wrapped secret, in bytes: a nonce, the secret, a tag.
pub const WRAPPED_BYTES: usize = NONCE_BYTES + SECRET_BYTES + TAG_BYTES;

/// Binds the key to this use.
const USE: &[u8] = b"suiro key wrap 2";

/// Encrypts `inner` for processes that know `outer`.
///
/// # Panics
/// If the system has no random numbers.
pub fn wrap(outer: &SharedSecret, inner: &SharedSecret) -> [u8; WRAPPED_BYTES] {
    let nonce = XChaCha20Poly1305::generate_nonce(OsRng);
    let mut secret = inner.0;
    let tag = cipher(outer).encrypt_in_place_detached(&nonce, &[], &mut secret);
    let tag = tag.expect("the cipher takes messages of up to 2^38 bytes");
    let mut wrapped = [0; WRAPPED_BYTES];
    wrapped[..NONCE_BYTES].copy_from_slice(&nonce);
    wrapped[NONCE_BYTES..NONCE_BYTES + SECRET_BYTES].copy_from_slice(&secret);
    wrapped[NONCE_BYTES + SECRET_BYTES..].copy_from_slice(&tag);
    wrapped
}

/// The secret in `wrapped`; `None` if it was wrapped with another one or changed.
pub fn unwrap(outer: &SharedSecret, wrapped: &[u8; WRAPPED_BYTES]) -> Option<SharedSecret> {
    let (nonce, rest) = wrapped.split_first_chunk::<NONCE_BYTES>()?;
    let (secret, tag) = rest.split_first_chunk::<SECRET_BYTES>()?;
    let (nonce, tag, mut secret) = (XNonce::from_slice(nonce), Tag::from_slice(tag), *secret);
    cipher(outer).decrypt_in_place_detached(nonce, &[], &mut secret, tag).ok()?;
    Some(SharedSecret(secret))
}

fn cipher(outer: &SharedSecret) -> XChaCha20Poly1305 {
    let key = Blake2s256::new().chain_update(USE).chain_update(outer.0).finalize();
    XChaCha20Poly1305::new(&key)
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
