//! The PMI-1 wire: lines of text, bytes in, requests out.
//!
//! ```text
//!   cmd=NAME key=value key=value ...\n        one request or reply per line
//!   mcmd=spawn\n key=value\n ... endcmd\n     of several lines: MPICH's request for processes
//!   mcmd=spawn_job\n word=...\n ... endcmd\n  and Suiro's
//! ```
//!
//! A backslash escapes the next character. MPICH sends its last value unescaped, spaces included,
//! so the last value of a request that ends in free text reaches to the end of the line. No bytes
//! make the parser fail: an invalid request is a [`Malformed`].

use std::fmt::Write;

use super::server::{NameRequest, NameScope};
use super::spawn::{SPAWN_REPLY, SpawnCall, SpawnWords};

/// Maximum length of a line in bytes; a value of 1024 bytes fits many times.
pub(crate) const LINE_MAX_BYTES: usize = 64 * 1024;

/// Maximum number of lines of a spawn request.
const SPAWN_LINES_MAX: usize = 64 * 1024;

/// Maximum length of all lines of one, in bytes: more than a program can have as arguments.
const SPAWN_MAX_BYTES: usize = 4 << 20;

/// Behind the scope of a name that replaces another.
const REPLACES: &str = "+replaces";

/// A request of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PmiRequest {
    /// The first request: selects the protocol.
    Init {
        /// 1, or 2 for a protocol that the server does not support.
        version: u32,
        /// Suiro's own client: it expects all attributes in the reply.
        ours: bool,
        /// The client does not require all ranks of the job.
        any: bool,
        /// The process has joined before, so it is no later program.
        again: bool,
    },
    /// Maximum lengths of names, keys and values.
    Maxes,
    /// The number of this program on the command line.
    AppNumber,
    /// The maximum number of processes.
    UniverseSize,
    /// The name of the job's key-value space.
    SpaceName,
    /// Publish a value under a key.
    Put {
        /// The key.
        key: String,
        /// Its value.
        value: String,
    },
    /// The value under this key.
    Get {
        /// The key.
        key: String,
    },
    /// Wait for the other ranks of a group.
    Barrier {
        /// `WORLD:tag`, `NODE:tag` or `rank,rank,...:tag`; `None` is the whole job.
        group: Option<String>,
    },
    /// About the name of a service.
    Name(NameRequest),
    /// No more requests.
    Finalize,
    /// End the whole job.
    Abort {
        /// Exit code for the launcher.
        code: i32,
        /// Message for the user, if any.
        message: Option<String>,
    },
    /// Start further processes, as MPICH requests it.
    Spawn,
    /// About further jobs, as Suiro requests them.
    SpawnCall(SpawnCall),
}

/// An invalid request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Malformed {
    /// Description of the fault, in a sentence without a final stop.
    pub(crate) why: String,
    /// The name of the reply that the client now waits for; `None` when the line does not identify
    /// its request, so that the connection is no longer usable.
    pub(crate) reply: Option<&'static str>,
}

/// Splits a stream of bytes into lines.
#[derive(Debug, Default)]
pub(crate) struct PmiLines {
    bytes: Vec<u8>,
    /// Where the next line starts.
    start: usize,
}

impl PmiLines {
    /// Adds received bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.start);
        self.start = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// The next complete line without its terminator.
    ///
    /// # Errors
    /// [`Malformed`], permanently, when a line is too long or is not text.
    pub(crate) fn next_line(&mut self) -> Option<Result<&str, Malformed>> {
        let rest = &self.bytes[self.start..];
        let len_bytes = match rest.iter().position(|byte| *byte == b'\n') {
            Some(len_bytes) if len_bytes <= LINE_MAX_BYTES => len_bytes,
            None if rest.len() <= LINE_MAX_BYTES => return None,
            _ => {
                return Some(Err(unusable_line(format!(
                    "a line is over {LINE_MAX_BYTES} bytes long"
                ))));
            }
        };
        let line = self.start..self.start + len_bytes;
        self.start = line.end + 1;
        let line = std::str::from_utf8(&self.bytes[line]);
        Some(line.map_err(|_| unusable_line("a line is not text".to_owned())))
    }
}

