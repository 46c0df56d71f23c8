//! One-sided access: memory that is allocated and mapped, processes that end, systems that refuse.

use super::*;
use crate::device::rma::{
    MemoryKey, NumberKind, RemoteAccess, RemoteAddress, Update, UpdateExecutor, UpdateSet,
};
use crate::devices::rings::registrations::REGISTRATIONS;

fn class<T: std::fmt::Debug>(result: Result<T>) -> ErrorClass {
    ErrorClass::from_value(result.unwrap_err().code.0).unwrap()
}

fn allocate(rank: &mut Shm, len: usize, access: RemoteAccess) -> (MemoryKey, Span) {
    rank.rma().unwrap().allocate(len, access).unwrap().expect("shared memory can be mapped")
}

/// The open files of this process that hold memory of ranks.
fn segments() -> usize {
    let files = std::fs::read_dir("/proc/self/fd").unwrap();
    let target =
        |file: std::io::Result<std::fs::DirEntry>| std::fs::read_link(file.ok()?.path()).ok();
    let is_segment =
        |target: &std::path::PathBuf| target.to_string_lossy().contains("suiro-segment");
    files.filter_map(target).filter(is_segment).count()
}

#[test]
fn allocated_memory_is_mapped_by_all_ranks() {
    let mut ranks = network_of(&[4, 9, 2], CopyMethod::Pipe);
    let (key, memory) = allocate(&mut ranks[1], 10_000, RemoteAccess::ReadWrite);
    let mut bytes = [1; 10_000];
    memory.read(0, &mut bytes);
    assert_eq!(bytes, [0; 10_000]);
    let views: Vec<_> = ranks
        .iter_mut()
        .map(|rank| {
            let caps = rank.rma().unwrap().open(9, key).unwrap();
            assert_eq!((caps.updates, caps.executor), (UpdateSet::ALL, UpdateExecutor::Processor));
            caps.mapped.unwrap()
        })
        .collect();
    assert_eq!(views[1], memory);
    assert!(views[0] != memory && views[2] != views[0]);
    let number = |view: usize| views[view].part(9992, 8);
    Update::Add(5).perform(number(0), NumberKind::Unsigned8);
    Update::Add(3).perform(number(2), NumberKind::Unsigned8);
    let mut old = [0; 8];
    memory.read(9992, &mut old);
    assert_eq!(u64::from_ne_bytes(old), 8);
    for peer in [0, 2] {
        let rma = ranks[peer].rma().unwrap();
        rma.close(9, key);
        rma.close(9, key);
        assert!(rma.open(9, key).unwrap().mapped.is_some());
    }
    ranks[1].rma().unwrap().deregister(key);
    for rank in &mut ranks {
        assert_eq!(class(rank.rma().unwrap().open(9, key)), ErrorClass::RmaRange);
    }
}

#[test]
fn memory_of_no_bytes_is_allocated() {
    let mut ranks = network(2);
    let (key, memory) = allocate(&mut ranks[0], 0, RemoteAccess::ReadWrite);
    assert!(memory.is_empty());
    assert_eq!(ranks[1].rma().unwrap().open(0, key).unwrap().mapped.unwrap().len(), 0);
    ranks[0].rma().unwrap().deregister(key);
}

#[test]
fn what_cannot_be_allocated_leaves_nothing() {
    let mut ranks = network(1);
    let rma = ranks[0].rma().unwrap();
    assert_eq!(class(rma.allocate(usize::MAX, RemoteAccess::Read)), ErrorClass::NoMem);
    let keys: Vec<_> = (0..REGISTRATIONS)
        .map(|_| rma.register(Span::EMPTY, RemoteAccess::Read).unwrap())
        .collect();
    let before = segments();
    for _ in 0..100 {
        assert_eq!(class(rma.register(Span::EMPTY, RemoteAccess::Read)), ErrorClass::NoMem);
        assert_eq!(class(rma.allocate(100, RemoteAccess::Read)), ErrorClass::NoMem);
    }
    // Other tests may run in this process.
    assert!(segments() < before + 50);
    assert_eq!(ranks[0].one_sided.allocated_count(), 0);
    let rma = ranks[0].rma().unwrap();
    rma.deregister(keys[7]);
    assert!(rma.allocate(100, RemoteAccess::Read).is_ok());
}

#[test]
fn without_descriptors_there_is_no_memory() {
    let few = ["sh", "-c", "ulimit -n 40 && exec \"$0\" \"$@\""];
    let child = command_of("one_sided::helper_without_descriptors", &few).spawn().unwrap();
    assert!(Kill(child).wait());
}

#[test]
#[ignore = "started by without_descriptors_there_is_no_memory"]
fn helper_without_descriptors() {
    let mut ranks = network(1);
    let rma = ranks[0].rma().unwrap();
    let open = |_| std::fs::File::open("/dev/null").ok();
    let mut files: Vec<_> = (0..).map_while(open).collect();
    assert!(files.len() < 40);
    let error = rma.allocate(100, RemoteAccess::Read).unwrap_err();
    assert!(error.why.contains("ulimit -n"), "{error}");
    files.pop();
    // One for the file, none for its mapping.
    assert_eq!(class(rma.allocate(100, RemoteAccess::Read)), ErrorClass::NoMem);
    files.pop();
    assert!(rma.allocate(100, RemoteAccess::Read).is_ok());
}

