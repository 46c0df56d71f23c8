//! The PMI-1 client: how a rank talks to the launcher, ours, Hydra or Slurm.
//!
//! ```text
//!   Joined --finalize--> Left --rejoin--> Joined       abort: from either
//! ```
//!
//! Every call waits for the launcher's answer. A launcher that is gone is an error that says so.

use std::io;

use crate::base::{ErrorClass, MpiError, Result};
use crate::sys::socket::Stream;

use super::environment::Environment;
use super::wire::{Fields, Line, Lines};

/// The longest key and value that the launcher takes, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// A key.
    pub key_bytes: usize,
    /// A value.
    pub value_bytes: usize,
}

/// A connection to the launcher, from the first hello to the end of the process.
#[derive(Debug)]
pub struct Client {
    stream: Stream,
    lines: Lines,
    rank: u32,
    size: u32,
    app: Option<u32>,
    space: String,
    limits: Limits,
    joined: bool,
    tells_aborts: bool,
}

impl Client {
    /// Joins the job that `environment` names; `None` if the process is alone.
    ///
    /// # Errors
    /// `Other` when the environment shows a job of several ranks but no launcher answers: then
    /// being alone would be wrong, `N` times.
    pub fn connect(environment: &Environment) -> Result<Option<Self>> {
        if environment.singleton {
            return Ok(None);
        }
        if let Some(number) = environment.pmi_fd {
            let stream = Stream::inherit(number).map_err(|error| {
                no_launcher(&format!("PMI_FD={number} but that descriptor is not usable: {error}"))
            })?;
            return Self::join_inherited(stream, environment).map(Some);
        }
        if let Some(port) = &environment.pmi_port {
            let stream = Stream::connect(port).map_err(|error| {
                no_launcher(&format!("PMI_PORT={port} but nobody answers there: {error}"))
            })?;
            return Self::join_connected(stream, environment.pmi_id.unwrap_or(0)).map(Some);
        }
        match &environment.foreign {
            None => Ok(None),
            Some(shown) => Err(no_launcher(&format!("{shown} shows a job of several processes"))),
        }
    }

    /// The number of this process in its job.
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// How many processes the job has.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// The number of this program on the launcher's command line, if the launcher counts them.
    pub fn app_number(&self) -> Option<u32> {
        self.app
    }

    /// The name of the job, the same on all its ranks.
    pub fn job_name(&self) -> &str {
        &self.space
    }

    /// What fits into the launcher's key-value space.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// How many processes there could be, if the launcher knows a number.
    pub fn universe_size(&mut self) -> Result<Option<u32>> {
        let answer = self.ask(Line::new("get_universe_size"), "universe_size")?;
        Ok(answer.number("size").and_then(|size| u32::try_from(size).ok()))
    }

    /// Publishes `value` under `key`; others see it after the next [`Client::barrier`].
    ///
    /// # Errors
    /// `Arg` when the launcher's wire cannot carry them: printable ASCII without spaces,
    /// backslashes in [`Limits`] only.
    pub fn put(&mut self, key: &str, value: &str) -> Result {
        check("key", key, self.limits.key_bytes)?;
        check("value", value, self.limits.value_bytes)?;
        let line = self.line("put").text("key", key).text("value", value);
        self.ask(line, "put_result")?.good()
    }

    /// The value that a rank published under `key`, if one did.
    pub fn get(&mut self, key: &str) -> Result<Option<String>> {
        check("key", key, self.limits.key_bytes)?;
        let line = self.line("get").text("key", key);
        let answer = self.ask(line, "get_result")?;
        Ok(answer.value("value").filter(|_| answer.is_good()))
    }

    /// Waits until all ranks of the job are here.
    pub fn barrier(&mut self) -> Result {
        self.ask(Line::new("barrier_in"), "barrier_out")?.good()
    }

    /// Makes the launcher end the whole job, with `code` as its exit code.
    ///
    /// It returns at once, as soon as the launcher has been told; the process should then exit.
    pub fn abort(&mut self, code: i32, message: &str) -> Result {
        let line = Line::new("abort").number("exitcode", code).text("message", message);
        self.send(line)
    }

    /// Does the launcher print the message of an abort, with the rank's name? Ours does; under
    /// others this process must print it itself.
    pub fn tells_aborts(&self) -> bool {
        self.tells_aborts
    }

    /// Says that this process needs its peers no more, so that it may end as it likes.
    pub fn finalize(&mut self) -> Result {
        self.ask(Line::new("finalize"), "finalize_ack")?;
        self.joined = false;
        Ok(())
    }

