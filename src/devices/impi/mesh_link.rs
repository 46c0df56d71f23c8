//! One connection of a process, and what is behind it: a host of another client, or the gateway.

use std::time::Duration;

use super::mesh_stream::{MeshStream, StreamEnd};
use super::silence::SilenceWatch;
use platform::impi::ProcessId;
use platform::sys::tcp::Watched;

/// Bytes in the queue from which on no packet is accepted.
const QUEUE_MAX: usize = 1 << 20;

/// The same for acknowledgements, of which there are few: a peer that sends and does not read is found to
/// break its limits before they need more.
const QUEUE_ACKNOWLEDGEMENTS_MAX: usize = 2 * QUEUE_MAX;

pub(crate) struct MeshLink {
    /// The host behind the connection; `None` at a gateway.
    pub(crate) host: Option<u32>,
    /// The connection, until it has ended.
    pub(crate) stream: Option<Box<MeshStream>>,
    /// Why nothing can be written any more; what has arrived is read first.
    pub(crate) broken: Option<String>,
    /// Whether FINI is in the queue, or behind it.
    pub(crate) said_fini: bool,
    /// Processes that await room.
    pub(crate) refused: Vec<u32>,
    /// Processes that await a PROTOACK for which there was no room.
    pub(crate) unacknowledged: Vec<u32>,
    /// The last source of a packet, and its rank.
    pub(crate) last_source: Option<(ProcessId, u32)>,
    pub(crate) silence: SilenceWatch,
    /// Whether bytes have been given to the kernel since it had none.
    pub(crate) is_under_way: bool,
}

impl MeshLink {
    pub(crate) fn new(host: Option<u32>, stream: MeshStream) -> Self {
        Self {
            host,
            stream: Some(Box::new(stream)),
            broken: None,
            said_fini: false,
            refused: Vec::new(),
            unacknowledged: Vec::new(),
            last_source: None,
            silence: SilenceWatch::default(),
            is_under_way: false,
        }
    }

    /// Whether a packet is accepted.
    #[inline]
    pub(crate) fn has_room(&self) -> bool {
        self.stream.as_ref().is_none_or(|stream| stream.queue.len() < QUEUE_MAX)
    }

    /// Whether there is enough room again after there was none.
    pub(crate) fn has_much_room(&self) -> bool {
        self.stream.as_ref().is_none_or(|stream| stream.queue.len() <= QUEUE_MAX / 2)
    }

    /// Whether an acknowledgement is accepted.
    pub(crate) fn has_room_for_acknowledgement(&self) -> bool {
        self.stream.as_ref().is_some_and(|stream| stream.queue.len() < QUEUE_ACKNOWLEDGEMENTS_MAX)
    }

    /// Writes what the socket takes. `blocked` is the number of connections that wait for that, of which
    /// this is number `token`.
    pub(crate) fn write(&mut self, token: u64, watched: &Watched, blocked: &mut usize) {
        let Some(stream) = &mut self.stream else { return };
        if self.broken.is_some() {
            return stream.drop_output();
        }
        if let Err(error) = stream.write() {
            self.broken = Some(lost(&error.to_string()));
            stream.drop_output();
        }
        let is_blocked = !stream.is_written();
        if is_blocked != stream.is_blocked {
            stream.is_blocked = is_blocked;
            watched.change(&**stream, token, is_blocked);
            if is_blocked { *blocked += 1 } else { *blocked -= 1 }
        }
        self.is_under_way = true;
    }

    /// Why nothing more comes, as part of a sentence on the other end. `is_within`: the last packet has
    /// arrived in part.
    pub(crate) fn end_reason(&mut self, end: StreamEnd, is_within: bool) -> String {
        match (end, self.broken.take()) {
            (StreamEnd::Violation(why), _) => cut_off(&why),
            (StreamEnd::Lost(error), _) => lost(&error),
            (StreamEnd::Closed, Some(why)) => why,
            (StreamEnd::Closed, None) if is_within => {
                "has ended its connection within a packet".to_owned()
            }
            (StreamEnd::Closed, None) => "has ended its connection before FINI".to_owned(),
        }
    }

    /// Whether the other kernel has been silent for the time, and why that is the end.
    pub(crate) fn ask_for_silence(&mut self, now_ns: u64, silence: Duration) -> Option<String> {
        let stream = self.stream.as_ref().filter(|_| self.is_under_way)?;
        // A connection that has ended is found when it is read.
        let traffic = stream.connection().traffic().ok()?;
        self.is_under_way = traffic.has_data;
        let is_silent = self.silence.is_silent(now_ns, traffic, silence.as_nanos() as u64);
        is_silent.then(|| format!("has not answered for {silence:?}: its link is cut"))
    }

    /// Ends the connection; at once at both ends if `is_cut`, else after what has been written.
    pub(crate) fn close(&mut self, is_cut: bool, watched: &Watched, blocked: &mut usize) {
        let Some(stream) = self.stream.take() else { return };
        if stream.is_blocked {
            *blocked -= 1;
        }
        watched.remove(&*stream);
        if is_cut {
            stream.connection().cut();
        }
    }
}

fn lost(error: &str) -> String {
    format!("cannot be reached any more ({error})")
}

/// Part of a sentence on an end that has broken the protocol.
pub(crate) fn cut_off(why: &str) -> String {
    format!("has sent what it must not and is cut off: {why}")
}
