//! The text of a file of rules (TOML 1.0).
//!
//! ```toml
//! [[rule]]
//! operation = "allreduce"              # as in SUIRO_COLL_ALLREDUCE; case is ignored
//! ranks = 8                            # size of the communicator; all sizes if absent
//! ranks_per_host = { to = 4 }          # ranks on the fullest host
//! bytes = { from = 1024, to = 65535 }  # both included, and one may be absent
//! algorithm = "ring"                   # what SUIRO_COLL_ALLREDUCE may be
//! ```
//!
//! A wrong key or value is an error: a rule that is silently ignored is worse than none.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

use super::{NumberRange, SelectionRule};
use crate::mpi::collective::selection::AlgorithmChoice;
use crate::mpi::collective::selection::registry::CollectiveOperation;
use platform::base::{ErrorClass, Result};

/// The keys of a rule.
const KEYS: [&str; 5] = ["operation", "ranks", "ranks_per_host", "bytes", "algorithm"];

/// A value of the file with its place.
type PlacedValue<'a> = Spanned<DeValue<'a>>;

/// The rules in `text`, in its order.
///
/// # Errors
/// `Other` for the first thing that is wrong; the message names `file` and the line.
pub(super) fn rules(file: &str, text: &str) -> Result<Vec<SelectionRule>> {
    let source = RulesText { file, text };
    let all = DeTable::parse(text).map_err(|error| {
        let why = error.message().lines().collect::<Vec<_>>().join(", ");
        source.error(error.span().unwrap_or_default(), &format!("not TOML: {why}"))
    })?;
    let mut rules = Vec::new();
    for (key, value) in all.get_ref().iter() {
        let tables = value.get_ref().as_array().filter(|_| key.get_ref() == "rule");
        let Some(tables) = tables else {
            let why = format!("{} is no table [[rule]]; a file has only those", key.get_ref());
            return Err(source.error(key.span(), &why));
        };
        for rule in tables.iter() {
            rules.push(source.rule(rule)?);
        }
    }
    Ok(rules)
}

/// A text and its name, for messages.
#[derive(Clone, Copy)]
struct RulesText<'a> {
    file: &'a str,
    text: &'a str,
}

impl RulesText<'_> {
    fn line(self, place: &Range<usize>) -> usize {
        let before = self.text.as_bytes().iter().take(place.start);
        1 + before.filter(|byte| **byte == b'\n').count()
    }

    #[cold]
    fn error(self, place: Range<usize>, why: &str) -> Box<platform::base::MpiError> {
        let line = self.line(&place);
        ErrorClass::Other.error(format!("SUIRO_COLL_RULES: {}:{line}: {why}", self.file))
    }

    fn rule(self, rule: &PlacedValue<'_>) -> Result<SelectionRule> {
        let Some(table) = rule.get_ref().as_table() else {
            return Err(self.error(rule.span(), "a rule is a table: [[rule]]"));
        };
        for (key, _) in table.iter() {
            if !KEYS.contains(&&**key.get_ref()) {
                let why = format!("{} is not one of {}", key.get_ref(), KEYS.join("|"));
                return Err(self.error(key.span(), &why));
            }
        }
        let operation = self.operation(rule, table)?;
        let range = |name| match table.get(name) {
            Some(value) => self.range(name, value).map(Some),
            None => Ok(None),
        };
        let bytes = range("bytes")?;
        if let Some(value) = table.get("bytes").filter(|_| !operation.has_agreed_bytes()) {
            let why = format!(
                "no rule for {} has bytes: not all ranks know how many a call moves",
                operation.name().to_lowercase()
            );
            return Err(self.error(value.span(), &why));
        }
        Ok(SelectionRule {
            operation,
            ranks: range("ranks")?,
            ranks_per_host: range("ranks_per_host")?,
            bytes,
            choice: self.choice(rule, table, operation)?,
            line: self.line(&rule.span()),
        })
    }

    fn operation(self, rule: &PlacedValue<'_>, table: &DeTable<'_>) -> Result<CollectiveOperation> {
        let (place, text) = self.text_of(rule, table, "operation")?;
        CollectiveOperation::from_name(text).ok_or_else(|| {
            let names = CollectiveOperation::ALL.map(|operation| operation.name().to_lowercase());
            let why = format!("operation = \"{text}\" is not one of {}", names.join("|"));
            self.error(place, &why)
        })
    }

    fn choice(
        self, rule: &PlacedValue<'_>, table: &DeTable<'_>, operation: CollectiveOperation,
    ) -> Result<AlgorithmChoice> {
        let (place, text) = self.text_of(rule, table, "algorithm")?;
        AlgorithmChoice::from_text(operation, text).ok_or_else(|| {
            let good = AlgorithmChoice::texts(operation);
            let name = operation.name().to_lowercase();
            let why = format!("algorithm = \"{text}\" is not one of {good}, those of {name}");
            self.error(place, &why)
        })
    }

    /// The place and the text of a key that each rule has.
    fn text_of<'a>(
        self, rule: &PlacedValue<'_>, table: &'a DeTable<'_>, name: &str,
    ) -> Result<(Range<usize>, &'a str)> {
        let Some(value) = table.get(name) else {
            return Err(self.error(rule.span(), &format!("the rule has no {name}")));
        };
        let Some(text) = value.get_ref().as_str() else {
            let kind = value.get_ref().type_str();
            let why = format!("{name} is of the type {kind}; a string is expected");
            return Err(self.error(value.span(), &why));
        };
        Ok((value.span(), text))
    }

    fn range(self, name: &str, value: &PlacedValue<'_>) -> Result<NumberRange> {
        if value.get_ref().is_integer() {
            let number = self.number(name, value)?;
            return Ok(NumberRange { from: number, to: number });
        }
        let expected = || {
            let why = format!(
                "{name} is neither a number nor a range like {{ from = 2, to = 8 }}, of which one part may be \
                 absent"
            );
            self.error(value.span(), &why)
        };
        let table = value.get_ref().as_table().ok_or_else(expected)?;
        let is_part = |key: &str| matches!(key, "from" | "to");
        if table.is_empty() || !table.iter().all(|(key, _)| is_part(key.get_ref())) {
            return Err(expected());
        }
        let part = |part, default| match table.get(part) {
            Some(value) => self.number(name, value),
            None => Ok(default),
        };
        let range = NumberRange { from: part("from", 0)?, to: part("to", u64::MAX)? };
        if range.from > range.to {
            let why = format!("{name} from {} to {} has no number", range.from, range.to);
            return Err(self.error(value.span(), &why));
        }
        Ok(range)
    }

    fn number(self, name: &str, value: &PlacedValue<'_>) -> Result<u64> {
        value.get_ref().as_integer().and_then(whole_number).ok_or_else(|| {
            let text = self.text.get(value.span()).unwrap_or_default();
            let why = format!("{name}: {text} is no whole number from 0 to 2^63 - 1");
            self.error(value.span(), &why)
        })
    }
}

