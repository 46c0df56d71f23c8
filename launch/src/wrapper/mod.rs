//! `mpicc`, `mpicxx`, `mpifort`, and for programs with ACP `acpcc` and `acpcxx`: the system's
//! compiler with the flags that the libraries need.
//!
//! The wrappers answer the queries of CMake's FindMPI, Meson, Spack, configure scripts and users, in
//! the formats of the wrappers of MPICH, Intel MPI, Open MPI and ACP. Other arguments are passed to
//! the compiler unchanged; standard error has only errors. [`WrapperInvocation`] and [`action`]
//! decide without I/O, [`main`] executes.

mod language;
pub mod modules;
mod query;

use std::borrow::Cow;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::fs;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use platform::sys::signals;

use self::modules::{Compiler, Modules};
use self::query::{WrapperQuery, joined};
use super::folders::Folders;

pub use self::language::CompilerWrapper;
use self::language::SourceLanguage;

/// Additional flags for static linking. Unused sections refer to functions of the dynamic libc that
/// the static one does not have.
const STATIC_FLAGS: &[&str] = &["-lpthread", "-ldl", "-lm", "-Wl,--gc-sections"];

/// Additional flags for static linking of Fortran. The runtime library of gfortran has weak
/// references to these and calls all of them if one is present, so all are linked.
const STATIC_FORTRAN: &[&str] = &[
    "-Wl,-u,pthread_mutex_init,-u,pthread_mutex_destroy,-u,pthread_mutex_trylock",
    "-Wl,-u,pthread_cond_init,-u,pthread_cond_destroy,-u,pthread_cond_wait",
    "-Wl,-u,pthread_cond_broadcast,-u,pthread_key_delete,-u,pthread_join",
];

/// Options with which the compiler does not link.
const COMPILE_ONLY: &[&str] =
    &["-c", "-E", "-S", "-M", "-MM", "-fsyntax-only", "--compile", "--preprocess", "--assemble"];

/// Options with which the compiler reads no modules.
const PREPROCESS_ONLY: &[&str] = &["-E", "-M", "-MM", "--preprocess"];

/// Extensions of Fortran sources, in lower case.
const FORTRAN_SOURCES: &[&str] =
    &["f", "for", "fpp", "ftn", "f77", "f90", "f95", "f03", "f08", "f18", "f23"];

/// The option that builds modules into the installation.
const BUILD_MODULES: &str = "-build-modules";

/// The arguments of a wrapper, without its own options.
#[derive(Clone, Debug, PartialEq, Eq)]
struct WrapperInvocation {
    wrapper: CompilerWrapper,
    /// The compiler command, such as `ccache gcc`.
    compiler: Vec<OsString>,
    rest: Vec<OsString>,
    is_build_of_modules: bool,
}

/// The need for Fortran modules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ModuleNeed {
    /// None.
    None,
    /// Their archive is linked if it exists.
    Link,
    /// The compiler reads them, or a program that queries the flags does so later.
    Read,
}

/// The installation as far as flags need it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Installation {
    folders: Folders,
    /// The directory of the compiler's modules, if they are needed.
    modules: Option<PathBuf>,
    /// Additional flags of this compiler.
    flags: Vec<OsString>,
}

/// The decision of [`action`].
#[derive(Clone, Debug, PartialEq, Eq)]
enum WrapperAction {
    Print(String),
    /// Print the line if there is one, then exec the command.
    Exec {
        line: Option<String>,
        command: Vec<OsString>,
    },
}

