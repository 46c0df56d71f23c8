//! `suiro-impi-server`: clients that join, lie, die or are strangers, and the server that ends early.

use std::fs;
use std::io::{Read, Write};
use std::net::{IpAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use platform::base::Representation;
use platform::impi::{
    AgreedSettings, Authentication, ClientOffer, HostOffer, ImpiKeyFile, ImpiSecurity, ProcessId,
    ServerConnection, World, host_address, join,
};
use platform::network::SharedSecret;

use super::harness::{Outcome, Running, built, folder, marked, mpirun, start};

/// What the tests allow for everything.
const LIMIT: Duration = Duration::from_secs(60);

const KEY: &str = "1234567890123456789";

/// A server that listens.
struct Server {
    running: Running,
    port: u16,
    security: ImpiSecurity,
}

fn command(home: &Path, words: &str) -> Command {
    let mut command = marked(&built("suiro-impi-server"));
    command.env("HOME", home).args(words.split_whitespace());
    command
}

fn port_of(running: &Running) -> u16 {
    running.until_output(|text| {
        let (line, _) = text.split_once('\n')?;
        Some(line.rsplit_once(':').unwrap().1.parse().unwrap())
    })
}

impl Server {
    fn sealed(name: &str, words: &str) -> Self {
        let home = folder(name);
        let running = start(command(&home, words));
        let port = port_of(&running);
        let file = home.join(".suiro/impi-key");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let key = ImpiKeyFile(file).read().unwrap();
        Self { running, port, security: ImpiSecurity::Sealed(key) }
    }

    fn cleartext(name: &str, words: &str) -> Self {
        let mut command = command(&folder(name), words);
        command.arg("--cleartext").env("IMPI_AUTH_KEY", KEY);
        let running = start(command);
        let authentication = Authentication { accepts_none: true, key: KEY.parse().ok() };
        let (port, security) = (port_of(&running), ImpiSecurity::Cleartext(authentication));
        Self { running, port, security }
    }

    fn place(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// A client joins on a thread.
    fn client(&self, number: u32) -> Joining {
        self.client_with(number, &self.security)
    }

    fn client_with(&self, number: u32, security: &ImpiSecurity) -> Joining {
        let (place, security) = (self.place(), security.clone());
        thread::spawn(move || {
            join(&place, number, &offer(number), &security, Instant::now() + LIMIT)
        })
    }

    /// Waits for a text on standard error.
    fn until_said(&self, wanted: &str) {
        self.running.until_errors(|text| text.contains(wanted).then_some(()));
    }
}

type Joining = thread::JoinHandle<Result<(World, ServerConnection), String>>;

fn joined(joining: Joining) -> (World, ServerConnection) {
    joining.join().unwrap().unwrap()
}

fn refused(joining: Joining) -> String {
    match joining.join().unwrap() {
        Ok((world, _)) => panic!("{world:?}"),
        Err(why) => why,
    }
}

/// Client K has K + 1 hosts; host H of them has H + 1 processes.
fn offer(client: u32) -> ClientOffer {
    let host = |host: u32| {
        let address = host_address(IpAddr::from([10, 0, client as u8, host as u8]));
        let processes = (0..=host).map(|pid| ProcessId { address, pid: i64::from(pid) }).collect();
        HostOffer { address, port: 4000 + host, ack_mark: 10, high_water: 20, processes }
    };
    ClientOffer {
        hosts: (0..=client).map(host).collect(),
        data_len: 1000 * (client + 1),
        tag_ub: i32::MAX as u32,
        collective_xsize: -1,
        collective_max_linear: -1,
        representation: Some(Representation::NATIVE),
        settings: AgreedSettings::default(),
    }
}

#[test]
fn clients_of_unequal_size_join_one_world() {
    for count in [2, 3] {
        for server in [
            Server::sealed("launch-impi-join", &count.to_string()),
            Server::cleartext("launch-impi-join", &count.to_string()),
        ] {
            let joining: Vec<_> = (0..count).rev().map(|number| server.client(number)).collect();
            let (worlds, connections): (Vec<_>, Vec<_>) = joining.into_iter().map(joined).unzip();
            let world = &worlds[0];
            assert!(worlds.iter().all(|other| other == world), "{worlds:?}");
            let is_sealed = matches!(server.security, ImpiSecurity::Sealed(_));
            assert_eq!(world.id != [0; 16], is_sealed);
            assert_eq!((world.clients.len(), world.data_len), (count as usize, 1000));
            assert_eq!(world.ranks_of(1), 1..4);
            for (client, number) in world.clients.iter().zip(0..) {
                assert_eq!(client.hosts, offer(number).hosts);
            }
            connections.into_iter().for_each(ServerConnection::fini);
            let outcome = server.running.wait();
            assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
            assert!(outcome.stderr.contains(&format!("all {count} clients have started")));
            // Each line is a place where the server can be reached.
            assert!(
                outcome.text().lines().all(|line| line.ends_with(&format!(":{}", server.port)))
            );
        }
    }
}

#[test]
fn clients_that_do_not_belong_here_are_refused_and_others_join() {
    let other = ImpiSecurity::Sealed(SharedSecret([1; 32]));
    let clear = ImpiSecurity::Cleartext(Authentication { accepts_none: true, key: Some(1) });
    for (server, cases) in [
        (
            Server::sealed("launch-impi-refused", "2"),
            [
                (0, &other, "it has closed the connection, because it has another key, or was sta"),
                (0, &clear, "without an answer: it accepts no authentication of this client, or w"),
            ],
        ),
        (
            Server::cleartext("launch-impi-refused", "2"),
            [
                (0, &clear, "the server has refused this connection: it has another IMPI_AUTH_KEY"),
                (0, &other, "it does not speak the encrypted protocol of Suiro (is it an IMPI ser"),
            ],
        ),
    ] {
        for (number, security, part) in cases {
            let why = refused(server.client_with(number, security));
            let start =
                format!("cannot join the IMPI server {} as client {number}: ", server.place());
            assert!(why.starts_with(&start) && why.contains(part), "{why}");
        }
        let why = refused(server.client(2));
        assert!(why.contains("it is client 2; expected 0 to 1, because the server was"), "{why}");
        let first = server.client(0);
        server.until_said("client 0 has joined");
        let why = refused(server.client(0));
        assert!(why.contains("it is client 0, which is already 127.0.0.1:"), "{why}");
        let (other, first) = (joined(server.client(1)), joined(first));
        assert_eq!(first.0, other.0);
        first.1.fini();
        other.1.fini();
        let outcome = server.running.wait();
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        let refusals = outcome.stderr.matches("was refused: it ").count();
        assert_eq!(refusals, 4, "{}", outcome.stderr);
    }
}

/// A client in the clear that has joined by hand.
fn by_hand(server: &Server, number: u8) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    let key: u64 = KEY.parse().unwrap();
    let said =
        [&b"AUTH\0\0\0\x04\0\0\0\x02"[..], &key.to_be_bytes(), b"IMPI\0\0\0\x04\0\0\0", &[number]];
    stream.write_all(&said.concat()).unwrap();
    let mut answer = [0; 8];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(answer, [0, 0, 0, 1, 0, 0, 0, 8]);
    stream
}

fn failed(server: Server, joining: Vec<Joining>, parts: &[&str]) {
    for joining in joining {
        let why = refused(joining);
        assert!(parts.iter().all(|part| why.contains(part)), "{why}");
    }
    let outcome = server.running.wait();
    assert_eq!(outcome.code, Some(1), "{}", outcome.stderr);
    let last = outcome.stderr.lines().last().unwrap();
    assert!(last.starts_with("suiro-impi-server: the start-up has failed: "), "{last}");
    assert!(parts.iter().all(|part| last.contains(part)), "{last}");
}

#[test]
fn a_client_that_dies_or_lies_in_the_start_up_is_named_on_all_sides() {
    let lost = ["client 1 (127.0.0.1:", ") is lost: it has closed its connection"];
    // Before the others have joined.
    let server = Server::cleartext("launch-impi-dies", "3");
    let (first, hand) = (server.client(0), by_hand(&server, 1));
    server.until_said("client 0 has joined");
    server.until_said("client 1 has joined");
    drop(hand);
    failed(server, vec![first], &lost);
    // After it.
    let server = Server::cleartext("launch-impi-dies", "3");
    let (joining, mut hand) = (vec![server.client(0), server.client(2)], by_hand(&server, 1));
    let mut size = [0; 12];
    hand.read_exact(&mut size).unwrap();
    assert_eq!(size, *b"IMPI\0\0\0\x04\0\0\0\x03");
    drop(hand);
    failed(server, joining, &lost);
    // A lie.
    let server = Server::cleartext("launch-impi-dies", "3");
    let (joining, mut hand) = (vec![server.client(0), server.client(2)], by_hand(&server, 1));
    hand.read_exact(&mut size).unwrap();
    hand.write_all(b"COLL\0\0\0\x0c\0\0\x10\0\0\0\0\x01\0\0\0\0").unwrap();
    let mut heard = Vec::new();
    hand.read_to_end(&mut heard).unwrap();
    assert!(heard.starts_with(b"FAIL\0\0\0"), "{heard:?}");
    failed(
        server,
        joining,
        &["client 1: C_VERSION is 1.0; expected 0.0", "(client 1 is 127.0.0.1:"],
    );
}

#[test]
fn missing_clients_are_named_when_the_time_is_over() {
    let server = Server::sealed("launch-impi-late", "4 --timeout 1s");
    let joining = vec![server.client(1)];
    failed(server, joining, &["after 1s, clients 0, 2 and 3 of 4 have not joined"]);
    // A client has a time of its own, and the others hear that it is gone.
    let server = Server::sealed("launch-impi-late", "3");
    let patient = server.client(2);
    server.until_said("client 2 has joined");
    let (place, security) = (server.place(), server.security.clone());
    let soon = Instant::now() + Duration::from_millis(500);
    let Err(why) = join(&place, 0, &offer(0), &security, soon) else { panic!() };
    assert!(why.contains(" s for the other clients to join; SUIRO_IMPI_TIMEOUT sets"), "{why}");
    failed(server, vec![patient], &["client 0 (127.0.0.1:", "is lost: it has closed"]);
}

#[test]
fn a_server_that_ends_before_the_start_up_is_an_error_and_after_it_harms_nobody() {
    for signal in ["KILL", "TERM"] {
        let server = Server::sealed("launch-impi-gone", "2");
        let first = server.client(0);
        server.until_said("client 0 has joined");
        server.running.signal(signal);
        let why = refused(first);
        let expected = match signal {
            "TERM" => "a signal has ended the server",
            _ => "it has closed the connection while this client waited for the other clients",
        };
        assert!(why.contains(expected), "{why}");
        // It is not there any more.
        let (place, security) = (server.place(), server.security.clone());
        let code = server.running.wait().code;
        assert_eq!(code, if signal == "TERM" { Some(143) } else { None });
        let Err(why) = join(&place, 0, &offer(0), &security, Instant::now() + LIMIT) else {
            panic!()
        };
        assert!(why.contains("Connection refused"), "{why}");
    }
    let server = Server::sealed("launch-impi-gone", "2");
    let (first, other) = (server.client(0), server.client(1));
    let (first, other) = (joined(first), joined(other));
    server.running.signal("KILL");
    server.running.wait();
    first.1.fini();
    other.1.fini();
}

#[test]
fn a_client_that_ends_without_saying_so_is_named() {
    let server = Server::cleartext("launch-impi-lost", "2");
    let (first, other) = (server.client(0), server.client(1));
    let (first, other) = (joined(first), joined(other));
    drop(other);
    server.until_said("has ended without FINI: it has closed its connection");
    first.1.fini();
    let outcome = server.running.wait();
    assert_eq!(outcome.code, Some(1));
    assert!(outcome.stderr.contains("client 1 (127.0.0.1:"), "{}", outcome.stderr);
}

fn descriptors(running: &Running) -> usize {
    fs::read_dir(format!("/proc/{}/fd", running.pid())).unwrap().count()
}

#[test]
fn strangers_and_floods_are_closed_and_clients_join() {
    for server in [
        Server::sealed("launch-impi-strangers", "2"),
        Server::cleartext("launch-impi-strangers", "2"),
    ] {
        let before = descriptors(&server.running);
        let place = ("127.0.0.1", server.port);
        let first = server.client(0);
        let mut silent: Vec<_> = (0..700).map(|_| TcpStream::connect(place).unwrap()).collect();
        let garbage = [
            b"GET / HTTP/1.1\r\n\r\n".to_vec(),
            b"AUTH\0\0\0\x04\0\0\0\x01".to_vec(),
            b"AUTH\0\0\0\x04\0\0\0\x02\0\0\0\0\0\0\0\0".to_vec(),
            b"COLL\0\0\0\x08\0\0\x10\0\0\0\0\0".to_vec(),
            b"AUTH\xff\xff\xff\xff".to_vec(),
            vec![0xf5; 100_000],
            vec![0; 1_000_000],
            [&b"\xf5suiro\x03\x00\x30\x00"[..], &[7; 48]].concat(),
        ];
        for round in 0..40 {
            let mut stranger = TcpStream::connect(place).unwrap();
            // The server may close the connection before it has read all.
            let _ = stranger.write_all(&garbage[round % garbage.len()]);
            stranger.set_read_timeout(Some(LIMIT)).unwrap();
            let mut answer = Vec::new();
            let _ = stranger.read_to_end(&mut answer);
            assert!(answer.len() < 1024 && !answer.starts_with(b"IMPI"), "{answer:?}");
        }
        let other = server.client(1);
        let (first, other) = (joined(first), joined(other));
        for stranger in &mut silent {
            stranger.set_read_timeout(Some(LIMIT)).unwrap();
            let _ = stranger.read_to_end(&mut Vec::new());
        }
        while descriptors(&server.running) > before + 2 {
            thread::sleep(Duration::from_millis(5));
        }
        first.1.fini();
        other.1.fini();
        let outcome = server.running.wait();
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        assert!(outcome.stderr.lines().count() < 30, "{}", outcome.stderr);
        assert!(outcome.stderr.contains("further refusals are not reported"));
    }
}

fn ended(command: Command) -> Outcome {
    start(command).wait()
}

#[test]
fn ports_and_keys_are_those_of_options_and_variables() {
    let home = folder("launch-impi-ports");
    let key = home.join("other/key");
    let mut spelled = command(&home, "-server 1 -port 41000-41999");
    spelled.arg("--key-file").arg(&key);
    let mut ranged = command(&home, "1");
    ranged.env("IMPI_SERVER_PORT_RANGE", "41000:41999");
    ranged.env("SUIRO_IMPI_KEY_FILE", &key);
    for command in [spelled, ranged] {
        let running = start(command);
        let port = port_of(&running);
        assert!((41_000..42_000).contains(&port), "{port}");
        let mut taken = self::command(&home, "1 --timeout 1s");
        taken.arg("--port").arg(port.to_string());
        let outcome = ended(taken);
        assert_eq!(outcome.code, Some(1), "{}", outcome.stderr);
        let part = format!("cannot listen on a port of --port {port}");
        assert!(outcome.stderr.contains(&part), "{}", outcome.stderr);
        let security = ImpiSecurity::Sealed(ImpiKeyFile(key.clone()).read().unwrap());
        let server = Server { running, port, security };
        joined(server.client(0)).1.fini();
        assert_eq!(server.running.wait().code, Some(0));
    }
}

#[test]
fn wrong_arguments_and_files_are_named() {
    let home = folder("launch-impi-wrong");
    let open = home.join("open");
    fs::write(&open, "suiro-impi-key/1 00\n").unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o644)).unwrap();
    let open = open.display().to_string();
    for (words, code, part) in [
        ("".to_owned(), 2, "COUNT"),
        ("0".to_owned(), 2, "1..=32"),
        ("33".to_owned(), 2, "1..=32"),
        ("2 --port x".to_owned(), 2, "--port x: expected a port, or a range"),
        ("2 --timeout soon".to_owned(), 2, "--timeout soon: expected off, or a time"),
        ("2 --cleartext".to_owned(), 2, "in cleartext, IMPI_AUTH_KEY=NUMBER must be set"),
        (format!("2 --key-file {open}"), 1, "another user may have read or written it"),
        ("2 --key-file /proc/none/key".to_owned(), 1, "/proc/none/key: No such file"),
        (format!("2 --cleartext --key-file {open}"), 2, "cannot be used with"),
    ] {
        let outcome = ended(command(&home, &words));
        assert_eq!(outcome.code, Some(code), "{words}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(part), "{words}: {}", outcome.stderr);
        assert_eq!(outcome.text(), "");
    }
    let mut bad_key = command(&home, "2 --cleartext");
    bad_key.env("IMPI_AUTH_KEY", "open sesame");
    let outcome = ended(bad_key);
    assert!(outcome.code == Some(2) && !outcome.stderr.contains("sesame"), "{}", outcome.stderr);
}

