//! The servers of several hosts together, beside one server of all ranks.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::*;
use crate::base::Random;
use proptest::prelude::*;

fn pick(random: &mut Random, count: usize) -> usize {
    random.below(count as u64) as usize
}

/// A message between a host and its place in the tree.
#[derive(Clone, Debug)]
enum Message {
    Reached(Fence),
    Ended(u32, u32),
    Done(Fence),
}

/// The job on `hosts` hosts; messages between hosts wait until they are delivered.
struct HostWorld {
    host_of_rank: Vec<u32>,
    servers: Vec<Server>,
    fences: FenceMerger,
    up: Vec<VecDeque<Message>>,
    down: Vec<VecDeque<Message>>,
    /// Replies that a rank has not read.
    replies: BTreeMap<u32, VecDeque<String>>,
    is_stuck: bool,
}

impl HostWorld {
    fn new(host_of_rank: &[u32]) -> Self {
        let hosts = host_of_rank.iter().max().map_or(0, |last| last + 1);
        let apps = vec![0; host_of_rank.len()];
        let place = if hosts == 1 { &[] } else { host_of_rank };
        let servers = (0..hosts).map(|host| Server::of_host("job", &apps, place, host)).collect();
        let ranks_of = |host| {
            let ranks = (0..).zip(host_of_rank).filter(move |(_, other)| **other == host);
            ranks.map(|(rank, _)| rank).collect::<BTreeSet<u32>>()
        };
        Self {
            host_of_rank: host_of_rank.to_vec(),
            servers,
            fences: FenceMerger::new(apps.len() as u32, (0..hosts).map(ranks_of).collect()),
            up: vec![VecDeque::new(); hosts as usize],
            down: vec![VecDeque::new(); hosts as usize],
            replies: BTreeMap::new(),
            is_stuck: false,
        }
    }

    fn host(&self, rank: u32) -> usize {
        self.host_of_rank[rank as usize] as usize
    }

    fn send(&mut self, rank: u32, line: &str) {
        let host = self.host(rank);
        let events = self.servers[host].receive(rank, format!("{line}\n").as_bytes());
        self.take(host, events);
    }

    fn end(&mut self, rank: u32) {
        let host = self.host(rank);
        let programs = self.servers[host].programs(rank);
        let events = self.servers[host].rank_ended(rank);
        self.take(host, events);
        self.up[host].push_back(Message::Ended(rank, programs));
    }

