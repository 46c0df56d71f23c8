//! Benchmark of the device `shm`, beside the transfer of a bare cache line in the same run.
//!
//! Two threads, each confined to a processor. `cargo run --release --example shm_device`. (It is no
//! `bench` target: that would build the library a second time, without `panic = "abort"`, under the
//! same file name.)

use std::hint::{black_box, spin_loop};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use mpi_abi::device::{Device, Header, PacketSink};
use mpi_abi::devices::shm::{CopyMethod, Shm};
use platform::base::Peer;
use platform::sys::{cpu, shm};

const ROUND_TRIPS: u64 = 50_000;
const RATE_PACKETS: u64 = 2_000_000;
const STREAM_BYTES: usize = 512 << 20;
const REPETITIONS: usize = 5;

fn main() {
    let cpus = cpu::affinity().expect("the affinity mask");
    if cpus.len() < 2 {
        println!("two processors are needed");
        return;
    }
    println!("{REPETITIONS} repetitions on processors {} and {}", cpus[0], cpus[1]);
    for _ in 0..REPETITIONS {
        for work in [0, 25, 50, 100] {
            let (line, short) = (bare_line(&cpus, work), ping_pong(&cpus, 8, work));
            let (ratio, full) = (short / line, ping_pong(&cpus, 40, work));
            println!(
                "work {work:3}: bare line {line:5.1} ns   8 B {short:5.1} ns ({ratio:.2})   \
                 40 B {full:5.1} ns"
            );
        }
        println!("  8 B rate {:5.1} million packets/s", rate(&cpus, 8));
        for message in [64 << 10, 1 << 20, 4 << 20] {
            let speed = stream(&cpus, message);
            println!("  stream of {:4} KiB {speed:5.1} GB/s", message >> 10);
        }
    }
    for rings in [0, 1, 16] {
        println!("empty poll, {rings:2} rings: {:4.1} ns", empty_poll(rings));
    }
    println!("arm and disarm: {:.0} ns", arm());
}

/// Runs one function on each processor and returns the result of the first.
fn both<T: Send>(
    cpus: &[usize], first: impl FnOnce() -> T + Send, second: impl FnOnce() + Send,
) -> T {
    thread::scope(|scope| {
        scope.spawn(|| {
            cpu::set_affinity(&cpus[1..2]).unwrap();
            second();
        });
        let first = scope.spawn(|| {
            cpu::set_affinity(&cpus[..1]).unwrap();
            first()
        });
        first.join().unwrap()
    })
}

fn network(ranks: usize) -> Vec<Shm> {
    let segment = shm::create().unwrap();
    let peers: Vec<Peer> = (0..ranks as Peer).collect();
    let attach =
        |me| Shm::attach(segment.try_clone().unwrap(), me, &peers, CopyMethod::Pipe).unwrap();
    (0..ranks).map(attach).collect()
}

fn pair() -> (Shm, Shm) {
    let mut ranks = network(2);
    (ranks.remove(0), ranks.remove(0))
}

/// Keeps the processor busy between arrival and reply, as the layers above do: `work` times a
/// multiplication and an addition.
fn think(work: u32) {
    let mut value = black_box(1_u64);
    for _ in 0..work {
        value = black_box(value.wrapping_mul(3) + 1);
    }
}

/// Nanoseconds for the transfer of a changed line to the other processor and the work there.
fn bare_line(cpus: &[usize], work: u32) -> f64 {
    #[repr(align(128))]
    struct Line(AtomicU64);
    let line = Arc::new(Line(AtomicU64::new(0)));
    let other = line.clone();
    let bounce = |line: &AtomicU64, mine: u64| {
        let begin = Instant::now();
        for round in 0..ROUND_TRIPS {
            while line.load(Ordering::Acquire) != 2 * round + mine {
                spin_loop();
            }
            think(work);
            line.store(2 * round + mine + 1, Ordering::Release);
        }
        begin.elapsed().as_nanos() as f64 / (2 * ROUND_TRIPS) as f64
    };
    both(
        cpus,
        || bounce(&line.0, 0),
        || {
            bounce(&other.0, 1);
        },
    )
}

/// Takes the first word of each packet.
#[derive(Default)]
struct Words {
    sum: u64,
}

impl PacketSink for Words {
    fn packet(&mut self, _from: Peer, header: &Header, data: &[u8]) {
        let word = data.first_chunk().map_or(0, |word| u64::from_ne_bytes(*word));
        self.sum = self.sum.wrapping_add(word ^ header.words[0]);
    }
}