/// Runs a wrapper with `arguments` (without the program's own name). Returns the exit code unless
/// the process becomes the compiler.
pub fn main(wrapper: CompilerWrapper, arguments: impl IntoIterator<Item = OsString>) -> i32 {
    signals::restore();
    let folders = match Folders::own() {
        Ok(folders) => folders,
        Err(error) => return print_error(wrapper, 127, &format!("cannot find itself: {error}")),
    };
    let compiler = compiler_from_environment(wrapper.language());
    let request = match WrapperInvocation::of(wrapper, compiler, arguments) {
        Ok(request) => request,
        Err(why) => return print_error(wrapper, 1, &why),
    };
    let read = |file: &Path| fs::read_to_string(file).ok();
    if request.is_build_of_modules {
        return install_modules(&request, &folders);
    }
    let installation = match Installation::for_request(&request, folders, request.need(&read)) {
        Ok(installation) => installation,
        Err(error) => return request.no_compiler(&error),
    };
    match action(&request, &installation, &read) {
        WrapperAction::Print(text) => print(wrapper, &text),
        WrapperAction::Exec { line, command } => {
            if let Some(line) = line {
                // The compiler runs even if the line cannot be written.
                let _ = writeln!(io::stdout(), "{line}");
            }
            request.run(&command)
        }
    }
}

/// The compiler that the environment names.
fn compiler_from_environment(language: SourceLanguage) -> Option<OsString> {
    let mut named = language.variables().iter().filter_map(env::var_os);
    named.find(|value| !value.is_empty())
}

/// The modules for the compiler that `mpifort` calls.
///
/// # Errors
/// The compiler cannot be run, or a source cannot be read.
pub fn fortran_modules(folders: &Folders) -> Result<Modules, String> {
    let words = compiler(
        SourceLanguage::Fortran,
        compiler_from_environment(SourceLanguage::Fortran).as_deref(),
    );
    let cannot = |error| format!("cannot run {}: {error}", words[0].to_string_lossy());
    modules(Compiler::query(&words).map_err(cannot)?, folders)
}

/// Builds the modules of the compiler into the installation; the exit code.
fn install_modules(request: &WrapperInvocation, folders: &Folders) -> i32 {
    let compiler = match Compiler::query(&request.compiler) {
        Ok(compiler) => compiler,
        Err(error) => return request.no_compiler(&error),
    };
    match modules(compiler, folders).and_then(Modules::install) {
        Ok(place) => print(request.wrapper, &place.display()),
        Err(why) => print_error(request.wrapper, 1, &why),
    }
}

fn modules(compiler: Compiler, folders: &Folders) -> Result<Modules, String> {
    Modules::of(compiler, folders, |name| env::var_os(name))
}

/// Prints the answer to a query; the exit code.
fn print(wrapper: CompilerWrapper, text: &dyn Display) -> i32 {
    match writeln!(io::stdout(), "{text}") {
        Ok(()) => 0,
        Err(error) => print_error(wrapper, 1, &format!("cannot write standard output: {error}")),
    }
}

fn print_error(wrapper: CompilerWrapper, code: i32, why: &str) -> i32 {
    eprintln!("{}: {why}", wrapper.name());
    code
}

/// The note on missing modules. It is not an error here: programs with `mpif.h` need none, and for
/// others the compiler fails.
fn without_modules(why: &str) -> String {
    format!(
        "this compiler has no modules mpi and mpi_f08, and they cannot be built: {why}\n\
        mpifort: set XDG_CACHE_HOME to a writable directory, or install them with mpifort \
        {BUILD_MODULES}; mpif.h works without them"
    )
}

