//! Rules of a user for the algorithm of a call: by operation, communicator, hosts and bytes.
//!
//! The first rule that is for a call decides; a call without a rule is selected by its cost. The values that
//! a rule asks for are equal on all ranks of the call ([`CallSize`]), so all ranks find the same rule. The
//! text of a file becomes rules in [`mod@file`]; this module reads no file.

mod file;

use std::fmt;

use crate::mpi::collective::algorithms::Shape;
use crate::mpi::collective::selection::AlgorithmChoice;
use crate::mpi::collective::selection::registry::CollectiveOperation;
use platform::base::fnv1a;

/// What rules may ask about a call; equal on all its ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CallSize {
    /// Size of the communicator.
    pub(crate) ranks: u32,
    /// Ranks of the communicator on the host that has most of them; `None` if not all ranks know it.
    pub(crate) ranks_per_host: Option<u32>,
    /// Bytes of the message, of an operand, or of a block
    /// ([`rule_bytes`](crate::mpi::collective::algorithms::algorithm::AgreedArguments::rule_bytes)).
    pub(crate) bytes: Option<usize>,
}

/// Numbers from the first to the last, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NumberRange {
    pub(crate) from: u64,
    pub(crate) to: u64,
}

impl NumberRange {
    fn has(self, number: u64) -> bool {
        (self.from..=self.to).contains(&number)
    }

    /// Whether the number is known and inside, where a rule asks for it.
    fn admits(range: Option<Self>, number: Option<u64>) -> bool {
        range.is_none_or(|range| number.is_some_and(|number| range.has(number)))
    }
}

impl fmt::Display for NumberRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self { from, to } if from == to => write!(f, "{from}"),
            Self { from: 0, to } => write!(f, "up to {to}"),
            Self { from, to: u64::MAX } => write!(f, "from {from}"),
            Self { from, to } => write!(f, "{from} to {to}"),
        }
    }
}

/// One rule: the calls that it is for, and their algorithm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectionRule {
    operation: CollectiveOperation,
    ranks: Option<NumberRange>,
    ranks_per_host: Option<NumberRange>,
    bytes: Option<NumberRange>,
    choice: AlgorithmChoice,
    /// Its first line in the file, from 1.
    line: usize,
}

impl SelectionRule {
    fn is_for(&self, size: CallSize) -> bool {
        NumberRange::admits(self.ranks, Some(size.ranks.into()))
            && NumberRange::admits(self.bytes, size.bytes.map(|bytes| bytes as u64))
            && NumberRange::admits(self.ranks_per_host, size.ranks_per_host.map(u64::from))
    }

    /// Its first line in the file, from 1.
    pub fn line(&self) -> usize {
        self.line
    }

    /// Lengths at which the answer of this rule may change, ascending.
    pub fn limits(&self) -> impl Iterator<Item = usize> + use<> {
        let limits = self.bytes.map(|bytes| [bytes.from, bytes.to.saturating_add(1)]);
        limits.into_iter().flatten().filter_map(|bytes| bytes.try_into().ok())
    }
}

/// `ranks 8, bytes up to 1023: doubling`.
impl fmt::Display for SelectionRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let asked =
            [("ranks", self.ranks), ("ranks per host", self.ranks_per_host), ("bytes", self.bytes)];
        let mut asked = asked.into_iter().filter_map(|(name, range)| Some((name, range?)));
        match asked.next() {
            None => f.write_str("all calls")?,
            Some((name, range)) => write!(f, "{name} {range}")?,
        }
        asked.try_for_each(|(name, range)| write!(f, ", {name} {range}"))?;
        write!(f, ": {}", self.choice)
    }
}

/// The rules of a file, in its order for each operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectionRules {
    /// The name of the file, as it was given.
    file: String,
    /// A number for the text of the file.
    digest: u64,
    /// By operation, then by line.
    rules: Box<[SelectionRule]>,
    /// The index of the first rule of each operation, and the number of all.
    starts: [u32; CollectiveOperation::ALL.len() + 1],
}

impl SelectionRules {
    /// The rules of `file`, whose contents are `text`.
    ///
    /// # Errors
    /// `Other` for a text that is not TOML, a key that no rule has, or a value that is not allowed; the
    /// message names the file and the line.
    pub fn parse(file: &str, text: &str) -> platform::base::Result<Self> {
        Ok(Self::new(file, text, file::rules(file, text)?))
    }

    fn new(file: &str, text: &str, mut rules: Vec<SelectionRule>) -> Self {
        rules.sort_by_key(|rule| (rule.operation as usize, rule.line));
        let starts = std::array::from_fn(|operation| {
            rules.partition_point(|rule| (rule.operation as usize) < operation) as u32
        });
        Self { file: file.to_owned(), digest: fnv1a(text.bytes()), rules: rules.into(), starts }
    }

    /// The name of the file.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The number of rules.
    pub fn count(&self) -> usize {
        self.rules.len()
    }

