//! Latency of 8 bytes between two processes, at the level of the device and of the engine.
//!
//! `stages device|engine WINDOWS` prints nanoseconds one way, one figure a window of round trips
//! (see `scripts/bench-peers --groups stages`). Each of the two processes is confined to a
//! processor.

use std::env;
use std::hint::{black_box, spin_loop};
use std::os::fd::AsRawFd;
use std::process::{Command, id};
use std::time::Instant;

use mpi_abi::device::{Device, Header, PacketSink};
use mpi_abi::devices::shm::{CopyMethod, Shm};
use mpi_abi::engine::Engine;
use mpi_abi::engine::memory::Memory;
use mpi_abi::engine::point_to_point::matching::MatchPattern;
use mpi_abi::engine::point_to_point::send::Mode;
use mpi_abi::engine::point_to_point::wire::Envelope;
use platform::base::Peer;
use platform::sys::{cpu, shm};

const TRIPS: u32 = 1000;
/// Variable with the segment for the second process: pid and descriptor.
const SEGMENT: &str = "STAGES_SEGMENT";

fn main() {
    let words: Vec<String> = env::args().skip(1).collect();
    let [stage, windows] = &words[..] else { panic!("usage: stages device|engine WINDOWS") };
    let windows = windows.parse().expect("a number of windows");
    let cpus = cpu::affinity().expect("the affinity mask");
    assert!(cpus.len() >= 2, "two processors are needed");
    if let Ok(location) = env::var(SEGMENT) {
        let (pid, number) = location.split_once(' ').expect("two numbers");
        let segment = shm::open_of(pid.parse().unwrap(), number.parse().unwrap()).unwrap();
        cpu::set_affinity(&cpus[1..2]).unwrap();
        run(Shm::attach(segment, 1, &[0, 1], CopyMethod::Pipe).unwrap(), 1, stage, windows);
        return;
    }
    let segment = shm::create().expect("shared memory");
    let location = format!("{} {}", id(), segment.as_raw_fd());
    let own = env::current_exe().expect("the path of this program");
    let mut other = Command::new(own).args(&words).env(SEGMENT, location).spawn().unwrap();
    cpu::set_affinity(&cpus[..1]).unwrap();
    let device = Shm::attach(segment.try_clone().unwrap(), 0, &[0, 1], CopyMethod::Pipe).unwrap();
    for figure in run(device, 0, stage, windows) {
        println!("{figure:.2}");
    }
    assert!(other.wait().unwrap().success());
}

fn run(device: Shm, me: Peer, stage: &str, windows: usize) -> Vec<f64> {
    match stage {
        "device" => bare(device, me, windows),
        "engine" => matched(Engine::new(device, me, 2), me, windows),
        _ => panic!("no such stage: {stage}"),
    }
}

/// Nanoseconds one way for each window of round trips, each two halves that `half` makes.
fn measure(me: Peer, windows: usize, mut half: impl FnMut(bool)) -> Vec<f64> {
    let mut window = |_| {
        let begin = Instant::now();
        for _ in 0..TRIPS {
            half(me == 0);
            half(me == 1);
        }
        begin.elapsed().as_nanos() as f64 / f64::from(2 * TRIPS)
    };
    window(0);
    (0..windows).map(window).collect()
}

/// Takes the first word of each packet.
struct Words(u64);

impl PacketSink for Words {
    #[inline]
    fn packet(&mut self, _from: Peer, header: &Header, data: &[u8]) {
        let word = data.first_chunk().map_or(0, |word| u64::from_ne_bytes(*word));
        self.0 = self.0.wrapping_add(word ^ header.words[0]);
    }
}

fn bare(mut device: Shm, me: Peer, windows: usize) -> Vec<f64> {
    let (mut sink, data) = (Words(0), [me as u8; 8]);
    let figures = measure(me, windows, |sends| {
        if sends {
            device.send_short(1 - me, &Header::default(), black_box(&data)).unwrap();
            return;
        }
        while device.poll(&mut sink) == 0 {
            spin_loop();
        }
    });
    black_box(sink.0);
    figures
}

fn matched(mut engine: Engine<Shm>, me: Peer, windows: usize) -> Vec<f64> {
    let (buffer, to) = (Memory::owned(vec![me as u8; 8]), 1 - me);
    let envelope = Envelope { context: 1, source: me, tag: 1 };
    let pattern = MatchPattern { context: 1, source: Some(to), tag: Some(1) };
    measure(me, windows, |sends| {
        if sends {
            assert!(engine.send(to, envelope, buffer.alias(), Mode::Standard).is_none());
            return;
        }
        let operation = engine.receive(pattern, buffer.alias());
        while engine.take_completion(operation).is_none() {
            if engine.poll() == 0 {
                spin_loop();
            }
        }
    })
}
