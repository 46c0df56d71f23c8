//! How a process is named on the wire.

/// A process, unique in its world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ProcessId {
    /// The address of its host; an address of IPv4 is in the last four bytes behind zeros.
    pub address: [u8; 16],
    /// Its process id there.
    pub pid: i64,
}