    /// The rules of an operation, in the order of the file.
    pub fn of(&self, operation: CollectiveOperation) -> &[SelectionRule] {
        let [from, to] = [0, 1].map(|step| self.starts[operation as usize + step] as usize);
        &self.rules[from..to]
    }

    /// The first rule that is for a call.
    pub(crate) fn first(
        &self, operation: CollectiveOperation, size: CallSize,
    ) -> Option<&SelectionRule> {
        self.of(operation).iter().find(|rule| rule.is_for(size))
    }

    /// A number for the text of the file.
    pub(crate) fn digest(&self) -> u64 {
        self.digest
    }

    /// What ranks compare: the text, wherever the file is.
    pub(crate) fn identity(&self) -> String {
        format!("a file with the digest {:016x}", self.digest)
    }
}

/// The algorithm that was asked for, by a setting or a rule.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestedAlgorithm<'a> {
    pub(crate) choice: AlgorithmChoice,
    /// The rule that asked, and its file.
    pub(crate) rule: Option<(&'a SelectionRules, &'a SelectionRule)>,
}

impl<'a> RequestedAlgorithm<'a> {
    /// What a setting asks for.
    pub(crate) fn by_setting(choice: AlgorithmChoice) -> Self {
        Self { choice, rule: None }
    }

    /// What the first rule for a call asks for.
    pub(crate) fn by_rule(
        rules: &'a SelectionRules, operation: CollectiveOperation, size: CallSize,
    ) -> Self {
        let rule = rules.first(operation, size);
        let choice = rule.map_or(AlgorithmChoice::Auto, |rule| rule.choice);
        Self { choice, rule: rule.map(|rule| (rules, rule)) }
    }

    /// Says which algorithm a call takes whose schedule is made, if a rule asked.
    #[cold]
    pub(crate) fn log(self, operation: CollectiveOperation, shape: Shape, algorithm: &str) {
        if let Some((rules, rule)) = self.rule {
            let (name, ranks) = (operation.name(), shape.ranks);
            let (file, line) = (rules.file(), rule.line());
            tracing::debug!(ranks, "{name} by {algorithm}, for the rule {file}:{line}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
# Two for one operation; the first that is for a call decides.
[[rule]]
operation = "bcast"
ranks = { from = 4, to = 8 }
bytes = { to = 1023 }
algorithm = "linear"

[[rule]]
operation = "barrier"
ranks_per_host = 2
algorithm = "tree"

[[rule]]
operation = "BCAST"
ranks = { from = 2 }
algorithm = "shared"

[[rule]]
operation = "bcast"
algorithm = "auto"
"#;

    fn first_line(operation: CollectiveOperation, size: CallSize) -> Option<usize> {
        let rules = SelectionRules::parse("r.toml", TEXT).unwrap();
        rules.first(operation, size).map(SelectionRule::line)
    }

    #[test]
    fn the_first_rule_for_a_call_decides() {
        let bcast = |ranks, bytes| {
            let size = CallSize { ranks, ranks_per_host: Some(ranks), bytes: Some(bytes) };
            first_line(CollectiveOperation::Bcast, size)
        };
        assert_eq!([bcast(4, 0), bcast(8, 1023)], [Some(3); 2]);
        assert_eq!([bcast(4, 1024), bcast(9, 1), bcast(3, 1)], [Some(14); 3]);
        assert_eq!(bcast(1, 8), Some(19));
        let reduce = CallSize { ranks: 4, ranks_per_host: Some(4), bytes: Some(8) };
        assert_eq!(first_line(CollectiveOperation::Reduce, reduce), None);
    }

    #[test]
    fn a_value_that_is_not_known_matches_no_rule_that_asks_for_it() {
        let barrier = |ranks_per_host| {
            let size = CallSize { ranks: 4, ranks_per_host, bytes: None };
            first_line(CollectiveOperation::Barrier, size)
        };
        assert_eq!([barrier(Some(2)), barrier(Some(4)), barrier(None)], [Some(9), None, None]);
        let unknown = CallSize { ranks: 4, ranks_per_host: None, bytes: None };
        assert_eq!(first_line(CollectiveOperation::Bcast, unknown), Some(14));
    }

    #[test]
    fn a_rule_is_printed_in_a_line() {
        let rules = SelectionRules::parse("r.toml", TEXT).unwrap();
        let lines: Vec<String> =
            rules.of(CollectiveOperation::Bcast).iter().map(SelectionRule::to_string).collect();
        let expected =
            ["ranks 4 to 8, bytes up to 1023: linear", "ranks from 2: shared", "all calls: auto"];
        assert_eq!(lines, expected);
        assert_eq!((rules.file(), rules.count()), ("r.toml", 4));
        assert_eq!(rules.rules[0].to_string(), "ranks per host 2: tree");
    }

    #[test]
    fn the_identity_is_that_of_the_text() {
        let identity = |file, text| SelectionRules::parse(file, text).unwrap().identity();
        assert_eq!(identity("one", TEXT), identity("other", TEXT));
        assert_ne!(identity("one", TEXT), identity("one", ""));
        assert_eq!(fnv1a("a".bytes()), 0xaf63_dc4c_8601_ec8c);
    }
}
