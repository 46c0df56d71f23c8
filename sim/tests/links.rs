//! Messages on the links of a topology.

use mpi_abi::mpi::collective::algorithms::hierarchical::Nodes;
use mpi_abi::mpi::collective::selection::registry::CollectiveOperation;
use mpi_abi::offload::{Region, Schedule, ScheduleBuilder, StepAction, Wait};
use sim::collective::CollectiveCall;
use sim::executor::StepCosts;
use sim::executor::event_driven::{self, EventRun, LinkNetwork};
use sim::network::LoggpRates;
use sim::noise::{Noise, NoiseKind};
use sim::topology::{NodeOrder, RankNodes, Topology};

/// Round numbers: G = 1 ps, L = 1000, nothing else.
const PLAIN: LoggpRates = LoggpRates {
    name: "plain",
    latency_ps: 1000,
    overhead_ps: 0,
    gap_ps: 0,
    byte_ps: 1,
    reduced_ps: 0,
    copied_ps: 0,
    contends: true,
};

fn network(topology: &str, ranks: u32, per_node: u32, hop_ps: u64, byte_ps: u64) -> LinkNetwork {
    let topology: Topology = topology.parse().unwrap();
    let nodes = topology.nodes();
    let placement = RankNodes::new(ranks, per_node, nodes, NodeOrder::Block, 1).unwrap();
    LinkNetwork { topology, placement, node_latency_ps: 300, hop_ps, byte_ps }
}

fn run(schedules: &[Schedule], costs: &StepCosts, network: &LinkNetwork) -> EventRun {
    let schedule = |rank: u32| schedules[rank as usize].clone();
    let ranks = schedules.len() as u32;
    event_driven::run_on_links(ranks, &schedule, costs, Some(network), &|_| {}).unwrap()
}

/// The schedules of messages: sender, receiver, bytes.
fn messages(ranks: u32, all: &[(u32, u32, usize)]) -> Vec<Schedule> {
    let schedule = |rank: u32| {
        let mut plan = ScheduleBuilder::new();
        for (from, to, len) in all.iter().copied() {
            let region = Region { len, ..Region::EMPTY };
            if from == rank {
                plan.push(StepAction::Send { peer: to, region, label: 1 }, 1, Wait::All, &[]);
            }
            if to == rank {
                plan.push(StepAction::Receive { peer: from, region, label: 1 }, 1, Wait::All, &[]);
            }
        }
        plan.finish()
    };
    (0..ranks).map(schedule).collect()
}

/// Times of messages under these settings.
fn ends(all: &[(u32, u32, usize)], network: &LinkNetwork) -> Vec<u64> {
    let costs = StepCosts { network: PLAIN, noise: Noise::NONE };
    run(&messages(8, all), &costs, network).times.ends_ps
}

#[test]
fn a_message_takes_its_links_one_after_the_other() {
    // Two levels: up, up, down, down.
    let tree = network("fat-tree:2,3", 8, 1, 10, 1);
    let far = ends(&[(0, 2, 100)], &tree);
    assert_eq!((far[0], far[2]), (100, 100 + 4 * 10 + 1000));
    let near = ends(&[(0, 1, 100)], &tree);
    assert_eq!(near[1], 100 + 2 * 10 + 1000);
    // Links that are half as fast, or twice.
    let slow = ends(&[(0, 1, 100)], &network("fat-tree:2,3", 8, 1, 10, 2));
    assert_eq!((slow[0], slow[1]), (100, 200 + 2 * 10 + 1000));
    let fast = ends(&[(0, 1, 100)], &network("fat-tree:2,3", 8, 1, 10, 0));
    assert_eq!(fast[1], 100 + 2 * 10 + 1000);
    // Ranks of one node need no link.
    let inside = ends(&[(0, 1, 100)], &network("fat-tree:2,3", 8, 2, 10, 7));
    assert_eq!(inside[1], 100 + 300);
}

#[test]
fn messages_wait_for_a_link_that_they_share() {
    // One way up from each pair of nodes: both messages of nodes 0 and 1 take it.
    let both = [(0, 4, 100), (1, 6, 100)];
    let tapered = ends(&both, &network("fat-tree:2,3,2", 8, 1, 10, 1));
    assert_eq!((tapered[4], tapered[6]), (100 + 6 * 10 + 1000, 200 + 6 * 10 + 1000));
    // The numbers of the receivers choose different ways where there are two.
    let free = ends(&[(0, 4, 100), (1, 7, 100)], &network("fat-tree:2,3", 8, 1, 10, 1));
    assert_eq!((free[4], free[7]), (100 + 6 * 10 + 1000, 100 + 6 * 10 + 1000));
    // Two ranks of a node share its link.
    let node = ends(&[(0, 4, 100), (1, 6, 100)], &network("fat-tree:2,2", 8, 2, 10, 1));
    assert_eq!((node[4], node[6]), (100 + 4 * 10 + 1000, 200 + 4 * 10 + 1000));
    // A queue holds no link before it: the second message waits at the top, the third passes it.
    let passing = [(0, 4, 100), (1, 6, 100), (2, 3, 100)];
    assert_eq!(ends(&passing, &network("fat-tree:2,3,2", 8, 1, 10, 1))[3], 100 + 2 * 10 + 1000);
}

