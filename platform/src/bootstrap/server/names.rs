//! The ports of services by their names: of a job and the jobs that it has started, or of several jobs.
//!
//! ```text
//!   rank ──NameRequest──> mpirun: NameService of the job ──> suiro-names: NameService of all jobs
//!        <──NameReply────
//! ```
//!
//! A service has one port: publishing a second one is refused, unless the request says that it replaces
//! the first (the info key `ompi_unique` of Open MPI). The servers of all hosts pass requests to one place
//! ([`ServerEvent::Name`](super::ServerEvent::Name)).

use std::collections::{BTreeMap, HashMap};

use super::values::{KEPT_MAX_BYTES, entry_bytes, too_much};
use super::{failure, success};
use crate::bootstrap::channel::{PmiReply, check_reply};
use crate::bootstrap::wire::{PmiLine, PmiRequest, decoded, encoded, parse_request};

/// The code of a reply without an answer, in `rc`.
const NO_ANSWER: u32 = 2;

/// In which of two tables a name is: that of the job, or that of a name server for several jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NameScope {
    /// Published at the name server if there is one; looked up and removed in the job first.
    #[default]
    Any,
    /// The job and the jobs that it has started.
    Job,
    /// The name server.
    Global,
}

/// A request of a rank about a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameRequest {
    /// Publish a port under a service name.
    Publish {
        /// The service.
        service: String,
        /// Its port.
        port: String,
        /// Where.
        scope: NameScope,
        /// In place of the port that the service has, if the same job has published that.
        replaces: bool,
    },
    /// The port of a service.
    Lookup {
        /// The service.
        service: String,
        /// Where.
        scope: NameScope,
    },
    /// Remove a service.
    Unpublish {
        /// The service.
        service: String,
        /// Where.
        scope: NameScope,
    },
}

/// The answer to a request about a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameReply {
    /// The service is published or removed.
    Done,
    /// The port of the service.
    Port(String),
    /// Not possible, for this reason: the name is taken, or there is no such service.
    Refused(String),
    /// No answer, for this reason, a sentence without a final stop: the name server cannot be reached.
    Failed(String),
}

/// Where a request is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamePlace {
    /// By the table of the job.
    Job,
    /// By the name server.
    Server,
}

impl NameReply {
    /// There is no such service.
    pub(crate) fn unknown() -> Self {
        Self::Refused("no such service".to_owned())
    }

    /// The name has a port.
    pub(crate) fn taken() -> Self {
        Self::Refused("the name is taken".to_owned())
    }
}

impl NameScope {
    /// The word of the wire.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::Job => "job",
            Self::Global => "global",
        }
    }

    /// Reads a word of [`NameScope::as_str`].
    pub(crate) fn parse(text: &str) -> Option<Self> {
        [Self::Any, Self::Job, Self::Global].into_iter().find(|scope| scope.as_str() == text)
    }
}

impl NameRequest {
    /// Publishes a port that the name does not have yet.
    pub fn publish(service: &str, port: &str) -> Self {
        let (service, port) = (service.to_owned(), port.to_owned());
        Self::Publish { service, port, scope: NameScope::Any, replaces: false }
    }

    /// Looks a name up.
    pub fn lookup(service: &str) -> Self {
        Self::Lookup { service: service.to_owned(), scope: NameScope::Any }
    }

    /// Removes a name.
    pub fn unpublish(service: &str) -> Self {
        Self::Unpublish { service: service.to_owned(), scope: NameScope::Any }
    }

    /// The same with another scope.
    pub fn within(mut self, new: NameScope) -> Self {
        match &mut self {
            Self::Publish { scope, .. }
            | Self::Lookup { scope, .. }
            | Self::Unpublish { scope, .. } => *scope = new,
        }
        self
    }

    /// The same; a port to publish is in place of the one that the name has, if `is_so`.
    pub fn replacing(mut self, is_so: bool) -> Self {
        if let Self::Publish { replaces, .. } = &mut self {
            *replaces = is_so;
        }
        self
    }

