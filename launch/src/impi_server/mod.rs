//! `suiro-impi-server`: the start-up server of IMPI, by which jobs that are started independently join one
//! world.
//!
//! ```text
//!   suiro-impi-server COUNT ──prints──> IP:PORT          $HOME/.suiro/impi-key
//!        ^                                                     │ read by both
//!        └── mpirun --impi-server IP:PORT --impi-client K ─────┘
//! ```
//!
//! [`serve`] has the event loop, [`platform::impi::ImpiServer`] what the server says. The options
//! `-server COUNT` and `-port P` are those of the protocol document.

mod serve;

use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use platform::base::settings::parse_duration;
use platform::impi::{Authentication, ImpiKeyFile, ImpiOutcome, ImpiSecurity, ImpiServer};
use platform::sys::secret::JobCredentials;
use platform::sys::signals::Signals;

use crate::server_program::{self, ENDING, failed};
use crate::{LaunchError, USAGE};
use serve::ServeEnd;

const NAME: &str = "suiro-impi-server";

/// The range of ports, as other servers of IMPI read it.
const PORT_RANGE: &str = "IMPI_SERVER_PORT_RANGE";

const NOTES: &str = "\
It prints its addresses as IP:PORT, the best first. Each job joins as one client, with a number from 0:
  mpirun --impi-server IP:PORT --impi-client 0 -n 4 PROGRAM
All connections prove the key of FILE and are encrypted; copy FILE to the hosts of the other jobs. In
cleartext, for other implementations, clients prove IMPI_AUTH_KEY (a decimal number of 64 bits), or
nothing if IMPI_AUTH_NONE is set.

The server ends when all clients have ended. The exit code is 0; 1: the start-up has failed, or a client
has ended without saying so; 2: wrong arguments; 128 plus the number of a signal that ended the server.";

/// Runs the server until all clients have ended; the exit code.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> i32 {
    let arguments = arguments.into_iter().filter_map(|word| of_impi(&word));
    server_program::main(command(), arguments, run)
}

/// A word in the spelling of IMPI as one of ours: `-server COUNT -port P` is `COUNT --port P`.
fn of_impi(word: &OsStr) -> Option<OsString> {
    match word.to_str() {
        Some("-server") => None,
        Some("-port") => Some("--port".into()),
        _ => Some(word.to_owned()),
    }
}

fn command() -> Command {
    Command::new(NAME)
        .about("Lets jobs that are started independently join one MPI_COMM_WORLD (IMPI).")
        .version(env!("CARGO_PKG_VERSION"))
        .after_help(NOTES)
        .arg(
            Arg::new("count")
                .value_name("COUNT")
                .required(true)
                .value_parser(value_parser!(u32).range(1..=i64::from(platform::impi::CLIENTS_MAX)))
                .help("the number of clients, 1 to 32"),
        )
        .arg(server_program::port_option("IMPI_SERVER_PORT_RANGE, SUIRO_TCP_PORTS, or any"))
        .arg(
            Arg::new("key-file")
                .long("key-file")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .conflicts_with("cleartext")
                .help(
                    "the key of all clients, which is made if FILE does not exist; default: \
                     SUIRO_IMPI_KEY_FILE, or $HOME/.suiro/impi-key",
                ),
        )
        .arg(
            Arg::new("cleartext")
                .long("cleartext")
                .action(ArgAction::SetTrue)
                .help("neither encrypt nor authenticate data: for other implementations of IMPI"),
        )
        .arg(
            Arg::new("timeout")
                .long("timeout")
                .value_name("TIME")
                .default_value("10m")
                .help("give up after TIME, like 30s or 10m, if clients are missing; off: never"),
        )
}

fn run(matches: &ArgMatches) -> Result<i32, LaunchError> {
    let count = matches.get_one::<u32>("count").copied().unwrap_or(0);
    let option = matches.get_one::<String>("port").map(String::as_str);
    let range = server_program::port_range(option, Some(PORT_RANGE))?;
    let timeout = timeout(matches.get_one::<String>("timeout").map_or("", String::as_str))?;
    let (security, about) = security(matches)?;
    let id = JobCredentials::draw().map_err(|error| failed("no random numbers", &error))?.id;
    let server = ImpiServer::new(count, security, id, timeout, Instant::now());
    let mut server = server.map_err(|why| LaunchError::new(USAGE, why))?;
    let signals = Signals::block(&ENDING).map_err(|error| failed("signals", &error))?;
    let (acceptor, addresses) = server_program::listen(range.as_ref())?;
    // Whoever started the server may be gone.
    let _ = io::stdout().write_all(places(addresses, acceptor.port()).as_bytes());
    say(&format!("waiting for {count} clients, {about}"));
    let ended = serve::until_end(&acceptor, &mut server, &signals);
    let ended = ended.map_err(|error| failed("cannot wait for clients", &error))?;
    Ok(match ended {
        ServeEnd::Signal(signal) => 128 + signal,
        ServeEnd::Over => exit_code(server.outcome()),
    })
}

