//! Communicators from groups, without a parent communicator (MPI 5.0 §7.4.2, §7.6.2).
//!
//! The processes have only a group and a string in common. Messages of the creation are matched by
//! a hash of both, in a context of no communicator, so concurrent creations do not mix. As in all
//! creations, rank 0 of the group chooses the context of the new communicator; the context travels
//! down a binomial tree:
//!
//! ```text
//! hash(string, group) ──> CreationKey: 32 bits in the context, 32 in the tag ──context──> usable
//! ```
//!
//! Message order separates consecutive creations with the same string and group. Two of them at the
//! same time are an error of the application (§7.4.2).

use std::sync::Arc;

use crate::device::Device;
use crate::engine::schedules::plan::{Launch, Members, RunPlan};
use crate::mpi::Mpi;
use crate::mpi::communicator::create::binomial_bcast;
use crate::mpi::communicator::segment::ContextMessage;
use crate::mpi::communicator::{COMM_NULL, Comm, Context, Traffic};
use crate::mpi::errhandler::Handler;
use crate::mpi::group::Group;
use crate::mpi::handle::Handle;
use crate::mpi::processes::Processes;
use crate::mpi::request::Activity;
use crate::mpi::request::status::Status;
use platform::base::{ErrorClass, Peer, Result, fnv1a};

/// Maximum length of a string in bytes, without the final zero (`MPI_MAX_STRINGTAG_LEN` - 1).
pub(crate) const STRING_MAX: usize = 1023;

/// The matching key of messages between processes without a common communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CreationKey {
    pub(crate) context: u64,
    /// As for collectives, a sequence number and a label.
    pub(crate) tag: u32,
}

impl CreationKey {
    /// The key of this string and these peers, in this order, equal on all of them.
    ///
    /// # Errors
    /// `Arg` for a string that is too long.
    pub(crate) fn from_string(
        string: &[u8], peers: impl IntoIterator<Item = Peer>, processes: &Processes,
    ) -> Result<Self> {
        if string.len() > STRING_MAX {
            let why = format!(
                "the string tag {:?} has {} bytes: expected at most {STRING_MAX}",
                String::from_utf8_lossy(string),
                string.len()
            );
            return Err(ErrorClass::Arg.error(why));
        }
        let peers = peers.into_iter().flat_map(|peer| processes.identity_or_local(peer).emit());
        let hash = hash(string.iter().copied().chain([0]).chain(peers));
        let context = Context::without_leader(hash as u32).for_traffic(Traffic::Creation);
        Ok(Self { context, tag: (hash >> 32) as u32 })
    }

    /// The part of the tag that is the sequence number of a [`Launch`].
    pub(crate) fn sequence(self) -> u32 {
        self.tag >> 16
    }

    /// The part of the tag that is the label of steps.
    pub(crate) fn label(self) -> u16 {
        self.tag as u16
    }
}

impl<D: Device> Mpi<D> {
    /// Starts the creation of a communicator for a group; only its members call. The handle is valid
    /// once the activity has completed without an error; an error frees it. `MPI_COMM_NULL` for the
    /// empty group.
    ///
    /// # Errors
    /// `Arg` for a string that is too long, `Group` if this process is not in the group, `NoMem`
    /// without a free handle.
    pub fn create_from_group(
        &mut self, group: Arc<Group>, string: &[u8], handler: Handler,
    ) -> Result<(Handle, Activity)> {
        let key = CreationKey::from_string(string, group.peers(), &self.comms.processes)?;
        if group.size() == 0 {
            return Ok((COMM_NULL, Activity::Complete(Status::EMPTY)));
        }
        let context = self.comms.choose_context();
        let new = Comm::new(context, Arc::clone(&group), handler)?;
        let rank = new.rank;
        let comm = self.comms.insert(new)?;
        let segment = if rank == 0 { self.claim_segment(None, group.size()) } else { None };
        let ranks: Vec<u32> = (0..group.size()).collect();
        let run = self.engine.launch(Launch {
            plan: RunPlan::moving(
                binomial_bcast(&ranks, rank, key.label(), ContextMessage::BYTES),
                vec![ContextMessage { context, segment }.to_memory()],
            ),
            members: group as Arc<dyn Members>,
            rank,
            context: key.context,
            sequence: key.sequence(),
        });
        Ok((comm, Activity::Creation { run, comm }))
    }
}

/// FNV-1a, finished by the mixer of MurmurHash3 so that short strings reach all bits.
fn hash(bytes: impl Iterator<Item = u8>) -> u64 {
    let fnv = fnv1a(bytes);
    let half = (fnv ^ fnv >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let whole = (half ^ half >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    whole ^ whole >> 33
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn keys_differ_by_string_group_and_order_and_have_a_context_of_no_communicator() {
        let strings: Vec<String> = (0..1000).map(|number| format!("tag {number}")).collect();
        let groups: [&[Peer]; 5] = [&[], &[0, 1], &[1, 0], &[0, 1, 2], &[256]];
        let processes = Processes::of_job(None, 257);
        let mut seen = HashSet::new();
        for string in &strings {
            for group in groups {
                let key =
                    CreationKey::from_string(string.as_bytes(), group.iter().copied(), &processes);
                let key = key.unwrap();
                assert_eq!(key.context & 7, Traffic::Creation as u64);
                assert_eq!(Context::from_bits(key.context).bits() >> 35, (1 << 29) - 1);
                let tag = key.sequence() << 16 | u32::from(key.label());
                assert_eq!(tag, key.tag);
                assert!(seen.insert((key.context, key.tag)));
            }
        }
    }

    #[test]
    fn a_string_of_the_maximum_length_is_valid_and_a_longer_one_is_not() {
        let processes = Processes::of_job(None, 1);
        assert!(CreationKey::from_string(&[b'a'; STRING_MAX], [], &processes).is_ok());
        let error = CreationKey::from_string(&[b'a'; STRING_MAX + 1], [], &processes).unwrap_err();
        assert_eq!(error.code.0, ErrorClass::Arg as i32);
    }
}
