//! The client's side of PMI-1, the protocol of Hydra, Slurm and Suiro's own launcher.
//!
//! Suiro's own launcher sends all attributes in its first reply, because the client requests that;
//! other launchers are asked for one attribute at a time.

use crate::base::{ErrorClass, Result};
use crate::sys::socket::SocketStream;

use super::channel::{Channel, PmiReply};
use super::client::{JobAttributes, KvsLimits, PmiProtocol, RequiredRanks};
use super::mapping::{listed_ranks, local_ranks};
use super::server::{NameReply, NameRequest};
use super::spawn::{SPAWN_REPLY, SpawnCall, SpawnReply};
use super::wire::{PmiLine, spawn_call_bytes};

/// A PMI-1 connection.
#[derive(Debug)]
pub(super) struct Pmi1 {
    channel: Channel,
    space: String,
    ours: bool,
}

impl Pmi1 {
    /// Continues after the greeting of [`Channel::init`], whose reply is `hello`: asks for the
    /// remaining attributes.
    ///
    /// # Errors
    /// `Other` when the connection is lost or a reply is invalid.
    pub(super) fn join(
        channel: Channel, rank: u32, size: u32, hello: &PmiReply,
    ) -> Result<(Self, JobAttributes)> {
        if hello.number("suiro") == Some(1) {
            let place = all_of(hello, rank, size)?;
            return Ok((Self { channel, space: place.job_name.clone(), ours: true }, place));
        }
        let mut pmi = Self { channel, space: String::new(), ours: false };
        let place = pmi.ask_all(rank, size)?;
        Ok((pmi, place))
    }

    fn ask_all(&mut self, rank: u32, size: u32) -> Result<JobAttributes> {
        let limits = limits(&self.channel.ask(PmiLine::new("get_maxes"), "maxes")?)?;
        let app = self.channel.ask(PmiLine::new("get_appnum"), "appnum")?;
        let space = self.channel.ask(PmiLine::new("get_my_kvsname"), "my_kvsname")?;
        self.space = space.wanted_value("kvsname")?;
        let universe = self.channel.ask(PmiLine::new("get_universe_size"), "universe_size")?;
        let mapping = self.get(rank, "PMI_process_mapping")?;
        Ok(JobAttributes {
            rank,
            size,
            app_number: app.number("appnum"),
            universe_size: universe.number("size"),
            job_name: self.space.clone(),
            local_ranks: mapping.and_then(|mapping| local_ranks(&mapping, rank, size)),
            limits,
            files: None,
            is_own_launcher: false,
        })
    }

    fn line(&self, command: &str) -> PmiLine {
        PmiLine::new(command).text("kvsname", &self.space)
    }
}

impl PmiProtocol for Pmi1 {
    fn put(&mut self, key: &str, value: &str) -> Result {
        let line = self.line("put").text("key", key).text("value", value);
        self.channel.ask(line, "put_result")?.check_success()
    }

    /// All ranks share one key space, so the publishing rank is ignored.
    fn get(&mut self, _from: u32, key: &str) -> Result<Option<String>> {
        let line = self.line("get").text("key", key);
        let answer = self.channel.ask(line, "get_result")?;
        Ok(answer.value("value").filter(|_| answer.is_good()))
    }

    fn barrier(&mut self) -> Result {
        self.channel.ask(PmiLine::new("barrier_in"), "barrier_out")?.check_success()
    }

    fn abort(&mut self, code: i32, message: &str) -> Result {
        let line = PmiLine::new("abort").number("exitcode", code).text("message", message);
        self.channel.send(&line.into_bytes())
    }

    fn leave(&mut self) -> Result {
        self.channel.ask(PmiLine::new("finalize"), "finalize_ack").map(drop)
    }

    fn enter(&mut self, company: RequiredRanks) -> Result {
        self.channel.init_again(self.ours.then_some(company)).map(drop)
    }

    fn name(&mut self, request: NameRequest) -> Result<NameReply> {
        let reply = request.reply_name();
        self.channel.ask(request.into_line(), reply).map(|line| NameReply::of_line(&line))
    }

    fn spawn(&mut self, call: &SpawnCall) -> Result<SpawnReply> {
        if !self.ours {
            return Err(ErrorClass::Spawn.error("this launcher does not start further jobs"));
        }
        let bytes = spawn_call_bytes(call).map_err(|len| {
            let why = format!("arguments of {len} bytes are too long for the launcher");
            ErrorClass::Spawn.error(why)
        })?;
        self.channel.send(&bytes)?;
        SpawnReply::parse(&self.channel.read_reply(SPAWN_REPLY)?)
    }

    fn socket(&self) -> Option<&SocketStream> {
        Some(self.channel.socket())
    }
}

/// All attributes, from the first reply of Suiro's own launcher.
fn all_of(hello: &PmiReply, rank: u32, size: u32) -> Result<JobAttributes> {
    let listed = hello.value("local").map(|list| listed_ranks(&list, rank));
    Ok(JobAttributes {
        rank,
        size,
        app_number: hello.number("appnum"),
        universe_size: hello.number("universe"),
        job_name: hello.wanted_value("kvsname")?,
        local_ranks: match listed {
            Some(listed) => listed,
            None => local_ranks(&hello.wanted_value("mapping")?, rank, size),
        },
        limits: limits(hello)?,
        files: hello.value("segment").zip(hello.value("interface")),
        is_own_launcher: true,
    })
}

fn limits(answer: &PmiReply) -> Result<KvsLimits> {
    Ok(KvsLimits {
        key_bytes: answer.wanted_number("keylen_max")? as usize,
        value_bytes: answer.wanted_number("vallen_max")? as usize,
    })
}