/// Nanoseconds from one rank to the other, and the work there.
fn ping_pong(cpus: &[usize], len: usize, work: u32) -> f64 {
    let (first, second) = pair();
    let run = |mut device: Shm, me: Peer| {
        let (mut sink, data) = (Words::default(), [me as u8; 40]);
        let mut round_trip = |round: u64| {
            let header = Header { words: [round, 0], kind: 1 };
            if me == 0 {
                device.send_short(1, &header, black_box(&data[..len])).unwrap();
            }
            while device.poll(&mut sink) == 0 {
                spin_loop();
            }
            think(work);
            if me == 1 {
                device.send_short(0, &header, black_box(&data[..len])).unwrap();
            }
        };
        (0..1000).for_each(&mut round_trip);
        let begin = Instant::now();
        (0..ROUND_TRIPS).for_each(&mut round_trip);
        black_box(sink.sum);
        begin.elapsed().as_nanos() as f64 / (2 * ROUND_TRIPS) as f64
    };
    both(
        cpus,
        || run(first, 0),
        || {
            run(second, 1);
        },
    )
}

/// Millions of packets a second in one direction.
fn rate(cpus: &[usize], len: usize) -> f64 {
    let (mut sender, mut receiver) = pair();
    let send = move || {
        let data = [1; 40];
        for round in 0..RATE_PACKETS {
            let header = Header { words: [round, 0], kind: 1 };
            while sender.send_short(1, &header, black_box(&data[..len])).is_err() {
                spin_loop();
            }
        }
    };
    let receive = move || {
        let (mut sink, mut count) = (Words::default(), 0);
        let begin = Instant::now();
        while count < RATE_PACKETS {
            count += receiver.poll(&mut sink) as u64;
        }
        black_box(sink.sum);
        count as f64 / begin.elapsed().as_micros() as f64
    };
    both(cpus, receive, send)
}

/// Gigabytes a second for messages of `message` bytes, each answered by an empty packet.
fn stream(cpus: &[usize], message: usize) -> f64 {
    /// Copies packets to their message.
    struct Assemble {
        message: Vec<u8>,
        filled: usize,
    }
    impl PacketSink for Assemble {
        fn packet(&mut self, _from: Peer, _header: &Header, data: &[u8]) {
            // One poll may reach into the next message, which overwrites this one.
            let at = self.filled % self.message.len();
            self.message[at..][..data.len()].copy_from_slice(data);
            self.filled += data.len();
        }
    }
    let (mut sender, mut receiver) = pair();
    let messages = STREAM_BYTES / message;
    let window = 8;
    let header = Header::default();
    let send = move || {
        let (packet, source) = (sender.caps().packet_max, vec![3_u8; message]);
        let mut answers = Words::default();
        let begin = Instant::now();
        let mut open = 0;
        for _ in 0..messages {
            for part in source.chunks(packet) {
                let fill = |packet: &mut [u8]| packet.copy_from_slice(part);
                while sender.send(1, &header, part.len(), fill).is_err() {
                    spin_loop();
                }
            }
            open += 1;
            while open == window {
                open -= sender.poll(&mut answers).min(open);
            }
        }
        while open > 0 {
            open -= sender.poll(&mut answers).min(open);
        }
        (messages * message) as f64 / begin.elapsed().as_nanos() as f64
    };
    let receive = move || {
        let mut sink = Assemble { message: vec![0; message], filled: 0 };
        for _ in 0..messages {
            while sink.filled < message {
                if receiver.poll(&mut sink) == 0 {
                    spin_loop();
                }
            }
            sink.filled -= message;
            receiver.send_short(0, &header, &[]).unwrap();
        }
    };
    both(cpus, send, receive)
}

/// Nanoseconds of an empty poll, with this number of rings in use.
fn empty_poll(rings: usize) -> f64 {
    const POLLS: u32 = 2_000_000;
    let mut ranks = network(rings + 1);
    let mut sink = Words::default();
    for _ in 0..20 {
        for sender in 1..=rings {
            ranks[sender].send_short(0, &Header::default(), b"").unwrap();
            ranks[0].poll(&mut sink);
        }
    }
    let begin = Instant::now();
    for _ in 0..POLLS {
        black_box(ranks[0].poll(black_box(&mut sink)));
    }
    begin.elapsed().as_nanos() as f64 / f64::from(POLLS)
}

/// Nanoseconds of `arm` and `disarm`.
fn arm() -> f64 {
    const TIMES: u32 = 20_000;
    let (mut device, _other) = pair();
    let begin = Instant::now();
    for _ in 0..TIMES {
        black_box(device.arm());
        device.disarm();
    }
    begin.elapsed().as_nanos() as f64 / f64::from(TIMES)
}
