//! The input file of `macprun`: programs whose ranks ACP counts through, as in an MPMD job.
//!
//! ```text
//!   2                          number of runtimes        # comment
//!   mpirun -smemsize 4096      for each: its launcher with options
//!   mpirun
//!   1                          for each: number of processes
//!   2
//!   ./a input                  for each: program with arguments
//!   ./b
//! ```
//!
//! In ACP, each runtime is a job of its own, with its own `MPI_COMM_WORLD`; here the whole file is
//! one job, whose ranks are those of ACP. So either all programs use MPI or none does:
//! `MPI_Finalize` waits for all ranks of the job.
//!
//! Source: ACP 3, `README.MultiMPI`.

use std::ffi::OsString;
use std::path::Path;

use super::words_of_line;

/// What help of `macprun` says.
pub(super) const NOTES: &str = "\
FILE has the number of runtimes; for each a line with its launcher (acprun or mpirun) and options;
for each a line with its number of processes; for each a line with its program and arguments. '#'
starts a comment. All programs are one job: ranks of ACP count through them, as in ACP, but
MPI_COMM_WORLD also has the ranks of all (MPI_APPNUM is the index of the program), so acprun and
mpirun may not be in one file. Options of macprun are for all programs; -np is only compared.

Otherwise macprun is acprun.

";

/// Launchers that a line may name.
const LAUNCHERS: &[&str] = &["acprun", "mpirun", "mpiexec"];

/// The programs of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RuntimeFile {
    pub runtimes: Vec<Runtime>,
}

/// A program with its launcher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Runtime {
    /// Its launcher is one of MPI.
    pub has_mpi: bool,
    /// The options of the launcher.
    pub options: Vec<OsString>,
    pub count: u32,
    /// The program and its arguments.
    pub program: Vec<OsString>,
}

impl RuntimeFile {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn parse(text: &[u8]) -> Result<Self, String> {
        let lines = text.split(|byte| *byte == b'\n').map(without_comment);
        let lines: Vec<_> = lines.filter(|line| !line.is_empty()).collect();
        let (first, lines) = lines.split_first().ok_or("the file is empty")?;
        let number = positive(first).ok_or_else(|| {
            format!("{:?}: expected the number of runtimes", String::from_utf8_lossy(first))
        })? as usize;
        if number.checked_mul(3) != Some(lines.len()) {
            return Err(format!(
                "expected {number} lines with launchers, {number} with numbers of processes and \
                 {number} with programs; found {} lines",
                lines.len()
            ));
        }
        let runtime = |at| Runtime::of_lines(lines[at], lines[number + at], lines[2 * number + at]);
        let runtimes = (0..number).map(runtime).collect::<Result<Vec<_>, _>>()?;
        match runtimes.iter().all(|runtime| runtime.has_mpi == runtimes[0].has_mpi) {
            true => Ok(Self { runtimes }),
            false => Err("acprun and mpirun cannot be in one file, as MPI_Finalize waits for all \
                          ranks; name mpirun only, and call MPI_Init and MPI_Finalize in all \
                          programs"
                .to_owned()),
        }
    }

    /// Number of processes.
    pub(super) fn size(&self) -> u64 {
        self.runtimes.iter().map(|runtime| u64::from(runtime.count)).sum()
    }

    /// Whether programs share `MPI_COMM_WORLD` here that do not in ACP.
    pub(super) fn joins_worlds(&self) -> bool {
        self.runtimes.len() > 1 && self.runtimes[0].has_mpi
    }
}

impl Runtime {
    fn of_lines(launcher: &[u8], count: &[u8], program: &[u8]) -> Result<Self, String> {
        let text = String::from_utf8_lossy;
        let mut words = words_of_line(launcher)?.into_iter();
        let path = words.next().unwrap_or_default();
        let name = Path::new(&path).file_name().unwrap_or_default();
        let name = LAUNCHERS.iter().find(|known| name == **known).ok_or_else(|| {
            format!("{:?}: expected one of {}", text(launcher), LAUNCHERS.join(", "))
        })?;
        let count = positive(count)
            .ok_or_else(|| format!("{:?}: expected a number of processes", text(count)))?;
        let (has_mpi, options) = (*name != "acprun", words.collect());
        Ok(Self { has_mpi, options, count, program: words_of_line(program)? })
    }
}

fn without_comment(line: &[u8]) -> &[u8] {
    line.split(|byte| *byte == b'#').next().unwrap_or_default().trim_ascii()
}

