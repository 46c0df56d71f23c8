//! Where the name server of several jobs is: `--name-server`, or its variable.

use std::ffi::OsStr;

use platform::names::NameServerAddress;

use crate::{LaunchError, USAGE};

/// Reads the value of an option or a variable.
///
/// # Errors
/// A [`LaunchError`] with code 2 that names it.
pub(super) fn parse(option: &str, text: &OsStr) -> Result<NameServerAddress, LaunchError> {
    NameServerAddress::parse(&text.to_string_lossy())
        .map_err(|why| LaunchError::new(USAGE, format!("{option} {why}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_line::launcher_name::LauncherName;
    use crate::command_line::tests::{parse_as, plan_as};

    #[test]
    fn a_name_server_has_many_spellings_and_a_variable() {
        let server = |variables: &[(&str, &str)], line: &str| {
            plan_as(LauncherName::Mpirun, variables, line)
                .name_server
                .map(|address| address.text().to_owned())
        };
        for option in ["--name-server", "-name-server", "-nameserver", "--ompi-server"] {
            let named = server(&[], &format!("{option} file:f a"));
            assert_eq!(named.as_deref(), Some("file:f"), "{option}");
        }
        let variable = [("SUIRO_NAME_SERVER", "file:v")];
        assert_eq!(server(&variable, "a").as_deref(), Some("file:v"));
        assert_eq!(server(&variable, "--name-server file:o a").as_deref(), Some("file:o"));
        assert_eq!(server(&[("SUIRO_NAME_SERVER", "")], "a"), None);
        for (variables, line, part) in [
            (&[][..], "--name-server file: a", "--name-server file:"),
            (&[("SUIRO_NAME_SERVER", "a:b:c")], "a", "SUIRO_NAME_SERVER a:b:c"),
        ] {
            let error = parse_as(LauncherName::Mpirun, variables, line).unwrap_err();
            assert!(error.code == USAGE && error.why.starts_with(part), "{}", error.why);
        }
    }
}
