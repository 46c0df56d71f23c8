//! The roles of this executable when `mpirun` starts it as a rank: it uses PMI as the library does.

use std::env;
use std::fs::File;
use std::process;
use std::thread;
use std::time::Duration;

use platform::bootstrap::{Client, Environment, JobView, RequiredRanks};
use platform::sys::shm;
use platform::sys::socket::SocketStream;

use super::{names, spawn};

pub const ROLE: &str = "SUIRO_TEST_ROLE";

/// The arguments of `mpirun` that start `count` ranks in `role`.
pub fn words(count: &str, role: &str) -> Vec<String> {
    let mut words: Vec<_> = ["-genv", ROLE, role, "-n", count].map(str::to_owned).into();
    words.extend(own_words());
    words
}

/// As [`words`], started by a shell that then runs `then`.
pub fn words_behind_shell(count: &str, role: &str, then: &str) -> Vec<String> {
    let script = format!("\"$0\" \"$@\"; {then}");
    let mut words: Vec<_> =
        ["-genv", ROLE, role, "-n", count, "sh", "-c", &script].map(str::to_owned).into();
    words.extend(own_words());
    words
}

/// This executable, so that it runs [`rank`] and nothing else.
pub fn own_words() -> Vec<String> {
    let own = env::current_exe().unwrap().to_str().unwrap().to_owned();
    let test = format!("{}::rank", module_path!().split_once("::").unwrap().1);
    // With one thread, as on one processor, the name of the test precedes its output.
    let threads = "--test-threads=2";
    [&own, &test, "--exact", "--ignored", "--nocapture", threads].map(str::to_owned).into()
}

#[test]
#[ignore = "a rank that other tests start"]
fn rank() {
    let Ok(role) = env::var(ROLE) else { return };
    if role == "detached" {
        spawn::detached();
    }
    let environment = Environment::read();
    if role == "late" && environment.pmi_rank == Some(1) {
        process::exit(0);
    }
    if role == "noise" {
        make_noise(environment.pmi_fd.unwrap());
    }
    let mut client = Client::connect(&environment, RequiredRanks::All).unwrap().unwrap();
    match role.as_str() {
        "exchange" => exchange(&mut client),
        "job" => describe(&environment, &mut client),
        "late" => client.barrier().unwrap(),
        "names" => spawn::names(&mut client),
        "publish" => spawn::publish(&mut client),
        "lookup" => spawn::lookup(&environment, &mut client),
        "name" => names::rank(&mut client),
        role if role.starts_with("spawn") => spawn::spawn(&mut client),
        "code" => {
            client.finalize().unwrap();
            process::exit(10 + client.attributes().rank as i32);
        }
        _ => {
            client.barrier().unwrap();
            println!("joined {} {}", client.attributes().rank, process::id());
            misbehave(&role, &mut client);
        }
    }
    client.finalize().unwrap();
    process::exit(0);
}

fn misbehave(role: &str, client: &mut Client) {
    match (role, client.attributes().rank) {
        ("abort", 1) => {
            client.abort(42, "the cat is on the keyboard").unwrap();
            process::exit(7);
        }
        ("leave", 1) => process::exit(0),
        ("fall", 1) => process::abort(),
        _ => thread::sleep(Duration::from_secs(600)),
    }
}

/// Every rank reads what every other published.
fn exchange(client: &mut Client) {
    let (rank, size) = (client.attributes().rank, client.attributes().size);
    client.put(&format!("card-{rank}"), &format!("of-{rank}")).unwrap();
    client.barrier().unwrap();
    for other in 0..size {
        let card = client.get(other, &format!("card-{other}")).unwrap();
        assert_eq!(card, Some(format!("of-{other}")));
    }
    client.barrier().unwrap();
    println!("exchanged {rank} {size}");
}

/// Prints the properties of the job. Rank 0 writes the shared file.
fn describe(environment: &Environment, client: &mut Client) {
    let job = JobView::assemble(environment, Some(client)).unwrap();
    let segment = File::from(job.segment.unwrap());
    if job.rank == 0 {
        shm::map(segment.try_clone().unwrap().into(), 4321).unwrap();
        assert!(segment.set_len(1).is_err() && segment.set_len(5000).is_err());
    }
    client.barrier().unwrap();
    let len = segment.metadata().unwrap().len();
    let secret: String = job.secret.unwrap().key.iter().map(|byte| format!("{byte:02x}")).collect();
    println!("job {:?} {:?} {len} {secret}", job.local_ranks, job.app_number);
    let has_secret = |text: &str| text.contains(&secret);
    assert!(!env::vars().any(|(_, value)| has_secret(&value)));
}

/// Violates the protocol, and expects the launcher to close the connection.
fn make_noise(number: i32) {
    let socket = SocketStream::inherit(number).unwrap();
    socket.send_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let received = socket.receive(&mut [0; 64]);
    assert!(received.is_err() || received.unwrap().len_bytes == 0);
    process::exit(0);
}
