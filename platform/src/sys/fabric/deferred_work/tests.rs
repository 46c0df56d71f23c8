//! Two endpoints of `sockets` in a process of their own, which is killed if the provider hangs.

use std::path::PathBuf;
use std::process::{Command, ExitStatus};

use super::*;

/// Set in the process that calls the provider.
const CHILD: &str = "SUIRO_TEST_CHILD";
/// A provider that has not ended its work by then never does.
const LIMIT: Duration = Duration::from_secs(20);
/// The provider may hang in fewer runs than this.
const RUNS: u32 = 3;

/// The libfabric of MPICH's package, which tests of programs install.
fn libfabric() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent()?;
    let path = root.join("build/peers/mpich/lib/mpich/libfabric.so.1");
    path.exists().then_some(path)
}

/// Runs `body` in a process of its own, which is killed if the provider hangs. That is reported, and tried again.
fn in_a_process(test: &str, body: impl FnOnce(&Path)) {
    let Some(path) = libfabric() else { return eprintln!("skipped: there is no libfabric") };
    if std::env::var_os(CHILD).is_some() {
        return body(&path);
    }
    for run in 1..=RUNS {
        let mut child = Command::new(std::env::current_exe().unwrap());
        let name = format!("sys::fabric::deferred_work::tests::{test}");
        let mut child =
            child.args([&name, "--exact", "--nocapture"]).env(CHILD, "1").spawn().unwrap();
        let end = Instant::now() + LIMIT;
        let status: Option<ExitStatus> = loop {
            match child.try_wait().unwrap() {
                None if Instant::now() < end => std::thread::sleep(Duration::from_millis(10)),
                status => break status,
            }
        };
        match status {
            Some(status) => return assert!(status.success(), "{status}"),
            None => {
                child.kill().unwrap();
                child.wait().unwrap();
                eprintln!("run {run}: the provider has hung for {LIMIT:?}");
            }
        }
    }
    panic!("the provider hangs in each of {RUNS} runs");
}

fn meeting<const N: usize>(path: &Path) -> [WorkEndpoint; N] {
    let all = [(); N].map(|()| WorkEndpoint::open(Some(path), Some("sockets")).unwrap());
    let addresses: Vec<_> = all.iter().map(|one| one.address().to_vec()).collect();
    all.iter().for_each(|one| one.meet(&addresses).unwrap());
    all
}

fn reaches(end: &WorkEndpoint, counter: WorkCounter, level: u64) -> bool {
    let start = Instant::now();
    while !end.wait(counter, level, LIMIT).unwrap() {
        if start.elapsed() > LIMIT {
            return false;
        }
    }
    true
}

fn span(memory: &mut [u8]) -> Span {
    // SAFETY: memory of the test, which the test reads after the end of all work.
    unsafe { Span::of(memory) }
}

fn add(waits: WorkCounter, level: u64, counter: WorkCounter, value: u64) -> WaitingAction {
    WaitingAction { waits, level, action: WorkAction::Add { counter, value }, ends: waits }
}

#[test]
fn additions_in_a_circle_are_refused() {
    let [one, two, three] = [1, 2, 3].map(WorkCounter);
    assert!(additions_end(&[add(one, 1, two, 5), add(two, 2, three, 1)]).is_ok());
    assert!(additions_end(&[add(one, 1, one, 1)]).unwrap_err().contains("circle"));
    let circle = [add(one, 1, two, 5), add(two, 2, three, 1), add(three, 1, one, 1)];
    assert!(additions_end(&circle).is_err());
}

/// Each write is counted, and starts the next one at the peer. Nobody calls the endpoints meanwhile, but to sleep.
#[test]
fn writes_start_each_other() {
    in_a_process("writes_start_each_other", |path| {
        const HOPS: u64 = 100;
        let ends: [WorkEndpoint; 2] = meeting(path);
        let mut memory = [[1_u8; 8], [2; 8]];
        let spans = memory.each_mut().map(|one| span(one));
        let arrived = ends.each_ref().map(|end| end.counter().unwrap());
        let sent = ends.each_ref().map(|end| end.counter().unwrap());
        let places = [0, 1].map(|me| ends[me].register(spans[me], Some(arrived[me])).unwrap());
        let lists = [0, 1].map(|me: usize| {
            let peer = 1 - me;
            let action = WorkAction::Write { from: spans[me], to: peer as u32, at: places[peer] };
            let write = |level| WaitingAction { waits: arrived[me], level, action, ends: sent[me] };
            let work: Vec<_> = (me as u64..HOPS + me as u64).map(write).collect();
            // SAFETY: all arrivals and ends are counted.
            unsafe { ends[me].prepare(&work, &[(arrived[me], HOPS), (sent[me], HOPS)]) }.unwrap()
        });
        for start in 1..=5 {
            [1, 0].into_iter().for_each(|me| ends[me].post(lists[me]).unwrap());
            for me in [0, 1] {
                for counter in [arrived[me], sent[me]] {
                    assert!(reaches(&ends[me], counter, HOPS * start));
                    assert_eq!(ends[me].level(counter), HOPS * start);
                }
                assert!(ends[me].has_ended(lists[me]) && ends[me].take_error().is_none());
            }
        }
        assert!(ends.iter().all(|end| end.limits() == WorkLimits::of("sockets")));
        drop(ends);
        assert_eq!(memory, [[1; 8]; 2]);
    });
}

