//! The names by which the launcher is called.

use std::ffi::OsStr;
use std::path::Path;

use super::{acp, runtimes};

/// The name by which the launcher is called. It decides which options there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LauncherName {
    #[default]
    Mpirun,
    /// `mpirun` with the options of ACP.
    Acprun,
    /// `acprun` with a file that names the programs.
    Macprun,
}

impl LauncherName {
    /// The name of a program by its path: `mpirun` for all names without a meaning of their own.
    pub(crate) fn of(program: &OsStr) -> Self {
        let name = Path::new(program).file_name();
        let is_called = |other: &&Self| name == Some(OsStr::new(other.name()));
        [Self::Acprun, Self::Macprun].iter().find(is_called).copied().unwrap_or_default()
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Mpirun => "mpirun",
            Self::Acprun => "acprun",
            Self::Macprun => "macprun",
        }
    }

    /// The arguments, for help.
    pub(super) fn usage(self) -> &'static str {
        match self {
            Self::Mpirun | Self::Acprun => {
                "[options] program [arguments] [: [options] program [arguments]]..."
            }
            Self::Macprun => "[options] FILE",
        }
    }

    /// What its arguments name at least.
    pub(super) fn operand(self) -> &'static str {
        match self {
            Self::Mpirun | Self::Acprun => "program to start",
            Self::Macprun => "input file",
        }
    }

    /// Whether it has the options of ACP.
    pub(super) fn has_acp(self) -> bool {
        match self {
            Self::Mpirun => false,
            Self::Acprun | Self::Macprun => true,
        }
    }

    /// What help says about the arguments, before what it says about all launchers.
    pub(super) fn notes(self) -> &'static str {
        match self {
            Self::Mpirun => "",
            Self::Acprun => acp::NOTES,
            Self::Macprun => runtimes::NOTES,
        }
    }

    /// See [`acp::option_name`].
    pub(super) fn option_name(self, word: &[u8]) -> Option<&'static str> {
        if self.has_acp() { acp::option_name(word) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_part_of_the_path_decides() {
        for (program, name) in [
            ("mpirun", LauncherName::Mpirun),
            ("/p/bin/mpiexec", LauncherName::Mpirun),
            ("acprun", LauncherName::Acprun),
            ("/acprun/bin/mpirun.suiro", LauncherName::Mpirun),
            ("../bin/macprun", LauncherName::Macprun),
            ("", LauncherName::Mpirun),
        ] {
            assert_eq!(LauncherName::of(OsStr::new(program)), name, "{program}");
        }
    }
}
