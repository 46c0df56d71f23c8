//! The connection of a rank to its launcher, by any supported protocol.
//!
//! ```text
//!   environment ──> PMI-1, else PMI-2 (PMI_FD, PMI_PORT)
//!              ├──> PMIx (PMIX_NAMESPACE)                   the first that answers
//!              ├──> another MPI library, if it carries the messages
//!              └──> no launcher: singleton, unless there are other ranks
//!
//!   Joined --finalize--> Left --rejoin--> Joined            abort: from either
//! ```
//!
//! Every call waits for the launcher's answer. A lost launcher is an error with its own message. If
//! one of several ranks finds no launcher, that is an error too: `N` singletons would be wrong.

use std::fmt;
use std::sync::Arc;

use crate::base::{ErrorClass, MpiError, Result};
use crate::sys::process;
use crate::sys::socket::SocketStream;

use super::ancestor::{self, ProtocolFamily};
use super::channel::Channel;
use super::environment::Environment;
use super::pmi1::Pmi1;
use super::pmi2::Pmi2;
use super::pmix::Pmix;
use super::server::{NameReply, NameRequest, NameScope};
use super::spawn::{SpawnCall, SpawnReply, SpawnRequest, SpawnState, SpawnWords};
use super::vendor::VendorPmi;
use crate::sys::vendor::VendorLibrary;

/// Maximum lengths of keys and values that the launcher accepts, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KvsLimits {
    /// A key.
    pub(crate) key_bytes: usize,
    /// A value.
    pub(crate) value_bytes: usize,
}

/// The launcher's reply to a rank that joins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobAttributes {
    /// The rank of this process in its job.
    pub rank: u32,
    /// Number of processes of the job.
    pub size: u32,
    /// The number of this program on the launcher's command line, if the launcher numbers programs.
    pub(crate) app_number: Option<u32>,
    /// Maximum number of processes, if the launcher reports it.
    pub(crate) universe_size: Option<u32>,
    /// The name of the job, equal on all its ranks.
    pub(crate) job_name: String,
    /// The ranks on this host, this one included, ascending, if the launcher reports them.
    pub(crate) local_ranks: Option<Vec<u32>>,
    /// Limits of the launcher's key-value space.
    pub(crate) limits: KvsLimits,
    /// Where the memory files of this program are (segment, interface), if it is not the first MPI
    /// program of its rank; the first inherits descriptors.
    pub(crate) files: Option<(String, String)>,
    /// Whether this is Suiro's own launcher, which passes descriptors and prints the message of an
    /// abort.
    pub is_own_launcher: bool,
}

/// A connection after joining: the part that differs between the protocols.
pub(super) trait PmiProtocol: fmt::Debug + Send {
    /// Publishes a value; others see it after the next barrier.
    fn put(&mut self, key: &str, value: &str) -> Result;
    /// The value that rank `from` published under `key`, if any.
    fn get(&mut self, from: u32, key: &str) -> Result<Option<String>>;
    /// Waits until all ranks of the job are in the barrier.
    fn barrier(&mut self) -> Result;
    /// Makes the launcher end the whole job.
    fn abort(&mut self, code: i32, message: &str) -> Result;
    /// Reports that this process may exit.
    fn leave(&mut self) -> Result;
    /// Joins again after `leave`, or requires more ranks than before.
    fn enter(&mut self, company: RequiredRanks) -> Result;
    /// Serves a request about a published name. Texts are visible ASCII characters; launchers other than
    /// Suiro's own know no scopes.
    fn name(&mut self, request: NameRequest) -> Result<NameReply>;
    /// Makes a call about further jobs.
    fn spawn(&mut self, _call: &SpawnCall) -> Result<SpawnReply> {
        Err(ErrorClass::Spawn.error("this launcher does not start further jobs"))
    }
    /// The socket, if the protocol has one.
    fn socket(&self) -> Option<&SocketStream> {
        None
    }
}

/// A connection to the launcher, from the first message to the exit of the process.
#[derive(Debug)]
pub struct Client {
    protocol: Box<dyn PmiProtocol>,
    place: JobAttributes,
    /// The required ranks, while joined.
    joined: Option<RequiredRanks>,
}

/// Which ranks must also initialize MPI. Suiro's own launcher receives this, and ends a job that
/// can no longer complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RequiredRanks {
    /// Only ranks that join: the others may exit without joining.
    Any,
    /// All ranks of the job.
    All,
}

