//! Runs a program in a set-up: one job, or a server of IMPI and several jobs that join one world.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::{Duration, Instant},
};

use super::{
    experiment::{Carrier, Setup},
    sites::Sites,
};
use crate::{
    job::{self, Stop, Together},
    matrix::Program,
    toolchain::{Scratch, Toolchain},
};

/// The time in which the server of a world must say its address.
const SERVER_START: Duration = Duration::from_secs(10);

/// Algorithms that regard all ranks as equally near, for the collectives of the kernels.
const FLAT: [(&str, &str); 6] = [
    ("SUIRO_COLL_ALLGATHER", "linear"),
    ("SUIRO_COLL_ALLREDUCE", "doubling"),
    ("SUIRO_COLL_ALLTOALL", "spread"),
    ("SUIRO_COLL_BARRIER", "dissemination"),
    ("SUIRO_COLL_BCAST", "binomial"),
    ("SUIRO_COLL_REDUCE", "binomial"),
];

/// What runs of all set-ups need.
pub(super) struct Stage<'a> {
    pub ours: &'a Toolchain,
    /// Another MPI library, and its library with the standard ABI.
    pub vendor: Option<(&'a Toolchain, PathBuf)>,
    /// The hosts with a slow link.
    pub sites: Option<Sites>,
    pub scratch: &'a Scratch,
    pub stop: &'a Stop,
    /// Time limit of a run.
    pub limit: Duration,
}

impl Stage<'_> {
    /// Whether the set-up can run here.
    pub(super) fn has(&self, setup: &Setup) -> bool {
        (self.vendor.is_some() || !setup.needs_vendor())
            && (self.sites.is_some() || !setup.has_link)
    }

    /// Runs the program; what rank 0 has printed.
    ///
    /// # Errors
    /// A job fails, or exceeds the time limit; with lines of its output.
    pub(super) fn run(
        &self, setup: &Setup, program: &Program, ranks: u32,
    ) -> Result<String, String> {
        let folder = self.scratch.path().join("job");
        fs::create_dir_all(&folder)
            .map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
        let shares = setup.shares(ranks);
        let commands = setup.clusters.iter().zip(shares).map(|(carrier, share)| {
            let mut command = self.command(*carrier, setup, share, program);
            command.current_dir(&folder);
            command
        });
        let mut commands: Vec<_> = commands.collect();
        let output = match commands.pop() {
            Some(one) if commands.is_empty() => {
                let log = self.log(0);
                job::run(one, &log, self.limit, self.stop).map_err(|why| job::explained(&why, &log))
            }
            last => self.world(setup, commands.into_iter().chain(last).collect()),
        };
        // Files that a kernel writes beside its output are not needed.
        let _ = fs::remove_dir_all(&folder);
        output
    }

    fn log(&self, client: usize) -> PathBuf {
        self.scratch.path().join(format!("client{client}.log"))
    }

    /// The command of a cluster.
    fn command(&self, carrier: Carrier, setup: &Setup, ranks: u32, program: &Program) -> Command {
        let mut command = match (carrier, &self.vendor) {
            (Carrier::Vendor, Some((peer, library))) => {
                let mut command = self.ours.launcher_of(peer);
                command.env("SUIRO_DEVICE", "vendor").env("SUIRO_VENDOR_LIBRARY", library);
                command.env("SUIRO_VENDOR_MODE", setup.mode);
                command
            }
            (Carrier::Device(device), _) => {
                let mut command = self.ours.launcher();
                command.env("SUIRO_DEVICE", device).env("SUIRO_PROGRESS", setup.mode);
                command
            }
            (Carrier::Vendor, None) => unreachable!("only set-ups that this stage has are run"),
        };
        if setup.is_flat {
            command.envs(FLAT);
        }
        command.args(["-n", &ranks.to_string()]).arg(&program.path).args(&program.arguments);
        command
    }

    /// Runs these jobs as the clients of one world.
    fn world(&self, setup: &Setup, clients: Vec<Command>) -> Result<String, String> {
        let sites = self.sites.as_ref().filter(|_| setup.has_link);
        let placed = |host: usize, command: Command| match sites {
            Some(sites) => sites.on(host, &command),
            None => command,
        };
        let key = self.scratch.path().join("impi-key");
        let log = self.scratch.path().join("server.log");
        let mut server = self.ours.program("suiro-impi-server");
        server.arg("--key-file").arg(&key).arg(clients.len().to_string());
        let mut together = Together::default();
        together.start(placed(0, server), &log)?;
        let address = self.address(&log)?;
        for (client, mut command) in clients.into_iter().enumerate() {
            command.env("SUIRO_IMPI_SERVER", &address).env("SUIRO_IMPI_KEY_FILE", &key);
            command.env("SUIRO_IMPI_CLIENT", client.to_string());
            together.start(placed(client, command), &self.log(client))?;
        }
        let explained = |why: String, client| job::explained(&why, &self.log(client));
        let statuses = together.wait(self.limit, self.stop).map_err(|why| explained(why, 0))?;
        // The server is the first.
        if let Some(index) = (1..statuses.len()).find(|index| !statuses[*index].success()) {
            return Err(explained(format!("client {}: {}", index - 1, statuses[index]), index - 1));
        }
        if !statuses[0].success() {
            return Err(job::explained(&format!("the server: {}", statuses[0]), &log));
        }
        fs::read_to_string(self.log(0)).map_err(|error| error.to_string())
    }

    /// The address that the server prints first.
    fn address(&self, log: &Path) -> Result<String, String> {
        let end = Instant::now() + SERVER_START;
        while Instant::now() < end && !self.stop.is_interrupted() {
            let text = fs::read_to_string(log).unwrap_or_default();
            if let Some(line) = address_in(&text) {
                return Ok(line.to_owned());
            }
            thread::sleep(Duration::from_millis(5));
        }
        Err(job::explained("the server of IMPI has not said its address", log))
    }
}

/// The first line that is an address with a port, if it is complete.
fn address_in(text: &str) -> Option<&str> {
    let is_address = |line: &&str| line.parse::<std::net::SocketAddr>().is_ok();
    text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')).find(is_address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_a_whole_line() {
        assert_eq!(address_in("10.77.0.1:40123\n127.0.0.1:40123\n"), Some("10.77.0.1:40123"));
        assert_eq!(address_in("a note: 1\n[fd77::1]:4012\n"), Some("[fd77::1]:4012"));
        assert_eq!(address_in("10.77.0.1:401"), None);
        assert_eq!(address_in(""), None);
    }
}
