//! The command line of `mpirun`, parsed into a plan.
//!
//! ```text
//!   mpirun [options] program [arguments] [: [options] program [arguments]]...
//! ```
//!
//! Options have one dash or two, and their value in the next word; `--name=value` works too. The
//! first word that is no option is the program; from there to the next `:` all is the program's.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use super::{Refusal, USAGE};

/// What `--help` prints.
pub const HELP: &str = "\
usage: mpirun [options] program [arguments] [: [options] program [arguments]]...

  -n, -np COUNT        start COUNT processes (1 if not given)
  -wdir, -wd FOLDER    start them in FOLDER
  -x NAME[=VALUE]      set NAME for this program (without a value: as it is here)
  -env NAME VALUE      set NAME for this program
  -genv NAME VALUE     set NAME for all programs
  --oversubscribe      accepted; there may always be more processes than cores
  --allow-run-as-root  accepted; that is always allowed
  -V, --version        print the version
  -h, --help           print this

Standard input goes to rank 0. The exit code is that of the first process that failed: its own
code, 128 and the number of the signal that ended it, or the code that it gave to MPI_Abort.
127: a program was not found; 126: it could not be started; 2: wrong arguments.
";

/// What the command line asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Start these programs.
    Run(Plan),
    /// Print the help.
    Help,
    /// Print the version.
    Version,
}

/// The programs of a job; ranks are counted through them in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// At least one.
    pub apps: Vec<App>,
    /// Variables set for all programs; those of a program win.
    pub everywhere: Vec<(OsString, OsString)>,
}

impl Plan {
    /// For each rank the number of its program.
    pub fn app_of_rank(&self) -> Vec<u32> {
        let apps = self.apps.iter().zip(0..);
        apps.flat_map(|(app, number)| std::iter::repeat_n(number, app.count as usize)).collect()
    }
}

/// One program, started `count` times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct App {
    /// How many processes.
    pub count: u32,
    /// A path, or a name to look up.
    pub program: OsString,
    /// What follows it.
    pub arguments: Vec<OsString>,
    /// Where it starts, if not here.
    pub directory: Option<PathBuf>,
    /// Variables set for it.
    pub variables: Vec<(OsString, OsString)>,
    /// Variables that shall be passed on as they are.
    pub passed: Vec<OsString>,
}

/// Parses everything after the launcher's own name.
///
/// # Errors
/// A [`Refusal`] with code 2 that names the word that is wrong.
pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Order, Refusal> {
    let mut plan = Plan::default();
    let mut words = words.into_iter().peekable();
    let mut another = true;
    while another {
        let mut app = AppWords::default();
        while let Some(word) = words.next_if(|word| is_option(word)) {
            let (name, value) = split(&word);
            match app.option(&mut plan, &name, value, &mut words)? {
                None => {}
                Some(order) => return Ok(order),
            }
            if name == "--" {
                break;
            }
        }
        another = false;
        let in_program = |word: &OsString| {
            another = word == ":";
            !another
        };
        let program: Vec<_> = words.by_ref().take_while(in_program).collect();
        plan.apps.push(app.finish(program)?);
    }
    Ok(Order::Run(plan))
}

/// An option starts with a dash; a dash alone does not.
fn is_option(word: &OsStr) -> bool {
    word.as_bytes().starts_with(b"-") && word.len() > 1
}

/// Splits `--name=value`.
fn split(word: &OsStr) -> (String, Option<OsString>) {
    let bytes = word.as_bytes();
    let equals = bytes.iter().position(|byte| *byte == b'=');
    match equals.filter(|_| bytes.starts_with(b"--")) {
        Some(at) => {
            let value = OsString::from_vec(bytes[at + 1..].to_vec());
            (String::from_utf8_lossy(&bytes[..at]).into_owned(), Some(value))
        }
        None => (word.to_string_lossy().into_owned(), None),
    }
}

/// What is known of a program while its words are read.
#[derive(Default)]
struct AppWords {
    count: Option<u32>,
    directory: Option<PathBuf>,
    variables: Vec<(OsString, OsString)>,
    passed: Vec<OsString>,
}

impl AppWords {
    /// Takes one option, and its values from `words`. An order ends the parsing.
    fn option(
        &mut self, plan: &mut Plan, name: &str, attached: Option<OsString>,
        words: &mut impl Iterator<Item = OsString>,
    ) -> Result<Option<Order>, Refusal> {
        let mut values = attached.into_iter().chain(words);
        let mut value = || {
            let lacks = || Refusal::new(USAGE, format!("the option {name} lacks its value"));
            values.next().ok_or_else(lacks)
        };
        match name {
            "--"
            | "--oversubscribe"
            | "-oversubscribe"
            | "--allow-run-as-root"
            | "-allow-run-as-root" => {}
            "-n" | "-np" | "--n" | "--np" => self.count = Some(parse_count(name, &value()?)?),
            "-wdir" | "--wdir" | "-wd" | "--wd" => self.directory = Some(value()?.into()),
            "-x" | "--x" => self.exported(value()?)?,
            "-env" | "--env" => self.variables.push((variable(name, value()?)?, value()?)),
            "-genv" | "--genv" => plan.everywhere.push((variable(name, value()?)?, value()?)),
            "-V" | "--version" | "-version" => return Ok(Some(Order::Version)),
            "-h" | "--help" | "-help" => return Ok(Some(Order::Help)),
            _ => {
                let why = format!("unknown option {name}; mpirun --help lists the options");
                return Err(Refusal::new(USAGE, why));
            }
        }
        Ok(None)
    }

