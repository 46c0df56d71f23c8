//! From a request to the command line of mpirun.
//!
//! | info key | option |
//! |---|---|
//! | `wd`, `wdir` | `-wdir` |
//! | `path` | `-path` |
//! | `host`, `hosts`, `add-host` | `--host` |
//! | `hostfile`, `add-hostfile` | `--hostfile` |
//! | `map-by`, `bind-to` | `--map-by`, `--bind-to` |
//! | `env` | `-x` for each line `NAME=VALUE`; `;` ends a line, too |
//! | `soft` | the number of processes |
//!
//! An underscore in a key counts as a dash.

use std::path::{Path, PathBuf};

use super::soft;
use super::{SpawnCommand, SpawnRequest};
use crate::base::{ErrorClass, MpiError, Result};

/// The word of a command line that separates programs.
const SEPARATOR: &str = ":";

/// The option for a value of one of these keys.
const OPTIONS: &[(&[&str], &str)] = &[
    (&["host", "hosts", "add-host"], "--host"),
    (&["hostfile", "add-hostfile"], "--hostfile"),
    (&["map-by"], "--map-by"),
    (&["bind-to"], "--bind-to"),
];

/// The arguments for `request`. Relative directories and files are below `here`, if that is known.
pub(super) fn of_request(request: &SpawnRequest, here: Option<&Path>) -> Result<Vec<String>> {
    if request.commands.is_empty() {
        return Err(ErrorClass::Arg.error("no program is to be started"));
    }
    // Children read no input. More of them than slots are usual.
    let mut words: Vec<_> = ["--stdin", "none", "--oversubscribe"].map(str::to_owned).into();
    if !request.commands.iter().flat_map(|command| &command.info).any(names_binding) {
        // By default they would be bound to processors where the parents are bound.
        words.extend(["--bind-to", "none"].map(str::to_owned));
    }
    for (number, command) in request.commands.iter().enumerate() {
        if number > 0 {
            words.push(SEPARATOR.to_owned());
        }
        words.extend(of_command(command, here)?);
    }
    match words.iter().find(|word| word.contains('\0')) {
        Some(word) => Err(ErrorClass::Spawn.error(format!("{word:?} has a zero byte"))),
        None => Ok(words),
    }
}

/// Whether the info object of `command` names hosts.
pub(super) fn names_hosts(command: &SpawnCommand) -> bool {
    command.info.iter().any(|(key, _)| ["--host", "--hostfile"].contains(&option_of(key)))
}

/// Whether this entry of an info object requests a binding.
fn names_binding((key, value): &(String, String)) -> bool {
    let value = value.to_ascii_lowercase();
    match option_of(key) {
        "--bind-to" => true,
        "--map-by" => ["pe=", "pe-list", "rankfile"].iter().any(|word| value.contains(word)),
        _ => false,
    }
}

/// The option of an info key whose value is an option's; empty if it has none.
fn option_of(key: &str) -> &'static str {
    let key = key.replace('_', "-");
    let found = OPTIONS.iter().find(|(keys, _)| keys.contains(&&*key));
    found.map_or("", |(_, option)| option)
}

fn of_command(command: &SpawnCommand, here: Option<&Path>) -> Result<Vec<String>> {
    check_words(command)?;
    let (mut count, mut directory) = (command.processes, here.map(Path::to_path_buf));
    let mut words = Vec::new();
    for (key, value) in &command.info {
        match (&*key.replace('_', "-"), option_of(key)) {
            (_, option) if !option.is_empty() => {
                let value = filled(key, value)?;
                let value = if option == "--hostfile" { below(here, value) } else { value.into() };
                words.extend([option.to_owned(), value]);
            }
            ("wd" | "wdir", _) => directory = Some(below(here, filled(key, value)?).into()),
            ("path", _) => {
                let folders: Vec<_> =
                    filled(key, value)?.split(':').map(|folder| below(here, folder)).collect();
                words.extend(["-path".to_owned(), folders.join(":")]);
            }
            ("env", _) => words.extend(environment(key, value)?),
            ("soft", _) => {
                count = soft::largest(value, command.processes).ok_or_else(|| {
                    let limit = command.processes;
                    wrong(key, value, &format!("expected numbers such as 2:8:2, one up to {limit}"))
                })?;
            }
            _ => {}
        }
    }
    if let Some(directory) = directory.as_ref().and_then(|directory| directory.to_str()) {
        words.extend(["-wdir".to_owned(), directory.to_owned()]);
    }
    words.extend(["-n".to_owned(), count.to_string(), command.program.clone()]);
    words.extend(command.arguments.iter().cloned());
    Ok(words)
}

