//! Intercommunicators on ranks in one process: groups of every shape, in an order drawn from a
//! seed, against a model that all ranks compute equally.

use std::sync::Arc;

use mpi_abi::mpi::attribute::Attributes;
use mpi_abi::mpi::communicator::create::Split;
use mpi_abi::mpi::communicator::intercomm_create::IntercommCreation;
use mpi_abi::mpi::communicator::{COMM_NULL, COMM_WORLD};
use mpi_abi::mpi::errhandler::Handler;
use mpi_abi::mpi::group::Group;
use mpi_abi::mpi::point_to_point::SendMode;
use mpi_abi::mpi::request::status::{ANY_SOURCE, ANY_TAG};
use platform::base::{ErrorClass, Random};

use super::harness::{Rank, ranks};
use super::mpi::{receive, send};

/// The processes of each group, in order of their ranks there.
pub type Groups = Vec<Vec<u32>>;

/// Distributes the ranks of the world over non-empty groups, in any order.
pub fn dealt(random: &mut Random, count: u32, groups: usize) -> Groups {
    let mut order: Vec<u32> = (0..count).collect();
    for place in (1..order.len()).rev() {
        order.swap(place, random.below(place as u64 + 1) as usize);
    }
    let mut dealt: Groups = vec![Vec::new(); groups];
    for (place, rank) in order.into_iter().enumerate() {
        let to = if place < groups { place } else { random.below(groups as u64) as usize };
        dealt[to].push(rank);
    }
    dealt
}

pub fn place_in(groups: &Groups, me: u32) -> (usize, usize) {
    let place = |group: &Vec<u32>| group.iter().position(|rank| *rank == me);
    groups.iter().enumerate().find_map(|(group, list)| Some((group, place(list)?))).unwrap()
}

async fn split(rank: &mut Rank, split: &Split) -> Option<u32> {
    rank.until(|mpi| mpi.end_split(split).unwrap()).await
}

pub async fn built(rank: &mut Rank, mut bridge: IntercommCreation) -> u32 {
    rank.until(|mpi| mpi.end_intercomm(&mut bridge).unwrap()).await.expect("a communicator")
}

/// A communicator of the local group.
pub async fn local(rank: &mut Rank, groups: &Groups) -> u32 {
    let (group, place) = place_in(groups, rank.me);
    let wanted = rank.mpi.split(COMM_WORLD, Some(group as i32), place as i32).unwrap();
    split(rank, &wanted).await.expect("a communicator")
}

/// The communicator has these groups, both sides number its members alike, and a message to each
/// rank of the other group comes from where it says.
async fn expect_inter(rank: &mut Rank, comm: u32, own: &[u32], other: &[u32]) {
    let found = rank.mpi.comms.get(comm).unwrap();
    assert!(found.group.peers().eq(own.iter().copied()));
    assert!(found.targets().peers().eq(other.iter().copied()));
    let (low, high) = if own[0] < other[0] { (own, other) } else { (other, own) };
    let members = found.members();
    let all = low.iter().chain(high);
    assert!((0..).zip(all).all(|(member, peer)| members.peer(member) == *peer));
    assert_eq!(members.peer(found.member()), rank.me);
    let me = found.rank;
    let sends: Vec<_> = (0..other.len() as u32)
        .map(|to| send(rank, SendMode::Standard, me.to_le_bytes().to_vec(), to, me as i32, comm))
        .collect();
    for _ in other {
        let mut buffer = [0; 4];
        let receiving = receive(rank, &mut buffer, ANY_SOURCE, ANY_TAG, comm);
        let status = rank.wait(receiving).await.status;
        assert_eq!(status.tag, status.source);
        assert_eq!(i32::from_le_bytes(buffer), status.source);
    }
    for sending in sends {
        rank.wait(sending).await;
    }
}

/// Three groups, each pair of which gets an intercommunicator with the same tag over the world.
#[test]
fn every_pair_of_groups_gets_its_own() {
    for (count, seed) in (3..=7).flat_map(|count| (0..20).map(move |seed| (count, seed))) {
        ranks(count, seed, async |rank| {
            let mut random = Random::new(seed);
            let groups = dealt(&mut random, count, 3);
            let leaders: Vec<usize> =
                groups.iter().map(|group| random.below(group.len() as u64) as usize).collect();
            let (own, _) = place_in(&groups, rank.me);
            let half = local(rank, &groups).await;
            for (one, two) in [(0, 1), (1, 2), (0, 2)] {
                let other = match own {
                    own if own == one => two,
                    own if own == two => one,
                    _ => continue,
                };
                let remote_leader = groups[other][leaders[other]] as i32;
                let leader = leaders[own] as i32;
                let bridge =
                    rank.mpi.intercomm_create(half, leader, COMM_WORLD, remote_leader, 0x1_0007);
                let inter = built(rank, bridge.unwrap()).await;
                expect_inter(rank, inter, &groups[own], &groups[other]).await;
            }
        });
    }
}

