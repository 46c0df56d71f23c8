//! Shared segments of communicators on ranks in one process: all members have the same segment or
//! none has, for every kind of creation and any number of communicators, and segments are reused.

use std::collections::BTreeSet;
use std::sync::Arc;

use mpi_abi::mpi::Memory;
use mpi_abi::mpi::attribute::Attributes;
use mpi_abi::mpi::collective::binding::CallForm;
use mpi_abi::mpi::communicator::segment::EnteredSegment;
use mpi_abi::mpi::communicator::{COMM_SELF, COMM_WORLD};
use mpi_abi::mpi::errhandler::Handler;
use mpi_abi::mpi::group::Group;
use mpi_abi::mpi::request::Activity;
use mpi_abi::shared_memory::segment::{SharedSegment, SlotHeader};
use platform::base::Random;

use super::harness::{Rank, placed, ranks};

pub fn number(rank: &Rank, comm: u32) -> Option<u32> {
    rank.mpi.segment_number(comm)
}

async fn created(rank: &mut Rank, (comm, activity): (u32, Activity)) -> u32 {
    assert_eq!(rank.wait(activity).await.error, None);
    comm
}

pub async fn duplicate(rank: &mut Rank, comm: u32) -> u32 {
    let made = rank.mpi.duplicate(comm, Attributes::default()).unwrap();
    created(rank, made).await
}

async fn duplicates(rank: &mut Rank, comm: u32, count: usize) -> Vec<u32> {
    let mut all = Vec::new();
    for _ in 0..count {
        all.push(duplicate(rank, comm).await);
    }
    all
}

async fn split(rank: &mut Rank, comm: u32, color: Option<i32>, key: i32) -> Option<u32> {
    let split = rank.mpi.split(comm, color, key).unwrap();
    rank.until(|mpi| mpi.end_split(&split).unwrap()).await
}

async fn barrier(rank: &mut Rank, comm: u32) {
    let barrier = rank.mpi.start_barrier(comm).unwrap();
    assert_eq!(rank.wait(barrier).await.error, None);
}

/// Publishes in the next round of a communicator's segment, and checks that all others do.
async fn talk(rank: &mut Rank, comm: u32) {
    let publish = |segment: &mut SharedSegment| {
        let round = segment.begin(1);
        let span = segment.entry(round, 4)?;
        span.write(0, &(segment.local_rank() as u32).to_le_bytes());
        segment.publish(round, SlotHeader { kind: 1, root: 0, bytes: 4 });
        Some(round)
    };
    fn segment(mpi: &mut super::harness::TestMpi, comm: u32) -> &mut SharedSegment {
        mpi.segment(comm).expect("a segment")
    }
    let round = publish(segment(&mut rank.mpi, comm)).expect("an entry");
    for other in 0..segment(&mut rank.mpi, comm).len() {
        let (head, span) = rank.until(|mpi| segment(mpi, comm).read(other, round)).await;
        let mut data = [0; 4];
        span.read(0, &mut data);
        assert_eq!((head.bytes, u32::from_le_bytes(data)), (4, other as u32));
    }
    let _told = segment(&mut rank.mpi, comm).done(round, false);
}

/// All members of a group report the same segment, and no two groups of existing communicators have
/// the same segment.
fn agreed(said: &[(BTreeSet<u32>, Option<u32>)]) {
    for (group, segment) in said {
        for (other_group, other) in said {
            if group == other_group {
                assert_eq!(segment, other, "{group:?}");
            } else if segment.is_some() {
                assert_ne!(segment, other, "{group:?} and {other_group:?}");
            }
        }
    }
}

#[test]
fn the_world_has_the_first_segment_and_a_single_rank_has_none() {
    let segments = ranks(3, 1, async |rank| {
        talk(rank, COMM_WORLD).await;
        (number(rank, COMM_WORLD), number(rank, COMM_SELF))
    });
    assert_eq!(segments, [(Some(0), None); 3]);
    assert_eq!(ranks(1, 1, async |rank| number(rank, COMM_WORLD)), [None]);
}

/// Only the root knows the lengths of the blocks: a rank with an empty one publishes its progress as often as with
/// long data, because a rank with a long block waits for that.
#[test]
fn ranks_without_a_block_stop_no_long_blocks_of_others() {
    const LONG: usize = 6000;
    for seed in 0..10 {
        ranks(3, seed, async |rank| {
            for turn in 0..30 {
                let lens = [0, LONG, 0];
                let send = Memory::owned(vec![turn; lens[rank.me as usize]]);
                let places = lens.map(|len| Memory::owned(vec![0; len]));
                let places = if rank.me == 0 { places.into() } else { Vec::new() };
                let seen = places.get(1).map(Memory::alias);
                let call = rank.mpi.gatherv(COMM_WORLD, 0, Some(send.alias()), places).unwrap();
                let call = rank.mpi.launch(call, CallForm::Blocking).unwrap();
                assert_eq!(rank.wait(call).await.error, None);
                if let Some(seen) = seen {
                    let mut data = vec![0; lens[1]];
                    seen.pack(0, &mut data);
                    assert_eq!(data, vec![turn; lens[1]]);
                }
            }
        });
    }
}

