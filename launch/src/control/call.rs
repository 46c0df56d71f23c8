//! The proof of an agent that calls its head back by TCP, as values: bytes in, bytes out.
//!
//! ```text
//!   agent                                              head: UnprovenCall
//!   Handshake::initiate ── message 1 ──>               Unknown
//!                       <── message 2 ──               Answered     by the token that message 1 proves
//!                       ── message 3: CallHello ──>    ProvenCall
//! ```
//!
//! A call is for starters that do not pass standard input and output of agents through. Each host has
//! tokens of its own, which prove nothing after its agent has called. They are not the secret of the
//! job; that follows encrypted. Agent and head have a token in common if one of these is passed on:
//!
//! | token | passed on by | worth |
//! |---|---|---|
//! | drawn by the head, in the environment of its command | `srun`, scripts | processes of the user on both hosts can read it |
//! | of `PBS_JOBCOOKIE` | PBS, which gives it to all processes of a job | as much as the cookie, by which processes of the job prove themselves to PBS |
//! | drawn by the agent, on its standard output | `kubectl exec` without `-i`, `ssh -n` | as much as the command's own connection |
//!
//! Nothing of a caller is parsed, and no memory of a length that it chose is reserved, before the proof.

use std::ffi::OsStr;
use std::fmt;
use std::net::IpAddr;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use blake2::{Blake2s256, Digest};
use platform::network::{Handshake, HandshakeStep, Refusal, SealedChannel, SharedSecret};
use platform::sys::secret::JobCredentials;
use serde::{Deserialize, Serialize};

/// The variable with the token that the head has drawn.
pub(crate) const TOKEN: &str = "SUIRO_AGENT_TOKEN";

/// The variable that PBS sets in all processes of a job.
pub(crate) const PBS_COOKIE: &str = "PBS_JOBCOOKIE";

/// More than the messages of a caller need.
pub(crate) const CALL_MAX_BYTES: usize = 512;

/// The kernel ends a connection whose other end does not acknowledge for this time.
pub(crate) const CALL_SILENCE_TIMEOUT: Duration = Duration::from_secs(10);

/// Where and as which host an agent calls: an argument of its command line, which is no secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CallAddress {
    pub job: [u8; 16],
    /// The number of the agent's host.
    pub host: u32,
    pub port: u16,
    /// Those of the head's host, the best first.
    pub addresses: Vec<IpAddr>,
}

/// What an agent says with its proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CallHello {
    job: [u8; 16],
    host: u32,
}

/// A token that an agent has drawn. It is never printed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CallToken(pub [u8; 32]);

/// The tokens of a host that has not called.
#[derive(Clone, Debug)]
pub(crate) struct AwaitedCall {
    pub host: u32,
    pub tokens: Vec<CallToken>,
}

/// A connection whose other end has proved nothing.
pub(crate) struct UnprovenCall {
    job: [u8; 16],
    input: Vec<u8>,
    /// The handshake and the host whose token message 1 proves, after message 1.
    answered: Option<(Handshake, u32)>,
}

/// The connection of the agent of a host.
pub(crate) struct ProvenCall {
    pub host: u32,
    pub channel: SealedChannel,
    /// What the agent has sent after its proof.
    pub early: Vec<u8>,
}

impl CallAddress {
    /// The text for the command line.
    pub(crate) fn to_text(&self) -> String {
        let job = u128::from_be_bytes(self.job);
        let addresses: Vec<_> = self.addresses.iter().map(ToString::to_string).collect();
        format!("{job:032x}/{}/{}/{}", self.host, self.port, addresses.join(","))
    }

    /// Reads the text of [`CallAddress::to_text`].
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let [job, host, port, addresses] = *text.split('/').collect::<Vec<_>>().as_array::<4>()?;
        Some(Self {
            job: u128::from_str_radix(job, 16).ok()?.to_be_bytes(),
            host: host.parse().ok()?,
            port: port.parse().ok()?,
            addresses: addresses
                .split(',')
                .map(|address| address.parse().ok())
                .collect::<Option<_>>()?,
        })
    }

    /// What the agent of this host says with its proof.
    pub(crate) fn hello(&self) -> Vec<u8> {
        CallHello { job: self.job, host: self.host }.emit()
    }

    /// The token of this host in the PBS job with `cookie`.
    pub(crate) fn token_of_pbs(&self, cookie: &OsStr) -> CallToken {
        let hash = Blake2s256::new()
            .chain_update(b"suiro agent")
            .chain_update(self.job)
            .chain_update(self.host.to_le_bytes())
            .chain_update(cookie.as_bytes());
        CallToken(hash.finalize().into())
    }
}