/// The protocols to try: the setting `SUIRO_PMI`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PmiChoice {
    Any,
    Pmi1,
    Pmi2,
    Pmix,
}

/// Longest name and port together, in bytes: a line of any launcher holds them.
const NAME_MAX_BYTES: usize = 16 * 1024;

/// Descriptions of the failed attempts.
type FailedAttempts = Vec<String>;

impl Client {
    /// The name of the job, equal on all its ranks.
    pub fn job_name(&self) -> &str {
        &self.place.job_name
    }

    /// Joins the job that `environment` names; `None` if the process is a singleton.
    ///
    /// Under launchers other than Suiro's own, all ranks are required.
    ///
    /// # Errors
    /// `Other` when the environment shows a job of several ranks but no launcher answers.
    pub fn connect(environment: &Environment, company: RequiredRanks) -> Result<Option<Self>> {
        let choice = PmiChoice::of(environment)?;
        if environment.singleton {
            return Ok(None);
        }
        let ways = choice.allowed_families(ancestor::protocol_families(environment));
        if let Some(nearest) = ways.first()
            && let Some(rank) = ancestor::rank_above(environment, *nearest)
        {
            // The process that started this one already has this rank.
            tracing::info!(process = rank, "started by a rank in MPI, so alone");
            return Ok(None);
        }
        let mut attempts = FailedAttempts::new();
        for way in ways {
            let joined = match way {
                ProtocolFamily::Pmi => {
                    Self::by_pmi(Channel::open(environment), environment, company, choice)
                }
                ProtocolFamily::Pmix => Self::by_pmix(environment),
            };
            match joined {
                Ok(client) => return Ok(Some(client)),
                Err(reasons) => attempts.extend(reasons),
            }
        }
        match &environment.several {
            None => Ok(None),
            Some(shown) => Err(no_launcher(shown, &attempts)),
        }
    }

    /// Joins the job of the launcher of another MPI library, the file `path`, and returns that library too.
    /// `is_own` tells from a library's description of itself whether it is this one.
    ///
    /// # Errors
    /// `Other` under Suiro's own launcher, or if the library cannot be used.
    pub fn by_vendor(
        environment: &Environment, path: Option<&str>, is_own: impl Fn(&str) -> bool,
    ) -> Result<(Self, Arc<VendorLibrary>)> {
        let (pmi, place) = VendorPmi::join(environment, path, is_own)?;
        let library = Arc::clone(pmi.library());
        Ok((Self::new(pmi, place, RequiredRanks::All)?, library))
    }

    /// Joins by PMI-1, and if the launcher refuses, by PMI-2.
    fn by_pmi(
        opened: Result<(Channel, u32, u32)>, environment: &Environment, company: RequiredRanks,
        choice: PmiChoice,
    ) -> Result<Self, FailedAttempts> {
        let (mut channel, rank, size) = opened.map_err(|error| failed("PMI", &error))?;
        let mut attempts = FailedAttempts::new();
        if choice != PmiChoice::Pmi2 {
            match channel.init(1, environment.job_fd.is_some().then_some(company)) {
                Err(error) => attempts = failed("PMI-1", &error),
                Ok(hello) => {
                    let joined = Pmi1::join(channel, rank, size, &hello);
                    let joined = joined.and_then(|(pmi, place)| Self::new(pmi, place, company));
                    return joined.map_err(|error| failed("PMI-1", &error));
                }
            }
        }
        if choice == PmiChoice::Pmi1 {
            return Err(attempts);
        }
        let joined = channel.init(2, None).and_then(|_| {
            let (pmi, place) = Pmi2::join(channel, rank, environment.pmi_job.as_deref())?;
            Self::new(pmi, place, RequiredRanks::All)
        });
        joined.map_err(|error| [attempts, failed("PMI-2", &error)].concat())
    }

    fn by_pmix(environment: &Environment) -> Result<Self, FailedAttempts> {
        let joined = Pmix::join(environment);
        let joined = joined.and_then(|(pmix, place)| Self::new(pmix, place, RequiredRanks::All));
        joined.map_err(|error| failed("PMIx", &error))
    }

    fn new(
        protocol: impl PmiProtocol + 'static, place: JobAttributes, company: RequiredRanks,
    ) -> Result<Self> {
        if place.rank >= place.size {
            let JobAttributes { rank, size, .. } = place;
            return Err(ErrorClass::Other.error(format!(
                "the launcher says that this is rank {rank} of {size}, which cannot be"
            )));
        }
        let company = if place.is_own_launcher { company } else { RequiredRanks::All };
        Ok(Self { protocol: Box::new(protocol), place, joined: Some(company) })
    }

