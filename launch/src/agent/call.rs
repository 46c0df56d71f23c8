//! The call of an agent to its head, whose command does not pass standard input on.

use std::io::{self, IsTerminal, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::thread;
use std::time::{Duration, Instant};

use platform::network::{Handshake, HandshakeStep};
use platform::sys::secret::JobCredentials;
use platform::sys::tcp::StreamConnection;

use crate::control::{
    AgentCommand, AgentEvent, CALL_MAX_BYTES, CALL_SILENCE_TIMEOUT, CallAddress, CallToken,
    ControlLink, PBS_COOKIE, TOKEN,
};

/// The head may have many callers, or not know the token yet: attempts for this time, at this
/// interval, each with this time for each of its steps.
const CALL_TIMEOUT: Duration = Duration::from_secs(20);
const CALL_INTERVAL: Duration = Duration::from_millis(100);
const STEP_TIMEOUT: Duration = Duration::from_secs(2);

/// Attempts at a port that nothing listens on: the head has ended.
const REFUSED_MAX: u32 = 10;

/// Connects to the head and proves the token of this host; also a descriptor of the connection.
///
/// # Errors
/// No token has been passed to this process, or the last attempt's.
pub(super) fn call(address: &CallAddress) -> io::Result<(ControlLink<AgentCommand>, OwnedFd)> {
    let (token, hint) = match passed_token(address)? {
        Some(token) => (token, ""),
        None => (drawn_token()?, "; a token on the standard output of this agent was its only way"),
    };
    let until = Instant::now() + CALL_TIMEOUT;
    let mut refused = 0;
    loop {
        let error = match attempt(address, &token) {
            Ok(link) => return Ok(link),
            Err(error) => error,
        };
        refused += u32::from(error.kind() == io::ErrorKind::ConnectionRefused);
        if Instant::now() >= until || refused >= REFUSED_MAX {
            let why = format!("cannot call mpirun back at {}: {error}{hint}", places(address));
            return Err(io::Error::new(error.kind(), why));
        }
        thread::sleep(CALL_INTERVAL);
    }
}

fn places(address: &CallAddress) -> String {
    let places = address.addresses.iter().map(|ip| SocketAddr::new(*ip, address.port).to_string());
    places.collect::<Vec<_>>().join(", ")
}

/// The token that was passed to this process.
fn passed_token(address: &CallAddress) -> io::Result<Option<CallToken>> {
    if let Some(text) = std::env::var_os(TOKEN) {
        let credentials = text.to_str().and_then(JobCredentials::from_text);
        let why = format!("{TOKEN} has a wrong value");
        let credentials = credentials.ok_or_else(|| io::Error::other(why))?;
        return Ok(Some(CallToken::of(&credentials)));
    }
    Ok(std::env::var_os(PBS_COOKIE).map(|cookie| address.token_of_pbs(&cookie)))
}

/// A new token, which is passed to the head.
fn drawn_token() -> io::Result<CallToken> {
    let output = io::stdout().as_fd().try_clone_to_owned()?;
    if !is_read_by_a_process(&output) {
        return Err(io::Error::other(
            "its command passes neither input nor variables on, and output not to mpirun; use ssh, or \
             a command that passes one of them on",
        ));
    }
    let token = CallToken::of(&JobCredentials::draw()?);
    let input = io::stdin().as_fd().try_clone_to_owned()?;
    ControlLink::<AgentCommand>::new(input, output)?.send(&AgentEvent::Token(token.clone()));
    Ok(token)
}

/// Whether what is written goes to a process: a token must be in no file, and on no screen.
fn is_read_by_a_process(output: &OwnedFd) -> bool {
    let kind = output.try_clone().map(std::fs::File::from).and_then(|file| file.metadata());
    let kind = kind.map(|data| data.file_type());
    !output.is_terminal() && kind.is_ok_and(|kind| kind.is_fifo() || kind.is_socket())
}

fn attempt(
    address: &CallAddress, token: &CallToken,
) -> io::Result<(ControlLink<AgentCommand>, OwnedFd)> {
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for ip in &address.addresses {
        let place = SocketAddr::new(*ip, address.port);
        let connected = TcpStream::connect_timeout(&place, STEP_TIMEOUT);
        match connected.and_then(|stream| prove(stream, address, token)) {
            Ok(link) => return Ok(link),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn prove(
    mut stream: TcpStream, address: &CallAddress, token: &CallToken,
) -> io::Result<(ControlLink<AgentCommand>, OwnedFd)> {
    stream.set_read_timeout(Some(STEP_TIMEOUT))?;
    stream.set_write_timeout(Some(STEP_TIMEOUT))?;
    let (mut input, mut output) = (Vec::new(), Vec::new());
    let mut handshake = Handshake::initiate(&token.secret(), &address.hello(), &mut output);
    stream.write_all(&output)?;
    output.clear();
    let mut buffer = [0; CALL_MAX_BYTES];
    loop {
        let count = stream.read(&mut buffer)?;
        if count == 0 {
            return Err(io::Error::other("it does not accept the token of this host"));
        }
        input.extend_from_slice(&buffer[..count]);
        let step = handshake.advance(&mut input, &mut output);
        let step = step.map_err(|refusal| io::Error::other(refusal.to_string()))?;
        if step != HandshakeStep::Pending {
            break;
        }
    }
    stream.write_all(&output)?;
    let connection = StreamConnection::from(OwnedFd::from(stream.try_clone()?));
    connection.configure(CALL_SILENCE_TIMEOUT)?;
    let link = ControlLink::sealed(stream.into(), handshake.into_channel(), input)?;
    Ok((link, connection.into()))
}
