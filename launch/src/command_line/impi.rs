//! The options by which a job joins the world of other jobs (IMPI), as variables of its ranks.

use std::ffi::{OsStr, OsString};
use std::path;

use clap::ArgMatches;
use platform::impi::{CLIENTS_MAX, ImpiKeyFile, is_server_address};

use super::options::{last, occurrences};
use super::plan::{EnvironmentChanges, EnvironmentEdit, VariablePattern};
use crate::{LaunchError, USAGE};

const SERVER: &str = "SUIRO_IMPI_SERVER";
const CLIENT: &str = "SUIRO_IMPI_CLIENT";
const CLEARTEXT: &str = "SUIRO_IMPI_CLEARTEXT";
const GATEWAY: &str = "SUIRO_IMPI_GATEWAY";

/// What options say, by the names of variables.
#[derive(Debug, Default)]
pub(super) struct ImpiOptions {
    given: Vec<(&'static str, OsString)>,
}

impl ImpiOptions {
    /// Adds the options of some arguments.
    ///
    /// # Errors
    /// A [`LaunchError`] with code 2 that names a wrong value.
    pub(super) fn take(&mut self, matches: &ArgMatches) -> Result<(), LaunchError> {
        for pair in occurrences(matches, "client") {
            self.client("-client", &pair[0])?;
            self.server("-client", &pair[1])?;
        }
        if let Some(place) = last(matches, "impi-server") {
            self.server("--impi-server", &place)?;
        }
        if let Some(number) = last(matches, "impi-client") {
            self.client("--impi-client", &number)?;
        }
        for (flag, variable) in [("impi-cleartext", CLEARTEXT), ("impi-gateway", GATEWAY)] {
            if matches.get_flag(flag) {
                self.set(variable, "1".into());
            }
        }
        if let Some(file) = last(matches, "impi-key-file") {
            // Ranks may have other working directories.
            let file = path::absolute(&file).map_err(|error| {
                wrong(format!("--impi-key-file {}: {error}", file.to_string_lossy()))
            })?;
            self.set(ImpiKeyFile::VARIABLE, file.into());
        }
        Ok(())
    }

    /// Checks the options with the variables of the launcher, and sets those of the ranks.
    ///
    /// # Errors
    /// A [`LaunchError`] with code 2: an option lacks another one, or contradicts it.
    pub(super) fn apply(
        self, all: &mut EnvironmentChanges, environment: impl Fn(&str) -> Option<OsString>,
    ) -> Result<(), LaunchError> {
        if self.given.is_empty() {
            return Ok(());
        }
        let is_set = |variable: &str| {
            let of_launcher = || environment(variable).filter(|value| !value.is_empty());
            self.has(variable) || of_launcher().is_some()
        };
        for (option, variable) in [("--impi-server HOST:PORT", SERVER), ("--impi-client K", CLIENT)]
        {
            if !is_set(variable) {
                let why = format!("{option} is needed, too (or {variable}), to join other jobs");
                return Err(wrong(format!("{}: {why}", self.names())));
            }
        }
        if self.has(CLEARTEXT) && self.has(ImpiKeyFile::VARIABLE) {
            let why = "the key is of no use to --impi-cleartext, where IMPI_AUTH_KEY proves a job";
            return Err(wrong(format!("--impi-key-file: {why}")));
        }
        all.passed.push(VariablePattern("IMPI_AUTH_*".into()));
        let edits = self.given.into_iter();
        all.edits.extend(edits.map(|(name, value)| EnvironmentEdit::Set(name.into(), value)));
        Ok(())
    }

    fn server(&mut self, option: &str, place: &OsStr) -> Result<(), LaunchError> {
        let text = place.to_string_lossy();
        if !is_server_address(&text) {
            let why = "expected HOST:PORT, as suiro-impi-server prints it";
            return Err(wrong(format!("{option} {text}: {why}")));
        }
        self.set(SERVER, place.to_owned());
        Ok(())
    }

    fn client(&mut self, option: &str, number: &OsStr) -> Result<(), LaunchError> {
        let text = number.to_string_lossy();
        if !text.parse::<u32>().is_ok_and(|number| number < CLIENTS_MAX) {
            let why = format!("expected the number of this client, 0 to {}", CLIENTS_MAX - 1);
            return Err(wrong(format!("{option} {text}: {why}")));
        }
        self.set(CLIENT, number.to_owned());
        Ok(())
    }