impl WrapperInvocation {
    /// # Errors
    /// An unsupported option, with the reason.
    fn of(
        wrapper: CompilerWrapper, chosen: Option<OsString>,
        words: impl IntoIterator<Item = OsString>,
    ) -> Result<Self, String> {
        let language = wrapper.language();
        let mut named = None;
        let mut is_build_of_modules = false;
        let mut rest = Vec::new();
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            let option = |option: &&str| word.as_bytes().strip_prefix(option.as_bytes());
            if let Some(compiler) = language.options().iter().find_map(option) {
                named = Some(OsStr::from_bytes(compiler).to_owned());
            } else if word == "-mpich-abi" {
                let why = "this library has the standard ABI (-mpi-abi), not that of MPICH";
                return Err(format!("-mpich-abi: {why}"));
            } else if language == SourceLanguage::Fortran && word == BUILD_MODULES {
                is_build_of_modules = true;
            } else if let Some(option) = wrapper.ignored_options().iter().find(|it| word == **it) {
                words.next().ok_or_else(|| format!("{option} lacks its value"))?;
            } else if word != "-mpi-abi" {
                rest.push(word);
            }
        }
        let compiler = compiler(language, named.or(chosen).as_deref());
        Ok(Self { wrapper, compiler, rest, is_build_of_modules })
    }

    /// The need for modules of these arguments; `read` gives the text of a response file.
    fn need(&self, read: &dyn Fn(&Path) -> Option<String>) -> ModuleNeed {
        if self.wrapper.language() != SourceLanguage::Fortran {
            return ModuleNeed::None;
        }
        if let Some(query) = WrapperQuery::among(&self.rest) {
            return query.need();
        }
        let words = with_response_files(&self.rest, read);
        let is_source = |word: &OsString| {
            let extension = Path::new(word).extension().map(OsStr::to_ascii_lowercase);
            // `-x f95` makes a Fortran source of any file.
            word == "-x" || extension.is_some_and(|it| FORTRAN_SOURCES.iter().any(|f| it == *f))
        };
        if words.iter().any(is_source) && !has_one_of(&words, PREPROCESS_ONLY) {
            return ModuleNeed::Read;
        }
        if links(&words) { ModuleNeed::Link } else { ModuleNeed::None }
    }

    /// The flags that these arguments need.
    fn flags(
        &self, installation: &Installation, read: &dyn Fn(&Path) -> Option<String>,
    ) -> Vec<OsString> {
        let mut flags = installation.compile_flags();
        let words = with_response_files(&self.rest, read);
        if links(&words) {
            flags.extend(installation.link_flags(self.wrapper));
            if words.iter().any(|word| word == "-static") {
                flags.extend(STATIC_FLAGS.iter().map(OsString::from));
                if self.wrapper.language() == SourceLanguage::Fortran {
                    flags.extend(STATIC_FORTRAN.iter().map(OsString::from));
                }
            }
        }
        flags
    }

    /// Execs the command; the exit code if that fails.
    fn run(&self, words: &[OsString]) -> i32 {
        let mut command = Command::new(&words[0]);
        // If the variables name this wrapper, it now runs the system's compiler instead of itself
        // endlessly.
        for variable in self.wrapper.language().variables() {
            command.env_remove(variable);
        }
        let error = command.args(&words[1..]).exec();
        self.no_compiler(&error)
    }

    fn no_compiler(&self, error: &io::Error) -> i32 {
        let program = self.compiler[0].to_string_lossy();
        let advice = self.wrapper.language().advice();
        let why = format!("cannot run the compiler {program}: {error}; {advice}");
        print_error(self.wrapper, 127, &why)
    }
}

impl Installation {
    /// The installation for a request. Missing modules are reported, but are not an error.
    ///
    /// # Errors
    /// Those of starting the compiler.
    fn for_request(
        request: &WrapperInvocation, folders: Folders, need: ModuleNeed,
    ) -> io::Result<Self> {
        let mut installation = Self { folders, modules: None, flags: Vec::new() };
        if need == ModuleNeed::None {
            return Ok(installation);
        }
        let compiler = match Compiler::query(&request.compiler) {
            Ok(compiler) => compiler,
            // The error is reported when the compiler is run to link.
            Err(_) if need == ModuleNeed::Link => return Ok(installation),
            Err(error) => return Err(error),
        };
        installation.flags = compiler.flags();
        let modules = modules(compiler, &installation.folders);
        let place = match need {
            ModuleNeed::Read => modules.and_then(Modules::build_if_missing).map(Some),
            ModuleNeed::Link | ModuleNeed::None => {
                Ok(modules.ok().and_then(|it| it.found().map(Path::to_owned)))
            }
        };
        installation.modules = place.unwrap_or_else(|why| {
            print_error(request.wrapper, 1, &without_modules(&why));
            None
        });
        Ok(installation)
    }