    /// After [`Client::finalize`]: enters the job again. Does nothing while joined.
    ///
    /// Values published before are still there, so whoever joins again uses other keys.
    pub fn rejoin(&mut self) -> Result {
        if self.joined { Ok(()) } else { self.hello() }
    }

    fn join_inherited(stream: Stream, environment: &Environment) -> Result<Self> {
        let (Some(rank), Some(size)) = (environment.pmi_rank, environment.pmi_size) else {
            return Err(no_launcher("PMI_FD is set but PMI_RANK or PMI_SIZE is not"));
        };
        let mut client = Self::new(stream, rank, size).join()?;
        client.tells_aborts = environment.job_fd.is_some();
        Ok(client)
    }

    fn join_connected(stream: Stream, id: u32) -> Result<Self> {
        let mut client = Self::new(stream, 0, 0);
        let answer = client.ask(Line::new("initack").number("pmiid", id), "initack")?;
        answer.good()?;
        client.size = answer.wanted_number("size")?;
        client.rank = answer.wanted_number("rank")?;
        for _ in 0..3 {
            client.answer("set")?;
        }
        client.join()
    }

    fn new(stream: Stream, rank: u32, size: u32) -> Self {
        Self {
            stream,
            lines: Lines::default(),
            rank,
            size,
            app: None,
            space: String::new(),
            limits: Limits { key_bytes: 64, value_bytes: 256 },
            joined: false,
            tells_aborts: false,
        }
    }

    fn join(mut self) -> Result<Self> {
        if self.rank >= self.size {
            let (rank, size) = (self.rank, self.size);
            return Err(ErrorClass::Other.error(format!(
                "the launcher says that this is rank {rank} of {size}, which cannot be"
            )));
        }
        self.hello()?;
        let maxes = self.ask(Line::new("get_maxes"), "maxes")?;
        self.limits.key_bytes = maxes.wanted_number("keylen_max")? as usize;
        self.limits.value_bytes = maxes.wanted_number("vallen_max")? as usize;
        let app = self.ask(Line::new("get_appnum"), "appnum")?;
        self.app = app.number("appnum").and_then(|app| u32::try_from(app).ok());
        let space = self.ask(Line::new("get_my_kvsname"), "my_kvsname")?;
        self.space = space.value("kvsname").ok_or_else(|| space.lacks("kvsname"))?;
        Ok(self)
    }

    /// Slurm takes version 1.1 and nothing else of version 1, so that is what we ask for.
    fn hello(&mut self) -> Result {
        let line = Line::new("init").number("pmi_version", 1).number("pmi_subversion", 1);
        self.ask(line, "response_to_init")?.good()?;
        self.joined = true;
        Ok(())
    }

    fn line(&self, command: &str) -> Line {
        Line::new(command).text("kvsname", &self.space)
    }

    fn ask(&mut self, line: Line, reply: &str) -> Result<Answer> {
        self.send(line)?;
        self.answer(reply)
    }

    fn send(&mut self, line: Line) -> Result {
        self.stream.send_all(&line.into_bytes()).map_err(|error| lost(&error))
    }

    /// The next line, which must be the reply of this name.
    fn answer(&mut self, reply: &str) -> Result<Answer> {
        let mut buffer = [0; 4096];
        loop {
            if let Some(line) = self.lines.next_line() {
                return read_answer(line.map_err(|malformed| nonsense(&malformed.why))?, reply);
            }
            let received = self.stream.receive(&mut buffer).map_err(|error| lost(&error))?;
            if received.len_bytes == 0 {
                return Err(lost(&io::ErrorKind::UnexpectedEof.into()));
            }
            self.lines.push(&buffer[..received.len_bytes]);
        }
    }
}

fn read_answer(line: &str, reply: &str) -> Result<Answer> {
    match Fields::of(line) {
        Some(fields) if fields.command == reply => Ok(Answer { line: line.to_owned() }),
        _ => Err(nonsense(&format!("{line:?} instead of {reply}"))),
    }
}

/// A reply of the right name.
#[derive(Debug)]
struct Answer {
    line: String,
}

impl Answer {
    fn value(&self, key: &str) -> Option<String> {
        Fields::of(&self.line)?.value(key)
    }

    fn number(&self, key: &str) -> Option<i64> {
        self.value(key)?.parse().ok()
    }

    fn wanted_number(&self, key: &str) -> Result<u32> {
        let number = self.number(key).and_then(|number| u32::try_from(number).ok());
        number.ok_or_else(|| self.lacks(key))
    }

    /// No `rc` is good too: not all launchers say it each time.
    fn is_good(&self) -> bool {
        self.number("rc").unwrap_or(0) == 0
    }

    fn good(&self) -> Result {
        if self.is_good() {
            return Ok(());
        }
        let reason = self.value("msg").unwrap_or_else(|| self.line.clone());
        Err(ErrorClass::Other.error(format!("the launcher refused: {reason}")))
    }

