//! Published names: those of the job are here, those of several jobs at a name server.
//!
//! ```text
//!   rank ──> head ──> head of the parent ──> ...    the first mpirun has the names of the job, and the
//!        <──      <── in order                      connection to the name server
//! ```
//!
//! The names of a spawned job end with it, in both places; those at the name server end with this process,
//! too, because the connection does.

use std::collections::VecDeque;
use std::time::Instant;

use platform::bootstrap::{NamePlace, NameReply, NameRequest, NameScope, NameService};
use platform::names::{NameServerAddress, NameServerLink};
use platform::sys::poll::PollSet;

use super::Head;
use crate::control::AgentCommand;

/// What waits for the reply to a request about a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NameClient {
    Rank {
        host: u32,
        rank: u32,
    },
    /// A spawned job.
    Job(u32),
    /// A spawned job that has ended.
    None,
}

/// The names of the job and of those that it has spawned.
pub(super) struct JobNames {
    own: NameService,
    server: Option<NameServerLink>,
    /// What waits for replies of the server, in their order.
    waiting: VecDeque<NameClient>,
    /// Names at the server that spawned jobs have published.
    of_spawned: Vec<(u32, String)>,
}

impl JobNames {
    /// No names; those of several jobs are at this server, if there is one.
    pub(super) fn new(server: Option<NameServerAddress>) -> Self {
        Self {
            own: NameService::default(),
            server: server.map(NameServerLink::new),
            waiting: VecDeque::new(),
            of_spawned: Vec::new(),
        }
    }

    /// Adds the connection to the server to poll.
    pub(super) fn interests<'a, Token: Copy>(&'a self, set: &mut PollSet<'a, Token>, token: Token) {
        if let Some(server) = &self.server {
            server.interests(set, token);
        }
    }

    /// The time at which the server is given up.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.server.as_ref()?.deadline()
    }

    fn ask_server(&mut self, client: NameClient, request: NameRequest) {
        if let Some(server) = &mut self.server {
            self.waiting.push_back(client);
            server.ask(request, Instant::now());
        }
    }

    /// Takes replies of the server, with what waits for them.
    fn take_reply(&mut self) -> Option<(NameClient, NameRequest, NameReply)> {
        let (request, reply) = self.server.as_mut()?.take_reply()?;
        let client = self.waiting.pop_front().unwrap_or(NameClient::None);
        if let (NameClient::Job(number), NameReply::Done) = (client, &reply) {
            let name = (number, request.service().to_owned());
            self.of_spawned.retain(|(_, service)| *service != name.1);
            if matches!(request, NameRequest::Publish { .. }) {
                self.of_spawned.push(name);
            }
        }
        Some((client, request, reply))
    }
}

impl Head<'_> {
    /// Serves a request about a published name, or passes it on.
    pub(super) fn name_requested(&mut self, client: NameClient, request: NameRequest) {
        let left = match &mut self.parent {
            Some(parent) => parent.ask_name(client, request),
            None => Some(request),
        };
        if let Some(request) = left {
            self.serve_name(client, request);
        }
    }

    pub(super) fn serve_name(&mut self, client: NameClient, request: NameRequest) {
        let names = &mut self.names;
        let place = request.place(names.server.is_some(), names.own.has(request.service()));
        let reply = match place {
            Err(reply) => reply,
            Ok(NamePlace::Job) => {
                let publisher = publisher(client, self.shares.plan.size());
                names.own.serve(publisher, &request)
            }
            Ok(NamePlace::Server) => {
                names.ask_server(client, request);
                return self.names_arrived();
            }
        };
        self.answer_name(client, request.reply_bytes(reply));
    }

    /// Serves the connection to the name server, or its deadline.
    pub(super) fn tick_names(&mut self, now: Instant) {
        if let Some(server) = &mut self.names.server {
            server.advance(now);
        }
        self.names_arrived();
    }

    fn names_arrived(&mut self) {
        while let Some((client, request, reply)) = self.names.take_reply() {
            self.answer_name(client, request.reply_bytes(reply));
        }
    }

    pub(super) fn answer_name(&mut self, client: NameClient, reply: Vec<u8>) {
        match client {
            NameClient::Rank { host, rank } => {
                self.command_host(host, &AgentCommand::Answer { rank, reply });
            }
            NameClient::Job(number) => self.answer_subordinate(number, reply),
            NameClient::None => {}
        }
    }

    /// The spawned job `number` has ended: its names are removed.
    pub(super) fn forget_names_of(&mut self, number: u32) {
        let names = &mut self.names;
        names.own.forget(publisher(NameClient::Job(number), self.shares.plan.size()));
        let of_job = names.of_spawned.extract_if(.., |(job, _)| *job == number);
        for (_, service) in of_job.collect::<Vec<_>>() {
            let request = NameRequest::unpublish(&service).within(NameScope::Global);
            names.ask_server(NameClient::None, request);
        }
    }
}

/// The number of a publisher: ranks first, then spawned jobs.
fn publisher(client: NameClient, ranks: u32) -> u32 {
    match client {
        NameClient::Rank { rank, .. } => rank,
        NameClient::Job(number) => ranks.saturating_add(number),
        NameClient::None => u32::MAX,
    }
}
