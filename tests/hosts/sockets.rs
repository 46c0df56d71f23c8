//! The TCP sockets of a process, in whatever network it is, from `/proc`.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// State of a listening socket in `/proc/PID/net/tcp` (include/net/tcp_states.h).
const LISTEN: &str = "0A";

/// A TCP socket.
#[derive(Debug)]
pub struct Socket {
    /// The number of the socket.
    pub inode: String,
    pub local: (IpAddr, u16),
    pub remote: (IpAddr, u16),
    pub is_listening: bool,
}

/// The TCP sockets that a process has open.
pub fn of_process(pid: u32) -> Vec<Socket> {
    let own = inodes(pid);
    let tables = ["tcp", "tcp6"].map(|name| fs::read_to_string(format!("/proc/{pid}/net/{name}")));
    let text = tables.into_iter().flatten().collect::<String>();
    let rows = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let rows = rows.filter(|row| row.get(9).is_some_and(|inode| own.contains(&(*inode).into())));
    rows.map(|row| Socket {
        inode: row[9].to_owned(),
        local: address(row[1]),
        remote: address(row[2]),
        is_listening: row[3] == LISTEN,
    })
    .collect()
}

/// The number of open descriptors of a process.
pub fn descriptors(pid: u32) -> usize {
    fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count)
}

/// The numbers by which the tables of the network name the sockets of a process.
fn inodes(pid: u32) -> Vec<String> {
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let targets = entries.filter_map(|entry| fs::read_link(entry.path()).ok());
    let inode = |target: std::path::PathBuf| {
        Some(target.to_str()?.strip_prefix("socket:[")?.trim_end_matches(']').to_owned())
    };
    targets.filter_map(inode).collect()
}

/// `0100007F:1F90`: words of 32 bits in the order of this machine, then the port.
fn address(text: &str) -> (IpAddr, u16) {
    let (host, port) = text.split_once(':').unwrap();
    let words = (0..host.len()).step_by(8).map(|at| &host[at..at + 8]);
    let bytes: Vec<u8> =
        words.flat_map(|word| u32::from_str_radix(word, 16).unwrap().to_ne_bytes()).collect();
    let host = match <[u8; 4]>::try_from(&bytes[..]) {
        Ok(bytes) => Ipv4Addr::from(bytes).into(),
        Err(_) => Ipv6Addr::from(<[u8; 16]>::try_from(&bytes[..]).unwrap()).to_canonical(),
    };
    (host, u16::from_str_radix(port, 16).unwrap())
}