/// Splits a stream of bytes into requests.
#[derive(Debug, Default)]
pub(crate) struct PmiRequests {
    lines: PmiLines,
    /// What has been received of an incomplete spawn request.
    spawn: Option<PartialSpawn>,
}

/// The lines of a spawn request.
#[derive(Debug)]
struct PartialSpawn {
    /// The contents of Suiro's own request.
    words: Option<SpawnWords>,
    lines: usize,
    len_bytes: usize,
}

impl PmiRequests {
    /// Adds received bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.lines.push(bytes);
    }

    /// The next complete request, or its fault.
    pub(crate) fn next_request(&mut self) -> Option<Result<PmiRequest, Malformed>> {
        loop {
            let line = match self.lines.next_line()? {
                Ok(line) => line,
                Err(malformed) => return Some(Err(malformed)),
            };
            match self.spawn.take() {
                Some(partial) if line == "endcmd" => return Some(Ok(partial.finish())),
                Some(partial) => match partial.with(line) {
                    Some(partial) => self.spawn = Some(partial),
                    None => {
                        return Some(Err(unusable_line("a spawn request does not end".to_owned())));
                    }
                },
                None if line == "mcmd=spawn" => self.spawn = Some(PartialSpawn::new(None)),
                None if line == "mcmd=spawn_job" => {
                    self.spawn = Some(PartialSpawn::new(Some(SpawnWords::default())));
                }
                None => return Some(parse_request(line)),
            }
        }
    }
}

impl PartialSpawn {
    fn new(words: Option<SpawnWords>) -> Self {
        Self { words, lines: 0, len_bytes: 0 }
    }

    /// The request with a further line; `None` if it is too long.
    fn with(mut self, line: &str) -> Option<Self> {
        self.lines += 1;
        self.len_bytes += line.len();
        match (&mut self.words, line.split_once('=')) {
            (Some(words), Some(("word", text))) => words.words.push(decoded(text)),
            (Some(words), Some(("port", text))) => words.parent_port = decoded(text),
            (Some(words), Some(("hosts", _))) => words.names_hosts = true,
            _ => {}
        }
        (self.lines <= SPAWN_LINES_MAX && self.len_bytes <= SPAWN_MAX_BYTES).then_some(self)
    }

    fn finish(self) -> PmiRequest {
        match self.words {
            Some(words) => PmiRequest::SpawnCall(SpawnCall::Start(words)),
            None => PmiRequest::Spawn,
        }
    }
}

/// The bytes to send for a call about spawned jobs.
///
/// # Errors
/// The length of a word that is too long to be sent.
pub(crate) fn spawn_call_bytes(call: &SpawnCall) -> Result<Vec<u8>, usize> {
    let words = match call {
        SpawnCall::Start(words) => words,
        SpawnCall::State { number } => {
            return Ok(PmiLine::new("spawn_state").number("number", *number).into_bytes());
        }
        SpawnCall::Disconnected { number } => {
            return Ok(PmiLine::new("spawn_disconnected").number("number", *number).into_bytes());
        }
        SpawnCall::End { number } => {
            return Ok(PmiLine::new("spawn_end").number("number", *number).into_bytes());
        }
    };
    let mut text = "mcmd=spawn_job\n".to_owned();
    let hosts = words.names_hosts.then(|| "hosts=1".to_owned());
    let port = format!("port={}", encoded(&words.parent_port));
    let all = words.words.iter().map(|word| format!("word={}", encoded(word)));
    for line in all.chain([port]).chain(hosts) {
        if line.len() > LINE_MAX_BYTES {
            return Err(line.len());
        }
        text.push_str(&line);
        text.push('\n');
    }
    text.push_str("endcmd\n");
    match text.len() > SPAWN_MAX_BYTES {
        true => Err(text.len()),
        false => Ok(text.into_bytes()),
    }
}