    /// The attributes of the job.
    pub fn attributes(&self) -> &JobAttributes {
        &self.place
    }

    /// A copy of the connection to Suiro's own launcher, if the end of the launcher does not end
    /// this process: another process started it, such as a shell.
    pub fn unguarded_connection(&self) -> Option<SocketStream> {
        let socket = self.protocol.socket().filter(|_| self.place.is_own_launcher)?;
        if socket.maker().is_some_and(process::ends_with) {
            return None;
        }
        socket.copy().ok()
    }

    /// Publishes `value` under `key`; others see it after the next [`Client::barrier`].
    ///
    /// # Errors
    /// `Arg` when the launcher's wire cannot carry them: printable ASCII without spaces,
    /// backslashes in [`KvsLimits`] only.
    pub fn put(&mut self, key: &str, value: &str) -> Result {
        check("key", key, self.place.limits.key_bytes)?;
        check("value", value, self.place.limits.value_bytes)?;
        self.protocol.put(key, value)
    }

    /// The value that rank `from` published under `key`, if any.
    ///
    /// # Errors
    /// `Arg` as for [`Client::put`]; `Other` when the launcher has exited.
    pub fn get(&mut self, from: u32, key: &str) -> Result<Option<String>> {
        check("key", key, self.place.limits.key_bytes)?;
        self.protocol.get(from, key)
    }

    /// Waits until all ranks of the job are in the barrier.
    ///
    /// # Errors
    /// `Other` when the launcher has exited.
    pub fn barrier(&mut self) -> Result {
        self.protocol.barrier()
    }

    /// Makes the launcher end the whole job, with `code` as its exit code.
    ///
    /// Returns as soon as the launcher has been told; the process should then exit.
    ///
    /// # Errors
    /// `Other` when the launcher has exited.
    pub fn abort(&mut self, code: i32, message: &str) -> Result {
        self.protocol.abort(code, message)
    }

    /// Whether the launcher prints the message of an abort, with the rank. Suiro's own launcher
    /// does; under others this process must print it itself.
    pub fn prints_aborts(&self) -> bool {
        self.place.is_own_launcher
    }

    /// Makes the launcher start a further job; its number. Only Suiro's own launcher does.
    ///
    /// # Errors
    /// As of [`SpawnRequest::to_arguments`]; `Spawn` when the launcher does not start it.
    pub fn spawn(&mut self, request: &SpawnRequest) -> Result<u32> {
        match self.spawn_call(&SpawnCall::Start(SpawnWords::of(request)?))? {
            SpawnReply::Started(number) => Ok(number),
            other => Err(unexpected(&other)),
        }
    }

    /// What has become of the spawned job `number`. The launcher answers at once.
    ///
    /// # Errors
    /// `Spawn` when there is no such job, `Other` when the launcher has exited.
    pub fn spawn_state(&mut self, number: u32) -> Result<SpawnState> {
        match self.spawn_call(&SpawnCall::State { number })? {
            SpawnReply::State(state) => Ok(state),
            other => Err(unexpected(&other)),
        }
    }

    /// From now on, a failure of the spawned job `number` does not end this job.
    ///
    /// # Errors
    /// As of [`Client::spawn_state`].
    pub fn spawn_disconnected(&mut self, number: u32) -> Result {
        match self.spawn_call(&SpawnCall::Disconnected { number })? {
            SpawnReply::Disconnected => Ok(()),
            other => Err(unexpected(&other)),
        }
    }

    /// Ends the spawned job `number`, which is no failure of this job.
    ///
    /// # Errors
    /// As of [`Client::spawn_state`].
    pub fn end_spawned(&mut self, number: u32) -> Result {
        match self.spawn_call(&SpawnCall::End { number })? {
            SpawnReply::Disconnected => Ok(()),
            other => Err(unexpected(&other)),
        }
    }

    fn spawn_call(&mut self, call: &SpawnCall) -> Result<SpawnReply> {
        match self.protocol.spawn(call)? {
            SpawnReply::Refused(why) => Err(ErrorClass::Spawn.error(why)),
            reply => Ok(reply),
        }
    }

