//! `mpicc` and `mpicxx`: the system's compiler with the flags that the library needs.
//!
//! The folders are found from the wrapper's own place, so an installation can be moved:
//! `P/bin/mpicc` uses `P/include` and `P/lib`. In cargo's target folder it uses the library that
//! was built last and the source tree's `include`.
//!
//! The questions that it answers are those that CMake's FindMPI, Meson, Spack and people ask of
//! the wrappers of MPICH and Open MPI, in the forms that they expect.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The library's file without its version, as the linker looks for it.
const LIBRARY: &str = "libmpi_abi.so";

/// The name that programs have in them, as the loader looks for it.
const SONAME: &str = "libmpi_abi.so.1";

/// What static linking needs beyond the library. Sections that nothing uses name functions of the
/// dynamic libc, which the static one has not.
const STATIC_FLAGS: &[&str] = &["-lpthread", "-ldl", "-lm", "-Wl,--gc-sections"];

/// Options after which the compiler does not link.
const COMPILE_ONLY: &[&str] = &["-c", "-E", "-S", "-M", "-MM", "-fsyntax-only"];

/// What is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// C, by `mpicc`.
    C,
    /// C++, by `mpicxx`.
    Cxx,
}

impl Language {
    fn wrapper(self) -> &'static str {
        match self {
            Self::C => "mpicc",
            Self::Cxx => "mpicxx",
        }
    }

    fn compiler(self) -> &'static str {
        match self {
            Self::C => "cc",
            Self::Cxx => "c++",
        }
    }

    /// Variables that name another compiler; the first that is set wins.
    fn variables(self) -> [&'static str; 4] {
        match self {
            Self::C => ["SUIRO_CC", "MPICH_CC", "OMPI_CC", "I_MPI_CC"],
            Self::Cxx => ["SUIRO_CXX", "MPICH_CXX", "OMPI_CXX", "I_MPI_CXX"],
        }
    }

    /// The option that names another compiler, with its `=`.
    fn option(self) -> &'static str {
        match self {
            Self::C => "-cc=",
            Self::Cxx => "-cxx=",
        }
    }
}

/// Where the header and the library are.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Folders {
    include: PathBuf,
    library: PathBuf,
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Task {
    /// Print this line.
    Print(String),
    /// Become this command, after printing a line if there is one.
    Become { line: Option<String>, command: Vec<OsString> },
}

/// Compiles as `words` (without the program's own name) say; the exit code, if it comes back.
pub fn main(language: Language, words: impl IntoIterator<Item = OsString>) -> i32 {
    let name = language.wrapper();
    let folders = match env::current_exe().map(|path| folders(&path)) {
        Ok(folders) => folders,
        Err(error) => return complain(name, &format!("cannot find itself: {error}")),
    };
    let chosen = language.variables().into_iter().find_map(env::var_os);
    match task(language, &folders, chosen, words.into_iter().collect()) {
        Task::Print(line) => {
            println!("{line}");
            0
        }
        Task::Become { line, command } => {
            if let Some(line) = line {
                println!("{line}");
            }
            let error = Command::new(&command[0]).args(&command[1..]).exec();
            complain(name, &format!("cannot run {}: {error}", command[0].to_string_lossy()))
        }
    }
}

fn complain(name: &str, why: &str) -> i32 {
    eprintln!("{name}: {why}");
    127
}

/// The folders that go with the wrapper at `path`.
fn folders(path: &Path) -> Folders {
    let own = path.parent().unwrap_or(Path::new("."));
    // Every build of cargo renews the library in `deps`, but only `cargo build` the one beside us.
    let mut built = [own.join("deps"), own.to_owned()].into_iter();
    let Some(library) = built.find(|folder| folder.join(LIBRARY).exists()) else {
        let prefix = own.parent().unwrap_or(own);
        return Folders { include: prefix.join("include"), library: prefix.join("lib") };
    };
    // Cargo does not make the name that programs ask the loader for. Where it cannot be made
    // (a read-only folder) the program still compiles.
    let _ = symlink(LIBRARY, library.join(SONAME));
    let source = own.ancestors().nth(2).unwrap_or(own);
    Folders { include: source.join("include"), library }
}

