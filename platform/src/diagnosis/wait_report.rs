//! What a call of MPI that waits is waiting for: plain data, and text that crosses processes.
//!
//! The rank says it, the launcher reads it. Nobody needs to understand the words; who must act
//! before the call can return is said by numbers:
//!
//! ```text
//!   line 1   since when, in nanoseconds of the host's clock, and the lengths of three queues:
//!            posted receives, messages that nobody asked for, packets that wait for room
//!   line 2   the function
//!   line 3   its arguments and what else people should know
//!   line 4   "all" or "any" of the needs, then one word for each need:
//!            +1,3-5        every one of these peers must act
//!            ?0-7          one of these peers must act
//!            +3@40.17      ... in collective call 17 of the communicator with context 0x40
//! ```

use std::fmt::Write;

use crate::base::Peer;

/// The longest text, in bytes; what does not fit is left out, the least important things first.
const TEXT_MAX_BYTES: usize = 960;

/// A call that waits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WaitReport {
    /// The function, such as `MPI_Recv`.
    pub function: String,
    /// Its arguments in parentheses, and whatever else people should know.
    pub details: String,
    /// What must happen.
    pub conditions: Vec<WaitCondition>,
    /// Whether one of the needs is enough.
    pub any: bool,
    /// The queues of the rank.
    pub queues: QueueLengths,
}

/// What lies in the queues of a rank, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueLengths {
    /// Receives that no message has matched.
    pub posted: usize,
    /// Messages that came and that nobody has asked for.
    pub unexpected: usize,
    /// Packets that wait for room on their way out.
    pub outgoing: usize,
}

/// One thing that must happen before a call returns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WaitCondition {
    /// The peers that must act, ascending; empty if nobody knows.
    pub peers: Vec<Peer>,
    /// Whether one of them is enough.
    pub any: bool,
    /// The collective call that the peers must take part in.
    pub collective: Option<CollectiveId>,
}

/// A collective call, the same on all ranks of a communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CollectiveId {
    /// The communicator's context.
    pub context: u64,
    /// The number of the call on that communicator.
    pub sequence: u32,
}

impl WaitReport {
    /// A call of which only the name is known.
    pub fn new(function: &str) -> Self {
        Self { function: function.to_owned(), ..Self::default() }
    }

    /// The text of a call that has waited since `since_ns`.
    pub fn emit(&self, since_ns: u64) -> String {
        let QueueLengths { posted, unexpected, outgoing } = self.queues;
        let function = plain(&self.function);
        let mut text = format!("{since_ns} {posted} {unexpected} {outgoing}\n{function}\n");
        let mut needs = String::from(if self.any { "any" } else { "all" });
        for need in &self.conditions {
            let word = need.emit();
            if text.len() + needs.len() + word.len() >= TEXT_MAX_BYTES / 2 {
                // Not to be taken for a full list: a need of which nothing is known.
                needs.push_str(" ?");
                break;
            }
            needs.push(' ');
            needs.push_str(&word);
        }
        let room = TEXT_MAX_BYTES.saturating_sub(text.len() + needs.len() + 1);
        let mut words = plain(&self.details);
        words.truncate(words.floor_char_boundary(room));
        text.push_str(&words);
        text.push('\n');
        text.push_str(&needs);
        text
    }

    /// Reads what [`WaitReport::emit`] wrote, and since when the call waits.
    pub fn parse(text: &str) -> Option<(u64, Self)> {
        let mut lines = text.split('\n');
        let (since_ns, queues) = lines.next()?.split_once(' ')?;
        let since_ns = since_ns.parse().ok()?;
        let mut lengths = queues.split(' ').map(str::parse::<usize>);
        let mut length = || lengths.next()?.ok();
        let queues = QueueLengths { posted: length()?, unexpected: length()?, outgoing: length()? };
        let (function, words) = (lines.next()?.to_owned(), lines.next()?.to_owned());
        let mut needs = lines.next()?.split(' ');
        let any = needs.next()? == "any";
        let needs = needs.map(WaitCondition::parse).collect::<Option<_>>()?;
        Some((since_ns, Self { function, details: words, conditions: needs, any, queues }))
    }
}

