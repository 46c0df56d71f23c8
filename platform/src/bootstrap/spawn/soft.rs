//! The info key `soft` (MPI 5.0 §11.8.4): how many processes may be started instead of all.
//!
//! A list of triplets `a:b:c` with commas: `a`, `a + c`, ... up to `b`. `a:b` is `a:b:1`, and `a` alone
//! is `a:a:1`.

/// The largest number in the list from 1 to `processes`; `None` if there is none, or `text` is no such
/// list.
pub(super) fn largest(text: &str, processes: u32) -> Option<u32> {
    let triplets: Option<Vec<_>> = text.split(',').map(triplet).collect();
    let numbers = triplets?.into_iter().filter_map(|one| largest_of(one, processes.into()));
    numbers.max().and_then(|number| u32::try_from(number).ok())
}

fn triplet(text: &str) -> Option<[i64; 3]> {
    let numbers = text.split(':').map(|word| word.trim().parse::<i32>().ok().map(i64::from));
    match numbers.collect::<Option<Vec<_>>>()?[..] {
        [a] => Some([a, a, 1]),
        [a, b] => Some([a, b, 1]),
        [a, b, c] if c != 0 => Some([a, b, c]),
        _ => None,
    }
}

/// The largest number of a triplet from 1 to `limit`.
fn largest_of([a, b, c]: [i64; 3], limit: i64) -> Option<i64> {
    if (c > 0 && a > b) || (c < 0 && a < b) {
        return None;
    }
    // Ascending from `first` to `last`, whatever the direction of the triplet is.
    let end = a + (b - a) / c * c;
    let (first, last, step) = if c > 0 { (a, end, c) } else { (end, a, -c) };
    if first > limit {
        return None;
    }
    let number = first + (limit.min(last) - first) / step * step;
    (number >= 1).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_allowed_number_is_chosen() {
        for (text, processes, expected) in [
            ("4", 9, Some(4)),
            ("4", 3, None),
            ("0:9", 6, Some(6)),
            ("2:100:2", 7, Some(6)),
            ("1:9:3,5", 6, Some(5)),
            ("1:9:3,5", 8, Some(7)),
            ("9:1:-3", 8, Some(6)),
            ("9:1:-3", 2, None),
            ("5:1", 9, None),
            ("1:5:-1", 9, None),
            ("0", 4, None),
            ("-4:3:2", 4, Some(2)),
            ("2147483647", u32::MAX, Some(2_147_483_647)),
        ] {
            assert_eq!(largest(text, processes), expected, "{text} of {processes}");
        }
    }

    #[test]
    fn other_texts_allow_nothing() {
        for text in ["", "a", "1:2:0", "1:2:3:4", "1,", "99999999999", "1:-"] {
            assert_eq!(largest(text, 8), None, "{text}");
        }
    }

    #[test]
    fn small_triplets_are_as_counted_one_by_one() {
        let all = || -4_i64..5;
        for (a, b, c) in all().flat_map(|a| all().flat_map(move |b| all().map(move |c| (a, b, c))))
        {
            if c == 0 {
                continue;
            }
            let (mut counted, mut number) = (None, a);
            while (c > 0 && number <= b) || (c < 0 && number >= b) {
                counted = counted.max(Some(number).filter(|number| (1..=3).contains(number)));
                number += c;
            }
            let counted = counted.map(|number| number as u32);
            assert_eq!(largest(&format!("{a}:{b}:{c}"), 3), counted, "{a}:{b}:{c}");
        }
    }
}