#[test]
fn registered_memory_is_out_of_reach_without_direct_copies() {
    let mut ranks = network_of(&[0, 1], CopyMethod::Pipe);
    let mut bytes = [7; 8];
    // SAFETY: it stays until the end, and nothing writes to it.
    let memory = unsafe { Span::of(&mut bytes) };
    let key = ranks[1].rma().unwrap().register(memory, RemoteAccess::ReadWrite).unwrap();
    assert_eq!(class(ranks[0].rma().unwrap().open(1, key)), ErrorClass::Other);
    assert!(
        ranks[0].rma().unwrap().put(memory, RemoteAddress { peer: 1, key, offset: 0 }).is_err()
    );
    assert!(ranks[0].rma().unwrap().flush(1).is_some_and(|end| end.is_ok()));
    // A rank reaches its own memory.
    let caps = ranks[1].rma().unwrap().open(1, key).unwrap();
    assert_eq!((caps.mapped, caps.updates), (None, UpdateSet::NONE));
}

/// Waits for the ends of all accesses of rank 0 to rank 1.
fn end(rank: &mut Shm) -> Result {
    rank.rma().unwrap().flush(1).expect("every access has ended")
}

/// Rank 1 of two, a process of its own: tells its keys, and polls until it is killed.
#[test]
#[ignore = "started by a_process_that_is_killed_leaves_what_is_mapped"]
fn helper_killed_process() {
    let number = |name| std::env::var(name).unwrap().parse::<i32>().unwrap();
    let segment =
        shm::open_of(number("SUIRO_TEST_PID") as u32, number("SUIRO_TEST_NUMBER")).unwrap();
    let mut rank = Shm::attach(segment, 1, &[0, 1], CopyMethod::Auto).unwrap();
    let (mapped, memory) = allocate(&mut rank, 8, RemoteAccess::ReadWrite);
    memory.write(0, &[3; 8]);
    let (unmapped, _) = allocate(&mut rank, 8, RemoteAccess::ReadWrite);
    let mut bytes = [4; 8];
    // SAFETY: it stays until the end, and nothing else uses it.
    let local = unsafe { Span::of(&mut bytes) };
    let registered = rank.rma().unwrap().register(local, RemoteAccess::ReadWrite).unwrap();
    let keys = [mapped, unmapped, registered].map(|key| key.0.to_ne_bytes()).concat();
    rank.send_short(0, &Header::default(), &keys).unwrap();
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(50) {
        rank.poll(&mut Arrivals::default());
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_process_that_is_killed_leaves_what_is_mapped() {
    let segment = shm::create().unwrap();
    let mut child = Kill(
        command_of("one_sided::helper_killed_process", &[])
            .env("SUIRO_TEST_PID", std::process::id().to_string())
            .env("SUIRO_TEST_NUMBER", segment.as_raw_fd().to_string())
            .spawn()
            .unwrap(),
    );
    let mut rank = Shm::attach(segment.try_clone().unwrap(), 0, &[0, 1], CopyMethod::Auto).unwrap();
    let (mut arrivals, begin) = (Arrivals::default(), Instant::now());
    while rank.poll(&mut arrivals) == 0 {
        assert!(begin.elapsed() < Duration::from_secs(50), "no keys");
        std::thread::yield_now();
    }
    let (words, _) = arrivals.0[0].1.as_chunks();
    let at = |word: usize| RemoteAddress {
        peer: 1,
        key: MemoryKey(u64::from_ne_bytes(words[word])),
        offset: 0,
    };
    let (mapped, unmapped, registered) = (at(0), at(1), at(2));
    let mut bytes = [0; 8];
    // SAFETY: it stays until the end, and only the accesses of this test use it.
    let local = unsafe { Span::of(&mut bytes) };
    let got = || {
        let mut bytes = [0; 8];
        local.read(0, &mut bytes);
        bytes
    };
    let rma = rank.rma().unwrap();
    rma.update(mapped, NumberKind::Unsigned8, Update::Add(1), local).unwrap();
    assert_eq!(got(), [3; 8]);
    let reachable = rma.open(1, registered.key).is_ok();
    if reachable {
        rma.get(registered, local).unwrap();
        assert_eq!(got(), [4; 8]);
    }

    child.0.kill().unwrap();
    child.0.wait().unwrap();
    let rma = rank.rma().unwrap();
    rma.get(mapped, local).unwrap();
    assert_eq!(u64::from_ne_bytes(got()), u64::from_ne_bytes([3; 8]) + 1);
    assert_eq!(class(rma.open(1, unmapped.key)), ErrorClass::Other);
    end(&mut rank).unwrap();
    if reachable {
        rank.rma().unwrap().put(local, registered).unwrap();
        let error = end(&mut rank).unwrap_err();
        assert!(error.why.contains("No such process"), "{error}");
    }
}
