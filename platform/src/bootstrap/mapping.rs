//! `PMI_process_mapping`: the host of each rank, as one short string.
//!
//! ```text
//!   (vector,(first host, hosts, ranks per host),...)     e.g. (vector,(0,2,4)) = 4 + 4 ranks
//! ```
//!
//! The blocks are repeated until all ranks are placed.

/// The string for `size` ranks on one host.
pub fn single_host_mapping(size: u32) -> String {
    format!("(vector,(0,1,{size}))")
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
    let mut hosts = Vec::new();
    while hosts.len() < size as usize {
        let before = hosts.len();
        for [first, count, per_host] in blocks.iter().filter(|block| block[2] > 0) {
            let ranks = (*first..first.checked_add(*count)?)
                .flat_map(|host| std::iter::repeat_n(host, *per_host as usize));
            hosts.extend(ranks.take(size as usize - hosts.len()));
        }
        if hosts.len() == before {
            return None;
        }
    }
    Some(hosts)
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
    fn what_places_nobody_is_refused() {
        for bad in ["", "(vector)", "(vector,(0,1))", "(vector,(0,0,4))", "(vector,(0,1,2,3))"] {
            assert_eq!(local_ranks(bad, 0, 2), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn our_own_string_puts_all_ranks_together(size in 1u32..200) {
            let all: Vec<u32> = (0..size).collect();
            prop_assert_eq!(local_ranks(&single_host_mapping(size), size - 1, size), Some(all));
        }

        #[test]
        fn any_text_is_taken(text in "\\(vector(,\\([0-9]{1,12},[0-9]{1,3},[0-9]{1,12}\\)){0,3}\\)?") {
            let _ = local_ranks(&text, 0, 3);
        }
    }
}