/// Parses one line of a client.
///
/// # Errors
/// [`Malformed`] when the line is no request or lacks a part.
pub(crate) fn parse_request(line: &str) -> Result<PmiRequest, Malformed> {
    let fields = PmiFields::of(line).ok_or_else(|| {
        unusable_line(format!("a line does not start with a command: {}", excerpt(line)))
    })?;
    match fields.command {
        "init" => Ok(PmiRequest::Init {
            version: fields.number("pmi_version", "response_to_init")?,
            ours: fields.value("suiro").is_some(),
            any: fields.value("any").is_some(),
            again: fields.value("again").is_some(),
        }),
        "get_maxes" => Ok(PmiRequest::Maxes),
        "get_appnum" => Ok(PmiRequest::AppNumber),
        "get_universe_size" => Ok(PmiRequest::UniverseSize),
        "get_my_kvsname" => Ok(PmiRequest::SpaceName),
        "put" => Ok(PmiRequest::Put {
            key: fields.word("key", "put_result")?,
            value: fields.text("value", "put_result")?,
        }),
        "get" => Ok(PmiRequest::Get { key: fields.word("key", "get_result")? }),
        "barrier_in" => Ok(PmiRequest::Barrier { group: fields.word("group", "barrier_out").ok() }),
        "publish_name" => Ok(PmiRequest::Name(NameRequest::Publish {
            service: fields.text_before("service", "port", "publish_result")?,
            port: fields.text("port", "publish_result")?,
            scope: fields.scope().0,
            replaces: fields.scope().1,
        })),
        "lookup_name" => Ok(PmiRequest::Name(NameRequest::Lookup {
            service: fields.text("service", "lookup_result")?,
            scope: fields.scope().0,
        })),
        "unpublish_name" => Ok(PmiRequest::Name(NameRequest::Unpublish {
            service: fields.text("service", "unpublish_result")?,
            scope: fields.scope().0,
        })),
        "spawn_state" => Ok(PmiRequest::SpawnCall(SpawnCall::State {
            number: fields.number("number", SPAWN_REPLY)?,
        })),
        "spawn_disconnected" => Ok(PmiRequest::SpawnCall(SpawnCall::Disconnected {
            number: fields.number("number", SPAWN_REPLY)?,
        })),
        "spawn_end" => Ok(PmiRequest::SpawnCall(SpawnCall::End {
            number: fields.number("number", SPAWN_REPLY)?,
        })),
        "finalize" => Ok(PmiRequest::Finalize),
        "abort" => Ok(PmiRequest::Abort {
            code: fields.number("exitcode", "").unwrap_or(1),
            message: fields.text("message", "").ok(),
        }),
        _ => Err(unusable_line(format!("it asked for something unknown: {}", excerpt(line)))),
    }
}

/// A line split into its command and the rest; values are looked up in the rest by name.
///
/// Both sides use it: requests and replies have the same form.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PmiFields<'a> {
    /// The name after `cmd=`.
    pub(crate) command: &'a str,
    rest: &'a str,
}

impl<'a> PmiFields<'a> {
    /// Parses `line`; `None` if it does not start with a command.
    pub(crate) fn of(line: &'a str) -> Option<Self> {
        let line = line.strip_prefix("cmd=")?;
        let (command, rest) = line.split_once(' ').unwrap_or((line, ""));
        (!command.is_empty()).then_some(Self { command, rest })
    }

    /// The value of `key` up to the next space that is not escaped.
    pub(crate) fn value(&self, key: &str) -> Option<String> {
        Some(unescape(until_space(self.raw(key)?)))
    }

    /// The value of `key` to the end of the line.
    pub(crate) fn text_value(&self, key: &str) -> Option<String> {
        Some(unescape(self.raw(key)?))
    }