impl QueueLengths {
    /// `2 receives posted, 0 to 1 messages not asked for`: what some ranks have in their queues;
    /// what is empty on all of them is left out.
    pub fn describe(ranks: &[Self]) -> String {
        let one = |length: fn(&Self) -> usize, what: &str, how: &str| {
            let least = ranks.iter().map(length).min()?;
            let most = ranks.iter().map(length).max().filter(|most| *most > 0)?;
            let many = if most == 1 && least == most { "" } else { "s" };
            let from = if least == most { String::new() } else { format!("{least} to ") };
            Some(format!("{from}{most} {what}{many} {how}"))
        };
        let words = [
            one(|queues| queues.posted, "receive", "posted"),
            one(|queues| queues.unexpected, "message", "not asked for"),
            one(|queues| queues.outgoing, "packet", "waiting for room"),
        ];
        words.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

impl WaitCondition {
    fn emit(&self) -> String {
        let mut word = String::from(if self.any || self.peers.is_empty() { "?" } else { "+" });
        word.push_str(&ranges(&self.peers));
        if let Some(CollectiveId { context, sequence }) = self.collective {
            // Writing to a string cannot fail.
            let _ = write!(word, "@{context:x}.{sequence}");
        }
        word
    }

    fn parse(word: &str) -> Option<Self> {
        let (peers, call) = match word.split_once('@') {
            None => (word, None),
            Some((peers, call)) => {
                let (context, sequence) = call.split_once('.')?;
                let context = u64::from_str_radix(context, 16).ok()?;
                (peers, Some(CollectiveId { context, sequence: sequence.parse().ok()? }))
            }
        };
        let any = peers.starts_with('?');
        let peers = parse_ranges(peers.strip_prefix(['?', '+'])?)?;
        Some(Self { peers, any, collective: call })
    }
}

/// `0,2-7` for ascending numbers.
pub fn ranges(numbers: &[u32]) -> String {
    let mut text = String::new();
    let mut rest = numbers;
    while let [first, ..] = *rest {
        let count = rest.iter().zip(first..).take_while(|(number, next)| **number == *next).count();
        let comma = if text.is_empty() { "" } else { "," };
        let last = rest[count - 1];
        // Writing to a string cannot fail.
        let _ = match count {
            1 => write!(text, "{comma}{first}"),
            2 => write!(text, "{comma}{first},{last}"),
            _ => write!(text, "{comma}{first}-{last}"),
        };
        rest = &rest[count..];
    }
    text
}

/// The numbers of `0,2-7`; `None` for anything else, or for more than any job has.
fn parse_ranges(text: &str) -> Option<Vec<u32>> {
    const NUMBERS_MAX: usize = 1 << 20;
    let mut numbers = Vec::new();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.parse::<u32>().ok()?, last.parse::<u32>().ok()?);
        if numbers.len() + last.saturating_sub(first) as usize >= NUMBERS_MAX {
            return None;
        }
        numbers.extend(first..=last);
    }
    Some(numbers)
}

/// Names that applications choose may hold anything; a terminal must not obey them.
fn plain(text: &str) -> String {
    text.replace(char::is_control, " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocked() -> WaitReport {
        let call = Some(CollectiveId { context: 0x40, sequence: 17 });
        WaitReport {
            function: "MPI_Waitall".into(),
            details: "(3 requests)".into(),
            conditions: vec![
                WaitCondition { peers: vec![1, 3, 4, 5], any: false, collective: call },
                WaitCondition { peers: vec![0, 1], any: true, collective: None },
                WaitCondition { peers: vec![], any: true, collective: None },
            ],
            any: false,
            queues: QueueLengths { posted: 2, unexpected: 1, outgoing: 0 },
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let text = blocked().emit(123);
        assert_eq!(text, "123 2 1 0\nMPI_Waitall\n(3 requests)\nall +1,3-5@40.17 ?0,1 ?");
        assert_eq!(WaitReport::parse(&text), Some((123, blocked())));
        let bare = WaitReport::new("MPI_Finalize");
        assert_eq!(WaitReport::parse(&bare.emit(0)), Some((0, bare)));
    }

    #[test]
    fn too_much_is_cut_and_stays_readable() {
        let need = WaitCondition {
            peers: (0..500).map(|peer| peer * 2).collect(),
            any: false,
            collective: None,
        };
        let mut long = blocked();
        long.details = "\u{20ac}\x1b\n".repeat(1000);
        long.conditions = vec![need; 3];
        let text = long.emit(u64::MAX);
        assert!(text.len() <= TEXT_MAX_BYTES);
        let (_, read) = WaitReport::parse(&text).unwrap();
        assert_eq!(read.conditions, [WaitCondition { any: true, ..WaitCondition::default() }]);
        assert!(!read.details.contains(char::is_control) && read.details.len() > 500);
    }

    #[test]
    fn numbers_in_a_row_are_ranges() {
        assert_eq!(ranges(&[]), "");
        assert_eq!(ranges(&[0, 2, 3, 4, 6, 7]), "0,2-4,6,7");
    }

    #[test]
    fn queues_are_told_unless_they_are_empty() {
        assert_eq!(QueueLengths::describe(&[QueueLengths::default()]), "");
        let queues = blocked().queues;
        assert_eq!(QueueLengths::describe(&[queues]), "2 receives posted, 1 message not asked for");
        let other = QueueLengths { posted: 2, unexpected: 0, outgoing: 7 };
        let words =
            "2 receives posted, 0 to 1 messages not asked for, 0 to 7 packets waiting for room";
        assert_eq!(QueueLengths::describe(&[queues, other]), words);
    }

    #[test]
    fn nonsense_is_nothing() {
        for text in ["all 3", "all +3-x", "all +1@2", "all +0-4294967295"] {
            assert_eq!(WaitReport::parse(&format!("1 0 0 0\nf\nw\n{text}")), None, "{text:?}");
        }
        for text in ["", "x\n\n\n", "1 2\nf\nw\nall +1", "1 2 3 x\nf\nw\nall +1"] {
            assert_eq!(WaitReport::parse(text), None, "{text:?}");
        }
    }
}
