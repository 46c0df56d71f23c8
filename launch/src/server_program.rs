//! What the programs have in common that serve jobs which are started independently: the frame of `main`,
//! the option `--port`, and the socket.

use std::env;
use std::ffi::OsString;
use std::io::{self, Write};
use std::net::IpAddr;

use clap::{Arg, ArgMatches, Command};
use platform::sys::process;
use platform::sys::signals;
use platform::sys::tcp::TcpAcceptor;

use crate::head::calls::own_addresses;
use crate::head::ports::PortRange;
use crate::{LaunchError, USAGE};

/// Signals that end a server.
pub(crate) const ENDING: [i32; 4] = [signals::INT, signals::TERM, signals::HUP, signals::QUIT];

/// Parses the arguments of `command`, and runs the server; the exit code.
pub(crate) fn main(
    command: Command, arguments: impl IntoIterator<Item = OsString>,
    run: impl FnOnce(&ArgMatches) -> Result<i32, LaunchError>,
) -> i32 {
    signals::restore();
    let name = command.get_name().to_owned();
    let matches = match command.try_get_matches_from(arguments) {
        Ok(matches) => matches,
        Err(error) => {
            // Nothing is left to do without standard error.
            let _ = error.print();
            return if error.use_stderr() { USAGE } else { 0 };
        }
    };
    run(&matches).unwrap_or_else(|error| {
        say(&name, &error.why);
        error.code
    })
}

/// Tells the user something.
pub(crate) fn say(name: &str, what: &str) {
    let _ = writeln!(io::stderr(), "{name}: {what}");
}

/// An error of the system.
pub(crate) fn failed(what: &str, error: &io::Error) -> LaunchError {
    LaunchError::new(1, format!("{what}: {error}"))
}

/// The option `--port`; `default` is what holds without it.
pub(crate) fn port_option(default: &str) -> Arg {
    Arg::new("port").short('p').long("port").value_name("PORT").help(format!(
        "listen on this port, or the first free one of a range like 40000-40100; default: {default}"
    ))
}

/// The ports of the option, else those of the environment: of `variable`, if the program has one, or of any
/// launcher.
///
/// # Errors
/// What is no range.
pub(crate) fn port_range(
    option: Option<&str>, variable: Option<&str>,
) -> Result<Option<PortRange>, LaunchError> {
    let lookup = |name: &str| env::var(name).ok();
    let given = variable.and_then(|name| Some((name, lookup(name).filter(|it| !it.is_empty())?)));
    match (option, given) {
        (Some(text), _) => PortRange::from_option("--port", text).map(Some),
        (None, Some((name, text))) => PortRange::from_option(name, &text).map(Some),
        (None, None) => PortRange::from_lookup(lookup),
    }
}

/// Listens on one of the ports, or any; the addresses of this host at which jobs connect.
///
/// # Errors
/// There is no such port, or no address.
pub(crate) fn listen(range: Option<&PortRange>) -> Result<(TcpAcceptor, Vec<IpAddr>), LaunchError> {
    process::raise_file_limit();
    let acceptor = TcpAcceptor::listen(range.map(|range| range.ports.clone()));
    let acceptor = acceptor.map_err(|error| {
        let ports = range.map_or_else(String::new, |range| format!(" on a port of {}", range.text));
        failed(&format!("cannot listen{ports}"), &error)
    })?;
    let addresses = own_addresses().map_err(|error| failed("no jobs can connect", &error))?;
    Ok((acceptor, addresses.into_iter().map(|it| it.address.address).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_ports_are_named() {
        for (option, part) in [("0", "--port 0"), ("9-8", "--port 9-8"), ("x", "--port x")] {
            let error = port_range(Some(option), None).unwrap_err();
            assert!(error.code == USAGE && error.why.contains(part), "{}", error.why);
        }
        assert_eq!(port_range(Some("7-9"), None).unwrap().unwrap().ports, 7..=9);
    }
}
