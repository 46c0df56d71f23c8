//! Compiled programs on a provider that is not ours: endpoints of libfabric's `sockets`, whose counters start writes and
//! additions. Each rank starts its program several times, early or late as a seed decides; a result that differs from the
//! expected one, or a level that is not exact, is a fault of the program or of our model of interfaces.
//!
//! The endpoints are in a process of their own. If the provider hangs, the process is killed, that is reported, and the
//! case runs again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use mpi_abi::offload::compile::{Rules, link_all};
use mpi_abi::offload::{Schedule, Scheme};
use platform::base::Random;
use platform::sys::fabric::{
    FabricPlace, WaitingAction, WorkAction, WorkCounter, WorkEndpoint, WorkListKey,
};

use super::collectives::{Collective, EVERY};
use super::counting::{CountedAction, CountedBy, CountedProgram, Form};
use super::is_long;
use super::system::Memory;
use super::truth::{Truth, truth};

/// Set in the process with the endpoints: the first case that it runs.
const CHILD: &str = "SUIRO_TEST_CHILD";
/// A case in which nothing ends for so long hangs.
const QUIET_LIMIT: Duration = Duration::from_secs(10);
/// The time of all cases of a process, short and long; far above what they take.
const PROCESS_LIMITS: [Duration; 2] = [Duration::from_secs(90), Duration::from_secs(280)];
/// Hangs of one case that are a fault.
const HANGS_MAX: u32 = 3;
/// The exit code of a process with a case that hangs.
const HANGS: i32 = 75;

/// Instances alternate between them.
const TANKS: usize = 2;

/// One rank, with its counters, memory and lists for each tank.
struct Seat {
    end: WorkEndpoint,
    program: CountedProgram,
    truth: Truth,
    memory: Memory,
    counters: Vec<BTreeMap<CountedBy, WorkCounter>>,
    /// Where peers write to memory, by what that counts.
    places: Vec<BTreeMap<Option<CountedBy>, FabricPlace>>,
    lists: Vec<WorkListKey>,
    over: u64,
    is_under_way: bool,
}

impl Seat {
    fn open(library: &Path, program: CountedProgram, truth: Truth) -> Self {
        let end = WorkEndpoint::open(Some(library), Some("sockets")).unwrap();
        let mut memory = Memory::of(&truth.layout);
        let all = memory.span();
        let counter = |name: &CountedBy| (*name, end.counter().unwrap());
        let counters: Vec<BTreeMap<_, _>> =
            (0..TANKS).map(|_| program.rises.keys().map(counter).collect()).collect();
        let register = |counter| end.register(all, counter).unwrap();
        let own = register(None);
        let place = |tank: &BTreeMap<CountedBy, WorkCounter>| {
            let landings = program.landings.iter();
            let landings = landings.map(|name| (Some(*name), register(Some(tank[name]))));
            landings.chain([(None, own)]).collect()
        };
        let places = counters.iter().map(place).collect();
        let (lists, over, is_under_way) = (Vec::new(), 0, false);
        Self { end, program, truth, memory, counters, places, lists, over, is_under_way }
    }

    fn start(&mut self, rank: usize) {
        self.memory.begin(rank, self.over);
        self.end.post(self.lists[self.tank()]).unwrap();
        self.is_under_way = true;
    }

    fn tank(&self) -> usize {
        self.over as usize % self.lists.len()
    }

    /// The counters that have not risen far enough, with their levels and those that are due.
    fn missing(&self) -> Vec<(CountedBy, u64, u64)> {
        let starts = self.over / self.lists.len() as u64 + 1;
        let levels = self.counters[self.tank()].iter();
        let levels = levels.map(|(name, counter)| {
            (*name, self.end.level(*counter), starts * self.program.rises[name])
        });
        levels.filter(|(_, level, due)| level != due).collect()
    }