    /// The same with texts that any launcher passes on.
    pub fn into_encoded(mut self) -> Self {
        match &mut self {
            Self::Publish { service, port, .. } => {
                (*service, *port) = (encoded(service), encoded(port));
            }
            Self::Lookup { service, .. } | Self::Unpublish { service, .. } => {
                *service = encoded(service);
            }
        }
        self
    }

    /// The length of its texts.
    pub(crate) fn len_bytes(&self) -> usize {
        match self {
            Self::Publish { service, port, .. } => service.len() + port.len(),
            Self::Lookup { service, .. } | Self::Unpublish { service, .. } => service.len(),
        }
    }

    /// The service.
    pub fn service(&self) -> &str {
        match self {
            Self::Publish { service, .. }
            | Self::Lookup { service, .. }
            | Self::Unpublish { service, .. } => service,
        }
    }

    /// Where.
    pub fn scope(&self) -> NameScope {
        match self {
            Self::Publish { scope, .. }
            | Self::Lookup { scope, .. }
            | Self::Unpublish { scope, .. } => *scope,
        }
    }

    /// Where the request is served, with a name server or without one; `is_here`: the table of the job
    /// has the service.
    ///
    /// # Errors
    /// The reply to a request for a name server that is not there.
    pub fn place(&self, has_server: bool, is_here: bool) -> Result<NamePlace, NameReply> {
        match (self.scope(), has_server) {
            (NameScope::Global, false) => Err(NameReply::Failed(
                "the global scope needs a name server: start suiro-names, and mpirun with \
                 --name-server"
                    .to_owned(),
            )),
            (NameScope::Global, true) => Ok(NamePlace::Server),
            (NameScope::Job, _) | (NameScope::Any, false) => Ok(NamePlace::Job),
            (NameScope::Any, true) => match self {
                Self::Publish { .. } => Ok(NamePlace::Server),
                Self::Lookup { .. } | Self::Unpublish { .. } if is_here => Ok(NamePlace::Job),
                Self::Lookup { .. } | Self::Unpublish { .. } => Ok(NamePlace::Server),
            },
        }
    }

    /// Reads a line of [`NameRequest::into_line`].
    pub(crate) fn parse(line: &str) -> Option<Self> {
        match parse_request(line).ok()? {
            PmiRequest::Name(request) => Some(request),
            _ => None,
        }
    }

    /// The name of the line that replies to this request.
    pub(crate) fn reply_name(&self) -> &'static str {
        match self {
            Self::Publish { .. } => "publish_result",
            Self::Lookup { .. } => "lookup_result",
            Self::Unpublish { .. } => "unpublish_result",
        }
    }

    /// The line with `reply` to this request.
    pub fn reply_bytes(&self, reply: NameReply) -> Vec<u8> {
        self.reply_line(reply).into_bytes()
    }

    pub(super) fn reply_line(&self, reply: NameReply) -> PmiLine {
        match reply {
            NameReply::Done => success(self.reply_name()),
            NameReply::Port(port) => success(self.reply_name()).text("port", &port),
            NameReply::Refused(why) => failure(self.reply_name(), &why),
            NameReply::Failed(why) => {
                PmiLine::new(self.reply_name()).number("rc", NO_ANSWER).text("msg", &encoded(&why))
            }
        }
    }
}

impl NameReply {
    /// The reply to a request of [`NameRequest::into_encoded`].
    pub fn into_decoded(self) -> Self {
        match self {
            Self::Port(port) => Self::Port(decoded(&port)),
            other => other,
        }
    }

    /// Reads a line of [`NameRequest::reply_bytes`] to `request`; `None` if it is none.
    pub(crate) fn parse(line: &str, request: &NameRequest) -> Option<Self> {
        check_reply(line, request.reply_name()).ok().map(|line| Self::of_line(&line))
    }

