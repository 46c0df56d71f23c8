//! The gateway: one IMPI host for several processes of a client.
//!
//! ```text
//!   processes ── a connection each ── Gateway ── a connection each ── hosts of other clients
//! ```
//!
//! It is a thread of one of the processes. All of them connect to it first, then it connects to the other
//! hosts, then it tells the processes that the mesh is whole, or why not. After that it forwards packets by
//! their destinations ([`forwarder`]).

mod forwarder;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::assembly::{Assembly, connect_hosts};
use super::introduction::{Introduction, MeshIdentity, MeshRole, MeshSecurity};
use super::listener::MeshListener;
use super::roster::Roster;
use super::settings::MeshSettings;
use forwarder::{EndOf, Forwarder};
use platform::base::{ErrorClass, Result};
use platform::impi::{HostOffer, ProcessId, World};
use platform::sys::process::THREAD_NAME;
use platform::sys::tcp::TcpAcceptor;
use platform::sys::{descriptor, signals};

/// The sockets of a gateway, before there is a world.
pub(crate) struct GatewayListener {
    hosts: MeshListener,
    processes: TcpAcceptor,
}

impl GatewayListener {
    /// Opens one socket for other hosts and one for the processes of this one.
    ///
    /// # Errors
    /// As [`MeshListener::open`].
    pub(crate) fn open(settings: &MeshSettings) -> Result<Self> {
        let hosts = MeshListener::open(settings)?;
        let processes = TcpAcceptor::listen(settings.ports.clone()).map_err(|error| {
            let why = format!("the gateway cannot listen for the processes of its client: {error}");
            ErrorClass::Other.error(why)
        })?;
        Ok(Self { hosts, processes })
    }

    /// What the host announces: `processes`, in the order of their ranks.
    pub(crate) fn offer(&self, processes: Vec<ProcessId>) -> HostOffer {
        self.hosts.offer_of(processes)
    }

    /// Where the processes of this host connect: printable ASCII characters without spaces.
    pub(crate) fn card(&self) -> String {
        let addresses: Vec<_> = self.hosts.addresses().iter().map(IpAddr::to_string).collect();
        format!("{}/{}", self.processes.port(), addresses.join(","))
    }
}

/// The endpoints in a card.
pub(super) fn endpoints(card: &str) -> Option<Vec<SocketAddr>> {
    let (port, addresses) = card.split_once('/')?;
    let port = port.parse().ok()?;
    let addresses = addresses.split(',').map(str::parse::<IpAddr>);
    addresses.map(|address| Some(SocketAddr::new(address.ok()?, port))).collect()
}

/// A gateway at work. Dropping it ends all of its connections.
pub(crate) struct Gateway {
    thread: Option<JoinHandle<()>>,
    stopping: Arc<AtomicBool>,
    /// Wakes the thread when it is written.
    doorbell: File,
    /// The end that is read: as long as it is open, no write raises SIGPIPE.
    _woken: Arc<OwnedFd>,
}

impl Gateway {
    /// Starts the gateway of process `me` and the others of its host. It has until `deadline` to make the
    /// mesh; failures are reported to the processes that connect.
    ///
    /// # Errors
    /// `NoMem` if the system has no thread or descriptor left.
    pub(crate) fn start(
        listener: GatewayListener, world: &World, me: u32, security: MeshSecurity,
        deadline: Instant,
    ) -> Result<Self> {
        let roster = Roster::new(world);
        let number = roster.host_of(me);
        let stopping = Arc::new(AtomicBool::new(false));
        let identity = MeshIdentity { number, role: MeshRole::Process, security };
        let failed = |error| {
            ErrorClass::NoMem.error(format!("cannot start the gateway to other clients: {error}"))
        };
        let (woken, doorbell) = descriptor::pipe().map_err(failed)?;
        let woken = Arc::new(woken);
        let read_end = Arc::clone(&woken);
        let stop = stopping.clone();
        let body = move || {
            if let Some(forwarder) = open(&listener, roster, identity, deadline, &stop) {
                drop(listener);
                forwarder.run(&read_end, || stop.load(Ordering::Relaxed));
            }
        };
        let thread = std::thread::Builder::new().name(format!("{THREAD_NAME}gateway"));
        let thread = signals::without(|| thread.spawn(body)).map_err(failed)?;
        Ok(Self { thread: Some(thread), stopping, doorbell: doorbell.into(), _woken: woken })
    }

    /// Waits until all processes have left and all hosts too, or something has failed; at most until
    /// `deadline`. Whether it was so.
    pub(crate) fn wait(&self, deadline: Instant) -> bool {
        let is_over = || self.thread.as_ref().is_none_or(JoinHandle::is_finished);
        while !is_over() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
        is_over()
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::Relaxed);
        // The pipe is empty, so this neither blocks nor fails.
        let _ = self.doorbell.write(&[0]);
        if let Some(thread) = self.thread.take() {
            // What it has panicked of is printed.
            drop(thread.join());
        }
    }
}

/// Makes the connections; tells the processes if there are none.
fn open(
    listener: &GatewayListener, roster: Roster, identity: MeshIdentity, deadline: Instant,
    stopping: &AtomicBool,
) -> Option<Forwarder> {
    let is_given_up = || stopping.load(Ordering::Relaxed);
    let own = identity.number;
    let processes: BTreeSet<_> = roster.hosts[own as usize].processes.clone().collect();
    let mut local = Vec::new();
    let connected = Assembly::new(identity.clone()).and_then(|mut assembly| {
        assembly.await_ends(&listener.processes, processes);
        assembly.run(deadline, is_given_up, &mut local)
    });
    let connected = connected.map_err(|no_mesh| match no_mesh.number {
        Some(process) => roster.sentence(process, &no_mesh.why),
        None => no_mesh.why,
    });
    let hosts = connected.and_then(|()| {
        let identity = MeshIdentity { role: MeshRole::Host, ..identity.clone() };
        connect_hosts(&listener.hosts.acceptor, &roster, identity, deadline, is_given_up)
    });
    let is_sealed = matches!(identity.security, MeshSecurity::Sealed(..));
    let hosts = hosts.map(|hosts| hosts.into_iter().map(|(it, stream)| (EndOf::Host(it), stream)));
    let forwarder = hosts.and_then(|hosts| {
        let silence = listener.hosts.settings.silence;
        let mut forwarder = Forwarder::new(roster, own, is_sealed, silence)?;
        for (of, stream) in hosts {
            forwarder.add(of, stream)?;
        }
        for (process, mut introduction) in local.drain(..) {
            introduction.answer(own);
            forwarder.add(EndOf::Process(process), introduction.into_stream())?;
        }
        Ok(forwarder)
    });
    forwarder.map_err(|why| refuse(local, &why)).ok()
}

fn refuse(processes: Vec<(u32, Introduction)>, why: &str) {
    tracing::warn!(why, "the gateway has no mesh");
    for (_, mut introduction) in processes {
        introduction.refuse(why);
    }
}
