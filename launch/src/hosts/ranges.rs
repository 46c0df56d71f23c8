//! The compressed lists of Slurm.
//!
//! ```text
//!   node[01-03,7],gpu1     node01 node02 node03 node7 gpu1
//!   rack[1-2]-[a]          not a list: only numbers have ranges
//!   4(x2),3                4 4 3
//! ```
//!
//! Numbers keep their leading zeros. Source: the manual of srun, "--nodelist", and that of sbatch,
//! "SLURM_TASKS_PER_NODE".

use super::HOSTS_MAX;

/// The words of a list; commas inside brackets separate no words.
pub(super) fn split(list: &str) -> Vec<&str> {
    let mut depth = 0_u32;
    let words = list.split(|character: char| {
        match character {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        character == ' ' || character == ',' && depth == 0
    });
    words.filter(|word| !word.is_empty()).collect()
}

/// The names that `word` stands for.
///
/// # Errors
/// The brackets have no lists of numbers, or too many.
pub(super) fn expand(word: &str) -> Result<Vec<String>, String> {
    let mut names = vec![String::new()];
    let mut rest = word;
    while let Some((before, after)) = rest.split_once('[') {
        let (list, after) =
            after.split_once(']').ok_or_else(|| format!("{word:?}: ']' is missing"))?;
        let ranges: Option<Vec<_>> = list.split(',').map(parse_range).collect();
        let ranges = ranges
            .ok_or_else(|| format!("{word:?}: expected numbers such as 01-03,7 in brackets"))?;
        let count =
            ranges.iter().map(|(first, last, _)| u128::from(last - first) + 1).sum::<u128>();
        if count * names.len() as u128 > HOSTS_MAX as u128 {
            return Err(format!("{word:?} has more than {HOSTS_MAX} hosts"));
        }
        let numbers = || {
            let numbers = |(first, last, width): &(u64, u64, usize)| {
                let width = *width;
                (*first..=*last).map(move |number| format!("{number:0width$}"))
            };
            ranges.iter().flat_map(numbers)
        };
        let longer =
            |name: &String| numbers().map(|number| format!("{name}{before}{number}")).collect();
        names = names.iter().flat_map(|name| -> Vec<_> { longer(name) }).collect();
        rest = after;
    }
    names.iter_mut().for_each(|name| name.push_str(rest));
    Ok(names)
}

/// First and last number, and the digits of the first.
fn parse_range(range: &str) -> Option<(u64, u64, usize)> {
    // No kernel has longer names of hosts.
    const DIGITS_MAX: usize = 19;
    let digits = |word: &str| {
        let plain = word.len() <= DIGITS_MAX && word.bytes().all(|byte| byte.is_ascii_digit());
        word.parse::<u64>().ok().filter(|_| plain)
    };
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    let width = first.len();
    let (first, last) = (digits(first)?, digits(last)?);
    (first <= last).then_some((first, last, width))
}

/// The numbers of `4(x2),3`; `None` if the text is no such list.
pub(super) fn counts(list: &str) -> Option<Vec<u32>> {
    let mut counts = Vec::new();
    for word in list.split(',') {
        let (count, times) = match word.split_once("(x") {
            Some((count, times)) => (count, times.strip_suffix(')')?.parse().ok()?),
            None => (word, 1),
        };
        let count = count.parse::<u32>().ok().filter(|count| *count > 0)?;
        if times == 0 || times > HOSTS_MAX - counts.len() {
            return None;
        }
        counts.extend(std::iter::repeat_n(count, times));
    }
    Some(counts)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lists_are_split_and_expanded() {
        let all = |list: &str| {
            let names = split(list).into_iter().map(|word| expand(word).unwrap());
            names.collect::<Vec<_>>().concat().join(" ")
        };
        for (list, names) in [
            ("node[01-03,7],gpu1", "node01 node02 node03 node7 gpu1"),
            ("a,b c", "a b c"),
            ("n[8-11]x", "n8x n9x n10x n11x"),
            ("n[098-101]", "n098 n099 n100 n101"),
            ("r[1-2]n[1-2]", "r1n1 r1n2 r2n1 r2n2"),
            ("r[1,11]n[1-2]", "r1n1 r1n2 r11n1 r11n2"),
            ("", ""),
        ] {
            assert_eq!(all(list), names, "{list}");
        }
        for (wrong, why) in [
            ("n[1-2", "']' is missing"),
            ("n[a]", "expected numbers"),
            ("n[]", "expected numbers"),
            ("n[3-1]", "expected numbers"),
            ("n[+1]", "expected numbers"),
            ("n[1-999999999]", "more than 65536 hosts"),
            ("n[0-18446744073709551615]", "expected numbers"),
            ("n[1-9999]m[1-9999]", "more than 65536 hosts"),
        ] {
            assert!(expand(wrong).unwrap_err().contains(why), "{wrong}");
        }
    }

    #[test]
    fn counts_may_be_repeated() {
        assert_eq!(counts("4(x2),3"), Some(vec![4, 4, 3]));
        assert_eq!(counts("16"), Some(vec![16]));
        for wrong in ["", "4(x", "4(x0)", "a", "4,", "0", "4(x999999999)", "4(x-1)"] {
            assert_eq!(counts(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn any_list_is_bounded(list in "[a0-9(),x\\[\\] -]{0,30}") {
            for word in split(&list) {
                let _ = expand(word).map(|names| assert!(names.len() <= HOSTS_MAX));
            }
            let _ = counts(&list);
        }
    }
}
