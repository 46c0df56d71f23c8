//! `--display`: what is printed of a job before it starts.

use crate::{LaunchError, USAGE};

use super::keywords::{Keywords, find_keyword, keyword_list, unknown_keyword};

/// What is printed; by default nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DisplayOptions {
    /// A line for each rank: program, host, processors.
    pub map: bool,
    /// What each rank is bound to.
    pub bindings: bool,
    /// The usable part of the host.
    pub allocation: bool,
    /// Its packages, caches, cores.
    pub topology: bool,
    /// `--report-bindings`: the binding of each rank, as messages of the launcher.
    pub report: bool,
}

type DisplaySetter = fn(&mut DisplayOptions);

/// A keyword of `--display`. `map-devel` is the same as `map`.
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

/// Formats. There is one, which is also easy to parse.
const FORMS: &Keywords<()> = &[("parseable", ()), ("parsable", ()), ("physical", ())];

impl DisplayOptions {
    /// Applies the value of `--display`.
    ///
    /// # Errors
    /// Names the unknown keyword and the known ones.
    pub(crate) fn display(&mut self, words: &str) -> Result<(), LaunchError> {
        let wrong = |why: String| LaunchError::new(USAGE, format!("--display {words}: {why}"));
        let (items, forms) = words.split_once(':').unwrap_or((words, "parseable"));
        for form in forms.split(':') {
            find_keyword(FORMS, form)
                .ok_or_else(|| wrong(unknown_keyword(form, &keyword_list(FORMS))))?;
        }
        for item in items.split(',') {
            // A list of hosts may follow. There is one host.
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
    fn keywords_are_lists_and_may_be_abbreviated() {
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
    fn wrong_keywords_are_named() {
        for (words, named) in
            [("moon", "\"moon\""), ("", "\"\""), ("map,x", "\"x\""), ("map:fast", "\"fast\"")]
        {
            let why = shown(words).unwrap_err().why;
            assert!(why.contains(named) && why.contains("expected one of"), "{why}");
        }
    }
}
