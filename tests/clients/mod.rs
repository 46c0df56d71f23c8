//! Worlds of several clients: `suiro-impi-server` and as many jobs of `mpirun`.

use std::path::PathBuf;
use std::process::Command;

use crate::programs::harness::{self, Outcome, Running};

/// A world: how many ranks each client has, and with which variables.
#[derive(Clone, Copy, Debug)]
pub struct World {
    pub clients: &'static [u32],
    /// For all clients.
    pub environment: &'static [(&'static str, &'static str)],
    /// For the first client alone.
    pub of_first: &'static [(&'static str, &'static str)],
    /// What the clients say of their representation of data; nothing for the others.
    pub representations: &'static [&'static str],
}

impl World {
    pub const fn of(clients: &'static [u32]) -> Self {
        Self { clients, environment: &[], of_first: &[], representations: &[] }
    }

    fn is_sealed(&self) -> bool {
        !self.environment.iter().any(|(name, _)| *name == "SUIRO_IMPI_CLEARTEXT")
    }
}

/// A world that runs.
pub struct RunningWorld {
    pub server: Running,
    pub clients: Vec<Running>,
}

/// Starts the server, and returns it with its address.
pub fn serve(key: &PathBuf, world: World) -> (Running, String) {
    let mut server = harness::marked(&harness::built("suiro-impi-server"));
    server.env("SUIRO_IMPI_KEY_FILE", key).env("IMPI_AUTH_NONE", "1");
    server.args((!world.is_sealed()).then_some("--cleartext"));
    server.arg(world.clients.len().to_string());
    let server = harness::start(server);
    let address = server.until_output(|text| {
        let port = text.split_once('\n')?.0.rsplit_once(':')?.1;
        Some(format!("127.0.0.1:{port}"))
    });
    (server, address)
}

/// The command of a client, which `mpirun` starts with `words`.
pub fn client(
    key: &PathBuf, world: World, address: &str, number: usize, words: &[&str],
) -> Command {
    let (ranks, client) = (world.clients[number].to_string(), number.to_string());
    let options = ["--impi-server", address, "--impi-client", &client, "-n", &ranks];
    let mut command = harness::mpirun(&[&options[..], words].concat());
    command.env("SUIRO_IMPI_KEY_FILE", key).env("IMPI_AUTH_NONE", "1");
    command.env("CHECK_STRICT", "1").envs(world.environment.iter().copied());
    if number == 0 {
        command.envs(world.of_first.iter().copied());
    }
    if let Some(representation) = world.representations.get(number) {
        command.env("SUIRO_IMPI_REPRESENTATION", representation);
    }
    command
}

/// Starts a world in which every client runs `words`. `name` is unique among worlds at the same time.
pub fn start(name: &str, world: World, words: &[&str]) -> RunningWorld {
    start_each(name, world, &vec![words.to_vec(); world.clients.len()])
}

/// [`start`] with the words of each client.
pub fn start_each(name: &str, world: World, words: &[Vec<&str>]) -> RunningWorld {
    let key = harness::folder(&format!("clients-{name}")).join("key");
    let (server, address) = serve(&key, world);
    let command = |number: usize| client(&key, world, &address, number, &words[number]);
    let clients = (0..world.clients.len()).map(|number| harness::start(command(number)));
    RunningWorld { server, clients: clients.collect() }
}

impl RunningWorld {
    /// Waits for all; the clients, and the server.
    pub fn wait(self) -> (Vec<Outcome>, Outcome) {
        let clients = self.clients.into_iter().map(Running::wait).collect();
        (clients, self.server.wait())
    }
}
