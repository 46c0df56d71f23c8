//! The messages of a window between its ranks, on its private communicator.

use std::ops::Deref;
use std::sync::Arc;

use crate::engine::channel::MessageChannel;
use crate::engine::schedules::plan::Members;
use crate::mpi::communicator::{Comm, Context, Traffic};
use crate::mpi::group::Group;
use platform::base::{ErrorClass, Peer, Result};

/// The channel of a window, and its ranks.
#[derive(Clone, Debug)]
pub(super) struct WindowChannel {
    messages: MessageChannel,
    group: Arc<Group>,
    /// Whether data is "external32" on its way.
    is_unlike: bool,
}

impl WindowChannel {
    pub(super) fn new(comm: &Comm) -> Self {
        let context = comm.context.for_traffic(Traffic::PointToPoint);
        let is_unlike = comm.is_unlike;
        Self { is_unlike, ..Self::of_group(context, Arc::clone(&comm.group), comm.rank) }
    }

    /// The channel of a window that has no communicator yet.
    pub(super) fn none() -> Self {
        Self::of_group(Context::NONE.bits(), Arc::new(Group::range(0, 0, 0)), 0)
    }

    fn of_group(context: u64, group: Arc<Group>, rank: u32) -> Self {
        let members = Arc::clone(&group) as Arc<dyn Members>;
        Self { messages: MessageChannel::new(context, members, rank), group, is_unlike: false }
    }

    /// Whether data is "external32" on its way.
    #[inline]
    pub(super) fn is_unlike(&self) -> bool {
        self.is_unlike
    }

    /// The number of ranks.
    pub(super) fn size(&self) -> u32 {
        self.group.size()
    }

    /// The rank of a process.
    ///
    /// # Errors
    /// `Rank` if it is not one of the window.
    pub(super) fn rank_of(&self, peer: Peer) -> Result<u32> {
        self.group.rank_of(peer).ok_or_else(|| {
            let why = format!("rank {peer} of the world is not in the group of the window");
            ErrorClass::Rank.error(why)
        })
    }
}

impl Deref for WindowChannel {
    type Target = MessageChannel;

    fn deref(&self) -> &MessageChannel {
        &self.messages
    }
}