    /// Makes the launcher serve a request about a published name.
    ///
    /// # Errors
    /// `Service` when the texts are too long; `Other` when the launcher has exited.
    pub fn name(&mut self, request: NameRequest) -> Result<NameReply> {
        let request = request.into_encoded();
        let len_bytes = request.len_bytes();
        if len_bytes > NAME_MAX_BYTES {
            return Err(ErrorClass::Service.error(format!(
                "a name and a port of {len_bytes} bytes are too long for the launcher"
            )));
        }
        if self.place.is_own_launcher {
            return Ok(self.protocol.name(request)?.into_decoded());
        }
        // Others know no scopes. Intel's keeps two ports of a name, PRRTE the last one; PRRTE does not tell
        // that a name to remove is not there.
        let is_taken = match &request {
            NameRequest::Lookup { .. } => false,
            other => {
                let found = self.protocol.name(NameRequest::lookup(other.service()))?;
                matches!(found, NameReply::Port(_))
            }
        };
        match &request {
            NameRequest::Publish { replaces: false, .. } if is_taken => {
                return Ok(NameReply::taken());
            }
            NameRequest::Publish { service, .. } if is_taken => {
                self.protocol.name(NameRequest::unpublish(service))?;
            }
            NameRequest::Unpublish { .. } if !is_taken => {
                return Ok(NameReply::unknown());
            }
            _ => {}
        }
        let request = request.within(NameScope::Any).replacing(false);
        Ok(self.protocol.name(request)?.into_decoded())
    }

    /// Reports that this process no longer needs its peers and may exit in any way. Further calls
    /// have no effect.
    ///
    /// # Errors
    /// `Other` when the launcher has exited.
    pub fn finalize(&mut self) -> Result {
        if self.joined.is_some() {
            self.protocol.leave()?;
            self.joined = None;
        }
        Ok(())
    }

    /// Joins the job again after [`Client::finalize`], or requires more ranks than before. No
    /// effect while joined with the same required ranks.
    ///
    /// Values published before are still there, so a process that joins again uses other keys.
    ///
    /// # Errors
    /// `Other` when the launcher does not let a process join twice. Only Suiro's own does: Hydra
    /// closes the connection; PMI-2 and PMIx cannot join again.
    pub fn rejoin(&mut self, company: RequiredRanks) -> Result {
        if self.joined < Some(company) {
            self.protocol.enter(company)?;
            self.joined = Some(company);
        }
        Ok(())
    }
}

impl PmiChoice {
    fn of(environment: &Environment) -> Result<Self> {
        match environment.protocol.as_deref() {
            None | Some("auto") => Ok(Self::Any),
            Some("1") => Ok(Self::Pmi1),
            Some("2") => Ok(Self::Pmi2),
            Some("x") => Ok(Self::Pmix),
            Some(other) => Err(ErrorClass::Other
                .error(format!("SUIRO_PMI={other} is not one of auto, 1, 2 and x"))),
        }
    }

    /// The protocol families that may be tried.
    fn allowed_families(self, mut ways: Vec<ProtocolFamily>) -> Vec<ProtocolFamily> {
        ways.retain(|way| match self {
            Self::Any => true,
            Self::Pmi1 | Self::Pmi2 => *way == ProtocolFamily::Pmi,
            Self::Pmix => *way == ProtocolFamily::Pmix,
        });
        ways
    }
}

fn unexpected(reply: &SpawnReply) -> Box<MpiError> {
    ErrorClass::Spawn.error(format!("the launcher answered {reply:?}"))
}

fn failed(name: &str, error: &MpiError) -> FailedAttempts {
    vec![format!("{name}: {}", error.why)]
}

fn check(what: &str, text: &str, max_bytes: usize) -> Result {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(ErrorClass::Arg.error(format!("the launcher cannot carry the {what} {text:?}")));
    }
    if text.len() > max_bytes {
        let len = text.len();
        return Err(ErrorClass::Arg.error(format!(
            "a {what} of {len} bytes is too long for the launcher, which takes {max_bytes}"
        )));
    }
    Ok(())
}

fn no_launcher(shown: &str, attempts: &FailedAttempts) -> Box<MpiError> {
    let tried = match &attempts[..] {
        [] => "nothing says how to reach the launcher, or SUIRO_PMI forbids it".to_owned(),
        attempts => attempts.join("; "),
    };
    ErrorClass::Other.error(format!(
        "{shown} shows that this is one of several processes, but no launcher can be asked about \
         the others: {tried}. Start the program with this library's mpirun, with an mpiexec of \
         MPICH, Intel MPI or Open MPI, or with srun -K --mpi=pmi2; SUIRO_SINGLETON=1 lets it run \
         alone"
    ))
}

