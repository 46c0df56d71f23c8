//! What the command line asks to be shown of a job before it starts (`--display`).

use crate::launch::{Refusal, USAGE};

use super::words::{Words, known, listed, unknown};

/// What is shown; the default is nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Show {
    /// A line for each rank: program, host, processors.
    pub map: bool,
    /// What each rank is bound to.
    pub bindings: bool,
    /// How much of the host may be used.
    pub allocation: bool,
    /// What that is: packages, caches, cores.
    pub topology: bool,
    /// What each rank is bound to, as messages of the launcher.
    pub report: bool,
}

type Set = fn(&mut Show);

/// Something to show. `map-devel` has nothing more here.
#[derive(Clone, Copy, PartialEq)]
enum Item {
    Map,
    Bindings,
    Allocation,
    Topology,
}

const ITEMS: &Words<Item> = &[
    ("map", Item::Map),
    ("bindings", Item::Bindings),
    ("allocation", Item::Allocation),
    ("topology", Item::Topology),
    ("map-devel", Item::Map),
    ("cpus", Item::Topology),
];

/// How it may be shown; there is one form, which programs can read as well.
const FORMS: &Words<()> = &[("parseable", ()), ("parsable", ()), ("physical", ())];

impl Show {
    /// Takes the value of `--display`.
    ///
    /// # Errors
    /// With the word that is not known, and those that are.
    pub fn display(&mut self, words: &str) -> Result<(), Refusal> {
        let wrong = |why: String| Refusal::new(USAGE, format!("--display {words}: {why}"));
        let (items, forms) = words.split_once(':').unwrap_or((words, "parseable"));
        for form in forms.split(':') {
            known(FORMS, form).ok_or_else(|| wrong(unknown(form, &listed(FORMS))))?;
        }
        for item in items.split(',') {
            // A list of hosts may follow; there is one.
            let name = item.split('=').next().unwrap_or(item);
            let found = known(ITEMS, name).ok_or_else(|| wrong(unknown(item, &listed(ITEMS))))?;
            let set: Set = match found {
                Item::Map => |show| show.map = true,
                Item::Bindings => |show| show.bindings = true,
                Item::Allocation => |show| show.allocation = true,
                Item::Topology => |show| show.topology = true,
            };
            set(self);
        }
        Ok(())
    }

    /// Is there anything to show?
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(words: &str) -> Result<Show, Refusal> {
        let mut show = Show::default();
        show.display(words).map(|()| show)
    }

    #[test]
    fn words_are_taken_in_lists_and_short() {
        let map = Show { map: true, ..Show::default() };
        for words in ["map", "MAP", "map-devel", "map-d", "map:parseable", "map:PARS"] {
            assert_eq!(shown(words), Ok(map), "{words}");
        }
        let all = Show { map: true, bindings: true, allocation: true, topology: true, ..map };
        assert_eq!(shown("map,bind,alloc,topo=a;b"), Ok(all));
        assert_eq!(shown("cpus"), shown("topo"));
        assert!(Show::default().is_empty() && !all.is_empty());
    }

    #[test]
    fn wrong_words_are_named() {
        for (words, named) in
            [("moon", "\"moon\""), ("", "\"\""), ("map,x", "\"x\""), ("map:fast", "\"fast\"")]
        {
            let why = shown(words).unwrap_err().why;
            assert!(why.contains(named) && why.contains("these are:"), "{why}");
        }
    }
}
