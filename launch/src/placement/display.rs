//! What the command line asks to be shown of a job before it starts (`--display`).

use crate::{LaunchError, USAGE};

use super::keywords::{Keywords, find_keyword, keyword_list, unknown_keyword};

/// What is shown; the default is nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DisplayOptions {
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

type DisplaySetter = fn(&mut DisplayOptions);

/// Something to show. `map-devel` has nothing more here.
#[derive(Clone, Copy, PartialEq)]
enum DisplayItem {
    Map,
    Bindings,
    Allocation,
    Topology,
}

const ITEMS: &Keywords<DisplayItem> = &[
    ("map", DisplayItem::Map),
    ("bindings", DisplayItem::Bindings),
    ("allocation", DisplayItem::Allocation),
    ("topology", DisplayItem::Topology),
    ("map-devel", DisplayItem::Map),
    ("cpus", DisplayItem::Topology),
];

/// How it may be shown; there is one form, which programs can read as well.
const FORMS: &Keywords<()> = &[("parseable", ()), ("parsable", ()), ("physical", ())];

impl DisplayOptions {
    /// Takes the value of `--display`.
    ///
    /// # Errors
    /// With the word that is not known, and those that are.
    pub(crate) fn display(&mut self, words: &str) -> Result<(), LaunchError> {
        let wrong = |why: String| LaunchError::new(USAGE, format!("--display {words}: {why}"));
        let (items, forms) = words.split_once(':').unwrap_or((words, "parseable"));
        for form in forms.split(':') {
            find_keyword(FORMS, form)
                .ok_or_else(|| wrong(unknown_keyword(form, &keyword_list(FORMS))))?;
        }
        for item in items.split(',') {
            // A list of hosts may follow; there is one.
            let name = item.split('=').next().unwrap_or(item);
            let found = find_keyword(ITEMS, name)
                .ok_or_else(|| wrong(unknown_keyword(item, &keyword_list(ITEMS))))?;
            let set: DisplaySetter = match found {
                DisplayItem::Map => |show| show.map = true,
                DisplayItem::Bindings => |show| show.bindings = true,
                DisplayItem::Allocation => |show| show.allocation = true,
                DisplayItem::Topology => |show| show.topology = true,
            };
            set(self);
        }
        Ok(())
    }

    /// Is there anything to show?
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(words: &str) -> Result<DisplayOptions, LaunchError> {
        let mut show = DisplayOptions::default();
        show.display(words).map(|()| show)
    }

    #[test]
    fn words_are_taken_in_lists_and_short() {
        let map = DisplayOptions { map: true, ..DisplayOptions::default() };
        for words in ["map", "MAP", "map-devel", "map-d", "map:parseable", "map:PARS"] {
            assert_eq!(shown(words), Ok(map), "{words}");
        }
        let all =
            DisplayOptions { map: true, bindings: true, allocation: true, topology: true, ..map };
        assert_eq!(shown("map,bind,alloc,topo=a;b"), Ok(all));
        assert_eq!(shown("cpus"), shown("topo"));
        assert!(DisplayOptions::default().is_empty() && !all.is_empty());
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