/// A write of no bytes counts, a write or a sum to this rank works, and a weight is an addition for each arrival.
#[test]
fn arrivals_have_weights_by_additions() {
    in_a_process("arrivals_have_weights_by_additions", |path| {
        let ends: [WorkEndpoint; 2] = meeting(path);
        let [here, there] = &ends;
        let mut memory = [7, 255, 1, 0];
        let all = span(&mut memory);
        let [start, sent] = [(); 2].map(|()| here.counter().unwrap());
        let [arrived, tank, copied, summed] = [(); 4].map(|()| there.counter().unwrap());
        let [at, own] = [Some(arrived), None].map(|counter| there.register(all, counter).unwrap());
        let action = WorkAction::Write { from: Span::EMPTY, to: 1, at };
        let signal = WaitingAction { waits: start, level: 0, action, ends: sent };
        let at = FabricPlace { address: own.address + 2, ..own };
        let action = WorkAction::Write { from: all.part(0, 2), to: 1, at };
        let copy = WaitingAction { waits: tank, level: 48, action, ends: copied };
        let at = FabricPlace { address: own.address + 3, ..own };
        let action = WorkAction::Sum { from: all.part(2, 1), to: 1, at };
        let sum = WaitingAction { waits: copied, level: 1, action, ends: summed };
        let weight = |level| add(arrived, level, tank, 16);
        let rises = [(arrived, 3), (tank, 48), (copied, 1), (summed, 1)];
        // SAFETY: all arrivals, additions and ends are counted.
        let (sends, counts) = unsafe {
            let sends = here.prepare(&[signal; 3], &[(start, 0), (sent, 3)]).unwrap();
            let counts = [weight(1), weight(2), weight(3), copy, sum];
            (sends, there.prepare(&counts, &rises).unwrap())
        };
        for number in 1..=3 {
            // The receiver is early, late, early.
            if number == 2 {
                here.post(sends).unwrap();
                assert!(reaches(here, sent, 6));
                assert!(reaches(there, arrived, 6));
            }
            there.post(counts).unwrap();
            if number != 2 {
                assert!(!there.has_ended(counts));
                assert!(there.post(counts).unwrap_err().contains("before its end"));
                here.post(sends).unwrap();
            }
            assert!(reaches(there, summed, number));
            assert_eq!(there.level(tank), 48 * number);
            assert!(reaches(here, sent, 3 * number));
        }
        drop(ends);
        // In each instance, 7 is copied over the sum's left operand, and 255 over its right one.
        assert_eq!(memory, [7, 255, 7, 6]);
    });
}

/// All slots at once, by an arrival that starts a write in each. One write more would never start.
#[test]
fn an_arrival_starts_as_many_writes_as_there_are_slots() {
    in_a_process("an_arrival_starts_as_many_writes_as_there_are_slots", |path| {
        let ends: [WorkEndpoint; 2] = meeting(path);
        let [here, there] = &ends;
        let mut memory = [1, 0];
        let all = span(&mut memory);
        let [go, sent] = [(); 2].map(|()| here.counter().unwrap());
        let [start, back, arrived] = [(); 3].map(|()| there.counter().unwrap());
        let [at, kick] = [(there, arrived), (here, go)]
            .map(|(end, counter)| end.register(all, Some(counter)).unwrap());
        let slots = here.limits().slots;
        let at = FabricPlace { address: at.address + 1, ..at };
        let action = WorkAction::Write { from: all.part(0, 1), to: 1, at };
        let write = WaitingAction { waits: go, level: 1, action, ends: sent };
        let action = WorkAction::Write { from: Span::EMPTY, to: 0, at: kick };
        let signal = WaitingAction { waits: start, level: 0, action, ends: back };
        let prepare = |end: &WorkEndpoint, work: &[WaitingAction], rises: &[_]| {
            // SAFETY: all arrivals and ends are counted, of the lists that are posted.
            unsafe { end.prepare(work, rises) }.unwrap()
        };
        let writes = prepare(here, &vec![write; slots], &[(go, 1), (sent, slots as u64)]);
        let more = prepare(here, &[write], &[(go, 0)]);
        let signals = prepare(there, &[signal], &[(start, 0), (back, 1)]);
        for number in 1..=3 {
            here.post(writes).unwrap();
            let why = here.post(more).unwrap_err();
            assert!(why.contains("0 slots for deferred work are free"), "{why}");
            there.post(signals).unwrap();
            let due = slots as u64 * number;
            assert!(reaches(here, sent, due), "{}", here.level(sent));
            assert!(reaches(there, arrived, due));
        }
        drop(ends);
        assert_eq!(memory, [1, 1]);
    });
}

