//! Two clients of one world (IMPI) at two sites, with a slow link between them: programs run, and when the link
//! fails, each rank of both sides ends in time, and says which client is out of reach.

use std::time::{Duration, Instant};

use super::cluster::Hosts;
use crate::harness::{self, Running, root};

/// The longest time from the failure of the link to the end of both clients.
const END_MAX: Duration = Duration::from_secs(5);

/// A world of two clients of two ranks, on one host each.
struct World {
    hosts: Hosts,
    server: Running,
    clients: [Running; 2],
}

impl World {
    /// Starts both clients with the program `c-tests/clients/NAME.c`; `None` where hosts cannot be made.
    /// `options` are those of `mpirun`, of both.
    fn start(options: &[&str], name: &str, arguments: &[&str]) -> Option<Self> {
        let hosts = Hosts::up_with(2, &["--wan", "10ms,100Mbit"])?;
        let source = root().join("c-tests/clients").join(name).with_extension("c");
        let program = harness::compile(&source, &["-std=c11", "-O2", "-g", "-pthread"]);
        let key = harness::folder(&format!("wan-{}", std::process::id())).join("key");
        let key = key.to_str().unwrap();
        let server = ["--key-file", key, "2"];
        let server =
            hosts.start("node1", &[&[&*harness::built("suiro-impi-server")], &server[..]].concat());
        let address = server.until_output(|text| Some(text.split_once('\n')?.0.to_owned()));
        let client = |number: &str, host: &str| {
            let mpirun = harness::built("mpirun");
            let own =
                [&*mpirun, "--impi-server", &address, "--impi-key-file", key, "--impi-client"];
            let words = ["-n", "2", program.to_str().unwrap()];
            hosts.start(host, &[&own[..], &[number], options, &words, arguments].concat())
        };
        let clients = [client("0", "node1"), client("1", "node2")];
        Some(Self { hosts, server, clients })
    }

    /// A world in which all ranks wait for a message that nobody sends.
    fn waiting(options: &[&str]) -> Option<Self> {
        let world = Self::start(options, "wait", &[])?;
        for client in &world.clients {
            client.until_output(|text| (text.matches("waiting\n").count() == 2).then_some(()));
        }
        Some(world)
    }

    /// After `words` of `scripts/hosts`: all end in time, each client names the other and its host, and the
    /// server, which has had nothing to do, names those that have gone without a word.
    fn ends_by(self, words: &[&str]) {
        self.hosts.run(words);
        let begin = Instant::now();
        let [first, second] = self.clients.map(|client| client.wait_from(begin));
        let (server_took, server) = self.server.wait_from(begin);
        for ((took, outcome), other, address) in [
            (first, "client 1 at host ", "(10.77.0.2:"),
            (second, "client 0 at host ", "(10.77.0.1:"),
        ] {
            let said = &outcome.stderr;
            assert!(took < END_MAX, "{took:?}: {said}");
            assert_ne!(outcome.code, Some(0), "{said}");
            assert!(said.contains(other) && said.contains(address), "{other}: {said}");
        }
        let said = &server.stderr;
        assert!(server_took < END_MAX, "{server_took:?}: {said}");
        assert_eq!(server.code, Some(1), "{said}");
        assert!(said.contains("client 1"), "{said}");
    }
}

#[test]
fn a_program_of_two_sites() {
    let Some(world) = World::start(&[], "world", &["2", "2"]) else { return };
    let [first, second] = world.clients.map(Running::wait);
    let said = (first.text(), &first.stderr, &second.stderr);
    let good = [first.code, second.code] == [Some(0); 2] && said.0.contains("errors = 0\n");
    assert!(good, "{:?} {:?} {said:?}", first.code, second.code);
    assert_eq!(world.server.wait().code, Some(0));
}

/// Nothing arrives any more, and nothing says so.
#[test]
fn a_silent_link() {
    let Some(world) = World::waiting(&[]) else { return };
    world.ends_by(&["cut", "wan"]);
}

/// The connections end at both sides, as by a firewall that has lost its state.
#[test]
fn a_link_that_resets_connections() {
    for options in [&[][..], &["--impi-gateway"]] {
        let Some(world) = World::waiting(options) else { return };
        world.ends_by(&["cut", "wan", "--reset"]);
    }
}