    /// True if the instance has ended; if it has not, and `sleeps`, after a moment.
    fn look(&mut self, rank: usize, sleeps: bool) -> bool {
        let missing = self.missing();
        if let Some((name, level, due)) = missing.first() {
            let over = self.over;
            assert!(level < due, "a level of rank {rank} in {over} is too high: {missing:?}");
            let counter = self.counters[self.tank()][name];
            if sleeps {
                self.end.wait(counter, *due, Duration::from_millis(1)).unwrap();
            }
            return false;
        }
        self.memory.end(&self.truth, rank, self.over);
        self.over += 1;
        self.is_under_way = false;
        true
    }
}

/// The programs of one operation on endpoints that know each other.
struct System {
    seats: Vec<Seat>,
}

impl System {
    /// # Errors
    /// What the provider cannot run.
    fn new(library: &Path, case: Case) -> Result<Self, String> {
        let Case { schedules, counted, .. } = case;
        let seats = counted.into_iter().zip(truth(&schedules));
        let seats = seats.map(|(counted, truth)| Seat::open(library, counted, truth));
        let mut seats: Vec<Seat> = seats.collect();
        let addresses: Vec<_> = seats.iter().map(|seat| seat.end.address().to_vec()).collect();
        seats.iter().for_each(|seat| seat.end.meet(&addresses).unwrap());
        for rank in 0..seats.len() {
            for tank in 0..TANKS {
                let list = list(&mut seats, rank, tank)?;
                seats[rank].lists.push(list);
            }
        }
        Ok(Self { seats })
    }

    /// Runs instances in an order that the seed decides.
    ///
    /// # Errors
    /// What all ranks wait for if nothing ends.
    fn run(&mut self, instances: u64, seed: u64) -> Result<(), String> {
        let mut random = Random::new(seed);
        let ranks = self.seats.len() as u64;
        let (mut late, mut last_end) = (0, Instant::now());
        while self.seats.iter().any(|seat| seat.over < instances) {
            // Sometimes a rank pauses.
            if random.one_in(20) {
                late = random.below(ranks + 1) as usize;
            }
            let rank = random.below(ranks) as usize;
            let seat = &mut self.seats[rank];
            let sleeps = random.one_in(16);
            if rank != late && seat.is_under_way && seat.look(rank, sleeps) {
                last_end = Instant::now();
            } else if rank != late && !seat.is_under_way && seat.over < instances {
                seat.start(rank);
            }
            let error = seat.end.take_error();
            assert!(error.is_none(), "rank {rank}, instance {}: {error:?}", seat.over);
            if last_end.elapsed() > QUIET_LIMIT {
                let states = self.seats.iter().map(|seat| (seat.over, seat.missing()));
                return Err(format!("{:?}", states.collect::<Vec<_>>()));
            }
        }
        Ok(())
    }
}

/// The list of work of a rank for instances in a tank.
#[allow(unsafe_code)]
fn list(seats: &mut [Seat], rank: usize, tank: usize) -> Result<WorkListKey, String> {
    let work = std::mem::take(&mut seats[rank].program.work);
    let counter = |seats: &[Seat], name| seats[rank].counters[tank][&name];
    let mut all = Vec::new();
    for one in &work {
        let action = match one.action {
            CountedAction::Put { to, from, into, lands } => {
                let from = seats[rank].memory.part(from);
                let peer = &seats[to as usize];
                let mut at = peer.places[tank][&lands];
                at.address += peer.memory.layout.place(into).start as u64;
                WorkAction::Write { from, to, at }
            }
            CountedAction::Sum { from, into } => {
                let mut at = seats[rank].places[tank][&None];
                at.address += seats[rank].memory.layout.place(into).start as u64;
                WorkAction::Sum { from: seats[rank].memory.part(from), to: rank as u32, at }
            }
            CountedAction::Add { counter: name, value } => {
                WorkAction::Add { counter: counter(seats, name), value }
            }
        };
        let (waits, ends) = (counter(seats, one.waits), counter(seats, one.ends));
        all.push(WaitingAction { waits, level: one.level, action, ends });
    }
    let rises = &seats[rank].program.rises;
    let rises: Vec<_> = rises.iter().map(|(name, rise)| (counter(seats, *name), *rise)).collect();
    // SAFETY: all arrivals, additions and ends of the program are in its rises; memory stays until the end of the system.
    let list = unsafe { seats[rank].end.prepare(&all, &rises) };
    seats[rank].program.work = work;
    list
}