    fn include_folders(&self) -> impl Iterator<Item = &Path> {
        [&self.folders.include].into_iter().chain(&self.modules).map(PathBuf::as_path)
    }

    fn compile_flags(&self) -> Vec<OsString> {
        let folders = self.include_folders().map(|folder| joined("-I", folder));
        folders.chain(self.flags.iter().cloned()).collect()
    }

    fn link_flags(&self, wrapper: CompilerWrapper) -> Vec<OsString> {
        let folders = self.library_folders().map(|folder| joined("-L", folder));
        let run_path = [
            "-Wl,-rpath".into(),
            joined("-Wl,", &self.folders.library),
            "-Wl,--enable-new-dtags".into(),
        ];
        let libraries = self.libraries(wrapper).map(|name| format!("-l{name}").into());
        folders.chain(run_path).chain(libraries).collect()
    }

    /// The directory of the modules is first: the other may have the archive of another compiler.
    fn library_folders(&self) -> impl Iterator<Item = &Path> {
        self.modules.iter().chain([&self.folders.library]).map(PathBuf::as_path)
    }

    fn libraries(&self, wrapper: CompilerWrapper) -> impl Iterator<Item = &'static str> {
        let archive = self.modules.as_ref().map(|_| modules::LIBRARY);
        archive.into_iter().chain(wrapper.libraries().iter().copied())
    }
}

/// Decides what to do; `read` gives the text of a response file.
fn action(
    request: &WrapperInvocation, installation: &Installation,
    read: &dyn Fn(&Path) -> Option<String>,
) -> WrapperAction {
    let WrapperInvocation { wrapper, compiler, rest, .. } = request;
    if let Some(query) = WrapperQuery::among(rest) {
        return WrapperAction::Print(query.answer(*wrapper, installation, compiler, rest));
    }
    let version = env!("CARGO_PKG_VERSION");
    let line = (*rest == ["-v"]).then(|| format!("{} for Suiro version {version}", wrapper.name()));
    // The user's arguments come first, so that their directories are searched first.
    let flags = request.flags(installation, read);
    WrapperAction::Exec { line, command: [&**compiler, rest, &flags].concat() }
}

/// The compiler command: words, or the path of a program, which may have spaces.
fn compiler(language: SourceLanguage, chosen: Option<&OsStr>) -> Vec<OsString> {
    if let Some(path) = chosen.filter(|path| Path::new(path).is_file()) {
        return vec![path.to_owned()];
    }
    let words = chosen.map(OsStr::as_bytes).unwrap_or_default();
    let words: Vec<OsString> = words
        .split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty())
        .map(|word| OsStr::from_bytes(word).to_owned())
        .collect();
    if words.is_empty() { vec![language.compiler().into()] } else { words }
}

/// `words`, followed by the contents of response files (`@file`) among them. Only for decisions:
/// the compiler reads these files itself.
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

/// Whether the compiler will link.
fn links(words: &[OsString]) -> bool {
    let is_input = |word: &OsString| word == "-" || !word.as_bytes().starts_with(b"-");
    !has_one_of(words, COMPILE_ONLY) && words.iter().any(is_input)
}