    fn lacks(&self, key: &str) -> Box<MpiError> {
        nonsense(&format!("{:?} without {key}", self.line))
    }
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

fn no_launcher(cause: &str) -> Box<MpiError> {
    ErrorClass::Other.error(format!(
        "{cause}, and no launcher that speaks PMI-1 answers; start the program with this \
         library's mpirun (or srun --mpi=pmi2), or set SUIRO_SINGLETON=1 to run it alone"
    ))
}

fn lost(error: &io::Error) -> Box<MpiError> {
    ErrorClass::Other.error(format!("the connection to the launcher is lost: {error}"))
}

fn nonsense(what: &str) -> Box<MpiError> {
    ErrorClass::Other.error(format!("the launcher answered {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bootstrap::server::{Event, Server};
    use std::thread;

    /// A client on a thread's end of a socket, served by a real server until it hangs up.
    fn with_server(test: impl FnOnce(Stream) + Send + 'static) {
        let (ours, theirs) = Stream::pair().unwrap();
        let client = thread::spawn(move || test(theirs));
        let mut server = Server::new("job_1", &[0]);
        let mut buffer = [0; 256];
        while let Ok(received) = ours.receive(&mut buffer) {
            if received.len_bytes == 0 {
                break;
            }
            for event in server.receive(0, &buffer[..received.len_bytes]) {
                if let Event::Reply { bytes, .. } = event {
                    let _ = ours.send_all(&bytes);
                }
            }
        }
        client.join().unwrap();
    }

    #[test]
    fn a_conversation_with_the_server() {
        with_server(|stream| {
            let mut client = Client::new(stream, 0, 1).join().unwrap();
            assert_eq!((client.rank(), client.size(), client.app_number()), (0, 1, Some(0)));
            assert_eq!(client.job_name(), "job_1");
            assert_eq!(client.limits(), Limits { key_bytes: 64, value_bytes: 1024 });
            assert_eq!(client.universe_size().unwrap(), None);
            client.put("a", "x\\y=z").unwrap();
            client.barrier().unwrap();
            assert_eq!(client.get("a").unwrap().as_deref(), Some("x\\y=z"));
            assert_eq!(client.get("b").unwrap(), None);
            client.finalize().unwrap();
            client.rejoin().unwrap();
            client.finalize().unwrap();
        });
    }

    #[test]
    fn what_the_wire_cannot_carry_is_refused() {
        with_server(|stream| {
            let mut client = Client::new(stream, 0, 1).join().unwrap();
            for value in ["", "a b", "a\nb", "é"] {
                assert_eq!(client.put("a", value).unwrap_err().code.0, ErrorClass::Arg as i32);
            }
            let long = "x".repeat(1025);
            assert!(client.put("a", &long).unwrap_err().why.contains("1024"));
            assert!(client.put("PMI_a", "b").unwrap_err().why.contains("reserved"));
        });
    }

    #[test]
    fn a_launcher_that_goes_is_an_error() {
        let (ours, theirs) = Stream::pair().unwrap();
        drop(ours);
        let error = Client::new(theirs, 0, 1).join().unwrap_err();
        assert!(error.why.contains("launcher is lost"), "{error}");
    }

    #[test]
    fn a_launcher_that_talks_nonsense_is_an_error() {
        for noise in ["hello\n", "cmd=maxes rc=0\n", "cmd=response_to_init rc=3\n", "\u{1}\n"] {
            let (ours, theirs) = Stream::pair().unwrap();
            ours.send_all(noise.as_bytes()).unwrap();
            assert!(Client::new(theirs, 0, 1).join().is_err(), "{noise}");
        }
    }

    #[test]
    fn several_ranks_without_a_launcher_is_an_error_with_a_cure() {
        let foreign = Some("OMPI_COMM_WORLD_SIZE=4".to_owned());
        let environment = Environment { foreign, ..Environment::default() };
        let error = Client::connect(&environment).unwrap_err();
        assert!(error.why.contains("OMPI_COMM_WORLD_SIZE=4"), "{error}");
        assert!(error.why.contains("SUIRO_SINGLETON=1"), "{error}");
        let alone = Environment { singleton: true, ..environment };
        assert!(Client::connect(&alone).unwrap().is_none());
        assert!(Client::connect(&Environment::default()).unwrap().is_none());
    }

    #[test]
    fn a_descriptor_that_is_not_open_is_an_error() {
        let environment = Environment { pmi_fd: Some(1_000_000), ..Environment::default() };
        assert!(Client::connect(&environment).unwrap_err().why.contains("PMI_FD=1000000"));
    }
}