/// The programs of one operation.
struct Case {
    name: String,
    schedules: Vec<Schedule>,
    counted: Vec<CountedProgram>,
}

/// How programs are made.
#[derive(Clone, Copy)]
struct Compiled {
    rules: Rules,
    form: Form,
    /// The least ranks.
    ranks: u32,
}

impl Compiled {
    fn case(self, what: Collective, schedules: Vec<Schedule>) -> Case {
        let programs = link_all(&schedules, &self.rules).unwrap();
        assert!(programs.iter().all(|program| usize::from(program.tanks) == TANKS));
        let counted = (0..programs.len()).map(|rank| self.form.count(&programs, rank)).collect();
        Case { name: format!("{what:?} on {}", schedules.len()), schedules, counted }
    }

    /// All collectives, on up to 4 ranks.
    fn cases(self) -> Vec<Case> {
        let all = (self.ranks..=4).flat_map(|ranks| EVERY.map(|what| (what, what.fitting(ranks))));
        all.filter_map(|(what, schedules)| Some(self.case(what, schedules?))).collect()
    }
}

/// Runs cases from one on.
fn run_from(first: usize, library: &Path, cases: Vec<Case>) {
    let instances = if is_long() { 30 } else { 7 };
    for (number, case) in cases.into_iter().enumerate().skip(first) {
        println!("case {number}: {}", case.name);
        run_case(library, case, instances, number as u64);
    }
}

/// Runs all cases in processes of their own; those that hang again.
fn check(test: &str, compiled: &[Compiled]) {
    let cases = || -> Vec<Case> { compiled.iter().flat_map(|one| one.cases()).collect() };
    let (mut first, mut hangs) = (0, 0);
    while hangs < HANGS_MAX {
        let body = |path: &Path, first| run_from(first, path, cases());
        let Some((end, text)) = in_a_process(test, first, body) else { return };
        if end != ProcessEnd::Hang {
            return assert_eq!(end, ProcessEnd::Success, "{text}");
        }
        println!("the provider hangs: {text}");
        let last = text.lines().filter_map(|line| line.strip_prefix("case ")).next_back();
        let number = last.and_then(|line| line.split_once(':')?.0.parse().ok()).unwrap_or(first);
        hangs = if number == first { hangs + 1 } else { 1 };
        first = number;
    }
    panic!("{} hangs in each of {HANGS_MAX} runs", cases()[first].name);
}

/// Runs instances of the programs of a case; ends the process if they hang.
fn run_case(library: &Path, case: Case, instances: u64, seed: u64) {
    let mut system = System::new(library, case).unwrap();
    if let Err(why) = system.run(instances, seed) {
        println!("hangs: {why}");
        // Threads of the provider may never end.
        std::process::exit(HANGS);
    }
}

/// The libfabric of MPICH's package, which tests of programs install.
fn libfabric() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = root.join("build/peers/mpich/lib/mpich/libfabric.so.1");
    path.exists().then_some(path)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ProcessEnd {
    Success,
    Failure,
    Hang,
}

