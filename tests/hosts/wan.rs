//! Two clients of one world (IMPI) at two sites, with a slow link between them: programs run, and when the link
//! fails, each rank of both sides ends in time, and says which client is out of reach.

use std::time::{Duration, Instant};

use super::cluster::Hosts;
use crate::harness::{self, Running, root};

/// The longest time from the failure of the link to the end of both clients.
const END_MAX: Duration = Duration::from_secs(5);

/// Two hosts with a slow link between them.
fn sites() -> Option<Hosts> {
    Hosts::up_with(2, &["--wan", "10ms,100Mbit"])
}

/// A world of two clients of two ranks, on one host each.
struct World {
    server: Running,
    clients: [Running; 2],
}

impl World {
    /// Starts both clients with these words, and options of `mpirun`. `name` is unique.
    fn start(hosts: &Hosts, name: &str, options: &[&str], words: &[&str]) -> Self {
        let key = harness::folder(&format!("wan-{name}")).join("key");
        let key = key.to_str().unwrap();
        let server = harness::built("suiro-impi-server");
        let server = hosts.start("node1", &[&server, "--key-file", key, "2"]);
        let address = server.until_output(|text| Some(text.split_once('\n')?.0.to_owned()));
        let mpirun = harness::built("mpirun");
        let client = |number: &str, host: &str| {
            let joins = ["--impi-server", &address, "--impi-client", number];
            let own = [&*mpirun, "--impi-key-file", key, "-n", "2"];
            hosts.start(host, &[&own[..], &joins, options, words].concat())
        };
        let clients = [client("0", "node1"), client("1", "node2")];
        Self { server, clients }
    }

    /// A world in which all ranks wait for a message that nobody sends.
    fn waiting(hosts: &Hosts, name: &str, options: &[&str]) -> Self {
        let world = Self::start(hosts, name, options, &[&program("wait")]);
        for client in &world.clients {
            client.until_output(|text| (text.matches("waiting\n").count() == 2).then_some(()));
        }
        world
    }

    /// A world in which all ranks exchange long messages for ever.
    fn exchanging(hosts: &Hosts, name: &str) -> Self {
        let words = [&*harness::compiled("patterns"), "/nonexistent"];
        let world = Self::start(hosts, name, &[], &words);
        world.clients[0].until_output(|text| text.contains("under way\n").then_some(()));
        world
    }

    /// The link has failed at `begin`: all end in time, each client names the other and its host, and the
    /// server, which has had nothing to do, names those that have gone without a word.
    fn has_ended(self, begin: Instant) {
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

/// The program `c-tests/clients/NAME.c`.
fn program(name: &str) -> String {
    let source = root().join("c-tests/clients").join(name).with_extension("c");
    let program = harness::compile(&source, &["-std=c11", "-O2", "-g", "-pthread"]);
    program.to_str().unwrap().to_owned()
}

/// Worlds at once: one waits, one waits behind gateways, one exchanges messages. After `words` of
/// `scripts/hosts`, all end.
fn all_end_by(words: &[&str]) {
    let Some(hosts) = sites() else { return };
    let name = words.join("-");
    let worlds = [
        World::waiting(&hosts, &format!("{name}-direct"), &[]),
        World::waiting(&hosts, &format!("{name}-gateway"), &["--impi-gateway"]),
        World::exchanging(&hosts, &format!("{name}-exchange")),
    ];
    hosts.run(words);
    let begin = Instant::now();
    worlds.into_iter().for_each(|world| world.has_ended(begin));
}

#[test]
fn a_program_of_two_sites() {
    let Some(hosts) = sites() else { return };
    let world = World::start(&hosts, "world", &[], &[&program("world"), "2", "2"]);
    let [first, second] = world.clients.map(Running::wait);
    let said = (first.text(), &first.stderr, &second.stderr);
    let good = [first.code, second.code] == [Some(0); 2] && said.0.contains("errors = 0\n");
    assert!(good, "{:?} {:?} {said:?}", first.code, second.code);
    assert_eq!(world.server.wait().code, Some(0));
}

/// Nothing arrives any more, and nothing says so.
#[test]
fn a_silent_link() {
    all_end_by(&["cut", "wan"]);
}

/// The connections end at both sides, as by a firewall that has lost its state.
#[test]
fn a_link_that_resets_connections() {
    all_end_by(&["cut", "wan", "--reset"]);
}