impl CallHello {
    fn emit(self) -> Vec<u8> {
        [&self.job[..], &self.host.to_le_bytes()].concat()
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let (job, host) = bytes.split_first_chunk::<16>()?;
        Some(Self { job: *job, host: u32::from_le_bytes(host.try_into().ok()?) })
    }
}

impl CallToken {
    pub(crate) fn of(credentials: &JobCredentials) -> Self {
        Self(credentials.key)
    }

    pub(crate) fn secret(&self) -> SharedSecret {
        SharedSecret(self.0)
    }
}

impl UnprovenCall {
    pub(crate) fn new(job: [u8; 16]) -> Self {
        Self { job, input: Vec::new(), answered: None }
    }

    /// The number of bytes that may be given to [`UnprovenCall::advance`].
    pub(crate) fn room(&self) -> usize {
        CALL_MAX_BYTES.saturating_sub(self.input.len())
    }

    /// Takes `bytes`, appends what to send to `out`; the call of a host of `awaited`, once proven.
    ///
    /// # Errors
    /// The caller is no agent of this job, or one that has called already.
    pub(crate) fn advance(
        &mut self, bytes: &[u8], awaited: &[AwaitedCall], out: &mut Vec<u8>,
    ) -> Result<Option<ProvenCall>, Refusal> {
        self.input.extend_from_slice(bytes);
        if self.answered.is_none() {
            self.answered = self.answer(awaited, out)?;
        }
        let Some((handshake, host)) = &mut self.answered else { return Ok(None) };
        let HandshakeStep::Proven { hello } = handshake.advance(&mut self.input, out)? else {
            return Ok(None);
        };
        let expected = CallHello { job: self.job, host: *host };
        let is_awaited = awaited.iter().any(|call| call.host == *host);
        if !is_awaited || CallHello::parse(&hello) != Some(expected) {
            return Err(Refusal::Secret);
        }
        let Some((handshake, host)) = self.answered.take() else { return Ok(None) };
        let early = std::mem::take(&mut self.input);
        Ok(Some(ProvenCall { host, channel: handshake.into_channel(), early }))
    }

    /// The handshake with the token that message 1 proves, once that is complete.
    fn answer(
        &mut self, awaited: &[AwaitedCall], out: &mut Vec<u8>,
    ) -> Result<Option<(Handshake, u32)>, Refusal> {
        for AwaitedCall { host, tokens } in awaited {
            for token in tokens {
                let (mut input, mut reply) = (self.input.clone(), Vec::new());
                let mut handshake = Handshake::respond(&token.secret(), &[]);
                match handshake.advance(&mut input, &mut reply) {
                    Ok(_) if reply.is_empty() => return Ok(None),
                    Ok(_) => {
                        self.input = input;
                        out.extend(reply);
                        return Ok(Some((handshake, *host)));
                    }
                    Err(Refusal::Secret) => {}
                    Err(refusal) => return Err(refusal),
                }
            }
        }
        Err(Refusal::Secret)
    }
}