    /// Reads a line of [`NameRequest::reply_bytes`], or that of another launcher.
    pub(in crate::bootstrap) fn of_line(line: &PmiReply) -> Self {
        // Old versions of Hydra report success in `info`.
        let is_good = line.is_good() && line.value("info").is_none_or(|info| info == "ok");
        let why = || line.value("msg").unwrap_or_else(|| "no reason was given".to_owned());
        match line.value("port") {
            Some(port) if is_good => Self::Port(port),
            None if is_good => Self::Done,
            _ if line.number("rc") == Some(NO_ANSWER) => Self::Failed(decoded(&why())),
            // Sentences have underscores on the wire, because clients read up to a space.
            _ => Self::Refused(why().replace('_', " ")),
        }
    }
}

/// All published names.
#[derive(Debug, Default)]
pub struct NameService {
    /// The port of each service, and its publisher.
    ports: BTreeMap<String, (String, u32)>,
    /// What is kept for each publisher, in bytes; limited.
    kept_bytes: HashMap<u32, usize>,
    /// Only its publisher replaces or removes a service.
    has_owners: bool,
}

impl NameService {
    /// The names of several jobs. Each job is a publisher, and changes its own names only.
    pub fn of_jobs() -> Self {
        Self { has_owners: true, ..Self::default() }
    }

    /// Whether the service is published.
    pub fn has(&self, service: &str) -> bool {
        self.ports.contains_key(service)
    }

    /// Serves a request of `publisher`, a rank or another number.
    pub fn serve(&mut self, publisher: u32, request: &NameRequest) -> NameReply {
        match request {
            NameRequest::Publish { service, port, replaces, .. } => {
                self.publish(publisher, service, port, *replaces)
            }
            NameRequest::Lookup { service, .. } => match self.ports.get(service) {
                Some((port, _)) => NameReply::Port(port.clone()),
                None => NameReply::unknown(),
            },
            NameRequest::Unpublish { service, .. } => match self.ports.get(service) {
                None => NameReply::unknown(),
                Some((_, owner)) if !self.may_change(publisher, *owner) => {
                    NameReply::Refused("another job has published it".to_owned())
                }
                Some(_) => {
                    self.remove(service);
                    NameReply::Done
                }
            },
        }
    }

    /// Removes all services of a publisher that has ended.
    pub fn forget(&mut self, publisher: u32) {
        self.ports.retain(|_, (_, owner)| *owner != publisher);
        self.kept_bytes.remove(&publisher);
    }

    fn may_change(&self, publisher: u32, owner: u32) -> bool {
        !self.has_owners || publisher == owner
    }

    fn publish(&mut self, publisher: u32, service: &str, port: &str, replaces: bool) -> NameReply {
        if let Some((_, owner)) = self.ports.get(service) {
            if !replaces {
                return NameReply::taken();
            }
            if !self.may_change(publisher, *owner) {
                return NameReply::Refused("another job has published it".to_owned());
            }
        }
        let bytes = entry_bytes(service, port);
        let freed = match self.ports.get(service) {
            Some((old, owner)) if *owner == publisher => entry_bytes(service, old),
            _ => 0,
        };
        let kept_bytes = self.kept_bytes.get(&publisher).copied().unwrap_or(0);
        if kept_bytes - freed + bytes > KEPT_MAX_BYTES {
            return NameReply::Refused(too_much());
        }
        self.remove(service);
        *self.kept_bytes.entry(publisher).or_default() += bytes;
        self.ports.insert(service.to_owned(), (port.to_owned(), publisher));
        NameReply::Done
    }