#[test]
fn levels_begin_again_before_they_have_too_many_bits() {
    in_a_process("levels_begin_again_before_they_have_too_many_bits", |path| {
        let [end]: [WorkEndpoint; 1] = meeting(path);
        let [start, tank, next] = [(); 3].map(|()| end.counter().unwrap());
        let weight = |value| [add(start, 0, tank, value), add(tank, value, next, 1)];
        // SAFETY: all additions are counted.
        let prepare = |value| unsafe {
            let rises = [(start, 0), (tank, value), (next, 1)];
            end.prepare(&weight(value), &rises).unwrap()
        };
        let why = end.post(prepare(1 << 31)).unwrap_err();
        assert!(why.contains("the level 2147483648 has more than 31 bits"), "{why}");
        // Two posts have room for levels.
        let list = prepare((1 << 30) - 1);
        for post in 0..10 {
            end.post(list).unwrap();
            let levels = [tank, next].map(|counter| end.level(counter));
            assert_eq!(levels, [(1 + post % 2) * ((1 << 30) - 1), 1 + post % 2]);
        }
    });
}

#[test]
fn providers_without_deferred_work_are_refused() {
    in_a_process("providers_without_deferred_work_are_refused", |path| {
        for provider in ["tcp", "tcp;ofi_rxm"] {
            let why = WorkEndpoint::open(Some(path), Some(provider)).unwrap_err();
            assert!(why.contains("starts work at levels of counters"), "{why}");
        }
    });
}

#[test]
fn a_write_that_fails_is_told_and_does_not_end() {
    in_a_process("a_write_that_fails_is_told_and_does_not_end", |path| {
        let ends: [WorkEndpoint; 2] = meeting(path);
        let [here, there] = &ends;
        let mut memory = [1; 8];
        let all = span(&mut memory);
        let [start, sent, after] = [(); 3].map(|()| here.counter().unwrap());
        let arrived = there.counter().unwrap();
        let at = there.register(all.part(0, 4), Some(arrived)).unwrap();
        let action = WorkAction::Write { from: all, to: 1, at };
        let too_long = WaitingAction { waits: start, level: 0, action, ends: sent };
        let rises = [(start, 0), (sent, 1), (after, 1)];
        // SAFETY: all additions and ends are counted.
        let list = unsafe { here.prepare(&[too_long, add(sent, 1, after, 1)], &rises) }.unwrap();
        here.post(list).unwrap();
        let begin = Instant::now();
        let why = loop {
            match here.take_error() {
                Some(why) => break why,
                None => assert!(begin.elapsed() < LIMIT, "no error is told"),
            }
        };
        assert!(why.contains("error"), "{why}");
        assert_eq!([sent, after].map(|counter| here.level(counter)), [0, 0]);
        assert!(!here.has_ended(list) && there.level(arrived) == 0);
        // One of the endpoints stays: its list is in progress for ever.
        drop(ends);
    });
}

/// A write that the process starts itself counts at the peer and is told at both ends; one with a wrong key is an error,
/// and counts nowhere.
#[test]
fn writes_of_the_process_are_counted_and_told() {
    in_a_process("writes_of_the_process_are_counted_and_told", |path| {
        let ends: [WorkEndpoint; 2] = meeting(path);
        let [here, there] = &ends;
        let mut memory = [[1_u8; 8], [2; 8]];
        let [from, into] = memory.each_mut().map(|one| span(one));
        let counter = there.counter().unwrap();
        let key = 0x0123_4567_89ab_cdef;
        there.register_as(key, into, Some(counter)).unwrap();
        there.register_as(key + 1, Span::EMPTY, Some(counter)).unwrap();
        assert!(there.register_as(key, into, Some(counter)).is_err());
        for number in 0..2 {
            here.write(number, from.part(0, 4), 1, key, u64::from(4 * number));
            here.write(number + 2, Span::EMPTY, 1, key + 1, 0);
        }
        here.write(4, from, 1, key + 2, 0);
        assert!(reaches(there, counter, 4));
        let (mut written, mut arrived) = (Vec::new(), Vec::new());
        let start = Instant::now();
        while (written.len() < 5 || arrived.len() < 4) && start.elapsed() < LIMIT {
            here.look(&mut |event| match event {
                WorkEvent::Written { number, peer: 1, end } => written.push((number, end.is_ok())),
                other => panic!("{other:?}"),
            });
            there.look(&mut |event| match event {
                WorkEvent::Arrived(key) => arrived.push(key),
                other => panic!("{other:?}"),
            });
        }
        written.sort_unstable();
        arrived.sort_unstable();
        assert_eq!(written, [(0, true), (1, true), (2, true), (3, true), (4, false)]);
        assert_eq!(arrived, [key, key, key + 1, key + 1]);
        assert_eq!(there.level(counter), 4);
        drop(ends);
        assert_eq!(memory, [[1; 8]; 2]);
    });
}