fn exit_code(outcome: Option<&ImpiOutcome>) -> i32 {
    match outcome {
        Some(ImpiOutcome::Finished { lost }) => i32::from(!lost.is_empty()),
        Some(ImpiOutcome::Failed(why)) => {
            say(&format!("the start-up has failed: {why}"));
            1
        }
        None => 1,
    }
}

fn say(what: &str) {
    server_program::say(NAME, what);
}

/// The addresses of this server, a line for each: those of IPv4 first, which all implementations can use.
fn places(mut addresses: Vec<IpAddr>, port: u16) -> String {
    addresses.sort_by_key(IpAddr::is_ipv6);
    addresses.into_iter().map(|it| format!("{}\n", SocketAddr::new(it, port))).collect()
}

fn timeout(text: &str) -> Result<Option<Duration>, LaunchError> {
    parse_duration(text).ok_or_else(|| {
        let why = format!("--timeout {text}: expected off, or a time like 30s or 10m");
        LaunchError::new(USAGE, why)
    })
}

/// What protects connections, and a phrase about it.
fn security(matches: &ArgMatches) -> Result<(ImpiSecurity, String), LaunchError> {
    if matches.get_flag("cleartext") {
        let authentication = Authentication::from_lookup(|name| env::var(name).ok());
        let authentication = authentication.map_err(|why| LaunchError::new(USAGE, why))?;
        let how = match authentication {
            Authentication { accepts_none: true, .. } => "which prove nothing (IMPI_AUTH_NONE)",
            _ => "which prove IMPI_AUTH_KEY",
        };
        return Ok((ImpiSecurity::Cleartext(authentication), format!("in cleartext, {how}")));
    }
    let variable = env::var_os(ImpiKeyFile::VARIABLE).filter(|file| !file.is_empty());
    let file = matches.get_one::<PathBuf>("key-file").cloned().or(variable.map(PathBuf::from));
    let file = file.map(ImpiKeyFile).or_else(ImpiKeyFile::default_file);
    let file = file.ok_or_else(|| {
        LaunchError::new(USAGE, "without HOME, --key-file FILE is needed".to_owned())
    })?;
    let (key, is_new) = file.read_or_create().map_err(|why| LaunchError::new(1, why))?;
    let how = if is_new { "the new key" } else { "the key" };
    Ok((ImpiSecurity::Sealed(key), format!("with {how} of {}", file.0.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(line: &str) -> Result<ArgMatches, clap::Error> {
        let words = [NAME].into_iter().chain(line.split_whitespace()).map(OsString::from);
        command().try_get_matches_from(words.filter_map(|word| of_impi(&word)))
    }

    #[test]
    fn arguments_have_the_spelling_of_impi_too() {
        for line in ["3 --port 7-9", "-server 3 -port 7-9", "-port 7-9 -server 3", "-p 7-9 3"] {
            let matches = matches(line).unwrap();
            assert_eq!(matches.get_one("count"), Some(&3_u32), "{line}");
            let port = matches.get_one::<String>("port").map(String::as_str);
            let range = server_program::port_range(port, Some(PORT_RANGE)).unwrap().unwrap();
            assert_eq!(range.ports, 7..=9, "{line}");
        }
        for line in ["", "0", "33", "x", "2 3", "2 --key-file f --cleartext", "-client 0 a:1"] {
            assert!(matches(line).is_err(), "{line}");
        }
    }

    #[test]
    fn wrong_arguments_are_named() {
        let error = server_program::port_range(Some("9-8"), Some(PORT_RANGE)).unwrap_err();
        assert!(error.code == USAGE && error.why.contains("--port 9-8"), "{}", error.why);
        let error = timeout("10").unwrap_err();
        assert!(error.code == USAGE && error.why.contains("--timeout 10"), "{}", error.why);
        assert_eq!(timeout("off").unwrap(), None);
        assert_eq!(timeout("2m").unwrap(), Some(Duration::from_secs(120)));
    }

    #[test]
    fn addresses_are_lines_with_those_of_ipv4_first() {
        let addresses = ["fd00::1", "10.0.0.1", "192.168.1.1"].map(|it| it.parse().unwrap());
        let expected = "10.0.0.1:5\n192.168.1.1:5\n[fd00::1]:5\n";
        assert_eq!(places(addresses.to_vec(), 5), expected);
    }
}
