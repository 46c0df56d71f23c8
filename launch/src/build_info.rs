//! `--info`: the version of the launcher and facts about its build, in the form of MPICH's launcher.

use std::fmt::Write;

use crate::folders::Folders;
use crate::hosts::ResourceManager;
use crate::starter;

/// Width of a name with its colon.
const NAME_WIDTH: usize = 26;

/// What tells this build from others: head and agents must be one.
pub(crate) fn identity() -> String {
    let commit = option_env!("SUIRO_COMMIT").unwrap_or("unknown");
    format!("{} ({commit}, {})", env!("CARGO_PKG_VERSION"), env!("SUIRO_BUILD_TARGET"))
}

/// A line for each fact about an installation in `folders`.
pub(crate) fn text(folders: Option<&Folders>) -> String {
    let folder = |path: Option<String>| path.unwrap_or_else(|| "unknown".to_owned());
    let programs = folder(folders.map(|folders| folders.programs.display().to_string()));
    let library = folder(folders.map(|folders| folders.library.display().to_string()));
    let launchers = starter::names().collect::<Vec<_>>().join(" ");
    let facts = [
        ("Version", env!("CARGO_PKG_VERSION")),
        ("Commit", option_env!("SUIRO_COMMIT").unwrap_or("unknown")),
        ("Compiler", env!("SUIRO_BUILD_COMPILER")),
        ("Target", env!("SUIRO_BUILD_TARGET")),
        ("Profile", env!("SUIRO_BUILD_PROFILE")),
        ("Programs", &programs),
        ("Libraries", &library),
        ("Process manager", "PMI-1"),
        ("Launchers available", &launchers),
        ("Resource managers", &ResourceManager::names().collect::<Vec<_>>().join(" ")),
    ];
    let mut text = "Suiro build details:\n".to_owned();
    for (name, value) in facts {
        let name = format!("{name}:");
        writeln!(text, "    {name:NAME_WIDTH$}{value}").expect("a string takes any text");
    }
    text + "suiro-info prints facts about the library and this machine.\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_aligned() {
        let text = text(None);
        let value = |line: &&str| line.starts_with("    ") && !line[30..].starts_with(' ');
        assert_eq!(text.lines().filter(value).count(), 10, "{text}");
        assert!(text.contains(concat!(" ", env!("CARGO_PKG_VERSION"), "\n")), "{text}");
    }
}
