//! `mpicc` and `mpicxx`: the system's compiler with the flags that the library needs.
//!
//! The questions that it answers are those that CMake's FindMPI, Meson, Spack, configure scripts
//! and people ask of the wrappers of MPICH, Intel MPI and Open MPI, in the forms that they expect.
//! Everything else is the compiler's, word for word; nothing but an error is said on standard
//! error. [`task`] decides, [`main`] does.

use std::borrow::Cow;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use super::folders::Folders;

/// What static linking needs beyond the library. Sections that nothing uses name functions of the
/// dynamic libc, which the static one has not.
const STATIC_FLAGS: &[&str] = &["-lpthread", "-ldl", "-lm", "-Wl,--gc-sections"];

/// Options after which the compiler does not link.
const COMPILE_ONLY: &[&str] =
    &["-c", "-E", "-S", "-M", "-MM", "-fsyntax-only", "--compile", "--preprocess", "--assemble"];

/// What is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// C, by `mpicc`.
    C,
    /// C++, by `mpicxx`.
    Cxx,
}

impl Language {
    fn name(self) -> &'static str {
        match self {
            Self::C => "C",
            Self::Cxx => "C++",
        }
    }

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

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Task {
    /// Print this.
    Print(String),
    /// Say why not.
    Refuse(String),
    /// Become this command, after printing a line if there is one.
    Become { line: Option<String>, command: Vec<OsString> },
}

/// Compiles as `words` (without the program's own name) say; the exit code, if it comes back.
pub fn main(language: Language, words: impl IntoIterator<Item = OsString>) -> i32 {
    let folders = match Folders::own() {
        Ok(folders) => folders,
        Err(error) => return complain(language, 127, &format!("cannot find itself: {error}")),
    };
    let mut named = language.variables().into_iter().filter_map(env::var_os);
    let chosen = named.find(|value| !value.is_empty());
    let read = |file: &Path| fs::read_to_string(file).ok();
    match task(language, &folders, chosen, words.into_iter().collect(), &read) {
        Task::Print(text) => match writeln!(io::stdout(), "{text}") {
            Ok(()) => 0,
            Err(error) => complain(language, 1, &format!("cannot write: {error}")),
        },
        Task::Refuse(why) => complain(language, 1, &why),
        Task::Become { line, command } => {
            if let Some(line) = line {
                // Who does not read it still wants the compiler's answer.
                let _ = writeln!(io::stdout(), "{line}");
            }
            run(language, &command)
        }
    }
}

/// Becomes `command`; the exit code if that fails.
fn run(language: Language, words: &[OsString]) -> i32 {
    let mut command = Command::new(&words[0]);
    // The variables have been obeyed. If they name this wrapper, it now takes the system's
    // compiler instead of calling itself for ever.
    for variable in language.variables() {
        command.env_remove(variable);
    }
    let error = command.args(&words[1..]).exec();
    let (program, variable) = (words[0].to_string_lossy(), language.variables()[0]);
    let why = format!("cannot run the compiler {program}: {error}; name another by {variable}");
    complain(language, 127, &why)
}

fn complain(language: Language, code: i32, why: &str) -> i32 {
    eprintln!("{}: {why}", language.wrapper());
    code
}

