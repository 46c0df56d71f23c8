//! A call of MPI that waits, and what it waits for: plain data, and text that crosses processes.
//!
//! The rank writes a report; other ranks and the launcher read it. They pass the words on to people
//! and use only the numbers: which ranks must act before the call can return.
//!
//! ```text
//!   line 1   lengths of three queues: posted receives, unexpected messages, packets that wait for
//!            space in the device
//!   line 2   the function
//!   line 3   its arguments, and further details for people
//!   line 4   "all" or "any" of the conditions, then one word for each condition:
//!            +1,3-5        every one of these ranks must act
//!            ?0-7          one of these ranks must act
//!            +3@40.17      ... in collective call 17 of the communicator with context 0x40
//! ```

use std::fmt::Write;

use crate::base::Peer;

/// The longest text, in bytes. What does not fit is left out, the least important parts first.
const TEXT_MAX_BYTES: usize = 940;

/// A call that waits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WaitReport {
    /// The function, such as `MPI_Recv`.
    pub function: String,
    /// Its arguments in parentheses, and further details for people.
    pub details: String,
    /// What must happen before the call returns.
    pub conditions: Vec<WaitCondition>,
    /// Whether one of the conditions is enough.
    pub any: bool,
    /// The queues of the rank.
    pub queues: QueueLengths,
}

/// The lengths of a rank's queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueLengths {
    /// Receives that no message has matched.
    pub posted: usize,
    /// Messages that no receive has matched.
    pub unexpected: usize,
    /// Packets that wait for space in the device.
    pub outgoing: usize,
}

/// One thing that must happen before a call returns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WaitCondition {
    /// The ranks that must act, ascending; empty if that is not known.
    pub peers: Vec<Peer>,
    /// Whether one of `peers` is enough.
    pub any: bool,
    /// The collective call in which `peers` must take part.
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
    /// A report with the name of the function only.
    pub fn new(function: &str) -> Self {
        Self { function: function.to_owned(), ..Self::default() }
    }

    /// The report as text.
    pub fn emit(&self) -> String {
        let QueueLengths { posted, unexpected, outgoing } = self.queues;
        let function = printable(&self.function);
        let mut text = format!("{posted} {unexpected} {outgoing}\n{function}\n");
        let mut conditions = String::from(if self.any { "any" } else { "all" });
        for condition in &self.conditions {
            let word = condition.emit();
            if text.len() + conditions.len() + word.len() >= TEXT_MAX_BYTES / 2 {
                // A condition without ranks, so that the reader does not take the list for
                // complete.
                conditions.push_str(" ?");
                break;
            }
            conditions.push(' ');
            conditions.push_str(&word);
        }
        let space = TEXT_MAX_BYTES.saturating_sub(text.len() + conditions.len() + 1);
        let mut details = printable(&self.details);
        details.truncate(details.floor_char_boundary(space));
        text.push_str(&details);
        text.push('\n');
        text.push_str(&conditions);
        text
    }

    /// Reads the text of [`WaitReport::emit`].
    pub fn parse(text: &str) -> Option<Self> {
        let mut lines = text.split('\n');
        let mut lengths = lines.next()?.split(' ').map(str::parse::<usize>);
        let mut length = || lengths.next()?.ok();
        let queues = QueueLengths { posted: length()?, unexpected: length()?, outgoing: length()? };
        let (function, details) = (lines.next()?.to_owned(), lines.next()?.to_owned());
        let mut words = lines.next()?.split(' ');
        let any = words.next()? == "any";
        let conditions = words.map(WaitCondition::parse).collect::<Option<_>>()?;
        Some(Self { function, details, conditions, any, queues })
    }
}

impl QueueLengths {
    /// The queues of some ranks, such as `2 receives posted, 0 to 1 messages not asked for`. A
    /// queue that is empty on all of them is left out.
    pub fn describe(ranks: &[Self]) -> String {
        let one = |length: fn(&Self) -> usize, noun: &str, state: &str| {
            let least = ranks.iter().map(length).min()?;
            let most = ranks.iter().map(length).max().filter(|most| *most > 0)?;
            let plural = if most == 1 && least == most { "" } else { "s" };
            let from = if least == most { String::new() } else { format!("{least} to ") };
            Some(format!("{from}{most} {noun}{plural} {state}"))
        };
        let queues = [
            one(|queues| queues.posted, "receive", "posted"),
            one(|queues| queues.unexpected, "message", "not asked for"),
            one(|queues| queues.outgoing, "packet", "waiting for room"),
        ];
        queues.into_iter().flatten().collect::<Vec<_>>().join(", ")
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

/// The numbers of `0,2-7`; `None` for other texts, and for more numbers than a job has ranks.
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

/// `text` without control characters: names that applications choose may have any, and a terminal
/// must not obey them.
fn printable(text: &str) -> String {
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
    fn a_report_reads_back() {
        let text = blocked().emit();
        assert_eq!(text, "2 1 0\nMPI_Waitall\n(3 requests)\nall +1,3-5@40.17 ?0,1 ?");
        assert_eq!(WaitReport::parse(&text), Some(blocked()));
        let bare = WaitReport::new("MPI_Finalize");
        assert_eq!(WaitReport::parse(&bare.emit()), Some(bare));
    }

    #[test]
    fn a_long_report_is_cut_and_stays_readable() {
        let condition = WaitCondition {
            peers: (0..500).map(|peer| peer * 2).collect(),
            any: false,
            collective: None,
        };
        let mut long = blocked();
        long.details = "\u{20ac}\x1b\n".repeat(1000);
        long.conditions = vec![condition; 3];
        let text = long.emit();
        assert!(text.len() <= TEXT_MAX_BYTES);
        let read = WaitReport::parse(&text).unwrap();
        assert_eq!(read.conditions, [WaitCondition { any: true, ..WaitCondition::default() }]);
        assert!(!read.details.contains(char::is_control) && read.details.len() > 500);
    }

    #[test]
    fn consecutive_numbers_are_ranges() {
        assert_eq!(ranges(&[]), "");
        assert_eq!(ranges(&[0, 2, 3, 4, 6, 7]), "0,2-4,6,7");
    }

    #[test]
    fn queues_that_are_not_empty_are_described() {
        assert_eq!(QueueLengths::describe(&[QueueLengths::default()]), "");
        let queues = blocked().queues;
        assert_eq!(QueueLengths::describe(&[queues]), "2 receives posted, 1 message not asked for");
        let other = QueueLengths { posted: 2, unexpected: 0, outgoing: 7 };
        let text =
            "2 receives posted, 0 to 1 messages not asked for, 0 to 7 packets waiting for room";
        assert_eq!(QueueLengths::describe(&[queues, other]), text);
    }

    #[test]
    fn damaged_reports_are_refused() {
        for text in ["all 3", "all +3-x", "all +1@2", "all +0-4294967295"] {
            assert_eq!(WaitReport::parse(&format!("0 0 0\nf\nw\n{text}")), None, "{text:?}");
        }
        for text in ["", "x\n\n\n", "2\nf\nw\nall +1", "2 3 x\nf\nw\nall +1"] {
            assert_eq!(WaitReport::parse(text), None, "{text:?}");
        }
    }
}