#[test]
fn halves_agree_and_ranks_that_are_not_first_release_their_claims() {
    for seed in 0..20 {
        let said = ranks(6, seed, async |rank| {
            let mut random = Random::new(seed ^ u64::from(rank.me) << 20);
            let mut last = (BTreeSet::new(), None);
            // More splits than segments, so that claims that are not released would be found.
            for _ in 0..40 {
                let color = Some(random.below(3) as i32).filter(|_| !random.one_in(7));
                let key = random.below(4) as i32;
                let made = split(rank, COMM_WORLD, color, key).await;
                last = (BTreeSet::new(), None);
                if let Some(made) = made {
                    let comm = rank.mpi.comms.get(made).unwrap();
                    let (group, single) = (comm.group.peers().collect(), comm.size() == 1);
                    assert_eq!(number(rank, made).is_none(), single);
                    if !single {
                        talk(rank, made).await;
                    }
                    last = (group, number(rank, made));
                }
                barrier(rank, COMM_WORLD).await;
                if let Some(made) = made {
                    rank.mpi.free_comm(made).unwrap();
                }
            }
            last
        });
        agreed(&said);
    }
}

/// The kinds of creation other than duplicates and splits.
#[test]
fn every_way_to_a_communicator_gives_a_segment() {
    for seed in 0..10 {
        ranks(5, seed, async |rank| {
            let me = rank.me;
            let group = Arc::new(Group::new(&[3, 0, 4], me));
            // By all ranks.
            let create = rank.mpi.create(COMM_WORLD, Arc::clone(&group)).unwrap();
            let made = rank.until(|mpi| mpi.end_split(&create).unwrap()).await;
            assert_eq!(made.is_some(), group.rank().is_some());
            // By the members, beside others.
            if let Some(made) = made {
                let other = rank.mpi.create_by_members(COMM_WORLD, group, 5).unwrap();
                let other = created(rank, other).await;
                let copy = duplicate(rank, other).await;
                for comm in [copy, made, other] {
                    talk(rank, comm).await;
                    rank.mpi.free_comm(comm).unwrap();
                }
            }
            let pair = Arc::new(Group::new(&[4, 1], me));
            if pair.rank().is_some() {
                let made = rank.mpi.create_from_group(pair, b"pair", Handler::Return).unwrap();
                let made = created(rank, made).await;
                talk(rank, made).await;
                rank.mpi.free_comm(made).unwrap();
            }
            // An intercommunicator has no segment, its merged communicator has one.
            let side = i32::from(me > 1);
            let half = split(rank, COMM_WORLD, Some(side), 0).await.unwrap();
            let remote = if side == 0 { 2 } else { 0 };
            let mut bridge = rank.mpi.intercomm_create(half, 0, COMM_WORLD, remote, 3).unwrap();
            let inter = rank.until(|mpi| mpi.end_intercomm(&mut bridge).unwrap()).await.unwrap();
            assert_eq!(number(rank, inter), None);
            let copy = duplicate(rank, inter).await;
            assert_eq!(number(rank, copy), None);
            let merge = rank.mpi.merge(inter, side == 0).unwrap();
            let merged = rank.until(|mpi| mpi.end_split(&merge).unwrap()).await.unwrap();
            talk(rank, merged).await;
            for comm in [inter, merged, half, copy] {
                rank.mpi.free_comm(comm).unwrap();
            }
        });
    }
}

/// The communicator of survivors has a segment; the claims of processes that do not coordinate are released.
#[test]
fn a_communicator_of_survivors_has_a_segment() {
    for seed in 0..5 {
        let segments = ranks(4, seed, async |rank| {
            let mut numbers = Vec::new();
            // More than there are segments.
            for _ in 0..100 {
                let shrunk = rank.mpi.shrink(COMM_WORLD).unwrap();
                let shrunk = created(rank, shrunk).await;
                talk(rank, shrunk).await;
                numbers.push(number(rank, shrunk));
                rank.mpi.free_comm(shrunk).unwrap();
            }
            numbers
        });
        assert!(segments.windows(2).all(|two| two[0] == two[1]), "ranks disagree");
        assert!(segments[0].iter().all(Option::is_some));
    }
}

