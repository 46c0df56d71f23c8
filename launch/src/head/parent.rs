//! The job that has spawned this one, if there is one. Both have published names in common.

use std::collections::VecDeque;
use std::io;
use std::time::Instant;

use platform::bootstrap::{ChildMessage, NameRequest, ParentKind, ParentMessage, SpawnLink};
use platform::sys::poll::PollSet;

use super::Head;
use super::names::NameClient;
use crate::command_line::plan::ParentPlan;

/// The connection to the parent.
pub(super) struct ParentJob {
    kind: ParentKind,
    link: SpawnLink,
    /// Its end does not end this job.
    is_disconnected: bool,
    /// Requests without a reply.
    waiting: VecDeque<(NameClient, NameRequest)>,
}

impl ParentJob {
    /// The parent of `plan`.
    ///
    /// # Errors
    /// Standard input is no connection to it.
    pub(super) fn connected(plan: &ParentPlan) -> io::Result<Self> {
        let link = SpawnLink::inherit()?;
        let waiting = VecDeque::new();
        Ok(Self { kind: plan.kind, link, is_disconnected: false, waiting })
    }

    /// Passes a request about a name to the parent, if that serves names; otherwise the request again.
    pub(super) fn ask_name(
        &mut self, client: NameClient, request: NameRequest,
    ) -> Option<NameRequest> {
        if self.kind != ParentKind::Launcher {
            return Some(request);
        }
        self.waiting.push_back((client, request.clone()));
        self.link.tell_parent(ChildMessage::Name(request));
        None
    }

    /// Adds the connection to poll.
    pub(super) fn interests<'a, Token: Copy>(&'a self, set: &mut PollSet<'a, Token>, token: Token) {
        use std::os::fd::AsFd;
        set.add_read(self.link.as_fd(), token);
        if self.link.has_unsent() {
            set.add_write(self.link.as_fd(), token);
        }
    }
}

impl Head<'_> {
    /// Serves the connection to the parent.
    pub(super) fn parent_ready(&mut self) {
        let Some(parent) = &mut self.parent else { return };
        parent.link.send_rest();
        let messages = parent.link.from_parent();
        let has_ended = parent.link.has_ended();
        for message in messages {
            let Some(parent) = &mut self.parent else { return };
            match message {
                ParentMessage::Disconnected => parent.is_disconnected = true,
                ParentMessage::NameReply(reply) => {
                    if let Some((client, _)) = parent.waiting.pop_front() {
                        self.answer_name(client, reply);
                    }
                }
            }
        }
        if has_ended {
            self.parent_ended();
        }
    }

    /// The parent has ended: so does this job, unless it is disconnected. Then it has names of its own.
    fn parent_ended(&mut self) {
        let Some(parent) = self.parent.take() else { return };
        for (client, request) in parent.waiting {
            self.serve_name(client, request);
        }
        if !parent.is_disconnected {
            let actions = self.job.parent_gone(Instant::now());
            self.perform(actions);
        }
    }

    pub(super) fn tell_parent(&mut self, message: ChildMessage) {
        if let Some(parent) = &mut self.parent {
            parent.link.tell_parent(message);
        }
    }
}
