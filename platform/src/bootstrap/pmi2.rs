//! The client's side of PMI-2, for launchers that refuse PMI-1.
//!
//! ```text
//!   |length: 6 characters, padded with spaces on either side|cmd=NAME;key=value;...;|
//! ```
//!
//! A semicolon in a value is written twice. Replies are named `NAME-response` and contain `rc=0` on
//! success; a missing value is `found=FALSE` (Slurm) or a code (Hydra).
//!
//! Source: `src/pmi/src/pmi_v2.c` in MPICH, `src/plugins/mpi/pmi2` in Slurm; checked against both
//! descriptions and against Hydra itself.

use crate::base::Result;

use super::channel::{Channel, protocol_error, refused};
use super::client::{JobAttributes, KvsLimits, PmiProtocol, RequiredRanks};
use super::mapping::local_ranks;
use super::server::{NameReply, NameRequest};

/// Bytes of the length before each message.
const HEADER_BYTES: usize = 6;

/// Limits that all servers accept; PMI-2 has no query for them.
const LIMITS: KvsLimits = KvsLimits { key_bytes: 64, value_bytes: 1024 };

/// A PMI-2 connection.
#[derive(Debug)]
pub(super) struct Pmi2 {
    channel: Channel,
    received: Vec<u8>,
    job: String,
}

impl Pmi2 {
    /// Continues after the greeting of [`Channel::init`] with version 2. `job` is the job's name in
    /// the environment, which Slurm expects.
    ///
    /// # Errors
    /// `Other` when the connection is lost, the launcher refuses or a reply is invalid.
    pub(super) fn join(
        channel: Channel, rank: u32, job: Option<&str>,
    ) -> Result<(Self, JobAttributes)> {
        let mut pmi = Self { channel, received: Vec::new(), job: String::new() };
        let mut hello = Pmi2Message::new("fullinit");
        if let Some(job) = job {
            hello = hello.text("pmijobid", job);
        }
        let hello = hello.text("pmirank", &rank.to_string()).text("threaded", "FALSE");
        let answer = pmi.ask(hello)?;
        let (rank, size) = (answer.number("rank"), answer.number("size"));
        let (Some(rank), Some(size)) = (rank, size) else {
            return Err(answer.lacks("rank and size"));
        };
        let name = pmi.ask(Pmi2Message::new("job-getid"))?;
        pmi.job = name.value("jobid").ok_or_else(|| name.lacks("jobid"))?;
        let universe = pmi.attribute("universeSize")?;
        let mapping = pmi.attribute("PMI_process_mapping")?;
        let place = JobAttributes {
            rank,
            size,
            app_number: answer.number("appnum"),
            universe_size: universe.and_then(|size| size.parse().ok()),
            job_name: pmi.job.clone(),
            local_ranks: mapping.and_then(|mapping| local_ranks(&mapping, rank, size)),
            limits: LIMITS,
            files: None,
            is_own_launcher: false,
        };
        Ok((pmi, place))
    }

    /// An attribute of the whole job.
    fn attribute(&mut self, key: &str) -> Result<Option<String>> {
        let answer = self.try_asking(Pmi2Message::new("info-getjobattr").text("key", key))?;
        Ok(answer.found())
    }

    /// Sends a request; a refusal is an error.
    fn ask(&mut self, message: Pmi2Message) -> Result<Pmi2Message> {
        let answer = self.try_asking(message)?;
        if answer.is_good() {
            return Ok(answer);
        }
        let why = answer.value("errmsg").or_else(|| answer.value("msg"));
        Err(refused(&why.unwrap_or_else(|| answer.0.clone())))
    }

    /// Sends a request and returns its reply, including a refusal.
    fn try_asking(&mut self, message: Pmi2Message) -> Result<Pmi2Message> {
        let reply = format!("{}-response", message.command());
        self.channel.send(&message.into_bytes())?;
        let answer = self.receive()?;
        if answer.command() == reply {
            return Ok(answer);
        }
        Err(protocol_error(&format!("{:?} instead of {reply}", answer.0)))
    }

    fn receive(&mut self) -> Result<Pmi2Message> {
        let mut buffer = [0; 4096];
        loop {
            match Pmi2Message::first_of(&self.received) {
                Ok(Some((message, len_bytes))) => {
                    self.received.drain(..len_bytes);
                    return Ok(message);
                }
                Ok(None) => self.received.extend_from_slice(self.channel.receive(&mut buffer)?),
                Err(what) => return Err(protocol_error(&what)),
            }
        }
    }
}