/// Decides, without doing anything.
fn task(
    language: Language, folders: &Folders, chosen: Option<OsString>, words: Vec<OsString>,
) -> Task {
    let option = language.option();
    let (named, words): (Vec<_>, Vec<_>) =
        words.into_iter().partition(|word| word.as_bytes().starts_with(option.as_bytes()));
    let named = named.last().map(|word| OsStr::from_bytes(&word.as_bytes()[option.len()..]));
    let compiler = compiler(language, named.or(chosen.as_deref()));
    if let Some(line) = answer(language, folders, &compiler, &words) {
        return Task::Print(line);
    }
    let version = format!("{} for Suiro version {}", language.wrapper(), env!("CARGO_PKG_VERSION"));
    let line = (words == ["-v"]).then_some(version);
    // The user's own words come first, so that their folders win.
    let flags = flags_for(folders, &words);
    Task::Become { line, command: [compiler, words, flags].concat() }
}

/// The compiler's words: `ccache gcc` is two.
fn compiler(language: Language, chosen: Option<&OsStr>) -> Vec<OsString> {
    let words = chosen.map(OsStr::as_bytes).unwrap_or_default();
    let words: Vec<OsString> = words
        .split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty())
        .map(|word| OsStr::from_bytes(word).to_owned())
        .collect();
    if words.is_empty() { vec![language.compiler().into()] } else { words }
}

/// The flags that a command of these words needs.
fn flags_for(folders: &Folders, words: &[OsString]) -> Vec<OsString> {
    let mut flags = compile_flags(folders);
    let is_input = |word: &OsString| word == "-" || !word.as_bytes().starts_with(b"-");
    let links = !words.iter().any(|word| COMPILE_ONLY.iter().any(|option| word == option));
    if links && words.iter().any(is_input) {
        flags.extend(link_flags(folders));
        if words.iter().any(|word| word == "-static") {
            flags.extend(STATIC_FLAGS.iter().map(OsString::from));
        }
    }
    flags
}

fn compile_flags(folders: &Folders) -> Vec<OsString> {
    vec![joined("-I", &folders.include)]
}

fn link_flags(folders: &Folders) -> Vec<OsString> {
    vec![
        joined("-L", &folders.library),
        "-Wl,-rpath".into(),
        joined("-Wl,", &folders.library),
        "-Wl,--enable-new-dtags".into(),
        "-lmpi_abi".into(),
    ]
}

fn joined(option: &str, path: &Path) -> OsString {
    let mut word = OsString::from(option);
    word.push(path);
    word
}

/// The answer, if `words` hold a question.
fn answer(
    language: Language, folders: &Folders, compiler: &[OsString], words: &[OsString],
) -> Option<String> {
    let (question, others): (Vec<_>, Vec<_>) =
        words.iter().cloned().partition(|word| kind_of_question(word).is_some());
    let kind = kind_of_question(question.first()?)?;
    let (compile, link) = (compile_flags(folders), link_flags(folders));
    let line = match kind {
        "show" => [compiler, &others, &compile, &link].concat(),
        "show-compile" => [compiler, &compile].concat(),
        "show-link" => [compiler, &link].concat(),
        "compile" => compile,
        "link" => link,
        "command" => compiler.to_vec(),
        "incdirs" => vec![folders.include.clone().into()],
        "libdirs" => vec![folders.library.clone().into()],
        "libs" => vec!["mpi_abi".into()],
        _ => {
            let (name, version) = (language.wrapper(), env!("CARGO_PKG_VERSION"));
            return Some(format!("{name}: Suiro {version} (Language: {language:?})"));
        }
    };
    let words: Vec<_> = line.iter().map(|word| quoted(word)).collect();
    Some(words.join(" "))
}