    fn remove(&mut self, service: &str) {
        let Some((port, owner)) = self.ports.remove(service) else { return };
        if let Some(kept_bytes) = self.kept_bytes.get_mut(&owner) {
            *kept_bytes -= entry_bytes(service, &port);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn publish(service: &str, port: &str, replaces: bool) -> NameRequest {
        NameRequest::publish(service, port).replacing(replaces)
    }

    fn lookup(service: &str) -> NameRequest {
        NameRequest::lookup(service)
    }

    fn unpublish(service: &str) -> NameRequest {
        NameRequest::unpublish(service)
    }

    fn port(port: &str) -> NameReply {
        NameReply::Port(port.to_owned())
    }

    #[test]
    fn a_name_has_one_port_until_it_is_removed_or_replaced() {
        let mut names = NameService::default();
        assert_eq!(names.serve(0, &publish("a", "1", false)), NameReply::Done);
        let taken = NameReply::Refused("the name is taken".to_owned());
        assert_eq!(names.serve(0, &publish("a", "2", false)), taken);
        assert_eq!(names.serve(1, &lookup("a")), port("1"));
        assert_eq!(names.serve(1, &publish("a", "3", true)), NameReply::Done);
        assert_eq!(names.serve(0, &lookup("a")), port("3"));
        assert_eq!(names.serve(0, &unpublish("a")), NameReply::Done);
        assert!(matches!(names.serve(1, &unpublish("a")), NameReply::Refused(_)));
        assert_eq!(names.serve(0, &publish("a", "4", false)), NameReply::Done);
    }

    #[test]
    fn no_job_changes_names_of_another_and_all_of_a_job_end_with_it() {
        let mut names = NameService::of_jobs();
        for service in ["a", "b"] {
            assert_eq!(names.serve(7, &publish(service, "1", false)), NameReply::Done);
        }
        assert_eq!(names.serve(8, &publish("c", "2", false)), NameReply::Done);
        let foreign = NameReply::Refused("another job has published it".to_owned());
        assert_eq!(names.serve(8, &publish("a", "2", true)), foreign);
        assert_eq!(names.serve(8, &unpublish("a")), foreign);
        assert_eq!(names.serve(8, &lookup("a")), port("1"));
        names.forget(7);
        assert!(!names.has("a") && !names.has("b") && names.has("c"));
        assert_eq!(names.serve(8, &publish("a", "2", false)), NameReply::Done);
    }

    #[test]
    fn what_is_kept_for_a_publisher_is_bounded_and_what_is_removed_does_not_count() {
        let mut names = NameService::default();
        let long = "p".repeat(1000);
        for round in 0..3000 {
            assert_eq!(names.serve(0, &publish("same", &long, true)), NameReply::Done, "{round}");
        }
        for round in 0..3000 {
            assert_eq!(names.serve(0, &publish("in turn", &long, false)), NameReply::Done);
            assert_eq!(names.serve(0, &unpublish("in turn")), NameReply::Done, "{round}");
        }
        let refused = (0..3000).find(|round| {
            names.serve(0, &publish(&format!("s{round}"), &long, false)) != NameReply::Done
        });
        assert!(refused.is_some_and(|round| round > KEPT_MAX_BYTES / 2000), "{refused:?}");
        assert_eq!(names.serve(1, &publish("of another", &long, false)), NameReply::Done);
        names.forget(0);
        assert_eq!(names.serve(0, &publish("again", &long, false)), NameReply::Done);
    }

    #[test]
    fn scopes_select_the_table() {
        let of = |scope| lookup("a").within(scope);
        let published = publish("a", "1", false);
        assert_eq!(published.place(true, true), Ok(NamePlace::Server));
        assert_eq!(published.place(false, false), Ok(NamePlace::Job));
        let published = published.within(NameScope::Job);
        assert_eq!(published.place(true, false), Ok(NamePlace::Job));
        for (scope, has_server, is_here, expected) in [
            (NameScope::Any, true, true, NamePlace::Job),
            (NameScope::Any, true, false, NamePlace::Server),
            (NameScope::Any, false, false, NamePlace::Job),
            (NameScope::Job, true, false, NamePlace::Job),
            (NameScope::Global, true, true, NamePlace::Server),
        ] {
            assert_eq!(of(scope).place(has_server, is_here), Ok(expected), "{scope:?}");
        }
        let Err(NameReply::Failed(why)) = of(NameScope::Global).place(false, true) else {
            panic!()
        };
        assert!(why.contains("suiro-names"), "{why}");
    }
}