/// Checks what a command line cannot express.
fn check_words(command: &SpawnCommand) -> Result {
    let program = &*command.program;
    let class = ErrorClass::Spawn;
    if program.is_empty() || program.starts_with('-') || program == SEPARATOR {
        return Err(class.error(format!("{program:?} is no program that mpirun can start")));
    }
    if command.processes == 0 {
        return Err(class.error(format!("{program} is to be started with 0 processes")));
    }
    if command.arguments.iter().any(|word| word == SEPARATOR) {
        let why = "mpirun cannot pass the argument \":\", which separates programs, to";
        return Err(class.error(format!("{why} {program}")));
    }
    Ok(())
}

/// The options for the lines of the info key `env`.
fn environment(key: &str, value: &str) -> Result<Vec<String>> {
    let mut words = Vec::new();
    for line in value.split(['\n', ';']).filter(|line| !line.trim().is_empty()) {
        if line.split_once('=').is_none_or(|(name, _)| name.trim().is_empty()) {
            return Err(wrong(key, value, "expected lines NAME=VALUE"));
        }
        words.extend(["-x".to_owned(), line.trim_start().to_owned()]);
    }
    Ok(words)
}

fn filled<'a>(key: &str, value: &'a str) -> Result<&'a str> {
    match value.trim().is_empty() || value == SEPARATOR {
        true => Err(wrong(key, value, "expected a value")),
        false => Ok(value),
    }
}

/// `path` below `here`, if it is relative and that is known.
fn below(here: Option<&Path>, path: &str) -> String {
    let joined = here.map_or_else(|| PathBuf::from(path), |here| here.join(path));
    joined.to_str().unwrap_or(path).to_owned()
}

fn wrong(key: &str, value: &str, expected: &str) -> Box<MpiError> {
    ErrorClass::InfoValue.error(format!("the info key {key} has the value {value:?}: {expected}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(program: &str, processes: u32, info: &[(&str, &str)]) -> SpawnCommand {
        let info = info.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        let arguments = vec!["an argument".to_owned()];
        SpawnCommand { program: program.to_owned(), arguments, processes, info: info.collect() }
    }

    fn words(commands: Vec<SpawnCommand>) -> Result<String> {
        let request = SpawnRequest { commands, parent_port: "port".to_owned() };
        of_request(&request, Some(Path::new("/here"))).map(|words| words.join("|"))
    }

    #[test]
    fn programs_are_separated_and_start_here() {
        assert_eq!(
            words(vec![command("a", 2, &[]), command("./b", 1, &[("nothing", "x")])]).unwrap(),
            "--stdin|none|--oversubscribe|--bind-to|none|-wdir|/here|-n|2|a|an argument|:|\
             -wdir|/here|-n|1|./b|an argument"
        );
    }

    #[test]
    fn info_keys_become_options() {
        for (key, value, expected) in [
            ("wd", "/x", "--bind-to|none|-wdir|/x|-n|8|a"),
            ("wdir", "x", "--bind-to|none|-wdir|/here/x|-n|8|a"),
            ("path", "/x:y", "-path|/x:/here/y|-wdir|/here|-n|8|a"),
            ("host", "h:2", "--host|h:2|-wdir|/here|-n|8|a"),
            ("add_host", "h", "--host|h|-wdir"),
            ("hostfile", "f", "--hostfile|/here/f|-wdir"),
            ("add-hostfile", "/f", "--hostfile|/f|-wdir"),
            ("map_by", "node", "--oversubscribe|--bind-to|none|--map-by|node|-wdir"),
            ("map-by", "core:PE=2", "--oversubscribe|--map-by|core:PE=2|-wdir"),
            ("bind_to", "core", "--oversubscribe|--bind-to|core|-wdir"),
            ("env", "A=1\nB=2;C=x y", "-x|A=1|-x|B=2|-x|C=x y|-wdir"),
            ("soft", "1:6:2", "-n|5|a"),
        ] {
            let words = words(vec![command("a", 8, &[(key, value)])]).unwrap();
            assert!(words.contains(expected), "{key}: {words}");
        }
    }

    #[test]
    fn a_wrong_value_is_named_with_its_key() {
        for (key, value) in
            [("soft", "9"), ("soft", "x"), ("env", "A"), ("env", "=1"), ("wdir", ""), ("host", " ")]
        {
            let error = words(vec![command("a", 8, &[(key, value)])]).unwrap_err();
            assert!(error.why.contains(&format!("{key} has the value {value:?}")), "{error}");
        }
    }

    #[test]
    fn what_a_command_line_cannot_express_is_refused() {
        let mut separator = command("a", 1, &[]);
        separator.arguments.push(":".to_owned());
        let zero = command("a\0", 1, &[]);
        for wrong in [separator, zero, command("", 1, &[]), command("-n", 1, &[])] {
            assert!(words(vec![wrong]).is_err());
        }
        assert!(words(vec![command("a", 0, &[])]).is_err() && words(vec![]).is_err());
    }

    #[test]
    fn hosts_are_named_by_any_of_their_keys() {
        assert!(names_hosts(&command("a", 1, &[("hosts", "h")])));
        assert!(!names_hosts(&command("a", 1, &[("map_by", "node")])));
    }
}