    fn set(&mut self, variable: &'static str, value: OsString) {
        self.given.retain(|(name, _)| *name != variable);
        self.given.push((variable, value));
    }

    fn has(&self, variable: &str) -> bool {
        self.given.iter().any(|(name, _)| *name == variable)
    }

    /// The first option that was given.
    fn names(&self) -> &'static str {
        match self.given[0].0 {
            SERVER => "--impi-server",
            CLIENT => "--impi-client",
            CLEARTEXT => "--impi-cleartext",
            GATEWAY => "--impi-gateway",
            _ => "--impi-key-file",
        }
    }
}

fn wrong(why: String) -> LaunchError {
    LaunchError::new(USAGE, why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_line::launcher_name::LauncherName;
    use crate::command_line::tests::{parse_as, plan_as};

    fn set(variables: &[(&str, &str)], line: &str) -> String {
        let changes = plan_as(LauncherName::Mpirun, variables, line).global_environment;
        let text = |edit: &EnvironmentEdit| match edit {
            EnvironmentEdit::Set(name, value) => {
                format!("{}={}", name.to_string_lossy(), value.to_string_lossy())
            }
            other => panic!("{other:?}"),
        };
        let is_passed = changes.passed.contains(&VariablePattern("IMPI_AUTH_*".into()));
        assert_eq!(is_passed, !changes.edits.is_empty());
        changes.edits.iter().map(text).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn options_are_variables_of_all_ranks() {
        let both = "SUIRO_IMPI_SERVER=head:4000 SUIRO_IMPI_CLIENT=1";
        assert_eq!(set(&[], "a"), "");
        assert_eq!(set(&[], "--impi-server head:4000 --impi-client 1 a"), both);
        assert_eq!(set(&[], "-impi-client 0 -impi-client 1 --impi-server=head:4000 a"), both);
        let reversed = "SUIRO_IMPI_CLIENT=1 SUIRO_IMPI_SERVER=head:4000";
        assert_eq!(set(&[], "-client 1 head:4000 -n 2 a -client 3"), reversed);
        let line = "--impi-cleartext --impi-gateway -client 1 head:4000 a";
        let flags = "SUIRO_IMPI_CLEARTEXT=1 SUIRO_IMPI_GATEWAY=1";
        assert_eq!(set(&[], line), format!("{reversed} {flags}"));
        let line = "--impi-key-file /k -client 1 head:4000 a";
        assert_eq!(set(&[], line), format!("{reversed} SUIRO_IMPI_KEY_FILE=/k"));
        let here = std::env::current_dir().unwrap().join("k");
        let relative = set(&[], "--impi-key-file k -client 1 head:4000 a");
        assert!(relative.ends_with(&format!("=={}", here.display())[1..]), "{relative}");
        // The partner may be a variable.
        let variable = [("SUIRO_IMPI_SERVER", "head:4000")];
        assert_eq!(set(&variable, "--impi-client 1 a"), "SUIRO_IMPI_CLIENT=1");
    }

    #[test]
    fn wrong_values_and_missing_partners_are_named() {
        for (line, part) in [
            ("--impi-server head --impi-client 0 a", "--impi-server head: expected HOST:PORT"),
            ("--impi-server head:0 --impi-client 0 a", "--impi-server head:0: expected HOST:PORT"),
            ("--impi-server h:1 --impi-client 32 a", "--impi-client 32: expected the number"),
            ("--impi-server h:1 --impi-client x a", "--impi-client x: expected the number"),
            ("-client 32 h:1 a", "-client 32: expected the number of this client, 0 to 31"),
            ("-client 0 h a", "-client h: expected HOST:PORT"),
            ("--impi-server h:1 a", "--impi-server: --impi-client K is needed, too"),
            ("--impi-client 0 a", "--impi-client: --impi-server HOST:PORT is needed, too"),
            ("--impi-gateway a", "--impi-gateway: --impi-server HOST:PORT is needed, too"),
            ("--impi-cleartext a", "--impi-cleartext: --impi-server HOST:PORT is needed"),
            ("--impi-key-file /k a", "--impi-key-file: --impi-server HOST:PORT is needed"),
            ("-client 0 h:1 --impi-key-file /k --impi-cleartext a", "--impi-key-file: the key"),
            ("-client 0", "lacks its second value"),
        ] {
            let error = parse_as(LauncherName::Mpirun, &[], line).unwrap_err();
            assert_eq!(error.code, USAGE, "{line}");
            assert!(error.why.contains(part), "{line}: {}", error.why);
        }
    }
}