#[cfg(test)]
impl Client {
    /// The client of a rank on `stream`, by PMI-1 of the own launcher or that of another library.
    pub(super) fn of_stream(stream: SocketStream, rank: u32, size: u32, ours: bool) -> Self {
        let environment = Environment { job_fd: ours.then_some(9), ..Environment::default() };
        let opened = Ok((Channel::new(stream), rank, size));
        Self::by_pmi(opened, &environment, RequiredRanks::All, PmiChoice::Any).unwrap()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bootstrap::server::{Server, ServerEvent};
    use crate::bootstrap::spawn::SpawnCommand;
    use std::thread;

    /// A client on a thread's end of a socket, served by a real server until it hangs up.
    fn with_server(test: impl FnOnce(SocketStream) + Send + 'static) {
        let (ours, theirs) = SocketStream::pair().unwrap();
        let client = thread::spawn(move || test(theirs));
        let mut server = Server::new("job_1", &[0]);
        let mut buffer = [0; 256];
        while let Ok(received) = ours.receive(&mut buffer) {
            if received.len_bytes == 0 {
                break;
            }
            for event in server.receive(0, &buffer[..received.len_bytes]) {
                if let ServerEvent::Reply { bytes, .. } = event {
                    let _ = ours.send_all(&bytes);
                }
            }
        }
        client.join().unwrap();
    }

    #[test]
    fn a_conversation_with_the_server() {
        for ours in [true, false] {
            with_server(move |stream| {
                let mut client = Client::of_stream(stream, 0, 1, ours);
                let place = JobAttributes {
                    rank: 0,
                    size: 1,
                    app_number: Some(0),
                    universe_size: None,
                    job_name: "job_1".to_owned(),
                    local_ranks: Some(vec![0]),
                    limits: KvsLimits { key_bytes: 64, value_bytes: 1024 },
                    files: None,
                    is_own_launcher: ours,
                };
                assert_eq!(*client.attributes(), place);
                client.put("a", "x\\y=z").unwrap();
                client.barrier().unwrap();
                assert_eq!(client.get(0, "a").unwrap().as_deref(), Some("x\\y=z"));
                assert_eq!(client.get(0, "b").unwrap(), None);
                client.finalize().unwrap();
                client.rejoin(RequiredRanks::Any).unwrap();
                client.rejoin(RequiredRanks::All).unwrap();
                client.finalize().unwrap();
            });
        }
    }

    #[test]
    fn any_name_can_be_published_through_any_launcher() {
        for ours in [true, false] {
            with_server(move |stream| {
                let mut client = Client::of_stream(stream, 0, 1, ours);
                let publish = NameRequest::publish;
                for name in ["a", "a b", "é\\\n% port=x", ""] {
                    let port = format!("port of {name}\t;$");
                    let mut ask = |request| client.name(request).unwrap();
                    let none = NameReply::Refused("no such service".to_owned());
                    assert_eq!(ask(NameRequest::lookup(name)), none);
                    assert_eq!(ask(publish(name, "first")), NameReply::Done);
                    assert!(matches!(ask(publish(name, &port)), NameReply::Refused(_)));
                    assert_eq!(ask(publish(name, &port).replacing(true)), NameReply::Done);
                    assert_eq!(ask(NameRequest::lookup(name)), NameReply::Port(port));
                    assert_eq!(ask(NameRequest::unpublish(name)), NameReply::Done);
                    assert_eq!(ask(NameRequest::unpublish(name)), none);
                }
                let long = "x".repeat(NAME_MAX_BYTES + 1);
                assert!(client.name(publish(&long, "a")).unwrap_err().why.contains("too long"));
                if !ours {
                    assert!(client.spawn_state(0).unwrap_err().why.contains("further jobs"));
                }
            });
        }
    }

    #[test]
    fn calls_about_spawned_jobs_have_their_answers() {
        let ended = SpawnState::Ended { code: 3, why: "it is a pity: 100 %\n".to_owned() };
        let replies = [
            SpawnReply::Started(7),
            SpawnReply::State(SpawnState::Starting),
            SpawnReply::State(SpawnState::Running),
            SpawnReply::State(ended.clone()),
            SpawnReply::Disconnected,
            SpawnReply::Refused("no such job".to_owned()),
        ];
        let (ours, theirs) = SocketStream::pair().unwrap();
        let mut server = Server::new("job_1", &[0]);
        let hello = b"cmd=init pmi_version=1 pmi_subversion=1 suiro=1\n";
        for event in server.receive(0, hello) {
            if let ServerEvent::Reply { bytes, .. } = event {
                ours.send_all(&bytes).unwrap();
            }
        }
        let replies = replies.map(SpawnReply::into_bytes).concat();
        ours.send_all(&replies).unwrap();
        let mut client = Client::of_stream(theirs, 0, 1, true);
        let command = SpawnCommand { program: "a".into(), processes: 1, ..Default::default() };
        let request = SpawnRequest { commands: vec![command], parent_port: "p".to_owned() };
        assert_eq!(client.spawn(&request).unwrap(), 7);
        let states = [0; 3].map(|_| client.spawn_state(7).unwrap());
        assert_eq!(states, [SpawnState::Starting, SpawnState::Running, ended]);
        client.spawn_disconnected(7).unwrap();
        assert_eq!(client.spawn_state(8).unwrap_err().why, "no such job");
    }

    #[test]
    fn what_the_wire_cannot_carry_is_refused() {
        with_server(|stream| {
            let mut client = Client::of_stream(stream, 0, 1, true);
            for value in ["", "a b", "a\nb", "é"] {
                assert_eq!(client.put("a", value).unwrap_err().code.0, ErrorClass::Arg as i32);
            }
            let long = "x".repeat(1025);
            assert!(client.put("a", &long).unwrap_err().why.contains("1024"));
            assert!(client.put("PMI_a", "b").unwrap_err().why.contains("reserved"));
        });
    }

    #[test]
    fn a_launcher_that_refuses_both_versions_is_told_with_both_reasons() {
        let (ours, theirs) = SocketStream::pair().unwrap();
        ours.send_all(b"cmd=response_to_init rc=3 msg=no_1\ncmd=response_to_init rc=3 msg=no_2\n")
            .unwrap();
        let opened = Ok((Channel::new(theirs), 0, 2));
        let environment = Environment::default();
        let attempts =
            Client::by_pmi(opened, &environment, RequiredRanks::All, PmiChoice::Any).unwrap_err();
        let why = no_launcher("PMI_SIZE=2", &attempts).why;
        for part in ["PMI_SIZE=2", "PMI-1: the launcher refused: no_1", "PMI-2", "no_2"] {
            assert!(why.contains(part), "{part} is not in {why}");
        }
    }

    #[test]
    fn several_ranks_without_a_launcher_is_an_error_with_a_cure() {
        let several = Some("OMPI_COMM_WORLD_SIZE=4".to_owned());
        let environment = Environment { several, ..Environment::default() };
        let error = Client::connect(&environment, RequiredRanks::All).unwrap_err();
        assert!(error.why.contains("OMPI_COMM_WORLD_SIZE=4"), "{error}");
        assert!(error.why.contains("SUIRO_SINGLETON=1"), "{error}");
        let alone = Environment { singleton: true, ..environment };
        assert!(Client::connect(&alone, RequiredRanks::All).unwrap().is_none());
        assert!(Client::connect(&Environment::default(), RequiredRanks::All).unwrap().is_none());
    }

    #[test]
    fn a_closed_descriptor_is_an_error_unless_this_is_the_only_rank() {
        let several = Some("PMI_SIZE=2".to_owned());
        let environment = Environment {
            pmi_fd: Some(1_000_000),
            pmi_rank: Some(0),
            pmi_size: Some(2),
            several,
            ..Environment::default()
        };
        let error = Client::connect(&environment, RequiredRanks::All).unwrap_err();
        assert!(error.why.contains("PMI_FD=1000000 is no open socket"), "{error}");
        let only = Environment { pmi_size: Some(1), several: None, ..environment };
        assert!(Client::connect(&only, RequiredRanks::All).unwrap().is_none());
    }

    #[test]
    fn a_choice_that_is_none_is_an_error() {
        let protocol = Some("3".to_owned());
        let environment = Environment { protocol, ..Environment::default() };
        assert!(
            Client::connect(&environment, RequiredRanks::All)
                .unwrap_err()
                .why
                .contains("SUIRO_PMI=3")
        );
    }
}