    /// The text after `key=`, where that starts a field.
    fn raw(&self, key: &str) -> Option<&'a str> {
        let mut rest = self.rest;
        loop {
            rest = rest.trim_start_matches(' ');
            let value = rest.strip_prefix(key).and_then(|rest| rest.strip_prefix('='));
            if value.is_some() || rest.is_empty() {
                return value;
            }
            rest = &rest[until_space(rest).len()..];
        }
    }

    fn word(&self, key: &str, reply: &'static str) -> Result<String, Malformed> {
        self.value(key).filter(|value| !value.is_empty()).ok_or_else(|| self.lacks(key, reply))
    }

    fn text(&self, key: &str, reply: &'static str) -> Result<String, Malformed> {
        self.text_value(key).ok_or_else(|| self.lacks(key, reply))
    }

    /// The value of `key` up to where the field `next` starts.
    fn text_before(&self, key: &str, next: &str, reply: &'static str) -> Result<String, Malformed> {
        let raw = self.raw(key).ok_or_else(|| self.lacks(key, reply))?;
        let (value, _) = raw.split_once(&format!(" {next}=")).unwrap_or((raw, ""));
        Ok(unescape(value))
    }

    /// The scope of a name, and whether it replaces another. Only Suiro sends it, as the first field:
    /// behind it, the name of a service may have any form.
    fn scope(&self) -> (NameScope, bool) {
        let first = self.rest.strip_prefix("scope=").map(until_space).unwrap_or_default();
        let (scope, replaces) = match first.strip_suffix(REPLACES) {
            Some(scope) => (scope, true),
            None => (first, false),
        };
        (NameScope::parse(scope).unwrap_or_default(), replaces)
    }

    fn number<Number: std::str::FromStr>(
        &self, key: &str, reply: &'static str,
    ) -> Result<Number, Malformed> {
        self.value(key).and_then(|value| value.parse().ok()).ok_or_else(|| self.lacks(key, reply))
    }

    fn lacks(&self, key: &str, reply: &'static str) -> Malformed {
        let why = format!("the request {} lacks a good {key}", excerpt(self.command));
        Malformed { why, reply: Some(reply) }
    }
}

/// A line under construction.
#[derive(Clone, Debug)]
pub(crate) struct PmiLine(String);

impl PmiLine {
    /// A line that starts with `command`.
    pub(crate) fn new(command: &str) -> Self {
        Self(format!("cmd={command}"))
    }

    /// Adds a number.
    pub(crate) fn number(mut self, key: &str, value: impl Into<i64>) -> Self {
        let value = value.into();
        write!(self.0, " {key}={value}").expect("a string takes any text");
        self
    }

    /// Adds a text; special characters are escaped, and line ends become spaces.
    pub(crate) fn text(mut self, key: &str, value: &str) -> Self {
        self.0.push(' ');
        self.0.push_str(key);
        self.0.push('=');
        for character in value.chars() {
            match character {
                ' ' | '\\' => self.0.extend(['\\', character]),
                '\n' | '\0' => self.0.push_str("\\ "),
                _ => self.0.push(character),
            }
        }
        self
    }

    /// The bytes to send, with the line terminator.
    pub(crate) fn into_bytes(mut self) -> Vec<u8> {
        self.0.push('\n');
        self.0.into_bytes()
    }
}

impl NameRequest {
    /// The line to send. With neither a scope nor a replacement it is that of any launcher.
    pub(crate) fn into_line(self) -> PmiLine {
        let line = match &self {
            Self::Publish { .. } => PmiLine::new("publish_name"),
            Self::Lookup { .. } => PmiLine::new("lookup_name"),
            Self::Unpublish { .. } => PmiLine::new("unpublish_name"),
        };
        let replaces = matches!(self, Self::Publish { replaces: true, .. });
        let line = match (self.scope(), replaces) {
            (NameScope::Any, false) => line,
            (scope, false) => line.text("scope", scope.as_str()),
            (scope, true) => line.text("scope", &format!("{}{REPLACES}", scope.as_str())),
        };
        let line = line.text("service", self.service());
        match self {
            Self::Publish { port, .. } => line.text("port", &port),
            Self::Lookup { .. } | Self::Unpublish { .. } => line,
        }
    }
}