/// The value, if a number of TOML can have it and it is not negative.
fn whole_number(number: &DeInteger<'_>) -> Option<u64> {
    i64::from_str_radix(number.as_str(), number.radix()).ok().and_then(|it| it.try_into().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The error of a text that must have one.
    fn why(text: &str) -> String {
        rules("r.toml", text).unwrap_err().why.to_string()
    }

    #[test]
    fn ranges_are_numbers_or_have_one_or_two_ends() {
        let bytes = |text: &str| {
            let rule =
                format!("[[rule]]\noperation = \"reduce\"\nalgorithm = \"auto\"\nbytes = {text}\n");
            rules("r.toml", &rule).unwrap()[0].bytes.unwrap()
        };
        assert_eq!(bytes("65_536"), NumberRange { from: 65_536, to: 65_536 });
        assert_eq!(bytes("{ from = 8 }"), NumberRange { from: 8, to: u64::MAX });
        assert_eq!(bytes("{ to = 0x10 }"), NumberRange { from: 0, to: 16 });
        assert_eq!(bytes("{ from = 1, to = 2 }"), NumberRange { from: 1, to: 2 });
    }

    #[test]
    fn a_text_without_rules_has_none() {
        for text in ["", "# nothing\n", "rule = []\n"] {
            assert_eq!(rules("r.toml", text), Ok(Vec::new()), "{text}");
        }
    }

    #[test]
    fn errors_name_the_line_the_value_and_what_is_allowed() {
        let rule = |lines: &str| why(&format!("# rules\n[[rule]]\n{lines}\n"));
        let start = "SUIRO_COLL_RULES: r.toml:";
        for (lines, line, words) in [
            ("operation = \"bcats\"", 3, "operation = \"bcats\" is not one of barrier|bcast|"),
            ("algorithm = \"ring\"", 2, "the rule has no operation"),
            ("operation = 3", 3, "operation is of the type integer; a string is expected"),
            (
                "operation = \"bcast\"\nalgorithm = \"rign\"",
                4,
                "algorithm = \"rign\" is not one of auto|shared|binomial|",
            ),
            ("operation = \"bcast\"", 2, "the rule has no algorithm"),
            (
                "operation = \"bcast\"\nbyte = 3",
                4,
                "byte is not one of operation|ranks|ranks_per_host|bytes|algorithm",
            ),
            ("operation = \"bcast\"\nbytes = \"8\"", 4, "bytes is neither a number nor a range"),
            ("operation = \"bcast\"\nbytes = {}", 4, "bytes is neither a number nor a range"),
            ("operation = \"bcast\"\nbytes = { fron = 1 }", 4, "bytes is neither a number"),
            ("operation = \"bcast\"\nbytes = -8", 4, "bytes: -8 is no whole number"),
            (
                "operation = \"bcast\"\nbytes = { from = 9, to = 8 }",
                4,
                "bytes from 9 to 8 has no number",
            ),
            ("operation = \"gatherv\"\nbytes = 8", 4, "no rule for gatherv has bytes"),
            ("operation = \"barrier\"\nbytes = 0", 4, "no rule for barrier has bytes"),
        ] {
            let why = rule(lines);
            assert!(why.starts_with(&format!("{start}{line}: {words}")), "{lines}: {why}");
        }
    }

    #[test]
    fn other_texts_are_refused_with_their_line() {
        let why_of_key = why("\n[coll]\nx = 1\n");
        assert!(why_of_key.contains("r.toml:2: coll is no table [[rule]]"), "{why_of_key}");
        let why_of_text = why("[[rule]]\noperation = \n");
        assert!(why_of_text.contains("r.toml:2: not TOML: "), "{why_of_text}");
        assert!(why("rule = [1]").contains("r.toml:1: a rule is a table"));
    }
}
