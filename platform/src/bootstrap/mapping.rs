//! `PMI_process_mapping`: the host of each rank, as one short string.
//!
//! ```text
//!   (vector,(first host, hosts, ranks per host),...)     e.g. (vector,(0,2,4)) = 4 + 4 ranks
//! ```
//!
//! The blocks are repeated until all ranks are placed.

/// The string for ranks on these hosts, by the numbers of the hosts.
pub(super) fn process_mapping(host_of_rank: &[u32]) -> String {
    let runs = host_of_rank.chunk_by(|left, right| left == right);
    let mut blocks: Vec<[u64; 3]> = Vec::new();
    for (host, per_host) in runs.map(|run| (u64::from(run[0]), run.len() as u64)) {
        match blocks.last_mut() {
            Some([first, count, same]) if *same == per_host && *first + *count == host => {
                *count += 1
            }
            Some(_) | None => blocks.push([host, 1, per_host]),
        }
    }
    // Rounds over all hosts are one block each, and the first stands for all of them.
    let hosts = host_of_rank.iter().copied().map(u64::from);
    let is_enough = |count: &usize| hosts.clone().eq(placed(&blocks[..*count]).take(hosts.len()));
    let count = (1..blocks.len()).find(is_enough).unwrap_or(blocks.len());
    let text = |[first, count, per_host]: &[u64; 3]| format!(",({first},{count},{per_host})");
    format!("(vector{})", blocks[..count].iter().map(text).collect::<String>())
}

/// The ranks in a list like `0,1,4`, which must contain `own`.
pub(super) fn listed_ranks(list: &str, own: u32) -> Option<Vec<u32>> {
    let ranks = list.split(',').map(|rank| rank.trim().parse().ok());
    let mut ranks = ranks.collect::<Option<Vec<u32>>>()?;
    ranks.sort_unstable();
    ranks.dedup();
    ranks.contains(&own).then_some(ranks)
}

/// The ranks that share a host with `rank`, itself included, ascending.
///
/// `None` if `mapping` is invalid; it comes from another program.
pub fn local_ranks(mapping: &str, rank: u32, size: u32) -> Option<Vec<u32>> {
    let hosts = hosts(mapping, size)?;
    let own = hosts.get(rank as usize)?;
    Some((0..size).filter(|other| hosts[*other as usize] == *own).collect())
}

/// The host of each rank.
fn hosts(mapping: &str, size: u32) -> Option<Vec<u64>> {
    let blocks = blocks(mapping)?;
    let places = blocks.iter().any(|[_, count, per_host]| *count > 0 && *per_host > 0);
    places.then(|| placed(&blocks).take(size as usize).collect())
}

/// The host of each rank, without end unless no block places a rank.
fn placed(blocks: &[[u64; 3]]) -> impl Iterator<Item = u64> + '_ {
    let full = blocks.iter().filter(|[_, _, per_host]| *per_host > 0);
    let round = full.flat_map(|[first, count, per_host]| {
        (*first..*first + *count).flat_map(|host| std::iter::repeat_n(host, *per_host as usize))
    });
    round.cycle()
}

fn blocks(mapping: &str) -> Option<Vec<[u64; 3]>> {
    let inner = mapping.strip_prefix("(vector,(")?.strip_suffix("))")?;
    inner
        .split("),(")
        .map(|block| {
            let mut numbers = block.split(',').map(|number| number.parse::<u32>().ok());
            let mut next = || numbers.next().flatten().map(u64::from);
            let block = [next()?, next()?, next()?];
            numbers.next().is_none().then_some(block)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn blocks_place_ranks_in_turn() {
        assert_eq!(local_ranks("(vector,(0,1,3))", 1, 3), Some(vec![0, 1, 2]));
        assert_eq!(local_ranks("(vector,(0,2,1))", 1, 5), Some(vec![1, 3]));
        assert_eq!(local_ranks("(vector,(0,1,2),(1,1,1))", 2, 3), Some(vec![2]));
    }

    #[test]
    fn our_own_string_is_short_for_usual_orders() {
        for (places, expected) in [
            ([0; 8], "(vector,(0,1,8))"),
            ([0, 0, 1, 1, 2, 2, 3, 3], "(vector,(0,4,2))"),
            ([0, 1, 2, 0, 1, 2, 0, 1], "(vector,(0,3,1))"),
            ([0, 0, 0, 1, 1, 2, 2, 2], "(vector,(0,1,3),(1,1,2),(2,1,3))"),
        ] {
            assert_eq!(process_mapping(&places), expected);
        }
    }

    #[test]
    fn lists_of_peers_are_read() {
        assert_eq!(listed_ranks("2,0,1", 1), Some(vec![0, 1, 2]));
        for bad in ["", "0-3", "0,,1", "0,2"] {
            assert_eq!(listed_ranks(bad, 1), None, "{bad}");
        }
    }

    #[test]
    fn what_places_nobody_is_refused() {
        for bad in ["", "(vector)", "(vector,(0,1))", "(vector,(0,0,4))", "(vector,(0,1,2,3))"] {
            assert_eq!(local_ranks(bad, 0, 2), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn our_own_string_says_where_ranks_are(
            blocks in proptest::collection::vec((0u32..3, 1u32..4, 1usize..4), 1..5),
            size in 1usize..60, rounds in any::<bool>(),
        ) {
            let block = |(first, count, per_host): &(u32, u32, usize)| {
                (*first..first + count).flat_map(|host| vec![host; *per_host]).collect::<Vec<_>>()
            };
            let places: Vec<u32> = blocks.iter().flat_map(block).collect();
            let size = if rounds { size } else { size.min(places.len()) };
            let places: Vec<u32> = places.into_iter().cycle().take(size).collect();
            let mapping = process_mapping(&places);
            let found = hosts(&mapping, size as u32).unwrap();
            prop_assert_eq!(found, places.iter().map(|host| u64::from(*host)).collect::<Vec<_>>());
        }

        #[test]
        fn any_text_is_taken(text in "\\(vector(,\\([0-9]{1,12},[0-9]{1,3},[0-9]{1,12}\\)){0,3}\\)?") {
            let _ = local_ranks(&text, 0, 3);
        }
    }
}