/// `text` in visible ASCII characters without a backslash or a semicolon, which any launcher passes on
/// unchanged: all other bytes, and `%`, are a `%` and two digits. Hydra of MPICH 5.0 ends at some
/// semicolons in PMI-2.
pub(crate) fn encoded(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'%' | b'\\' | b';' => plain.push_str(&format!("%{byte:02x}")),
            byte if byte.is_ascii_graphic() => plain.push(byte.into()),
            byte => plain.push_str(&format!("%{byte:02x}")),
        }
    }
    plain
}

/// The text of [`encoded`]; any other text is returned as far as it can be read.
pub(crate) fn decoded(plain: &str) -> String {
    let mut text = Vec::with_capacity(plain.len());
    let mut rest = plain.as_bytes();
    while let [first, others @ ..] = rest {
        let digits = others.get(..2).filter(|_| *first == b'%');
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                text.push(byte);
                rest = &others[2..];
            }
            None => {
                text.push(*first);
                rest = others;
            }
        }
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// The part of `text` before the first space that is not escaped.
fn until_space(text: &str) -> &str {
    let mut escaped = false;
    for (at, character) in text.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ' ' => return &text[..at],
            _ => {}
        }
    }
    text
}

fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        plain.push(match character {
            '\\' => characters.next().unwrap_or('\\'),
            _ => character,
        });
    }
    plain
}

fn unusable_line(why: String) -> Malformed {
    Malformed { why, reply: None }
}