/// The kind of question that a word is, if it is one.
fn kind_of_question(word: &OsStr) -> Option<&'static str> {
    let word = word.to_str()?.strip_prefix('-')?;
    let word = word.strip_prefix('-').unwrap_or(word);
    Some(match word {
        "show" | "showme" => "show",
        "compile-info" | "compile_info" | "show-compile-info" => "show-compile",
        "link-info" | "link_info" | "show-link-info" => "show-link",
        "showme:compile" => "compile",
        "showme:link" => "link",
        "showme:command" => "command",
        "showme:incdirs" => "incdirs",
        "showme:libdirs" => "libdirs",
        "showme:libs" => "libs",
        "showme:version" => "version",
        _ => return None,
    })
}

/// A word as a shell would need it.
fn quoted(word: &OsStr) -> String {
    let text = word.to_string_lossy();
    let plain = |character: char| character.is_alphanumeric() || "-_./,=:+@%".contains(character);
    if !text.is_empty() && text.chars().all(plain) {
        return text.into_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINK: &str = "-L/p/lib -Wl,-rpath -Wl,/p/lib -Wl,--enable-new-dtags -lmpi_abi";

    fn decide(chosen: Option<&str>, line: &str) -> Task {
        let folders = Folders { include: "/p/include".into(), library: "/p/lib".into() };
        let words = line.split(' ').map(OsString::from).collect();
        task(Language::C, &folders, chosen.map(OsString::from), words)
    }

    fn command(chosen: Option<&str>, line: &str) -> String {
        match decide(chosen, line) {
            Task::Become { command, .. } => command.join(OsStr::new(" ")).into_string().unwrap(),
            Task::Print(line) => panic!("{line} is printed"),
        }
    }

    #[test]
    fn words_pass_through_before_our_flags() {
        let expected = format!("cc a.c -o a -I/p/include {LINK}");
        assert_eq!(command(None, "a.c -o a"), expected);
        assert_eq!(command(None, "-c a.c -I/x"), "cc -c a.c -I/x -I/p/include");
        assert_eq!(command(None, "--version"), "cc --version -I/p/include");
        assert!(
            command(None, "-static a.c")
                .ends_with("-lmpi_abi -lpthread -ldl -lm -Wl,--gc-sections")
        );
    }

    #[test]
    fn another_compiler_is_named_by_variable_or_option() {
        assert!(command(Some("ccache gcc"), "-c a.c").starts_with("ccache gcc -c a.c"));
        assert!(command(Some("gcc"), "-cc=clang -c a.c").starts_with("clang -c a.c"));
        assert!(command(Some(""), "-c a.c").starts_with("cc "));
    }

    #[test]
    fn questions_are_answered_in_one_line() {
        let flags = format!("-I/p/include {LINK}");
        for (question, expected) in [
            ("-show", format!("cc {flags}")),
            ("-show -O2", format!("cc -O2 {flags}")),
            ("-showme:compile", "-I/p/include".to_owned()),
            ("--showme:link", LINK.to_owned()),
            ("-link-info", format!("cc {LINK}")),
            ("-compile_info", "cc -I/p/include".to_owned()),
            ("-showme:incdirs", "/p/include".to_owned()),
            ("-showme:libdirs", "/p/lib".to_owned()),
            ("-showme:libs", "mpi_abi".to_owned()),
            ("-showme:command", "cc".to_owned()),
        ] {
            assert_eq!(decide(None, question), Task::Print(expected), "{question}");
        }
        let Task::Print(version) = decide(None, "--showme:version") else { panic!() };
        assert!(version.contains(env!("CARGO_PKG_VERSION")));
    }

    #[test]
    fn a_version_question_names_the_wrapper_first() {
        let Task::Become { line, command } = decide(None, "-v") else { panic!() };
        assert!(line.unwrap().starts_with("mpicc for Suiro version "));
        assert_eq!(command[1], "-v");
    }

    #[test]
    fn folders_follow_the_wrapper() {
        let found = folders(Path::new("/nowhere/q/bin/mpicc"));
        assert_eq!(found.include, Path::new("/nowhere/q/include"));
        assert_eq!(found.library, Path::new("/nowhere/q/lib"));
    }

    #[test]
    fn strange_folders_are_quoted() {
        assert_eq!(quoted(OsStr::new("-I/a b")), "'-I/a b'");
        assert_eq!(quoted(OsStr::new("it's")), r"'it'\''s'");
    }
}
