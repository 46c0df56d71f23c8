//! Facts about this installation and this machine, for `suiro-info`.
//!
//! A [`Fact`] has a key for programs and a label for users; both forms are made from the same list.
//! Keys are stable: keys may be added, none changes its meaning.
//!
//! Each fact is read where it is defined: settings in `base::settings`, versions in `abi::constants`,
//! coverage in a table that a test checks. Nothing is measured.

mod collectives;
mod coverage;
mod facts;

use std::fmt::Write;

pub use collectives::collectives;
pub use facts::{Build, fabrics, gather};

/// One fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// The name for programs, without a colon.
    pub key: String,
    /// The name for users.
    pub label: String,
    /// The value for programs.
    pub value: String,
    /// The value for users, if it is not `value`.
    pub text: Option<String>,
    /// Whether it is shown only with `--all`.
    pub is_detail: bool,
}

impl Fact {
    fn new(key: impl Into<String>, label: impl Into<String>, value: impl ToString) -> Self {
        let (key, label, value) = (key.into(), label.into(), value.to_string());
        Self { key, label, value, text: None, is_detail: false }
    }

    fn with_text(self, text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), ..self }
    }

    fn detail(self) -> Self {
        Self { is_detail: true, ..self }
    }
}

/// Facts under one title.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FactSection {
    /// The heading.
    pub title: &'static str,
    /// In the order of output.
    pub facts: Vec<Fact>,
}

/// For programs: a line `key:value` for each fact; the value begins after the first colon.
pub fn parsable(sections: &[FactSection], all: bool) -> String {
    let mut text = String::new();
    for fact in visible(sections, all).flat_map(|(_, facts)| facts) {
        // Writing to a string never fails.
        let _ = writeln!(text, "{}:{}", fact.key, fact.value.replace('\n', " "));
    }
    text
}

/// For users: titles, and below them labels and values in two columns.
pub fn readable(sections: &[FactSection], all: bool) -> String {
    let mut text = String::new();
    for (title, facts) in visible(sections, all) {
        let width = facts.iter().map(|fact| fact.label.chars().count()).max().unwrap_or(0);
        let space = if text.is_empty() { "" } else { "\n" };
        let _ = writeln!(text, "{space}{title}");
        for fact in facts {
            let value = fact.text.as_deref().unwrap_or(&fact.value);
            let _ = writeln!(text, "  {:width$}  {value}", fact.label);
        }
    }
    text
}

/// Titles with their visible facts; sections without any are left out.
fn visible(sections: &[FactSection], all: bool) -> impl Iterator<Item = (&str, Vec<&Fact>)> {
    sections.iter().filter_map(move |section| {
        let facts: Vec<_> = section.facts.iter().filter(|fact| all || !fact.is_detail).collect();
        (!facts.is_empty()).then_some((section.title, facts))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sections() -> Vec<FactSection> {
        let many = Fact::new("a.bytes", "bytes", 2048).with_text("2 KiB");
        let word = Fact::new("a.long", "a long label", "one\ntwo: three");
        let hidden = Fact::new("b.detail", "a hidden detail", "x").detail();
        vec![
            FactSection { title: "A", facts: vec![many, word] },
            FactSection { title: "B", facts: vec![hidden] },
        ]
    }

    #[test]
    fn programs_get_a_line_for_each_fact() {
        assert_eq!(parsable(&sections(), false), "a.bytes:2048\na.long:one two: three\n");
        assert!(parsable(&sections(), true).ends_with("\nb.detail:x\n"));
    }

    #[test]
    fn users_get_columns_as_wide_as_their_section() {
        let text = readable(&sections(), false);
        assert_eq!(text, "A\n  bytes         2 KiB\n  a long label  one\ntwo: three\n");
        assert!(readable(&sections(), true).contains("\n\nB\n  a hidden detail  x\n"));
    }
}