/// Free links change nothing but hops, for every algorithm.
#[test]
fn links_without_a_price_change_no_time() {
    let noise = Noise::new(NoiseKind::Periodic, 7_000_000, 2_500_000, 5).unwrap();
    let costs = StepCosts { network: LoggpRates::LOGGP, noise };
    let mut compared = 0;
    for operation in CollectiveOperation::ALL {
        for algorithm in CollectiveCall::algorithms(operation) {
            for (ranks, topology) in
                [(8, "fat-tree:3,2"), (13, "dragonfly:3,2,1"), (12, "torus:3x2x2")]
            {
                let call = CollectiveCall {
                    algorithm: Some(algorithm.to_owned()),
                    ..CollectiveCall::new(operation, ranks, 1000)
                };
                let run_both = call.with_schedules(|_, schedule| {
                    let schedules: Vec<Schedule> = (0..ranks).map(schedule).collect();
                    let free = event_driven::run(ranks, schedule, &costs)?;
                    let linked = run(&schedules, &costs, &network(topology, ranks, 1, 0, 0));
                    assert_eq!(free.times, linked.times, "{algorithm} on {topology}");
                    check_links(&schedules, &costs, &network(topology, ranks, 1, 50_000, 160));
                    Ok(())
                });
                match run_both {
                    Ok(()) => compared += 1,
                    Err(why) => assert!(why.contains("does not fit"), "{why}"),
                }
            }
        }
    }
    assert!(compared > 100, "{compared}");
}

/// In two levels, few messages leave a node, and those inside take their own latency.
#[test]
fn operations_in_two_levels_know_the_nodes() {
    let costs = StepCosts { network: LoggpRates::LOGGP, noise: Noise::NONE };
    let network = network("fat-tree:4,2", 24, 4, 50_000, 80);
    let nodes = || Nodes::new((0..24).map(|rank| network.placement.node(rank)));
    let mut compared = 0;
    for operation in CollectiveOperation::ALL {
        let call = CollectiveCall {
            algorithm: Some("two_level".to_owned()),
            nodes: nodes(),
            root: if operation == CollectiveOperation::Bcast { 5 } else { 0 },
            ..CollectiveCall::new(operation, 24, 1000)
        };
        let found = call.with_schedules(|name, schedule| {
            assert_eq!(name, "two_level");
            let schedules: Vec<Schedule> = (0..24).map(schedule).collect();
            check_links(&schedules, &costs, &network);
            let up = &run(&schedules, &costs, &network).links[..16];
            Ok(up.iter().map(|used| used.messages).sum::<u64>())
        });
        match found {
            // Six nodes: a message to each but that of the root.
            Ok(messages) if operation == CollectiveOperation::Bcast => assert_eq!(messages, 5),
            Ok(_) => compared += 1,
            Err(why) => assert!(why.contains("'two_level': expected one of"), "{why}"),
        }
    }
    assert!(compared >= 9, "{compared}");
    // The cheapest by the library's costs, on these nodes.
    let chosen =
        CollectiveCall { nodes: nodes(), ..CollectiveCall::new(CollectiveOperation::Bcast, 24, 8) };
    assert_eq!(chosen.with_schedules(|name, _| Ok(name)), Ok("two_level"));
}

/// Links carry what ranks send, and the parts of the path are its time.
fn check_links(schedules: &[Schedule], costs: &StepCosts, network: &LinkNetwork) {
    let EventRun { times, links, .. } = run(schedules, costs, network);
    let parts: u64 = times.path.parts().iter().map(|(_, ps)| ps).sum();
    assert_eq!(parts, times.ends_ps[times.last as usize]);
    let (mut bytes, mut messages) = (vec![0; links.len()], vec![0; links.len()]);
    for (rank, schedule) in (0..).zip(schedules) {
        for step in schedule.steps() {
            let StepAction::Send { peer, region, .. } = step.action else { continue };
            let mut route = Vec::new();
            let ends = [rank, peer].map(|rank| network.placement.node(rank));
            network.topology.route(ends[0], ends[1], &mut route);
            for link in route {
                bytes[link as usize] += region.len as u64;
                messages[link as usize] += 1;
            }
        }
    }
    for (link, used) in links.iter().enumerate() {
        assert_eq!((used.bytes, used.messages), (bytes[link], messages[link]), "link {link}");
        assert_eq!(used.busy_ps, used.bytes * network.byte_ps, "link {link}");
    }
}