/// Runs `body` of a test from a case on in a process of its own, which is killed if it hangs; how it has ended, and its
/// output. None in that process, where `body` gets the library and the case, and without a library.
fn in_a_process(
    test: &str, first: usize, body: impl FnOnce(&Path, usize),
) -> Option<(ProcessEnd, String)> {
    let Some(library) = libfabric() else {
        eprintln!("skipped: there is no libfabric");
        return None;
    };
    if let Ok(first) = std::env::var(CHILD) {
        body(&library, first.parse().unwrap());
        return None;
    }
    let name = format!("offload::oracle::{test}");
    let mut child = Command::new(std::env::current_exe().unwrap());
    let child = child.args([&name, "--exact", "--nocapture"]).env(CHILD, first.to_string());
    // Threads of the provider spin for so many milliseconds before they sleep.
    let child = child.env("FI_SOCKETS_PE_WAITTIME", "0");
    let mut child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let end = Instant::now() + PROCESS_LIMITS[usize::from(is_long())];
    while child.try_wait().unwrap().is_none() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(10));
    }
    let is_killed = child.try_wait().unwrap().is_none();
    if is_killed {
        child.kill().unwrap();
    }
    let output = child.wait_with_output().unwrap();
    let text = [output.stdout, output.stderr].map(|it| String::from_utf8_lossy(&it).into_owned());
    let end = match output.status.code() {
        Some(0) => ProcessEnd::Success,
        Some(HANGS) => ProcessEnd::Hang,
        _ if is_killed => ProcessEnd::Hang,
        _ => ProcessEnd::Failure,
    };
    Some((end, text.concat()))
}

#[test]
fn prematched_programs_are_right_without_weights() {
    let rules = Rules::of(Scheme::Prematched);
    let compiled = [Compiled { rules, form: Form::Digits, ranks: 2 }];
    check("prematched_programs_are_right_without_weights", &compiled);
}

#[test]
fn programs_of_tanks_are_right_with_additions_for_weights() {
    let rules = [
        (Rules::SAFE, 2),
        // Connections keep the order of writes.
        (Rules { ordered: true, ..Rules::SAFE }, 4),
        // Full counters add to the next ones.
        (Rules { bits: 4, merges: false, ..Rules::SAFE }, 4),
    ];
    let compiled = rules.map(|(rules, ranks)| Compiled { rules, form: Form::Sums, ranks });
    check("programs_of_tanks_are_right_with_additions_for_weights", &compiled);
}

/// Additions of a pre-matched program lead back to counters with weights, which the provider would never end.
#[test]
fn prematched_programs_with_weights_are_refused() {
    let compiled = Compiled { rules: Rules::of(Scheme::Prematched), form: Form::Sums, ranks: 2 };
    let body = |path: &Path, _| {
        let cases = compiled.cases();
        let all = cases.len();
        let ends = cases.into_iter().map(|case| System::new(path, case));
        let refused: Vec<_> = ends.filter_map(Result::err).collect();
        assert!(refused.iter().all(|why| why.contains("in a circle")), "{refused:?}");
        println!("{} of {all} are refused", refused.len());
        assert!(refused.len() > all / 2);
    };
    let process = in_a_process("prematched_programs_with_weights_are_refused", 0, body);
    if let Some((end, text)) = process {
        assert_eq!(end, ProcessEnd::Success, "{text}");
        println!("{text}");
    }
}

/// Messages that do not wait for their receivers change memory that the application uses.
#[test]
fn unsafe_programs_are_found() {
    let body = |path: &Path, _| {
        let what = Collective::Bcast("linear", 1);
        let rules = Rules { ready: false, ..Rules::SAFE };
        for seed in 0..20 {
            let compiled = Compiled { rules, form: Form::Sums, ranks: 3 };
            let case = compiled.case(what, what.schedules(3));
            run_case(path, case, 20, seed);
        }
    };
    if let Some((end, text)) = in_a_process("unsafe_programs_are_found", 0, body) {
        assert_eq!(end, ProcessEnd::Failure, "{text}");
        let faults = ["memory of rank", "after instance", "is too high"];
        assert!(faults.iter().any(|fault| text.contains(fault)), "{text}");
    }
}
