//! The options for the environment of the processes.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use clap::ArgMatches;

use crate::command_line::options::{last, occurrences};
use crate::command_line::plan::{
    EnvironmentChanges, EnvironmentEdit, EnvironmentFilter, VariablePattern,
};
use crate::{LaunchError, USAGE};

/// The variables of one program.
pub(super) fn of_program(matches: &ArgMatches) -> Result<EnvironmentChanges, LaunchError> {
    let mut all = EnvironmentChanges::default();
    pass(&mut all, matches, ["envall", "envnone", "envlist", "envexcl"])?;
    for word in occurrences(matches, "x").concat() {
        match assignment("-x", &word)? {
            (name, Some(value)) => all.edits.push(EnvironmentEdit::Set(name, value)),
            (name, None) => all.passed.push(VariablePattern(name)),
        }
    }
    for pair in occurrences(matches, "env") {
        all.edits.push(EnvironmentEdit::Set(variable("-env", &pair[0])?, pair[1].clone()));
    }
    for word in occurrences(matches, "set-env").concat() {
        let (name, value) = assignment("--set-env", &word)?;
        all.edits.push(EnvironmentEdit::Set(name, value.unwrap_or_default()));
    }
    if let Some(folder) = last(matches, "prefix") {
        for (name, below) in [("PATH", "/bin"), ("LD_LIBRARY_PATH", "/lib")] {
            let mut value = folder.clone();
            value.push(below);
            all.edits.push(EnvironmentEdit::Prepend(name.into(), value, b':'));
        }
    }
    let handlers = ["mpi_errors_are_fatal", "mpi_errors_abort", "mpi_errors_return"];
    all.edits.extend(setting(
        matches,
        "initial-errhandler",
        "SUIRO_INITIAL_ERRHANDLER",
        &handlers,
    )?);
    let devices = ["shm", "tofu", "tcp", "ofi", "auto"];
    all.edits.extend(setting(matches, "device", "SUIRO_DEVICE", &devices)?);
    for pair in occurrences(matches, "prepend-env") {
        let (name, separator) = separated("--prepend-env", &pair[0])?;
        all.edits.push(EnvironmentEdit::Prepend(name, pair[1].clone(), separator));
    }
    for pair in occurrences(matches, "append-env") {
        let (name, separator) = separated("--append-env", &pair[0])?;
        all.edits.push(EnvironmentEdit::Append(name, pair[1].clone(), separator));
    }
    if let Some(kinds) = last(matches, "memory-alloc-kinds") {
        all.edits.push(EnvironmentEdit::Set("SUIRO_MEMORY_KINDS".into(), kinds));
    }
    for name in occurrences(matches, "unset-env").concat() {
        all.edits.push(EnvironmentEdit::Unset(VariablePattern(variable("--unset-env", &name)?)));
    }
    Ok(all)
}

/// The edit that sets `variable`, a setting of the library, to the value of `option`, one of `known`.
fn setting(
    matches: &ArgMatches, option: &str, variable: &str, known: &[&str],
) -> Result<Option<EnvironmentEdit>, LaunchError> {
    let Some(value) = last(matches, option) else { return Ok(None) };
    if !known.iter().any(|name| value == *name) {
        let (value, known) = (value.to_string_lossy(), known.join(", "));
        return Err(LaunchError::new(
            USAGE,
            format!("--{option} {value}: expected one of {known}"),
        ));
    }
    Ok(Some(EnvironmentEdit::Set(variable.into(), value)))
}

/// The variables of all programs.
pub(super) fn of_all(
    all: &mut EnvironmentChanges, matches: &ArgMatches,
) -> Result<(), LaunchError> {
    pass(all, matches, ["genvall", "genvnone", "genvlist", "genvexcl"])?;
    for pair in occurrences(matches, "genv") {
        all.edits.push(EnvironmentEdit::Set(variable("-genv", &pair[0])?, pair[1].clone()));
    }
    Ok(())
}

/// Sets the filter; `names` are the options for all, none, only some, and all except some.
fn pass(
    all: &mut EnvironmentChanges, matches: &ArgMatches, names: [&str; 4],
) -> Result<(), LaunchError> {
    let [every, none, some, except] = names;
    let list = |option: &str| -> Result<Option<Vec<VariablePattern>>, LaunchError> {
        let Some(list) = last(matches, option) else { return Ok(None) };
        let words = list.as_bytes().split(|byte| *byte == b',').filter(|word| !word.is_empty());
        let names = words.map(|word| variable(&format!("-{option}"), OsStr::from_bytes(word)));
        names.map(|name| name.map(VariablePattern)).collect::<Result<_, _>>().map(Some)
    };
    if matches.get_flag(every) {
        all.filter = Some(EnvironmentFilter::All);
    } else if let Some(patterns) = list(some)? {
        all.filter = Some(EnvironmentFilter::Only(patterns));
    } else if let Some(patterns) = list(except)? {
        all.filter = Some(EnvironmentFilter::Except(patterns));
    } else if matches.get_flag(none) {
        all.filter = Some(EnvironmentFilter::Only(Vec::new()));
    }
    Ok(())
}

/// `NAME=VALUE`, or `NAME` alone.
fn assignment(option: &str, word: &OsStr) -> Result<(OsString, Option<OsString>), LaunchError> {
    let bytes = word.as_bytes();
    match bytes.iter().position(|byte| *byte == b'=') {
        None => Ok((variable(option, word)?, None)),
        Some(at) => {
            let name = variable(option, OsStr::from_bytes(&bytes[..at]))?;
            Ok((name, Some(OsStr::from_bytes(&bytes[at + 1..]).to_owned())))
        }
    }
}

/// `NAME`, or `NAME[C]` with another separator than `:`.
fn separated(option: &str, word: &OsStr) -> Result<(OsString, u8), LaunchError> {
    let (name, separator) = match word.as_bytes() {
        [name @ .., b'[', separator, b']'] => (name, *separator),
        name => (name, b':'),
    };
    Ok((variable(option, OsStr::from_bytes(name))?, separator))
}

/// Checks the name of a variable.
fn variable(option: &str, name: &OsStr) -> Result<OsString, LaunchError> {
    if name.is_empty() || name.as_bytes().contains(&b'=') {
        let why = format!("{option} {}: expected the name of a variable", name.to_string_lossy());
        return Err(LaunchError::new(USAGE, why));
    }
    Ok(name.to_owned())
}
