//! Connections at a port whose other end has not proved the secret: their number, for one line at the end.
//! A line for each would let any process of the network flood the output of a job.

use std::fmt;
use std::net::SocketAddr;

/// Counts connections that were refused.
#[derive(Clone, Debug, Default)]
pub struct StrangerCount {
    count: u64,
    last: Option<StrangerOrigin>,
}

#[derive(Clone, Debug)]
enum StrangerOrigin {
    Address(SocketAddr),
    OtherUser,
}

impl StrangerCount {
    /// A connection from `address`, which has gone if it is not known, was refused.
    pub fn note(&mut self, address: Option<SocketAddr>) {
        self.count += 1;
        self.last = address.map(StrangerOrigin::Address).or(self.last.take());
    }

    /// A connection of another user of this host was refused.
    pub fn note_other_user(&mut self) {
        self.count += 1;
        self.last = Some(StrangerOrigin::OtherUser);
    }

    /// A sentence about all of them; `None` if there were none.
    pub fn report(&self) -> Option<String> {
        let (connections, last) = match self.count {
            0 => return None,
            1 => ("1 connection that did".to_owned(), "it"),
            count => (format!("{count} connections that did"), "the last"),
        };
        let from = self
            .last
            .as_ref()
            .map_or_else(String::new, |from| format!("; {last} came from {from}"));
        Some(format!("refused {connections} not prove the secret of this port{from}"))
    }
}

impl fmt::Display for StrangerOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // An IPv4 address arrives at a socket for both as one of IPv6.
            Self::Address(address) => {
                SocketAddr::new(address.ip().to_canonical(), address.port()).fmt(f)
            }
            Self::OtherUser => f.write_str("another user of this host"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_of_strangers_is_one_sentence() {
        let mut strangers = StrangerCount::default();
        assert_eq!(strangers.report(), None);
        strangers.note(None);
        let text = "refused 1 connection that did not prove the secret of this port";
        assert_eq!(strangers.report().unwrap(), text);
        strangers.note("[::ffff:192.0.2.7]:4711".parse().ok());
        strangers.note(None);
        let text = "refused 3 connections that did not prove the secret of this port; the last came from \
                    192.0.2.7:4711";
        assert_eq!(strangers.report().unwrap(), text);
        strangers.note_other_user();
        assert!(
            strangers.report().unwrap().ends_with("the last came from another user of this host")
        );
    }
}