    /// `NAME=VALUE`, or `NAME` alone.
    fn exported(&mut self, word: OsString) -> Result<(), Refusal> {
        match word.as_bytes().iter().position(|byte| *byte == b'=') {
            None => self.passed.push(variable("-x", word)?),
            Some(at) => {
                let (name, value) = word.as_bytes().split_at(at);
                let name = variable("-x", OsString::from_vec(name.to_vec()))?;
                self.variables.push((name, OsString::from_vec(value[1..].to_vec())));
            }
        }
        Ok(())
    }

    fn finish(self, mut words: Vec<OsString>) -> Result<App, Refusal> {
        if words.is_empty() {
            let why = "no program to start is given; mpirun --help shows the usage";
            return Err(Refusal::new(USAGE, why));
        }
        let program = words.remove(0);
        Ok(App {
            count: self.count.unwrap_or(1),
            program,
            arguments: words,
            directory: self.directory,
            variables: self.variables,
            passed: self.passed,
        })
    }
}

fn parse_count(option: &str, word: &OsStr) -> Result<u32, Refusal> {
    let count = word.to_str().and_then(|text| text.parse().ok()).filter(|count| *count > 0);
    count.ok_or_else(|| {
        let why = format!("{option} {}: not a number of processes", word.to_string_lossy());
        Refusal::new(USAGE, why)
    })
}

/// The name of a variable, if it is one.
fn variable(option: &str, name: OsString) -> Result<OsString, Refusal> {
    if name.is_empty() || name.as_bytes().contains(&b'=') {
        let why = format!("{option} {}: not the name of a variable", name.to_string_lossy());
        return Err(Refusal::new(USAGE, why));
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn order(line: &str) -> Result<Order, Refusal> {
        parse(line.split(' ').filter(|word| !word.is_empty()).map(OsString::from))
    }

    fn plan(line: &str) -> Plan {
        match order(line) {
            Ok(Order::Run(plan)) => plan,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn the_count_has_four_spellings_and_a_default() {
        for line in ["-n 4 a", "-np 4 a", "--n 4 a", "--np 4 a", "--np=4 a"] {
            assert_eq!(plan(line).apps[0].count, 4, "{line}");
        }
        assert_eq!(plan("a").apps[0].count, 1);
    }

    #[test]
    fn everything_after_the_program_is_its_own() {
        let plan = plan("-n 2 prog -n 3 --help -x");
        assert_eq!(plan.apps[0].arguments, ["-n", "3", "--help", "-x"]);
        assert_eq!(order("-n 1 -- -odd").map(|_| ()), Ok(()));
    }

    #[test]
    fn programs_follow_each_other_and_count_on() {
        let plan = plan("-n 2 -wdir /tmp a b : -n 1 c : d");
        let programs: Vec<_> = plan.apps.iter().map(|app| app.program.to_str().unwrap()).collect();
        assert_eq!(programs, ["a", "c", "d"]);
        assert_eq!(plan.app_of_rank(), [0, 0, 1, 2]);
        assert_eq!(plan.apps[0].directory.as_deref(), Some("/tmp".as_ref()));
        assert_eq!(plan.apps[1].directory, None);
    }

    #[test]
    fn variables_are_for_one_program_or_for_all() {
        let plan = plan("-x A=1=2 -x B -env C 3 a : -genv D 4 b");
        let pair = |name: &str, value: &str| (OsString::from(name), OsString::from(value));
        assert_eq!(plan.apps[0].variables, [pair("A", "1=2"), pair("C", "3")]);
        assert_eq!(plan.apps[0].passed, ["B"]);
        assert_eq!(plan.apps[1].variables, []);
        assert_eq!(plan.everywhere, [pair("D", "4")]);
    }

    #[test]
    fn wrong_words_are_named() {
        for (line, word) in [
            ("-n zero a", "zero"),
            ("-n 0 a", "0"),
            ("-n", "-n"),
            ("--fast a", "--fast"),
            ("-x =1 a", "-x"),
            ("-env A=B 1 a", "A=B"),
            ("", "no program"),
            ("-n 2", "no program"),
            ("-n 2 a : -n 1", "no program"),
            ("-n 2 a :", "no program"),
        ] {
            let refusal = order(line).unwrap_err();
            assert_eq!(refusal.code, USAGE, "{line}");
            assert!(refusal.why.contains(word), "{line}: {}", refusal.why);
        }
    }

    #[test]
    fn questions_end_the_parsing() {
        assert_eq!(order("--version --nonsense"), Ok(Order::Version));
        assert_eq!(order("-n 2 -V"), Ok(Order::Version));
        assert_eq!(order("--help"), Ok(Order::Help));
    }

    proptest! {
        #[test]
        fn any_words_are_taken(words in proptest::collection::vec("[-:a=0-9n]{0,4}", 0..8)) {
            let _ = parse(words.into_iter().map(OsString::from));
        }
    }
}
