//! `suiro-names`: a server of published names for jobs that are started independently.
//!
//! ```text
//!   suiro-names ──writes──> file with addresses and key ──read by──> mpirun --name-server file:PATH
//!        ^                                                               │
//!        └──────────── TCP: proof of the key, then sealed requests ──────┘
//! ```
//!
//! [`serve`] has the event loop. The options are those of Open MPI's `ompi-server` and of MPICH's
//! `hydra_nameserver`, as far as they fit.

mod serve;

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgMatches, Command, value_parser};
use platform::names::{NameServerAddress, NameServerContact};
use platform::sys::secret::JobCredentials;
use platform::sys::signals::Signals;

use crate::server_program::{self, ENDING, failed};
use crate::{LaunchError, USAGE};

const NOTES: &str = "\
Jobs use it by 'mpirun --name-server file:FILE', or with the variable SUIRO_NAME_SERVER=file:FILE.
FILE has the key that proves a job: only this user can read it. The names of a job are removed when it
ends. SIGTERM and SIGINT end the server, and remove FILE.

The exit code is 128 plus the number of the signal; 1: a port, an address or FILE that cannot be used;
2: wrong arguments.";

/// Runs the server until a signal ends it; the exit code.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> i32 {
    server_program::main(command(), arguments, run)
}

fn command() -> Command {
    Command::new("suiro-names")
        .about("Serves the names of MPI_Publish_name to jobs that are started independently.")
        .version(env!("CARGO_PKG_VERSION"))
        .after_help(NOTES)
        .arg(server_program::port_option("SUIRO_TCP_PORTS, or any"))
        .arg(
            Arg::new("report-uri")
                .short('r')
                .long("report-uri")
                .visible_alias("file")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help("write addresses and key to FILE; default: $HOME/.suiro/name-server"),
        )
}

fn run(matches: &ArgMatches) -> Result<i32, LaunchError> {
    let option = matches.get_one::<String>("port").map(String::as_str);
    let range = server_program::port_range(option, None)?;
    let file = file_of(matches.get_one::<PathBuf>("report-uri"))?;
    let signals = Signals::block(&ENDING).map_err(|error| failed("signals", &error))?;
    let (acceptor, addresses) = server_program::listen(range.as_ref())?;
    let key = JobCredentials::draw().map_err(|error| failed("no random numbers", &error))?;
    let contact = NameServerContact { port: acceptor.port(), addresses, key };
    contact.write(&file).map_err(|error| failed(&file.display().to_string(), &error))?;
    // Whoever starts the server may be gone.
    let _ = writeln!(
        io::stdout(),
        "suiro-names: port {}; mpirun --name-server file:{}",
        contact.port,
        file.display()
    );
    let ended = serve::until_signal(&acceptor, &contact.secret(), &signals);
    contact.remove(&file);
    ended.map(|signal| 128 + signal).map_err(|error| failed("cannot wait for jobs", &error))
}

/// The file to write, in a folder that exists.
fn file_of(option: Option<&PathBuf>) -> Result<PathBuf, LaunchError> {
    let wrong = |why: String| Err(LaunchError::new(USAGE, why));
    match option.map(PathBuf::as_path) {
        Some(stream) if stream == Path::new("-") || stream == Path::new("+") => wrong(format!(
            "--report-uri {}: the key is written to a file only, so that it is on no screen and in no log",
            stream.display()
        )),
        Some(file) => Ok(file.to_owned()),
        None => {
            let Some(file) = NameServerAddress::default_file() else {
                return wrong("without HOME, --report-uri FILE is needed".to_owned());
            };
            if let Some(folder) = file.parent() {
                let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
                made.map_err(|error| {
                    LaunchError::new(1, format!("{}: {error}", folder.display()))
                })?;
            }
            Ok(file)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_arguments_are_named() {
        for stream in ["-", "+"] {
            let error = file_of(Some(&PathBuf::from(stream))).unwrap_err();
            assert!(error.why.contains("no screen"), "{}", error.why);
        }
        assert_eq!(file_of(Some(&PathBuf::from("a"))).unwrap(), Path::new("a"));
    }
}