impl PmiProtocol for Pmi2 {
    fn put(&mut self, key: &str, value: &str) -> Result {
        self.ask(Pmi2Message::new("kvs-put").text("key", key).text("value", value)).map(drop)
    }

    fn get(&mut self, from: u32, key: &str) -> Result<Option<String>> {
        let question = Pmi2Message::new("kvs-get").text("jobid", &self.job);
        let question = question.text("srcid", &from.to_string()).text("key", key);
        Ok(self.try_asking(question)?.found())
    }

    /// Hydra answers a fence at once, and delays the reply to a get until all ranks have reached
    /// their fence; so this function gets a key, which need not have been put.
    fn barrier(&mut self) -> Result {
        self.ask(Pmi2Message::new("kvs-fence"))?;
        self.get(0, "suiro-fence").map(drop)
    }

    fn abort(&mut self, code: i32, message: &str) -> Result {
        let message = Pmi2Message::new("abort").text("isworld", "TRUE").text("msg", message);
        self.channel.send(&message.text("exitcode", &code.to_string()).into_bytes())
    }

    /// Hydra has the port in `port`, Slurm in `value`, which is absent or empty if there is none.
    fn name(&mut self, request: NameRequest) -> Result<NameReply> {
        let message = |command| Pmi2Message::new(command).text("name", request.service());
        let message = match &request {
            // Neither reads the scope of a name, in an info object; MPICH sends an empty one, too.
            NameRequest::Publish { port, .. } => {
                message("name-publish").text("port", port).text("infokeycount", "0")
            }
            NameRequest::Lookup { .. } => message("name-lookup").text("infokeycount", "0"),
            NameRequest::Unpublish { .. } => message("name-unpublish").text("infokeycount", "0"),
        };
        let answer = self.try_asking(message)?;
        if !answer.is_good() {
            let why = answer.value("errmsg").or_else(|| answer.value("msg"));
            return Ok(NameReply::Refused(why.unwrap_or_else(|| answer.0.clone())));
        }
        if !matches!(request, NameRequest::Lookup { .. }) {
            return Ok(NameReply::Done);
        }
        let port = answer.value("port").or_else(|| answer.found());
        Ok(match port.filter(|port| !port.is_empty()) {
            Some(port) => NameReply::Port(port),
            None => NameReply::unknown(),
        })
    }

    fn leave(&mut self) -> Result {
        self.ask(Pmi2Message::new("finalize")).map(drop)
    }

    fn enter(&mut self, _company: RequiredRanks) -> Result {
        Err(refused("by PMI-2 a process joins its job once"))
    }
}

/// A message without its length: `cmd=NAME;key=value;...;`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Pmi2Message(String);

impl Pmi2Message {
    fn new(command: &str) -> Self {
        Self(format!("cmd={command};"))
    }

    fn text(mut self, key: &str, value: &str) -> Self {
        self.0 += &format!("{key}={};", value.replace(';', ";;"));
        self
    }

    fn into_bytes(self) -> Vec<u8> {
        format!("{:>HEADER_BYTES$}{}", self.0.len(), self.0).into_bytes()
    }

    /// The first message in `bytes` and its total length, if it is complete.
    ///
    /// # Errors
    /// A description of the fault.
    fn first_of(bytes: &[u8]) -> Result<Option<(Self, usize)>, String> {
        let Some((header, rest)) = bytes.split_at_checked(HEADER_BYTES) else { return Ok(None) };
        let len_bytes = std::str::from_utf8(header).ok().and_then(|text| text.trim().parse().ok());
        let Some(len_bytes) = len_bytes else { return Err(format!("the length {header:?}")) };
        let Some(message) = rest.get(..len_bytes) else { return Ok(None) };
        let text = std::str::from_utf8(message).map_err(|_| "what is not text".to_owned())?;
        Ok(Some((Self(text.to_owned()), HEADER_BYTES + len_bytes)))
    }

    fn command(&self) -> String {
        self.value("cmd").unwrap_or_default()
    }

    fn value(&self, key: &str) -> Option<String> {
        self.fields().find_map(|(name, value)| (name == key).then_some(value))
    }