/// The start of foreign text, safe to print.
fn excerpt(text: &str) -> String {
    let start: String = text.chars().take(60).collect();
    format!("{start:?}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(bytes: &[u8]) -> Vec<Result<PmiRequest, Malformed>> {
        let mut requests = PmiRequests::default();
        requests.push(bytes);
        std::iter::from_fn(|| requests.next_request()).take(100).collect()
    }

    #[test]
    fn requests_of_mpich_are_understood() {
        let put = PmiRequest::Put { key: "-bc-0".into(), value: "a=b#c".into() };
        assert_eq!(all(b"cmd=put kvsname=kvs_1 key=-bc-0 value=a=b#c\n"), [Ok(put)]);
        let publish = PmiRequest::Name(NameRequest::publish("my service", "a port"));
        assert_eq!(all(b"cmd=publish_name service=my service port=a port\n"), [Ok(publish)]);
        let abort = PmiRequest::Abort { code: -3, message: Some("it is (over)".into()) };
        assert_eq!(all(b"cmd=abort exitcode=-3 message=it is (over)\n"), [Ok(abort)]);
        assert_eq!(all(b"cmd=barrier_in\n"), [Ok(PmiRequest::Barrier { group: None })]);
        assert_eq!(
            all(b"cmd=init pmi_version=1 pmi_subversion=1\n"),
            [Ok(PmiRequest::Init { version: 1, ours: false, any: false, again: false })]
        );
    }

    #[test]
    fn scopes_of_names_cross_the_wire() {
        for scope in [NameScope::Any, NameScope::Job, NameScope::Global] {
            let service = "scope=x port";
            let requests = [
                NameRequest::publish(service, "p"),
                NameRequest::publish(service, "p").replacing(true),
                NameRequest::lookup(service),
                NameRequest::unpublish(service),
            ];
            for request in requests.map(|request| request.within(scope)) {
                let bytes = request.clone().into_line().into_bytes();
                assert_eq!(all(&bytes), [Ok(PmiRequest::Name(request))]);
            }
        }
        // A service of another launcher's client is not mistaken for a scope.
        let of_mpich = all(b"cmd=lookup_name service=a scope=job\n");
        assert_eq!(of_mpich, [Ok(PmiRequest::Name(NameRequest::lookup("a scope=job")))]);
    }

    #[test]
    fn a_spawn_of_many_lines_is_one_request() {
        let bytes = b"mcmd=spawn\nnprocs=2\nexecname=x\nendcmd\ncmd=finalize\n";
        assert_eq!(all(bytes), [Ok(PmiRequest::Spawn), Ok(PmiRequest::Finalize)]);
    }

    #[test]
    fn calls_about_spawned_jobs_are_understood() {
        for call in [
            SpawnCall::State { number: 3 },
            SpawnCall::Disconnected { number: 0 },
            SpawnCall::End { number: 1 },
        ] {
            let bytes = spawn_call_bytes(&call).unwrap();
            assert_eq!(all(&bytes), [Ok(PmiRequest::SpawnCall(call))]);
        }
        let long = SpawnWords { words: vec!["x".repeat(LINE_MAX_BYTES)], ..SpawnWords::default() };
        assert!(spawn_call_bytes(&SpawnCall::Start(long)).is_err());
        let lines = vec!["x".repeat(LINE_MAX_BYTES - 1); SPAWN_MAX_BYTES / LINE_MAX_BYTES + 2];
        let endless = format!("mcmd=spawn_job\n{}\n", lines.join("\n"));
        assert_eq!(all(endless.as_bytes())[0].as_ref().unwrap_err().reply, None);
    }

    #[test]
    fn a_request_without_its_part_names_the_reply() {
        let malformed = all(b"cmd=get kvsname=k\n").remove(0).unwrap_err();
        assert_eq!(malformed.reply, Some("get_result"));
        assert!(malformed.why.contains("key"));
    }

    #[test]
    fn noise_is_malformed_for_good() {
        for noise in [&b"GET / HTTP/1.1\n"[..], b"\n", b"cmd=\n", b"cmd=fly\n", b"cmd=\xff\n"] {
            assert_eq!(all(noise)[0].as_ref().unwrap_err().reply, None);
        }
        let endless = vec![b'x'; LINE_MAX_BYTES + 1];
        assert_eq!(all(&endless)[0].as_ref().unwrap_err().reply, None);
    }

    proptest! {
        #[test]
        fn any_bytes_in_any_pieces_are_taken(
            bytes in proptest::collection::vec(any::<u8>(), 0..400), cut in 0usize..400,
        ) {
            let mut requests = PmiRequests::default();
            let cut = cut.min(bytes.len());
            requests.push(&bytes[..cut]);
            let mut parts: Vec<_> = std::iter::from_fn(|| requests.next_request()).collect();
            requests.push(&bytes[cut..]);
            parts.extend(std::iter::from_fn(|| requests.next_request()));
            prop_assert_eq!(parts, all(&bytes).into_iter().take(100).collect::<Vec<_>>());
        }

        #[test]
        fn lines_like_requests_never_panic(line in "cmd=[a-z_]{0,12}( [a-z\\\\]{0,6}=?[ -~é]{0,9}){0,5}") {
            let _ = parse_request(&line);
        }

        #[test]
        fn every_text_is_encoded_without_loss(text in any::<String>()) {
            let plain = encoded(&text);
            prop_assert!(plain.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\'));
            prop_assert_eq!(decoded(&plain), text);
        }

        #[test]
        fn a_spawn_request_survives_the_wire(
            words in proptest::collection::vec(any::<String>(), 0..5), names_hosts: bool,
        ) {
            let parent_port = "a port\n".to_owned();
            let call = SpawnCall::Start(SpawnWords { words, names_hosts, parent_port });
            let bytes = spawn_call_bytes(&call).unwrap();
            prop_assert_eq!(all(&bytes), [Ok(PmiRequest::SpawnCall(call))]);
        }

        #[test]
        fn every_text_survives_the_wire(value in "[ -~é]{0,60}") {
            let line = PmiLine::new("put").text("key", "k").text("value", &value).into_bytes();
            let expected = PmiRequest::Put { key: "k".into(), value };
            prop_assert_eq!(all(&line), vec![Ok(expected)]);
        }
    }
}