    fn take(&mut self, host: usize, events: Vec<ServerEvent>) {
        for event in events {
            match event {
                ServerEvent::Reply { rank, bytes } => {
                    assert_eq!(self.host(rank), host);
                    let line = String::from_utf8(bytes).unwrap();
                    self.replies.entry(rank).or_default().push_back(line);
                }
                ServerEvent::Fence(fence) => self.up[host].push_back(Message::Reached(fence)),
                ServerEvent::Stuck { .. } => self.is_stuck = true,
                ServerEvent::Joined(_) | ServerEvent::Left(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// Delivers one message, chosen by `random`; false if there is none.
    fn deliver(&mut self, random: &mut Random) -> bool {
        let hosts = self.up.len();
        let waits = |at: &usize| {
            let queue = if *at < hosts { &self.up[*at] } else { &self.down[at - hosts] };
            !queue.is_empty()
        };
        let queues: Vec<usize> = (0..2 * hosts).filter(waits).collect();
        let Some(at) = queues.get(pick(random, queues.len().max(1))) else { return false };
        match at.checked_sub(hosts) {
            None => {
                let events = match self.up[*at].pop_front().unwrap() {
                    Message::Reached(fence) => self.fences.reached(*at, fence).unwrap(),
                    Message::Ended(rank, programs) => self.fences.rank_ended(rank, programs),
                    Message::Done(_) => unreachable!(),
                };
                events.into_iter().for_each(|event| self.merged(event));
            }
            Some(host) => {
                let events = match self.down[host].pop_front().unwrap() {
                    Message::Done(fence) => self.servers[host].fence_done(&fence).unwrap(),
                    Message::Ended(rank, programs) => {
                        self.servers[host].remote_ended(rank, programs)
                    }
                    Message::Reached(_) => unreachable!(),
                };
                self.take(host, events);
            }
        }
        true
    }

    fn merged(&mut self, event: FenceEvent) {
        match event {
            FenceEvent::Merged { fence, children } => {
                assert_eq!(children, self.fences.children_of(&fence.group));
                for child in children {
                    self.down[child].push_back(Message::Done(fence.clone()));
                }
            }
            FenceEvent::Ended { rank, programs } => {
                self.down.iter_mut().for_each(|queue| {
                    queue.push_back(Message::Ended(rank, programs));
                });
            }
            FenceEvent::Stuck { .. } => self.is_stuck = true,
        }
    }
}

/// The next lines of each rank.
type Script = Vec<VecDeque<String>>;

const END: &str = "end";

/// Programs that put, fence and get in turn, as MPI libraries do. In each round the ranks of the
/// round's group get what members of that group have put before.
fn script(size: u32, rounds: u32, dies: bool, random: &mut Random) -> Script {
    let mut script: Script = vec![VecDeque::new(); size as usize];
    let all: Vec<u32> = (0..size).collect();
    for program in 0..1 + pick(random, 2) {
        for lines in &mut script {
            lines.push_back("cmd=init pmi_version=1 pmi_subversion=1 suiro=1".to_owned());
        }
        for round in 0..rounds {
            let mut group: Vec<u32> = match pick(random, 3) {
                0 => all.iter().copied().filter(|_| pick(random, 2) == 0).collect(),
                _ => all.clone(),
            };
            if group.is_empty() {
                group.push(0);
            }
            let list: Vec<_> = group.iter().map(u32::to_string).collect();
            let fence = match group.len() as u32 == size {
                true => "cmd=barrier_in".to_owned(),
                false => format!("cmd=barrier_in group={}:{round}", list.join(",")),
            };
            for rank in &group {
                let lines = &mut script[*rank as usize];
                for _ in 0..pick(random, 3) {
                    let (key, value) = (pick(random, 3), pick(random, 100));
                    lines.push_back(format!("cmd=put key=k{rank}-{key} value={program}.{value}"));
                }
                lines.push_back(fence.clone());
                for _ in 0..pick(random, 4) {
                    let (from, key) = (group[pick(random, group.len())], pick(random, 4));
                    lines.push_back(format!("cmd=get key=k{from}-{key}"));
                }
                lines.push_back(fence.clone());
            }
        }
        script.iter_mut().for_each(|lines| lines.push_back("cmd=finalize".to_owned()));
    }
    for lines in &mut script {
        if dies && pick(random, size as usize) == 0 {
            lines.truncate(pick(random, lines.len()));
        }
        lines.push_back(END.to_owned());
    }
    script
}

/// Runs `script` on `host_of_rank` in an order that `random` chooses: what each rank has read, and
/// whether a rank waits for one that has ended.
fn run(script: &Script, host_of_rank: &[u32], random: &mut Random) -> (Vec<Vec<String>>, bool) {
    let mut world = HostWorld::new(host_of_rank);
    let mut script = script.clone();
    let mut waits = vec![false; script.len()];
    let mut read = vec![Vec::new(); script.len()];
    loop {
        for (rank, replies) in &mut world.replies {
            read[*rank as usize].extend(replies.pop_front());
            waits[*rank as usize] = false;
            assert!(replies.is_empty(), "rank {rank} reads {replies:?} besides");
        }
        world.replies.clear();
        let ready = |rank: &usize| !waits[*rank] && !script[*rank].is_empty();
        let ready: Vec<usize> = (0..script.len()).filter(ready).collect();
        let delivers = ready.is_empty() || pick(random, 2) == 0;
        if delivers && world.deliver(random) {
            continue;
        }
        if ready.is_empty() {
            return (read, world.is_stuck);
        }
        let rank = ready[pick(random, ready.len())];
        match &*script[rank].pop_front().unwrap() {
            END => world.end(rank as u32),
            line => {
                waits[rank] = true;
                world.send(rank as u32, line);
            }
        }
    }
}

/// Replies without the part that differs between hosts.
fn without_mapping(read: Vec<Vec<String>>) -> Vec<Vec<String>> {
    let plain = |line: String| line.split(" mapping=").next().unwrap_or_default().to_owned();
    read.into_iter().map(|lines| lines.into_iter().map(plain).collect()).collect()
}

proptest! {
    #[test]
    fn many_hosts_answer_as_one(
        seed in any::<u64>(), places in proptest::collection::vec(0_u32..8, 1..12), rounds in 1_u32..4,
    ) {
        let random = &mut Random::new(seed);
        // Hosts are numbered without gaps.
        let known: BTreeSet<u32> = places.iter().copied().collect();
        let places: Vec<u32> =
            places.iter().map(|place| known.range(..place).count() as u32).collect();
        let script = script(places.len() as u32, rounds, false, random);
        let (one, is_stuck) = run(&script, &vec![0; places.len()], random);
        prop_assert!(!is_stuck);
        let (many, is_stuck) = run(&script, &places, random);
        prop_assert!(!is_stuck);
        prop_assert_eq!(without_mapping(many), without_mapping(one));
    }

    #[test]
    fn a_rank_that_is_missed_is_missed_on_any_host(
        seed in any::<u64>(), places in proptest::collection::vec(0_u32..4, 2..6),
    ) {
        let random = &mut Random::new(seed);
        let known: BTreeSet<u32> = places.iter().copied().collect();
        let places: Vec<u32> =
            places.iter().map(|place| known.range(..place).count() as u32).collect();
        let script = script(places.len() as u32, 2, true, random);
        let all_end = |read: &[Vec<String>]| {
            // The last line of a script has no reply.
            read.iter().zip(&script).all(|(read, lines)| read.len() + 1 == lines.len())
        };
        let (one, one_is_stuck) = run(&script, &vec![0; places.len()], random);
        let (many, many_are_stuck) = run(&script, &places, random);
        // Ranks that wait for ever are always reported. Ranks that wait only sometimes, because one
        // dies in a barrier, may be reported in one order of events and not in another.
        prop_assert!(one_is_stuck || all_end(&one));
        prop_assert!(many_are_stuck || all_end(&many));
        prop_assert_eq!(all_end(&one), all_end(&many));
    }

    /// However hosts are merged, in a tree or at once, the result is the same.
    #[test]
    fn merging_in_steps_is_merging_at_once(
        pairs in proptest::collection::vec("([a-c]\n[a-z]{0,3}\n){0,3}", 2..9), cut in 1_usize..8,
    ) {
        let cut = cut.min(pairs.len() - 1);
        let size = pairs.len() as u32;
        let fence = |pairs: &str| Fence {
            program: 1, group: "WORLD:0".to_owned(), pairs: pairs.as_bytes().to_vec(),
        };
        let set = |ranks: std::ops::Range<usize>| ranks.map(|rank| rank as u32).collect();
        let at_once = merge(FenceMerger::new(size, (0..pairs.len()).map(|at| set(at..at + 1)).collect()),
            pairs.iter().map(|pairs| fence(pairs)).collect());
        let part = |range: std::ops::Range<usize>| {
            let children = range.clone().map(|at| set(at..at + 1)).collect();
            merge(FenceMerger::new(size, children), pairs[range].iter().map(|p| fence(p)).collect())
        };
        let (left, right) = (part(0..cut), part(cut..pairs.len()));
        let top = FenceMerger::new(size, vec![set(0..cut), set(cut..pairs.len())]);
        prop_assert_eq!(merge(top, vec![left, right]), at_once);
    }

    #[test]
    fn any_pairs_are_taken_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
        let mut server = Server::of_host("job", &[0, 0], &[0, 1], 0);
        server.receive(0, b"cmd=init pmi_version=1 pmi_subversion=1\ncmd=barrier_in\n");
        let fence = Fence { program: 1, group: "WORLD:0".to_owned(), pairs: bytes };
        let is_text = std::str::from_utf8(&fence.pairs).is_ok_and(|text| {
            (text.is_empty() || text.ends_with('\n')) && text.matches('\n').count() % 2 == 0
        });
        let done = server.fence_done(&fence);
        prop_assert_eq!(done.is_ok(), is_text);
        // What is refused changes nothing.
        let waits = Fence { pairs: Vec::new(), ..fence };
        prop_assert_eq!(server.fence_done(&waits).is_ok(), !is_text);
    }
}

fn merge(mut fences: FenceMerger, parts: Vec<Fence>) -> Fence {
    let mut merged = None;
    for (child, part) in parts.into_iter().enumerate() {
        for event in fences.reached(child, part).unwrap() {
            let FenceEvent::Merged { fence, .. } = event else { panic!("{event:?}") };
            assert!(merged.replace(fence).is_none());
        }
    }
    merged.unwrap()
}

#[test]
fn a_host_serves_its_own_ranks() {
    let mut server = Server::of_host("job", &[0; 4], &[0, 1, 0, 1], 1);
    let events = server.receive(3, b"cmd=init pmi_version=1 pmi_subversion=1 suiro=1\n");
    let ServerEvent::Reply { bytes, .. } = &events[1] else { panic!("{events:?}") };
    let text = String::from_utf8_lossy(bytes);
    assert!(text.contains(" mapping=(vector,(0,2,1))"), "{text}");
    // Barriers of ranks of one host need no other host.
    server.receive(1, b"cmd=init pmi_version=1 pmi_subversion=1 suiro=1\n");
    for barrier in ["cmd=barrier_in group=NODE:0\n", "cmd=barrier_in group=1,3\n"] {
        assert_eq!(server.receive(1, barrier.as_bytes()), []);
        let events = server.receive(3, barrier.as_bytes());
        let is_reply = |event: &ServerEvent| matches!(event, ServerEvent::Reply { .. });
        assert!(events.len() == 2 && events.iter().all(is_reply), "{events:?}");
    }
}

#[test]
fn ranks_in_disorder_are_listed() {
    let hosts: Vec<u32> = (0..900_u32).map(|rank| rank.wrapping_mul(0x9E37_79B1) >> 29).collect();
    let mut server = Server::of_host("job", &[0; 900], &hosts, 0);
    let events = server.receive(0, b"cmd=init pmi_version=1 pmi_subversion=1 suiro=1\n");
    let ServerEvent::Reply { bytes, .. } = &events[1] else { panic!("{events:?}") };
    let text = String::from_utf8_lossy(bytes);
    let list = text.trim_end().split_once(" local=").unwrap().1;
    let expected: Vec<u32> = (0..900).filter(|rank| hosts[*rank as usize] == 0).collect();
    assert_eq!(super::super::mapping::listed_ranks(list, 0), Some(expected));
    let events = server.receive(0, b"cmd=get key=PMI_process_mapping\n");
    let ServerEvent::Reply { bytes, .. } = &events[0] else { panic!("{events:?}") };
    assert!(bytes.starts_with(b"cmd=get_result rc=1"));
}

#[test]
fn a_fence_out_of_turn_is_refused() {
    let mut fences = FenceMerger::new(3, vec![[0].into(), [1].into(), [2].into()]);
    let fence = |group: &str| Fence { group: group.to_owned(), ..Fence::default() };
    assert!(fences.reached(2, fence("0,1")).unwrap_err().contains("none of its ranks"));
    assert!(fences.reached(0, fence("0,7")).unwrap_err().contains("no group"));
    assert_eq!(fences.reached(0, fence("0,1")), Ok(vec![]));
    assert!(fences.reached(0, fence("0,1")).unwrap_err().contains("already"));
    assert!(matches!(fences.reached(1, fence("0,1")).as_deref(), Ok([FenceEvent::Merged { .. }])));
    let mut server = Server::of_host("job", &[0, 0], &[0, 1], 0);
    assert!(server.fence_done(&fence("WORLD:0")).unwrap_err().contains("no rank of this host"));
}

#[test]
fn the_first_end_of_each_number_of_programs_is_told() {
    let mut fences = FenceMerger::new(4, vec![[0, 1].into(), [2, 3].into()]);
    assert_eq!(fences.rank_ended(0, 1), [FenceEvent::Ended { rank: 0, programs: 1 }]);
    assert_eq!(fences.rank_ended(1, 1), []);
    assert_eq!(fences.rank_ended(0, 1), []);
    let list = Fence { program: 1, group: "1,3".to_owned(), ..Fence::default() };
    assert_eq!(fences.reached(1, list), Ok(vec![FenceEvent::Stuck { ended: 1, waiting: 3 }]));
}

#[test]
fn the_ranks_of_a_lost_host_have_joined_as_far_as_their_fences_tell() {
    let fence = || Fence { program: 1, group: "WORLD:1".to_owned(), ..Fence::default() };
    let mut fences = FenceMerger::new(3, vec![[0].into(), [1, 2].into()]);
    assert_eq!(fences.reached(0, fence()), Ok(vec![]));
    let ended = FenceEvent::Ended { rank: 1, programs: 0 };
    let stuck = |ended| FenceEvent::Stuck { ended, waiting: 0 };
    assert_eq!(fences.child_lost(1), [ended, stuck(1), stuck(2)]);
    let mut fences = FenceMerger::new(3, vec![[0].into(), [1, 2].into()]);
    fences.reached(0, fence()).unwrap();
    fences.reached(1, fence()).unwrap();
    assert_eq!(fences.child_lost(1), [FenceEvent::Ended { rank: 1, programs: 1 }]);
}

/// Each record crosses each connection once in each direction. Prints what a fence costs; 4,096 ranks
/// with `SUIRO_TEST_LONG=1`.
#[test]
fn a_fence_carries_each_record_once() {
    let sizes = match std::env::var_os("SUIRO_TEST_LONG") {
        Some(_) => [(512, 8), (4096, 64)],
        None => [(64, 8), (512, 8)],
    };
    for (ranks, hosts) in sizes {
        let places: Vec<u32> = (0..ranks).map(|rank| rank * hosts / ranks).collect();
        let mut world = HostWorld::new(&places);
        // About the length of a record of this library.
        let value = "v".repeat(400);
        for rank in 0..ranks {
            world.send(rank, "cmd=init pmi_version=1 pmi_subversion=1 suiro=1");
            world.send(rank, &format!("cmd=put key=suiro-rank-{rank} value={value}"));
        }
        world.replies.clear();
        let start = std::time::Instant::now();
        (0..ranks).for_each(|rank| world.send(rank, "cmd=barrier_in"));
        let bytes = |queues: &[VecDeque<Message>]| {
            let fences = queues.iter().flatten().map(|message| match message {
                Message::Reached(fence) | Message::Done(fence) => fence.pairs.len(),
                Message::Ended(..) => 0,
            });
            fences.collect::<Vec<_>>()
        };
        let up = bytes(&world.up);
        let random = &mut Random::new(1);
        while world.up.iter().any(|queue| !queue.is_empty()) {
            // Nothing goes down before the last has come up.
            world.deliver(random);
        }
        let down = bytes(&world.down);
        while world.deliver(random) {}
        let took = start.elapsed();
        assert_eq!(world.replies.len(), ranks as usize);
        let record = |rank: u32| format!("suiro-rank-{rank}\n{value}\n").len();
        let total: usize = (0..ranks).map(record).sum();
        assert_eq!((up.len(), up.iter().sum()), (hosts as usize, total));
        assert_eq!(down, vec![total; hosts as usize]);
        println!(
            "{ranks} ranks on {hosts} hosts: {} bytes up and {total} bytes down for each host, {took:?}",
            up[0]
        );
        let get = format!("cmd=get key=suiro-rank-{}", ranks - 1);
        world.send(0, &get);
        assert!(world.replies[&0].iter().any(|line| line.contains(&value)));
    }
}

#[test]
fn requests_about_names_leave_the_host_and_one_service_answers() {
    let mut names = NameService::default();
    let mut servers = [0, 1].map(|host| Server::of_host("job", &[0, 0], &[0, 1], host));
    let mut answer = |rank: u32, line: &str| {
        let events = servers[rank as usize].receive(rank, format!("{line}\n").as_bytes());
        let [ServerEvent::Name { rank: asking, request }] = &events[..] else {
            panic!("{events:?}");
        };
        assert_eq!(*asking, rank);
        let reply = names.serve(rank, request);
        String::from_utf8(request.reply_bytes(reply)).unwrap()
    };
    assert!(answer(1, "cmd=lookup_name service=a").contains("rc=1"));
    assert!(answer(0, "cmd=publish_name service=a port=b").contains("publish_result rc=0"));
    assert_eq!(answer(1, "cmd=lookup_name service=a"), "cmd=lookup_result rc=0 port=b\n");
    assert!(answer(1, "cmd=unpublish_name service=a").contains("unpublish_result rc=0"));
    assert!(answer(0, "cmd=lookup_name service=a").contains("rc=1"));
}