    /// The fields in order. A semicolon ends a field unless another one follows.
    fn fields(&self) -> impl Iterator<Item = (String, String)> {
        let mut characters = self.0.chars().peekable();
        std::iter::from_fn(move || {
            let mut field = String::new();
            while let Some(character) = characters.next() {
                match character {
                    ';' if characters.next_if_eq(&';').is_none() => break,
                    other => field.push(other),
                }
            }
            (!field.is_empty()).then_some(field)
        })
        .filter_map(|field| {
            let (key, value) = field.split_once('=')?;
            Some((key.to_owned(), value.to_owned()))
        })
    }

    fn number(&self, key: &str) -> Option<u32> {
        self.value(key)?.trim().parse().ok()
    }

    fn is_good(&self) -> bool {
        self.value("rc").is_none_or(|code| code.trim() == "0")
    }

    /// The value in a reply that may report that there is none.
    fn found(&self) -> Option<String> {
        let found = self.is_good() && self.value("found").is_none_or(|found| found == "TRUE");
        self.value("value").filter(|_| found)
    }

    fn lacks(&self, what: &str) -> Box<crate::base::MpiError> {
        protocol_error(&format!("{:?} without {what}", self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::socket::SocketStream;
    use proptest::prelude::*;

    /// Replies of Hydra of MPICH 5.0.2 to rank 1 of 2, in order.
    const HYDRA: [&str; 9] = [
        "cmd=fullinit-response;pmi-version=2;pmi-subversion=0;rank=1;size=2;appnum=0;rc=0;",
        "cmd=job-getid-response;jobid=kvs_12_0;rc=0;",
        "cmd=info-getjobattr-response;rc=1;",
        "cmd=info-getjobattr-response;found=TRUE;value=(vector,(0,1,2));rc=0;",
        "cmd=kvs-put-response;rc=0;",
        "cmd=kvs-fence-response;rc=0;",
        "cmd=kvs-get-response;rc=1;",
        "cmd=kvs-get-response;found=TRUE;value=b;;c;rc=0;",
        "cmd=finalize-response;rc=0;",
    ];

    /// Replies of Slurm 22.05, which differ in form.
    const SLURM: [&str; 9] = [
        "cmd=fullinit-response;rc=0;pmi-version=2;pmi-subversion=0;rank=1;size=2;appnum=-1;",
        "cmd=job-getid-response;rc=0;jobid=12.0;",
        "cmd=info-getjobattr-response;rc=0;found=TRUE;value=2;",
        "cmd=info-getjobattr-response;rc=0;found=TRUE;value=(vector,(0,1,2));",
        "cmd=kvs-put-response;rc=0;",
        "cmd=kvs-fence-response;rc=0;",
        "cmd=kvs-get-response;rc=0;found=FALSE;",
        "cmd=kvs-get-response;rc=0;found=TRUE;value=b;;c;",
        "cmd=finalize-response;rc=0;",
    ];

    /// A channel on which these answers wait, and the other end.
    fn prepared(answers: &[&str]) -> (Channel, SocketStream) {
        let (ours, theirs) = SocketStream::pair().unwrap();
        for (number, answer) in answers.iter().enumerate() {
            let length = answer.len();
            let header =
                if number % 2 == 0 { format!("{length:<6}") } else { format!("{length:>6}") };
            ours.send_all(format!("{header}{answer}").as_bytes()).unwrap();
        }
        (Channel::new(theirs), ours)
    }

    #[test]
    fn conversations_with_hydra_and_slurm() {
        for (answers, job, universe) in [(HYDRA, "kvs_12_0", None), (SLURM, "12.0", Some(2))] {
            let (channel, launcher) = prepared(&answers);
            let (mut pmi, place) = Pmi2::join(channel, 1, Some("12.0")).unwrap();
            assert_eq!((place.rank, place.size, &*place.job_name), (1, 2, job));
            assert_eq!((place.local_ranks, place.universe_size), (Some(vec![0, 1]), universe));
            pmi.put("a", "b;c").unwrap();
            pmi.barrier().unwrap();
            assert_eq!(pmi.get(0, "a").unwrap().as_deref(), Some("b;c"));
            pmi.leave().unwrap();
            assert!(pmi.enter(RequiredRanks::All).unwrap_err().why.contains("once"));
            let mut said = [0; 4096];
            let len_bytes = launcher.receive(&mut said).unwrap().len_bytes;
            let said = std::str::from_utf8(&said[..len_bytes]).unwrap();
            let hello = "    52cmd=fullinit;pmijobid=12.0;pmirank=1;threaded=FALSE;";
            assert!(said.starts_with(hello), "{said}");
            assert!(said.contains("cmd=kvs-put;key=a;value=b;;c;"), "{said}");
            assert!(said.contains(&format!("cmd=kvs-get;jobid={job};srcid=0;key=a;")), "{said}");
        }
    }

    #[test]
    fn names_are_those_of_hydra_or_slurm() {
        // Of Hydra of MPICH 5.0.2; of Slurm 22.05, as its sources say.
        let hydra = [
            "cmd=name-publish-response;rc=0;",
            "cmd=name-publish-response;rc=1;errmsg=duplicate_service_a;",
            "cmd=name-lookup-response;port=tag#0$;;x;rc=0;",
            "cmd=name-lookup-response;rc=1;errmsg=service_a_not_found;",
            "cmd=name-unpublish-response;rc=0;",
        ];
        let slurm = [
            "cmd=name-publish-response;rc=0;",
            "cmd=name-publish-response;rc=-1;",
            "cmd=name-lookup-response;rc=0;value=tag#0$;;x;",
            "cmd=name-lookup-response;rc=0;",
            "cmd=name-unpublish-response;rc=0;",
        ];
        for answers in [hydra, slurm] {
            let (channel, launcher) = prepared(&answers);
            let mut pmi = Pmi2 { channel, received: Vec::new(), job: "12.0".to_owned() };
            let publish = NameRequest::publish("a", "tag#0$;x");
            assert_eq!(pmi.name(publish.clone()).unwrap(), NameReply::Done);
            assert!(matches!(pmi.name(publish).unwrap(), NameReply::Refused(_)));
            let found = pmi.name(NameRequest::lookup("a")).unwrap();
            assert_eq!(found, NameReply::Port("tag#0$;x".to_owned()));
            let found = pmi.name(NameRequest::lookup("a")).unwrap();
            assert!(matches!(found, NameReply::Refused(_)), "{found:?}");
            assert_eq!(pmi.name(NameRequest::unpublish("a")).unwrap(), NameReply::Done);
            let mut said = [0; 4096];
            let len_bytes = launcher.receive(&mut said).unwrap().len_bytes;
            let said = std::str::from_utf8(&said[..len_bytes]).unwrap();
            let first = "    54cmd=name-publish;name=a;port=tag#0$;;x;infokeycount=0;";
            assert!(said.starts_with(first), "{said}");
            assert!(said.contains("cmd=name-lookup;name=a;"), "{said}");
            assert!(said.ends_with("cmd=name-unpublish;name=a;infokeycount=0;"), "{said}");
        }
    }

    #[test]
    fn refusals_and_nonsense_are_errors() {
        for (answer, part) in [
            ("cmd=fullinit-response;rc=3;errmsg=not you;", "refused: not you"),
            ("cmd=fullinit-response;rc=0;rank=1;", "without rank and size"),
            ("cmd=kvs-put-response;rc=0;", "instead of fullinit-response"),
        ] {
            let (channel, _launcher) = prepared(&[answer]);
            let why = Pmi2::join(channel, 1, None).unwrap_err().why;
            assert!(why.contains(part), "{why}");
        }
        let (ours, theirs) = SocketStream::pair().unwrap();
        ours.send_all(b"lengthcmd=x;").unwrap();
        assert!(Pmi2::join(Channel::new(theirs), 1, None).is_err());
    }

    #[test]
    fn what_is_missing_is_nothing_however_it_is_said() {
        for missing in ["cmd=kvs-get-response;rc=1;", "cmd=kvs-get-response;rc=0;found=FALSE;"] {
            assert_eq!(Pmi2Message(missing.to_owned()).found(), None);
        }
    }

    proptest! {
        #[test]
        fn every_text_survives_the_wire(value in "[ -~]{0,60}") {
            let bytes = Pmi2Message::new("kvs-put").text("value", &value).text("rc", "0").into_bytes();
            let (message, len_bytes) = Pmi2Message::first_of(&bytes).unwrap().unwrap();
            prop_assert_eq!(len_bytes, bytes.len());
            prop_assert_eq!(message.value("value"), Some(value));
        }

        #[test]
        fn any_bytes_are_taken(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            if let Ok(Some((message, _))) = Pmi2Message::first_of(&bytes) {
                let _ = message.fields().count();
            }
        }
    }
}