fn positive(text: &[u8]) -> Option<u32> {
    std::str::from_utf8(text).ok()?.parse().ok().filter(|number| *number > 0)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;
    use crate::command_line::LaunchCommand;
    use crate::command_line::launcher_name::LauncherName;
    use crate::command_line::plan::{EnvironmentEdit, LaunchPlan};
    use crate::command_line::tests::parse_as;

    fn text(words: &[OsString]) -> String {
        words.join(OsStr::new(" ")).into_string().unwrap()
    }

    #[test]
    fn lines_are_launchers_counts_and_programs() {
        let file = "# runtimes\n2\n\n  # launchers\n/p/mpiexec -smemsize 10240   # options\n\
                    mpirun --mca btl 'openib,self'\n1#one\n 3 \n./a 'b c'\n./d#e\n";
        let found = RuntimeFile::parse(file.as_bytes()).unwrap();
        let [first, second] = &found.runtimes[..] else { panic!("{found:?}") };
        assert_eq!(first.count, 1);
        assert_eq!(text(&first.options), "-smemsize 10240");
        assert_eq!(first.program, ["./a", "b c"]);
        assert_eq!(second.count, 3);
        assert_eq!(text(&second.options), "--mca btl openib,self");
        assert_eq!(second.program, ["./d"]);
        assert_eq!((found.size(), found.joins_worlds()), (4, true));
        let alone = RuntimeFile::parse(b"1\nmpirun\n2\n./a").unwrap();
        assert!(!alone.joins_worlds());
    }

    #[test]
    fn what_is_wrong_with_a_file_is_named() {
        for (file, why) in [
            ("# nothing\n", "the file is empty"),
            ("mpirun\n", "\"mpirun\": expected the number of runtimes"),
            ("0\n", "\"0\": expected the number of runtimes"),
            ("2\nmpirun\nmpirun\n1\n1\na\n", "expected 2 lines with launchers, 2 with numbers"),
            ("4294967295\nmpirun\n", "found 1 lines"),
            ("1\nsrun\n1\na\n", "\"srun\": expected one of acprun, mpirun, mpiexec"),
            ("1\nmpirun\nmany\na\n", "\"many\": expected a number of processes"),
            ("1\nmpirun\n1\na 'b\n", "unterminated quote in \"a 'b\""),
            ("1\n''\n1\na\n", "\"''\": expected one of"),
            ("2\nacprun\nmpirun\n1\n1\na\nb\n", "acprun and mpirun cannot be in one file"),
        ] {
            let found = RuntimeFile::parse(file.as_bytes()).unwrap_err();
            assert!(found.contains(why), "{file:?}: {found}");
        }
    }

    /// Parses arguments of `macprun`, in which FILE stands for a file with this text.
    fn parse_with(text: &str, line: &str) -> Result<LaunchPlan, String> {
        let name = format!("macprun-{}-{line:?}", std::process::id()).replace(['/', ' '], "_");
        let file = std::env::temp_dir().join(name);
        std::fs::write(&file, text).unwrap();
        let line = line.replace("FILE", file.to_str().unwrap());
        let parsed = parse_as(LauncherName::Macprun, &[], &line);
        std::fs::remove_file(&file).unwrap();
        match parsed.map_err(|error| error.why)? {
            LaunchCommand::Run(plan) => Ok(*plan),
            other => panic!("{other:?}"),
        }
    }

    const TWO: &str = "2\nmpirun -smemsize 64 -wdir /tmp\nmpirun -np 7\n1\n2\n./a -n\n./b\n";

    #[test]
    fn runtimes_are_programs_of_one_job() {
        let plan = parse_with(TWO, "-np 3 -x A=1 -host x,y FILE").unwrap();
        let [first, second] = &plan.apps[..] else { panic!("{plan:?}") };
        assert_eq!((first.count, second.count), (1, 2));
        assert_eq!(first.arguments, ["-n", "--acp-size-smem", "64"]);
        assert_eq!(second.arguments, ["--acp-size-smem", "64"]);
        assert_eq!(first.directory.as_deref(), Some(Path::new("/tmp")));
        let set = EnvironmentEdit::Set("A".into(), "1".into());
        assert_eq!(plan.global_environment.edits, [set]);
        assert!(plan.notes[0].starts_with("MPI_COMM_WORLD has the ranks of all"));
        let only_acp = TWO.replace("mpirun", "acprun");
        assert!(parse_with(&only_acp, "FILE").unwrap().notes.is_empty());
    }

    #[test]
    fn arguments_that_contradict_the_file_are_named() {
        for (line, why) in [
            ("-np 4 FILE", ": the file has 3 processes, not 4"),
            ("-wdir /tmp FILE", ": options of a program, such as -wdir, and its arguments belong"),
            ("FILE x", ": options of a program, such as -wdir, and its arguments belong"),
            ("/nowhere", "/nowhere: No such file"),
            ("-np 3", "no input file was given; macprun --help shows"),
        ] {
            let found = parse_with(TWO, line).unwrap_err();
            assert!(found.contains(why), "{line}: {found}");
        }
        let found = parse_with(&TWO.replace("-wdir", "-wdirs"), "-x A=1 FILE").unwrap_err();
        assert!(found.starts_with("unknown option --wdirs"), "{found}");
    }
}
