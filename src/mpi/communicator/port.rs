//! Names of ports, and what processes of two jobs tell each other of themselves (MPI 5.0 §11.9).
//!
//! ```text
//!   suiro2 / job / rank / key / secret / host / card        hexadecimal numbers, text without a slash
//! ```
//!
//! The name of a port is all that another job needs to connect, so every process with the name may do so.
//! The secret is drawn for this port, and is worthless once the port is closed.

use std::fmt::Write;

use crate::device::reach::ConnectionKey;
use crate::mpi::communicator::Context;
use crate::mpi::processes::{JobId, ProcessIdentity};
use platform::base::{ErrorClass, Representation, Result, hex};

/// The beginning of the name of a port; the number changes with the protocol.
const PROTOCOL: &str = "suiro2";

/// `MPI_MAX_PORT_NAME` of the standard ABI: with the final zero.
pub(crate) const PORT_NAME_MAX: usize = 1024;

/// A port: the process that accepts there, and how it is reached.
#[derive(Clone)]
pub(crate) struct PortName {
    pub(crate) process: ProcessIdentity,
    pub(crate) key: ConnectionKey,
    pub(crate) host: String,
    pub(crate) card: String,
}

impl PortName {
    pub(crate) fn emit(&self) -> String {
        let Self { process, key, host, card } = self;
        let mut text = format!("{PROTOCOL}/{:x}/{:x}/", process.job.0, process.rank);
        hex::push(&mut text, &key.id);
        text.push('/');
        hex::push(&mut text, &key.secret);
        // Writing to a string never fails.
        let _ = write!(text, "/{host}/{card}");
        text
    }

    /// # Errors
    /// `Port` for a text that is no name of a port of this library.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        Self::parts(text).ok_or_else(|| {
            ErrorClass::Port.error(format!(
                "{text:?} is no port of this library: expected a name from MPI_Open_port or \
                 MPI_Lookup_name"
            ))
        })
    }

    fn parts(text: &str) -> Option<Self> {
        let mut parts = text.splitn(7, '/');
        let mut part = || parts.next();
        if part()? != PROTOCOL {
            return None;
        }
        let job = JobId(u128::from_str_radix(part()?, 16).ok()?);
        let rank = u32::from_str_radix(part()?, 16).ok()?;
        let key = ConnectionKey { id: hex::parse(part()?)?, secret: hex::parse(part()?)? };
        let (host, card) = (part()?.to_owned(), part()?.to_owned());
        Some(Self { process: ProcessIdentity { job, rank, epoch: 0 }, key, host, card })
    }

    /// The context of the first messages of processes that connect to the port.
    pub(crate) fn context(&self) -> Context {
        port_context(self.key.id)
    }
}

/// [`PortName::context`] of the port with this key.
pub(crate) fn port_context(key: [u8; 16]) -> Context {
    let bits = key.first_chunk().expect("16 bytes begin with 4");
    Context::without_leader(u32::from_le_bytes(*bits))
}

/// Bytes of a card and of the name of a host in a record; longer names are cut.
const CARD_MAX: usize = 400;
const HOST_MAX: usize = 64;

/// A process, for processes of another job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProcessRecord {
    pub(crate) identity: ProcessIdentity,
    /// Its node, by the numbers of its job.
    pub(crate) node: u32,
    /// How it represents data; `None` is unlike all others.
    pub(crate) representation: Option<Representation>,
    pub(crate) card: String,
    pub(crate) host: String,
}

impl ProcessRecord {
    /// Bytes of [`ProcessRecord::emit`].
    pub(crate) const BYTES: usize = ProcessIdentity::BYTES + 8 + CARD_MAX + HOST_MAX;

    pub(crate) fn emit(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        let (identity, rest) = bytes.split_at_mut(ProcessIdentity::BYTES);
        let (node, rest) = rest.split_at_mut(4);
        let (representation, rest) = rest.split_at_mut(4);
        let (card, host) = rest.split_at_mut(CARD_MAX);
        identity.copy_from_slice(&self.identity.emit());
        node.copy_from_slice(&self.node.to_le_bytes());
        let word = self.representation.map_or(0, Representation::word);
        representation.copy_from_slice(&word.to_le_bytes());
        for (place, text) in [(card, &self.card), (host, &self.host)] {
            let len = text.floor_char_boundary(place.len());
            place[..len].copy_from_slice(&text.as_bytes()[..len]);
        }
        bytes
    }

    pub(crate) fn parse(bytes: &[u8; Self::BYTES]) -> Self {
        let (identity, rest) = bytes.split_first_chunk().expect("a record begins with an identity");
        let (node, rest) = rest.split_first_chunk().expect("a record has a node");
        let (word, rest) = rest.split_first_chunk().expect("a record has a representation");
        let (card, host) = rest.split_at(CARD_MAX);
        let text = |bytes: &[u8]| {
            let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
            String::from_utf8_lossy(text).into_owned()
        };
        let (identity, node) = (ProcessIdentity::parse(identity), u32::from_le_bytes(*node));
        let representation = Representation::from_word(u32::from_le_bytes(*word));
        Self { identity, node, representation, card: text(card), host: text(host) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port() -> PortName {
        PortName {
            process: ProcessIdentity { job: JobId(1 << 99 | 5), rank: 77, epoch: 0 },
            key: ConnectionKey { id: [0xab; 16], secret: [7; 32] },
            host: "node-1.example".to_owned(),
            card: "4711/10.77.0.1,fd00::1".to_owned(),
        }
    }

    #[test]
    fn names_of_ports_are_text_with_room_to_spare() {
        let read = PortName::parse(&port().emit()).unwrap();
        assert_eq!(read.emit(), port().emit());
        let longest = PortName { card: "x".repeat(400), host: "h".repeat(255), ..port() };
        assert!(longest.emit().len() < PORT_NAME_MAX);
    }

    #[test]
    fn what_is_no_port_is_refused() {
        let good = port().emit();
        let cut = &good[..good.len() / 2];
        for bad in ["", "suiro2", "tag#0$connentry#12$", cut, &good.replace("suiro2", "suiro1")] {
            let error = PortName::parse(bad).err().unwrap();
            assert_eq!(error.code.0, ErrorClass::Port as i32, "{bad}");
        }
        assert!(PortName::parse(&good.replace("abab", "abxx")).is_err());
    }

    #[test]
    fn records_read_back() {
        let PortName { process, host, card, .. } = port();
        let representation = Some(Representation::NATIVE);
        let record = ProcessRecord { identity: process, node: 9, representation, card, host };
        assert_eq!(ProcessRecord::parse(&record.emit()), record);
        let long = ProcessRecord { host: "ö".repeat(100), ..record };
        assert_eq!(ProcessRecord::parse(&long.emit()).host, "ö".repeat(32));
    }
}