/// Decides, without doing anything; `read` gives the text of a response file.
fn task(
    language: Language, folders: &Folders, chosen: Option<OsString>, words: Vec<OsString>,
    read: &dyn Fn(&Path) -> Option<String>,
) -> Task {
    if words.iter().any(|word| word == "-mpich-abi") {
        let why = "-mpich-abi: this library has the standard ABI (-mpi-abi), not that of MPICH";
        return Task::Refuse(why.to_owned());
    }
    let option = language.option();
    let mut named = None;
    let mut rest = Vec::with_capacity(words.len());
    for word in words {
        if let Some(compiler) = word.as_bytes().strip_prefix(option.as_bytes()) {
            named = Some(OsStr::from_bytes(compiler).to_owned());
        } else if word != "-mpi-abi" {
            rest.push(word);
        }
    }
    let compiler = compiler(language, named.or(chosen).as_deref());
    if let Some(text) = answer(language, folders, &compiler, &rest) {
        return Task::Print(text);
    }
    let line = (rest == ["-v"])
        .then(|| format!("{} for Suiro version {}", language.wrapper(), env!("CARGO_PKG_VERSION")));
    // The user's own words come first, so that their folders win.
    let flags = flags_for(folders, &rest, read);
    Task::Become { line, command: [compiler, rest, flags].concat() }
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
fn flags_for(
    folders: &Folders, words: &[OsString], read: &dyn Fn(&Path) -> Option<String>,
) -> Vec<OsString> {
    let mut flags = compile_flags(folders);
    let words = with_response_files(words, read);
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

/// `words`, and after them those in the response files (`@file`) among them. The compiler reads
/// these files itself; here they tell only whether it will link.
fn with_response_files<'a>(
    words: &'a [OsString], read: &dyn Fn(&Path) -> Option<String>,
) -> Cow<'a, [OsString]> {
    let files = words.iter().filter_map(|word| word.as_bytes().strip_prefix(b"@"));
    let texts: Vec<_> = files.filter_map(|name| read(Path::new(OsStr::from_bytes(name)))).collect();
    if texts.is_empty() {
        return words.into();
    }
    let inside = texts.iter().flat_map(|text| text.split_whitespace()).map(OsString::from);
    words.iter().cloned().chain(inside).collect::<Vec<_>>().into()
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

/// A question to the wrapper itself.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Question {
    Show,
    ShowCompile,
    ShowLink,
    Compile,
    Link,
    Command,
    IncludeFolders,
    LibraryFolders,
    Libraries,
    StaticLibraries,
    Version,
    Help,
}

/// The answer, if `words` hold a question.
fn answer(
    language: Language, folders: &Folders, compiler: &[OsString], words: &[OsString],
) -> Option<String> {
    let question = words.iter().find_map(|word| question(word))?;
    let (compile, link) = (compile_flags(folders), link_flags(folders));
    let line = match question {
        Question::Show => {
            let others = words.iter().filter(|word| self::question(word).is_none()).cloned();
            [compiler, &others.collect::<Vec<_>>(), &compile, &link].concat()
        }
        Question::ShowCompile => [compiler, &compile].concat(),
        Question::ShowLink => [compiler, &link].concat(),
        Question::Compile => compile,
        Question::Link => link,
        Question::Command => compiler.to_vec(),
        Question::IncludeFolders => vec![folders.include.clone().into()],
        Question::LibraryFolders => vec![folders.library.clone().into()],
        Question::Libraries => vec!["mpi_abi".into()],
        Question::StaticLibraries => ["mpi_abi", "pthread", "dl", "m"].map(OsString::from).to_vec(),
        Question::Version => {
            let (wrapper, language) = (language.wrapper(), language.name());
            let version = env!("CARGO_PKG_VERSION");
            return Some(format!("{wrapper}: Suiro {version} (Language: {language})"));
        }
        Question::Help => return Some(help(language)),
    };
    let words: Vec<_> = line.iter().map(|word| quoted(word)).collect();
    Some(words.join(" "))
}

/// The question that a word is, if it is one.
fn question(word: &OsStr) -> Option<Question> {
    if word == "-help" {
        return Some(Question::Help);
    }
    let word = word.to_str()?.strip_prefix('-')?;
    let word = word.strip_prefix('-').unwrap_or(word);
    Some(match word {
        "show" | "showme" => Question::Show,
        "compile-info" | "compile_info" | "show-compile-info" => Question::ShowCompile,
        "link-info" | "link_info" | "show-link-info" => Question::ShowLink,
        "showme:compile" => Question::Compile,
        "showme:link" => Question::Link,
        "showme:command" => Question::Command,
        "showme:incdirs" => Question::IncludeFolders,
        "showme:libdirs" | "showme:libdirs_static" => Question::LibraryFolders,
        "showme:libs" => Question::Libraries,
        "showme:libs_static" => Question::StaticLibraries,
        "showme:version" => Question::Version,
        "showme:help" => Question::Help,
        _ => return None,
    })
}