#[test]
fn options_of_mpirun_reach_all_ranks_as_variables() {
    let script = "echo $SUIRO_IMPI_SERVER,$SUIRO_IMPI_CLIENT,$SUIRO_IMPI_GATEWAY,\
                  $SUIRO_IMPI_CLEARTEXT,$SUIRO_IMPI_KEY_FILE,$IMPI_AUTH_KEY,$IMPI_AUTH_NONE";
    let all = ["-genvnone", "-n", "2", "/bin/sh", "-c", script];
    let said = |options: &[&str]| {
        let mut command = mpirun(&[options, &all[..]].concat());
        command.env("IMPI_AUTH_KEY", KEY).env("IMPI_AUTH_NONE", "1");
        let outcome = ended(command);
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        let lines = outcome.text().lines().map(str::to_owned).collect::<Vec<_>>();
        assert!(lines.len() == 2 && lines[0] == lines[1], "{lines:?}");
        lines[0].clone()
    };
    let line = said(&["--impi-server", "head:4000", "--impi-client", "3", "--impi-key-file", "/k"]);
    assert_eq!(line, format!("head:4000,3,,,/k,{KEY},1"));
    let line = said(&["-client", "0", "10.0.0.1:80", "--impi-cleartext", "--impi-gateway"]);
    assert_eq!(line, format!("10.0.0.1:80,0,1,1,,{KEY},1"));
    assert_eq!(said(&[]), ",,,,,,");
    let outcome = ended(mpirun(&["--impi-server", "head", "--impi-client", "3", "true"]));
    assert_eq!(outcome.code, Some(2));
    let why = "mpirun: --impi-server head: expected HOST:PORT, as suiro-impi-server prints it\n";
    assert_eq!(outcome.stderr, why);
}