impl fmt::Debug for CallToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CallToken")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::fuzz;
    use proptest::collection::vec;
    use proptest::prelude::*;

    const JOB: [u8; 16] = [3; 16];

    fn address(host: u32) -> CallAddress {
        let addresses = vec!["10.0.0.1".parse().unwrap(), "fd00::1".parse().unwrap()];
        CallAddress { job: JOB, host, port: 4567, addresses }
    }

    fn awaited() -> Vec<AwaitedCall> {
        let token = |byte| CallToken([byte; 32]);
        vec![
            AwaitedCall { host: 1, tokens: vec![token(1), token(11)] },
            AwaitedCall { host: 2, tokens: vec![token(2)] },
        ]
    }

    /// What the head makes of an agent with `token` that says `hello`, in pieces of `size` bytes.
    fn call(
        token: u8, hello: &[u8], size: usize, awaited: &[AwaitedCall],
    ) -> Result<ProvenCall, Refusal> {
        let (mut there, mut back) = (Vec::new(), Vec::new());
        let mut agent = Handshake::initiate(&CallToken([token; 32]).secret(), hello, &mut there);
        let mut head = UnprovenCall::new(JOB);
        loop {
            let sent = std::mem::take(&mut there);
            assert!(!sent.is_empty(), "the head waits");
            for piece in sent.chunks(size) {
                assert!(piece.len() <= head.room());
                if let Some(proven) = head.advance(piece, awaited, &mut back)? {
                    return Ok(proven);
                }
            }
            agent.advance(&mut back, &mut there).unwrap();
        }
    }

    #[test]
    fn each_token_proves_one_host_in_any_pieces() {
        for (token, host) in [(1, 1), (11, 1), (2, 2)] {
            for size in [1, 7, 400] {
                let proven = call(token, &address(host).hello(), size, &awaited()).ok().unwrap();
                assert_eq!((proven.host, proven.early), (host, vec![]));
            }
        }
    }

    #[test]
    fn a_wrong_used_or_foreign_token_is_refused() {
        let one = address(1).hello();
        let is_refused = |token, hello: &[u8], awaited: &[AwaitedCall]| {
            assert_eq!(call(token, hello, 400, awaited).err(), Some(Refusal::Secret));
        };
        is_refused(9, &one, &awaited());
        is_refused(1, &one, &awaited()[1..]);
        is_refused(1, &one, &[]);
        is_refused(1, &address(2).hello(), &awaited());
        is_refused(1, &CallAddress { job: [4; 16], ..address(1) }.hello(), &awaited());
        is_refused(1, b"", &awaited());
    }

    #[test]
    fn two_calls_with_one_token_are_not_both_proven() {
        let (mut there, mut back) = (Vec::new(), Vec::new());
        let secret = CallToken([1; 32]).secret();
        let mut agent = Handshake::initiate(&secret, &address(1).hello(), &mut there);
        let mut head = UnprovenCall::new(JOB);
        head.advance(&there, &awaited(), &mut back).ok().unwrap();
        there.clear();
        agent.advance(&mut back, &mut there).unwrap();
        // Another connection of this host has been proven meanwhile.
        let late = head.advance(&there, &awaited()[1..], &mut back);
        assert_eq!(late.err(), Some(Refusal::Secret));
    }

    #[test]
    fn tokens_of_pbs_differ_by_host_job_and_cookie_and_are_never_printed() {
        let token = |job, host, cookie: &str| {
            CallAddress { job: [job; 16], ..address(host) }.token_of_pbs(cookie.as_ref())
        };
        let one = token(3, 1, "9EEF");
        assert_eq!(one, token(3, 1, "9EEF"));
        for other in [token(4, 1, "9EEF"), token(3, 2, "9EEF"), token(3, 1, "9EEE")] {
            assert!(one != other);
        }
        assert_eq!(format!("{one:?}"), "CallToken");
    }

    #[test]
    fn addresses_cross_the_command_line() {
        let address = address(7);
        let text = address.to_text();
        assert_eq!(text, format!("{}/7/4567/10.0.0.1,fd00::1", "03".repeat(16)));
        assert_eq!(CallAddress::parse(&text), Some(address));
        for bad in ["", "///", "x/1/2/10.0.0.1", "0/1/70000/10.0.0.1", "0/1/2/", "0/1/2/a", "0/1/2"]
        {
            assert_eq!(CallAddress::parse(bad), None, "{bad}");
        }
    }

    /// Anything, also behind the beginning of a good message 1.
    #[test]
    fn fuzz_bytes_of_strangers_are_no_calls() {
        let mut first = Vec::new();
        Handshake::initiate(&CallToken([1; 32]).secret(), &address(1).hello(), &mut first);
        let input = (vec(any::<u8>(), 0..600), 0..=first.len(), 1_usize..200);
        fuzz::for_each(input, |(bytes, kept, size)| {
            let (mut head, mut out) = (UnprovenCall::new(JOB), Vec::new());
            for piece in [&first[..kept], &bytes].concat().chunks(size) {
                let piece = &piece[..piece.len().min(head.room())];
                match head.advance(piece, &awaited(), &mut out) {
                    Ok(None) => prop_assert!(head.input.len() <= CALL_MAX_BYTES),
                    Ok(Some(_)) => prop_assert!(false, "a stranger is an agent"),
                    Err(_) => break,
                }
            }
            Ok(())
        });
    }
}
