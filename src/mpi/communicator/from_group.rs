//! Communicators from groups alone, without a parent (MPI 5.0 §7.4.2, §7.6.2).
//!
//! Processes that have nothing in common but a group and a string meet in a context of nobody's:
//! messages are matched there by a hash of both, so creations at the same time do not mix. Rank 0
//! of the group chooses the context of the new communicator, as everywhere, and it is passed down
//! a binomial tree:
//!
//! ```text
//! hash(string, group) ──> Meeting: 32 bits in the context, 32 in the tag ──context──> usable
//! ```
//!
//! One creation after the other with the same string and group is told apart by the order of
//! messages. Two at the same time are an error of the application (§7.4.2).

use std::sync::Arc;

use crate::device::Device;
use crate::engine::schedules::run::{Launch, Members, RunPlan};
use crate::mpi::Mpi;
use crate::mpi::communicator::create::binomial_bcast;
use crate::mpi::communicator::segment::ContextMessage;
use crate::mpi::communicator::{COMM_NULL, Comm, Context, Traffic};
use crate::mpi::errhandler::Handler;
use crate::mpi::group::Group;
use crate::mpi::handle::Handle;
use crate::mpi::request::Activity;
use crate::mpi::request::status::Status;
use platform::base::{ErrorClass, Peer, Result};

/// The longest string in bytes, without the final zero (`MPI_MAX_STRINGTAG_LEN` - 1).
pub(crate) const STRING_MAX: usize = 1023;

/// Where processes without a communicator meet: what their messages are matched by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CreationKey {
    /// The context of the messages.
    pub(crate) context: u64,
    /// Their tag: as for collectives, a sequence number and a label.
    pub(crate) tag: u32,
}

impl CreationKey {
    /// Where those meet who name this string and these peers, in this order.
    ///
    /// # Errors
    /// `Arg` for a string that is too long.
    pub(crate) fn from_string(
        string: &[u8], peers: impl IntoIterator<Item = Peer>,
    ) -> Result<Self> {
        if string.len() > STRING_MAX {
            let why = format!(
                "the string tag {:?} has more than {STRING_MAX} bytes",
                String::from_utf8_lossy(string)
            );
            return Err(ErrorClass::Arg.error(why));
        }
        let peers = peers.into_iter().flat_map(Peer::to_le_bytes);
        let hash = hash(string.iter().copied().chain([0]).chain(peers));
        let context = Context::without_leader(hash as u32).for_traffic(Traffic::Creation);
        Ok(Self { context, tag: (hash >> 32) as u32 })
    }

    /// The tag's part that is a [`Launch`]'s sequence number.
    pub(crate) fn sequence(self) -> u32 {
        self.tag >> 16
    }

    /// The tag's part that is the label of a schedule's step.
    pub(crate) fn label(self) -> u16 {
        self.tag as u16
    }
}

impl<D: Device> Mpi<D> {
    /// Starts the creation of a communicator for a group, which its members call and nobody else.
    /// Its handle may be used once the activity has ended without an error; with one it is gone.
    /// It is null for the empty group.
    ///
    /// # Errors
    /// `Arg` for a string that is too long, `Group` if this process is not in the group, `NoMem`
    /// without a free handle.
    pub fn create_from_group(
        &mut self, group: Arc<Group>, string: &[u8], handler: Handler,
    ) -> Result<(Handle, Activity)> {
        let meeting = CreationKey::from_string(string, group.peers())?;
        if group.size() == 0 {
            return Ok((COMM_NULL, Activity::Complete(Status::EMPTY)));
        }
        let context = self.comms.choose_context();
        let new = Comm::new(context, Arc::clone(&group), handler)?;
        let rank = new.rank;
        let comm = self.comms.insert(new)?;
        let room = if rank == 0 { self.claim_segment(group.size()) } else { None };
        let ranks: Vec<u32> = (0..group.size()).collect();
        let run = self.engine.launch(Launch {
            plan: RunPlan::moving(
                binomial_bcast(&ranks, rank, meeting.label(), ContextMessage::BYTES),
                vec![ContextMessage { context, segment: room }.to_memory()],
            ),
            members: group as Arc<dyn Members>,
            rank,
            context: meeting.context,
            sequence: meeting.sequence(),
        });
        Ok((comm, Activity::Creation { run, comm }))
    }
}

/// FNV-1a with 64 bits (Fowler, Noll and Vo; draft-eastlake-fnv), finished by the mixer of
/// MurmurHash3 so that short strings reach all bits.
fn hash(bytes: impl Iterator<Item = u8>) -> u64 {
    let fnv = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let half = (fnv ^ fnv >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let whole = (half ^ half >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    whole ^ whole >> 33
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn meetings_differ_by_string_group_and_order_and_are_in_nobodys_context() {
        let strings: Vec<String> = (0..1000).map(|number| format!("tag {number}")).collect();
        let groups: [&[Peer]; 5] = [&[], &[0, 1], &[1, 0], &[0, 1, 2], &[256]];
        let mut seen = HashSet::new();
        for string in &strings {
            for group in groups {
                let meeting =
                    CreationKey::from_string(string.as_bytes(), group.iter().copied()).unwrap();
                assert_eq!(meeting.context & 7, Traffic::Creation as u64);
                assert_eq!(Context::from_bits(meeting.context).bits() >> 35, (1 << 29) - 1);
                let tag = meeting.sequence() << 16 | u32::from(meeting.label());
                assert_eq!(tag, meeting.tag);
                assert!(seen.insert((meeting.context, meeting.tag)));
            }
        }
    }

    #[test]
    fn a_string_of_the_greatest_length_is_taken_and_one_more_byte_is_not() {
        assert!(CreationKey::from_string(&[b'a'; STRING_MAX], []).is_ok());
        let error = CreationKey::from_string(&[b'a'; STRING_MAX + 1], []).unwrap_err();
        assert_eq!(error.code.0, ErrorClass::Arg as i32);
    }
}