fn has_one_of(words: &[OsString], options: &[&str]) -> bool {
    words.iter().any(|word| options.iter().any(|option| word == option))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINK: &str = "-L/p/lib -Wl,-rpath -Wl,/p/lib -Wl,--enable-new-dtags -lmpi_abi";

    fn read(file: &Path) -> Option<String> {
        match file.to_str()? {
            "compile" => Some("-c\na.c".to_owned()),
            "link" => Some("a.c -o a".to_owned()),
            "fortran" => Some("a.f90".to_owned()),
            _ => None,
        }
    }

    fn request(wrapper: CompilerWrapper, chosen: Option<&str>, line: &str) -> WrapperInvocation {
        let words = line.split(' ').map(OsString::from);
        WrapperInvocation::of(wrapper, chosen.map(OsString::from), words).unwrap()
    }

    fn decide_in(wrapper: CompilerWrapper, chosen: Option<&str>, line: &str) -> WrapperAction {
        let request = request(wrapper, chosen, line);
        let folders = Folders {
            programs: "/p/bin".into(),
            include: "/p/include".into(),
            library: "/p/lib".into(),
            modules: "/p/include/suiro".into(),
            is_build: false,
        };
        let modules = (request.need(&read) != ModuleNeed::None).then(|| PathBuf::from("/m"));
        let flags = modules.iter().map(|_| "-flag".into()).collect();
        action(&request, &Installation { folders, modules, flags }, &read)
    }

    fn decide(chosen: Option<&str>, line: &str) -> WrapperAction {
        decide_in(CompilerWrapper::Mpicc, chosen, line)
    }

    fn joined_words(task: WrapperAction) -> String {
        match task {
            WrapperAction::Exec { command, .. } => {
                command.join(OsStr::new(" ")).into_string().unwrap()
            }
            other => panic!("{other:?}"),
        }
    }

    fn command(chosen: Option<&str>, line: &str) -> String {
        joined_words(decide(chosen, line))
    }

    fn fortran(line: &str) -> String {
        joined_words(decide_in(CompilerWrapper::Mpifort, None, line))
    }

    #[test]
    fn arguments_precede_the_flags_of_the_wrapper() {
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
    fn variables_and_options_name_another_compiler() {
        assert!(command(Some("ccache gcc"), "-c a.c").starts_with("ccache gcc -c a.c"));
        assert!(command(Some("gcc"), "-cc=clang -c a.c").starts_with("clang -c a.c"));
        assert!(command(Some(""), "-c a.c").starts_with("cc "));
    }

    #[test]
    fn queries_are_answered_in_one_line() {
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
            assert_eq!(decide(None, question), WrapperAction::Print(expected), "{question}");
        }
        let WrapperAction::Print(version) = decide(None, "--showme:version") else { panic!() };
        assert!(version.contains(env!("CARGO_PKG_VERSION")));
    }

    #[test]
    fn response_files_pass_through_and_decide_linking() {
        assert_eq!(command(None, "@compile"), "cc @compile -I/p/include");
        assert_eq!(command(None, "@link"), format!("cc @link -I/p/include {LINK}"));
        assert_eq!(command(None, "-c @missing"), "cc -c @missing -I/p/include");
    }

    #[test]
    fn only_the_abi_of_the_standard_is_supported() {
        assert_eq!(command(None, "-mpi-abi -c a.c"), "cc -c a.c -I/p/include");
        let words = ["-mpich-abi", "a.c"].map(OsString::from);
        let why = WrapperInvocation::of(CompilerWrapper::Mpicc, None, words).unwrap_err();
        assert!(why.starts_with("-mpich-abi: "), "{why}");
    }

    #[test]
    fn help_is_the_wrapper_s_with_one_dash_and_the_compiler_s_with_two() {
        let WrapperAction::Print(help) = decide(None, "-help") else { panic!() };
        assert!(help.starts_with("usage: mpicc ") && help.contains("SUIRO_CC, MPICH_CC"), "{help}");
        assert_eq!(command(None, "--help"), "cc --help -I/p/include");
    }

    #[test]
    fn a_version_query_names_the_wrapper_first() {
        let WrapperAction::Exec { line, command } = decide(None, "-v") else { panic!() };
        assert!(line.unwrap().starts_with("mpicc for Suiro version "));
        assert_eq!(command[1], "-v");
    }

    #[test]
    fn fortran_has_two_libraries_and_a_directory_of_modules() {
        let link = LINK.replace("-lmpi_abi", "-lsuiro_modules -lmpifort_abi -lmpi_abi");
        let link = link.replace("-L/p/lib", "-L/m -L/p/lib");
        let flags = format!("-I/p/include -I/m -flag {link}");
        assert_eq!(fortran("a.f90 -o a"), format!("gfortran a.f90 -o a {flags}"));
        for (question, expected) in [
            ("-show", format!("gfortran {flags}")),
            ("-f77=f77 -showme:compile", "-I/p/include -I/m -flag".to_owned()),
            ("-showme:incdirs", "/p/include /m".to_owned()),
            ("-showme:link", link),
            ("-fc=flang -showme:command", "flang".to_owned()),
            ("-showme:libs", "suiro_modules mpifort_abi mpi_abi".to_owned()),
            ("-showme:libdirs", "/m /p/lib".to_owned()),
        ] {
            let action = decide_in(CompilerWrapper::Mpifort, None, question);
            assert_eq!(action, WrapperAction::Print(expected), "{question}");
        }
        let WrapperAction::Print(help) = decide_in(CompilerWrapper::Mpifort, None, "-help") else {
            panic!()
        };
        assert!(help.starts_with("usage: mpifort ") && help.contains(BUILD_MODULES), "{help}");
    }

    #[test]
    fn programs_with_acp_have_its_library_before_that_of_mpi() {
        let link = LINK.replace("-lmpi_abi", "-lacp -lmpi_abi");
        let command = |line: &str| joined_words(decide_in(CompilerWrapper::Acpcc, None, line));
        let expected = format!("cc a.c -o a -I/p/include {link}");
        for line in ["a.c -o a", "-ndev UDP a.c -o a", "a.c -o a -net ib"] {
            assert_eq!(command(line), expected, "{line}");
        }
        assert!(command("-static a.c").contains(" -lacp -lmpi_abi -lpthread "));
        for (question, expected) in [
            ("-showme:libs", "acp mpi_abi".to_owned()),
            ("-showme:libs_static", "acp mpi_abi pthread dl m".to_owned()),
            ("-ndev IB --showme:link", link.clone()),
            ("-show", format!("c++ -I/p/include {link}")),
        ] {
            let action = decide_in(CompilerWrapper::Acpcxx, None, question);
            assert_eq!(action, WrapperAction::Print(expected), "{question}");
        }
        let WrapperAction::Print(help) = decide_in(CompilerWrapper::Acpcc, None, "-help") else {
            panic!()
        };
        assert!(help.starts_with("usage: acpcc ") && help.contains("-ndev DEVICE"), "{help}");
    }

    #[test]
    fn devices_of_acp_are_options_of_its_wrappers_only() {
        let line = "-net UDP a.c";
        assert!(command(None, line).starts_with("cc -net UDP a.c "));
        let words = ["a.c", "-ndev"].map(OsString::from);
        let why = WrapperInvocation::of(CompilerWrapper::Acpcc, None, words).unwrap_err();
        assert_eq!(why, "-ndev lacks its value");
    }

    #[test]
    fn modules_are_built_only_if_they_are_read() {
        let need = |line: &str| request(CompilerWrapper::Mpifort, None, line).need(&read);
        for line in ["-c a.F90", "a.f -o a", "-x f95 a.txt", "@fortran", "-show", "-S a.for"] {
            assert_eq!(need(line), ModuleNeed::Read, "{line}");
        }
        for line in ["a.o -o a", "a.c", "-showme:libs", "-link_info"] {
            assert_eq!(need(line), ModuleNeed::Link, "{line}");
        }
        for line in ["-E a.F90", "-v", "-c a.c", "-showme:version", "-help"] {
            assert_eq!(need(line), ModuleNeed::None, "{line}");
        }
        assert_eq!(request(CompilerWrapper::Mpicc, None, "-c a.f90").need(&read), ModuleNeed::None);
        assert!(fortran("-E a.F90").ends_with(" -I/p/include"));
        assert!(request(CompilerWrapper::Mpifort, None, BUILD_MODULES).is_build_of_modules);
        assert!(!request(CompilerWrapper::Mpicc, None, BUILD_MODULES).is_build_of_modules);
    }
}
