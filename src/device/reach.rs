//! Processes of other jobs: how they find this process, and how it finds them.
//!
//! ```text
//!   this process                                    a process of another job
//!   card, key ── told by a port or by other ranks ──>  admit(its number for us, card, key)
//!   take_caller(key) <── first connection ───────────  send
//!   admit(our number for it) ── open ───────────────>  packets
//!   forget                                             forget
//! ```
//!
//! A *key* is a secret with a public name; both ends of a connection prove it. The caller numbers the
//! peers, above the ranks of the job.

use platform::base::{Peer, Result};

/// A process by its job and its rank there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForeignProcess {
    /// The identity of its job.
    pub job: [u8; 16],
    /// Its rank in its job.
    pub rank: u32,
}

/// A secret with a public name, for the connections between some processes.
#[derive(Clone)]
pub struct ConnectionKey {
    /// The name, unique among all jobs.
    pub id: [u8; 16],
    /// The secret.
    pub secret: [u8; 32],
}

/// Bytes of a key that is sealed for another process: how, and the key.
pub const SEALED_BYTES: usize = 1 + 72;

/// What both ends know when one sends a new key to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SealedFor {
    /// The rank of the own job: its secret. If the ranks of a job have agreed on none, they share memory,
    /// which no other process reads.
    Rank,
    /// A process of another job: the key of connections with it.
    Peer(Peer),
    /// The process that has connected to the port with this key, or the one that has opened it.
    Port([u8; 16]),
}

/// Where a process of another job is reached.
#[derive(Clone, Copy, Debug)]
pub struct ForeignAddress<'a> {
    /// The process.
    pub process: ForeignProcess,
    /// Its [`Reach::card`]; empty for one that has connected to this process and is never connected to.
    pub card: &'a str,
    /// The name of its host, for messages.
    pub host: &'a str,
    /// The name of the key of connections to it.
    pub key: [u8; 16],
}

/// Connections with processes of other jobs.
pub trait Reach {
    /// What processes of other jobs need to connect to this one: at most 400 printable ASCII characters.
    fn card(&mut self) -> String;

    /// Lets processes that know `key` connect until [`Reach::close_port`].
    fn open_port(&mut self, key: &ConnectionKey);

    /// Forgets the key of a port: no connection begins with it any more, open ones stay.
    fn close_port(&mut self, id: [u8; 16]);

    /// Lets this process and those that know `key` connect, until [`Reach::drop_unused_key`] finds no
    /// process with this key that has a number.
    fn add_key(&mut self, key: &ConnectionKey);

    /// Forgets a key that is no port's and that no process with a number has.
    fn drop_unused_key(&mut self, id: [u8; 16]);

    /// Whether this process has this key.
    fn knows_key(&self, key: &ConnectionKey) -> bool;

    /// Encrypts the secret of `key`, for one process.
    fn seal_key(&self, key: &ConnectionKey, to: SealedFor) -> [u8; SEALED_BYTES];

    /// The secret in what [`Reach::seal_key`] has made at the other process; `None` if it was changed, or is
    /// for another process.
    fn open_key(&self, sealed: &[u8; SEALED_BYTES], from: SealedFor) -> Option<[u8; 32]>;

    /// A process without a number that has connected with this key, and waits to be
    /// [admitted](Reach::admit). Each is given once.
    fn take_caller(&mut self, key: [u8; 16]) -> Option<ForeignProcess>;

    /// Gives a process the number `peer`, which no other process has; from now on packets to and from it
    /// are carried. For a process that has this number, only what is new is noted.
    ///
    /// # Errors
    /// `Other` for a card that is none.
    fn admit(&mut self, peer: Peer, address: ForeignAddress<'_>) -> Result;

    /// Connects to `peer` now, if no connection to it is open: if its process has ended, it
    /// [fails](crate::device::PacketSink::failed), also where nothing is sent to it.
    fn connect(&mut self, peer: Peer);

    /// Ends the connection to `peer`, when nothing is in transit there; its number is free. An orderly end
    /// is no failure to the other end.
    fn forget(&mut self, peer: Peer, is_orderly: bool);

    /// Whether all packets to `peer` have arrived at its device.
    fn is_settled_with(&self, peer: Peer) -> bool;
}