fn help(language: Language) -> String {
    let [name, option] = [language.wrapper(), language.option()];
    let (compiler, variables) = (language.compiler(), language.variables().join(", "));
    format!(
        "\
usage: {name} [options] [options and files of the compiler]

Calls {compiler} with the flags that programs with MPI need. All other words go to it as they are.

  {option}COMPILER        another compiler; the first of these variables that is set names one too:
                       {variables}
  -show                print the command instead of running it
  -compile_info        print it as it compiles (also: -show-compile-info)
  -link_info           print it as it links (also: -show-link-info)
  -showme:WHAT         print one part of it: command, compile, link, incdirs, libdirs, libs, version
  -mpi-abi             accepted: the ABI is always that of the MPI standard
  -v                   print the wrapper's version, then the compiler's
  -help                print this; --help prints the compiler's"
    )
}

/// A word as a shell would need it, and as CMake's FindMPI reads it: `-I"/with space"`.
fn quoted(word: &OsStr) -> String {
    let text = word.to_string_lossy();
    let plain = |character: char| character.is_alphanumeric() || "-_./,=:+@%".contains(character);
    if !text.is_empty() && text.chars().all(plain) {
        return text.into_owned();
    }
    let option = ["-I", "-L", "-Wl,"].into_iter().find(|option| text.starts_with(option));
    let (option, rest) = text.split_at(option.unwrap_or("").len());
    let mut line = format!("{option}\"");
    for character in rest.chars() {
        if "\"\\$`".contains(character) {
            line.push('\\');
        }
        line.push(character);
    }
    line.push('"');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINK: &str = "-L/p/lib -Wl,-rpath -Wl,/p/lib -Wl,--enable-new-dtags -lmpi_abi";

    fn decide(chosen: Option<&str>, line: &str) -> Task {
        let folders = Folders {
            programs: "/p/bin".into(),
            include: "/p/include".into(),
            library: "/p/lib".into(),
        };
        let words = line.split(' ').map(OsString::from).collect();
        let read = |file: &Path| match file.to_str()? {
            "compile" => Some("-c\na.c".to_owned()),
            "link" => Some("a.c -o a".to_owned()),
            _ => None,
        };
        task(Language::C, &folders, chosen.map(OsString::from), words, &read)
    }

    fn command(chosen: Option<&str>, line: &str) -> String {
        match decide(chosen, line) {
            Task::Become { command, .. } => command.join(OsStr::new(" ")).into_string().unwrap(),
            other => panic!("{other:?}"),
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
            ("-showme:libs_static", "mpi_abi pthread dl m".to_owned()),
            ("-mpi-abi -show", format!("cc {flags}")),
            ("-cc=clang -show-compile-info", "clang -I/p/include".to_owned()),
            ("-showme:command", "cc".to_owned()),
        ] {
            assert_eq!(decide(None, question), Task::Print(expected), "{question}");
        }
        let Task::Print(version) = decide(None, "--showme:version") else { panic!() };
        assert!(version.contains(env!("CARGO_PKG_VERSION")));
    }

    #[test]
    fn response_files_pass_through_and_tell_whether_to_link() {
        assert_eq!(command(None, "@compile"), "cc @compile -I/p/include");
        assert_eq!(command(None, "@link"), format!("cc @link -I/p/include {LINK}"));
        assert_eq!(command(None, "-c @missing"), "cc -c @missing -I/p/include");
    }

    #[test]
    fn only_the_abi_of_the_standard_is_there() {
        assert_eq!(command(None, "-mpi-abi -c a.c"), "cc -c a.c -I/p/include");
        let Task::Refuse(why) = decide(None, "-mpich-abi a.c") else { panic!() };
        assert!(why.starts_with("-mpich-abi: "), "{why}");
    }

    #[test]
    fn help_is_the_wrapper_s_with_one_dash_and_the_compiler_s_with_two() {
        let Task::Print(help) = decide(None, "-help") else { panic!() };
        assert!(help.starts_with("usage: mpicc ") && help.contains("SUIRO_CC, MPICH_CC"), "{help}");
        assert_eq!(command(None, "--help"), "cc --help -I/p/include");
    }

    #[test]
    fn a_version_question_names_the_wrapper_first() {
        let Task::Become { line, command } = decide(None, "-v") else { panic!() };
        assert!(line.unwrap().starts_with("mpicc for Suiro version "));
        assert_eq!(command[1], "-v");
    }

    #[test]
    fn strange_folders_are_quoted() {
        assert_eq!(quoted(OsStr::new("-I/a b")), "-I\"/a b\"");
        assert_eq!(quoted(OsStr::new("it's $5")), r#""it's \$5""#);
    }
}