/// Two groups: several pending duplications, splits by colors of both sides, merges.
#[test]
fn they_are_duplicated_split_and_merged() {
    for (count, seed) in (2..=7).flat_map(|count| (20..40).map(move |seed| (count, seed))) {
        ranks(count, seed, async |rank| {
            let mut random = Random::new(seed);
            let groups = dealt(&mut random, count, 2);
            let (own, place) = place_in(&groups, rank.me);
            let half = local(rank, &groups).await;
            let remote_leader = groups[1 - own][0] as i32;
            let bridge = rank.mpi.intercomm_create(half, 0, COMM_WORLD, remote_leader, 0).unwrap();
            let inter = built(rank, bridge).await;
            let copies = [0; 3].map(|_| rank.mpi.duplicate(inter, Attributes::default()).unwrap());
            expect_inter(rank, inter, &groups[own], &groups[1 - own]).await;
            for (copy, activity) in copies {
                assert_eq!(rank.wait(activity).await.error, None);
                expect_inter(rank, copy, &groups[own], &groups[1 - own]).await;
            }

            let colors: Vec<i32> = (0..count).map(|_| random.below(3) as i32).collect();
            let keys: Vec<i32> = (0..count).map(|_| random.below(2) as i32).collect();
            let color = colors[rank.me as usize];
            let wanted = rank.mpi.split(inter, Some(color), keys[rank.me as usize]).unwrap();
            let part = split(rank, &wanted).await;
            let parts: Groups = groups
                .iter()
                .map(|group| {
                    let mut part: Vec<u32> =
                        group.iter().copied().filter(|it| colors[*it as usize] == color).collect();
                    part.sort_by_key(|it| keys[*it as usize]);
                    part
                })
                .collect();
            match part {
                None => assert!(parts[1 - own].is_empty()),
                Some(part) => expect_inter(rank, part, &parts[own], &parts[1 - own]).await,
            }

            let high = [0; 2].map(|_| random.below(2) == 1);
            let merge = rank.mpi.merge(inter, high[own]).unwrap();
            let merged = split(rank, &merge).await.expect("a communicator");
            let comm = rank.mpi.comms.get(merged).unwrap();
            let goes_first = match high[own] == high[1 - own] {
                true => groups[own][0] < groups[1 - own][0],
                false => !high[own],
            };
            let before = if goes_first { 0 } else { groups[1 - own].len() };
            assert_eq!((comm.rank as usize, comm.size()), (before + place, count));
            assert!(!comm.is_inter());
            let barrier = rank.mpi.start_barrier(merged).unwrap();
            assert_eq!(rank.wait(barrier).await.error, None);
        });
    }
}

/// Creation from groups only; an error at a leader is an error of its whole group.
#[test]
fn groups_without_a_communicator_and_leaders_with_errors() {
    for (count, seed) in (2..=6).flat_map(|count| (40..52).map(move |seed| (count, seed))) {
        ranks(count, seed, async |rank| {
            let groups = dealt(&mut Random::new(seed), count, 2);
            let (own, place) = place_in(&groups, rank.me);
            let handles = [0, 1].map(|side: usize| {
                let group = Arc::new(Group::new(&groups[side], rank.me));
                rank.mpi.objects.groups.insert(group).unwrap()
            });
            let last = |side: usize| groups[side].len() as i32 - 1;
            for string in [&b"one"[..], b"two"] {
                // What does not count is no group at all.
                let remote = if place as i32 == last(own) { handles[1 - own] } else { 0 };
                let bridge = rank.mpi.intercomm_from_groups(
                    (handles[own], last(own)),
                    (remote, last(1 - own)),
                    string,
                    Handler::Return,
                );
                let inter = built(rank, bridge.unwrap().unwrap()).await;
                expect_inter(rank, inter, &groups[own], &groups[1 - own]).await;
            }

            let half = local(rank, &groups).await;
            let missing = [(COMM_NULL, 0, ErrorClass::Comm), (COMM_WORLD, 99, ErrorClass::Rank)];
            for (peer, remote_leader, class) in missing {
                let bridge = rank.mpi.intercomm_create(half, 0, peer, remote_leader, 3);
                let mut bridge = bridge.unwrap();
                let error = rank.until(|mpi| mpi.end_intercomm(&mut bridge).err()).await;
                assert_eq!(error.code.0, class as i32);
            }
            let barrier = rank.mpi.start_barrier(half).unwrap();
            assert_eq!(rank.wait(barrier).await.error, None);
        });
    }
}