/// More communicators than segments, freed in an order that differs between ranks.
#[test]
fn segments_run_out_for_all_alike_and_come_back() {
    for seed in 0..3 {
        let segments = ranks(3, seed, async |rank| {
            let mut random = Random::new(seed + 77 * u64::from(rank.me));
            let mut seen = Vec::new();
            for _ in 0..3 {
                let mut comms = duplicates(rank, COMM_WORLD, 80).await;
                seen.push(comms.iter().map(|comm| number(rank, *comm)).collect::<Vec<_>>());
                for comm in &comms {
                    if number(rank, *comm).is_some() {
                        talk(rank, *comm).await;
                    } else {
                        barrier(rank, *comm).await;
                    }
                }
                // Some are freed now, the others after the next ones were created.
                let kept = duplicate(rank, comms[0]).await;
                while !comms.is_empty() {
                    let drawn = random.below(comms.len() as u64) as usize;
                    rank.mpi.free_comm(comms.swap_remove(drawn)).unwrap();
                }
                barrier(rank, COMM_WORLD).await;
                rank.mpi.free_comm(kept).unwrap();
            }
            seen
        });
        assert!(segments.windows(2).all(|two| two[0] == two[1]), "ranks disagree");
        for turn in &segments[0] {
            let having: BTreeSet<u32> = turn.iter().copied().flatten().collect();
            assert_eq!(having.len(), turn.iter().flatten().count(), "a segment twice");
            assert_eq!(having, (1..64).collect());
        }
    }
}

/// A communicator of ranks on several nodes has no segment, and those that its ranks claimed, each on
/// its own node, are free again: in the end the ranks of each node can use all segments of the node.
#[test]
fn segments_are_of_one_node() {
    for (seed, places) in
        (0..).zip([&[0, 0, 1, 1][..], &[0, 1, 0, 1], &[0, 1, 1, 0, 2], &[5, 3, 3]])
    {
        placed(places, seed, async |rank| {
            assert_eq!(number(rank, COMM_WORLD), None);
            let node = places[rank.me as usize];
            let mut kept = Vec::new();
            for turn in 0..30 {
                let across =
                    split(rank, COMM_WORLD, Some(0), turn % 3 * rank.me as i32).await.unwrap();
                let copy = duplicate(rank, across).await;
                assert_eq!((number(rank, across), number(rank, copy)), (None, None));
                barrier(rank, across).await;
                for comm in [across, copy] {
                    rank.mpi.free_comm(comm).unwrap();
                }
                // From now on the first free segments of the nodes have different numbers.
                let local = split(rank, COMM_WORLD, Some(node as i32), 0).await.unwrap();
                let is_kept = node == places[0];
                if is_kept { kept.push(local) } else { rank.mpi.free_comm(local).unwrap() }
            }
            kept.into_iter().for_each(|comm| rank.mpi.free_comm(comm).unwrap());
            barrier(rank, COMM_WORLD).await;
            let local = split(rank, COMM_WORLD, Some(node as i32), 0).await.unwrap();
            if rank.mpi.comms.get(local).unwrap().size() > 1 {
                let all = duplicates(rank, local, 62).await;
                for comm in &all {
                    talk(rank, *comm).await;
                }
                let numbers: BTreeSet<_> = all.iter().map(|comm| number(rank, *comm)).collect();
                assert_eq!(numbers.len(), 62);
            }
        });
    }
}

/// The publisher may free the communicator before the last reader has read the round.
#[test]
fn a_freed_communicator_can_still_be_read_by_others() {
    for seed in 0..20 {
        ranks(3, seed, async |rank| {
            for _ in 0..30 {
                let comm = duplicate(rank, COMM_WORLD).await;
                talk(rank, comm).await;
                rank.mpi.free_comm(comm).unwrap();
            }
        });
    }
}

/// A segment for one operation, in addition to that of its communicator.
#[test]
fn an_operation_may_have_a_segment_of_its_own() {
    for seed in 0..5 {
        let segments = ranks(4, seed, async |rank| {
            assert!(rank.mpi.request_segment(COMM_SELF).unwrap().is_none());
            let mut segments = Vec::new();
            for _ in 0..70 {
                let request = rank.mpi.request_segment(COMM_WORLD).unwrap().expect("segments");
                segments.push(rank.until(|mpi| mpi.end_segment_request(&request).unwrap()).await);
            }
            let numbers: Vec<_> = segments
                .iter()
                .map(|entered| entered.as_ref().map(EnteredSegment::number))
                .collect();
            if rank.me % 2 == 0 {
                segments.reverse();
            }
            segments.into_iter().for_each(|segment| rank.mpi.leave_segment(segment));
            barrier(rank, COMM_WORLD).await;
            let comm = duplicate(rank, COMM_WORLD).await;
            talk(rank, comm).await;
            (numbers, number(rank, comm))
        });
        assert!(segments.windows(2).all(|two| two[0] == two[1]), "ranks disagree");
        // Communicators may need the other half.
        assert_eq!(segments[0].0.iter().flatten().count(), 32);
        assert_eq!(segments[0].1, Some(1));
    }
}
