//! The ports of services by their names, for all ranks of a job and of the jobs that it has started.
//!
//! They are at one place, to which the servers of all hosts pass requests
//! ([`ServerEvent::Name`](super::ServerEvent::Name)).

use std::collections::HashMap;

use super::values::{KEPT_MAX_BYTES, entry_bytes, too_much};
use super::{failure, success};
use crate::bootstrap::wire::PmiLine;

/// A request of a rank about a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameRequest {
    /// Publish a port under a service name.
    Publish {
        /// The service.
        service: String,
        /// Its port.
        port: String,
    },
    /// The port of a service.
    Lookup {
        /// The service.
        service: String,
    },
    /// Remove a service.
    Unpublish {
        /// The service.
        service: String,
    },
}

/// All published names.
#[derive(Debug, Default)]
pub struct NameService {
    /// The port of each service, and its publisher.
    ports: HashMap<String, (String, u32)>,
    /// What is kept for each publisher, in bytes; limited.
    kept_bytes: HashMap<u32, usize>,
}

impl NameService {
    /// Serves a request of `publisher`, a rank or another number; the reply for its connection.
    pub fn serve(&mut self, publisher: u32, request: NameRequest) -> Vec<u8> {
        self.answer(publisher, request).into_bytes()
    }

    pub(super) fn answer(&mut self, publisher: u32, request: NameRequest) -> PmiLine {
        match request {
            NameRequest::Publish { service, port } => self.publish(publisher, service, port),
            NameRequest::Lookup { service } => match self.ports.get(&service) {
                Some((port, _)) => success("lookup_result").text("port", port),
                None => failure("lookup_result", "no such service"),
            },
            NameRequest::Unpublish { service } => match self.remove(&service) {
                true => success("unpublish_result"),
                false => failure("unpublish_result", "no such service"),
            },
        }
    }

    /// Publishes a port, in place of the one that the service had.
    fn publish(&mut self, publisher: u32, service: String, port: String) -> PmiLine {
        let kept_bytes = self.kept_bytes.entry(publisher).or_default();
        let bytes = entry_bytes(&service, &port);
        if *kept_bytes + bytes > KEPT_MAX_BYTES {
            return failure("publish_result", &too_much());
        }
        *kept_bytes += bytes;
        self.remove(&service);
        self.ports.insert(service, (port, publisher));
        success("publish_result")
    }

    /// Whether the service was there.
    fn remove(&mut self, service: &str) -> bool {
        let Some((port, owner)) = self.ports.remove(service) else { return false };
        if let Some(kept_bytes) = self.kept_bytes.get_mut(&owner) {
            *kept_bytes = kept_bytes.saturating_sub(entry_bytes(service, &port));
        }
        true
    }
}
