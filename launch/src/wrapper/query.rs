//! Queries that the wrapper answers itself, for CMake, Meson and configure scripts, in the formats of
//! the wrappers of MPICH, Intel MPI and Open MPI.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::{CompilerWrapper, Installation, ModuleNeed, SourceLanguage};

/// A query for the wrapper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WrapperQuery {
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

impl WrapperQuery {
    /// The first query among the arguments.
    pub(super) fn among(words: &[OsString]) -> Option<Self> {
        words.iter().find_map(|word| Self::of(word))
    }

    /// The query of an argument.
    fn of(word: &OsStr) -> Option<Self> {
        if word == "-help" {
            return Some(Self::Help);
        }
        let word = word.to_str()?.strip_prefix('-')?;
        let word = word.strip_prefix('-').unwrap_or(word);
        Some(match word {
            "show" | "showme" => Self::Show,
            "compile-info" | "compile_info" | "show-compile-info" => Self::ShowCompile,
            "link-info" | "link_info" | "show-link-info" => Self::ShowLink,
            "showme:compile" => Self::Compile,
            "showme:link" => Self::Link,
            "showme:command" => Self::Command,
            "showme:incdirs" => Self::IncludeFolders,
            "showme:libdirs" | "showme:libdirs_static" => Self::LibraryFolders,
            "showme:libs" => Self::Libraries,
            "showme:libs_static" => Self::StaticLibraries,
            "showme:version" => Self::Version,
            "showme:help" => Self::Help,
            _ => return None,
        })
    }

    /// The need for modules: the answer may be used to run the compiler.
    pub(super) fn need(self) -> ModuleNeed {
        match self {
            Self::Show | Self::ShowCompile | Self::Compile | Self::IncludeFolders => {
                ModuleNeed::Read
            }
            Self::ShowLink
            | Self::Link
            | Self::LibraryFolders
            | Self::Libraries
            | Self::StaticLibraries => ModuleNeed::Link,
            Self::Command | Self::Version | Self::Help => ModuleNeed::None,
        }
    }

    /// The answer for these arguments, one line except for help.
    pub(super) fn answer(
        self, wrapper: CompilerWrapper, installation: &Installation, compiler: &[OsString],
        words: &[OsString],
    ) -> String {
        let compile = installation.compile_flags();
        let link = installation.link_flags(wrapper);
        let libraries = || installation.libraries(wrapper).map(OsString::from);
        let line: Vec<OsString> = match self {
            Self::Show => {
                let others = words.iter().filter(|word| Self::of(word).is_none()).cloned();
                [compiler, &others.collect::<Vec<_>>(), &compile, &link].concat()
            }
            Self::ShowCompile => [compiler, &compile].concat(),
            Self::ShowLink => [compiler, &link].concat(),
            Self::Compile => compile,
            Self::Link => link,
            Self::Command => compiler.to_vec(),
            Self::IncludeFolders => installation.include_folders().map(OsString::from).collect(),
            Self::LibraryFolders => installation.library_folders().map(OsString::from).collect(),
            Self::Libraries => libraries().collect(),
            Self::StaticLibraries => {
                libraries().chain(["pthread", "dl", "m"].map(OsString::from)).collect()
            }
            Self::Version => {
                let (name, language) = (wrapper.name(), wrapper.language().name());
                let version = env!("CARGO_PKG_VERSION");
                return format!("{name}: Suiro {version} (Language: {language})");
            }
            Self::Help => return help(wrapper),
        };
        let words: Vec<_> = line.iter().map(|word| quoted(word)).collect();
        words.join(" ")
    }
}

fn help(wrapper: CompilerWrapper) -> String {
    let (name, language, interfaces) = (wrapper.name(), wrapper.language(), wrapper.interfaces());
    let option = format!("{}COMPILER", language.options()[0]);
    let (compiler, variables) = (language.compiler(), language.variables().join(", "));
    let devices: String = wrapper.ignored_options().iter().map(ignored).collect();
    let modules = match language {
        SourceLanguage::C | SourceLanguage::Cxx => "",
        SourceLanguage::Fortran => {
            "
  -build-modules       build mpi.mod and mpi_f08.mod for the compiler into this installation and
                       print their directory; otherwise they are built at first use, in the
                       directory suiro of XDG_CACHE_HOME (~/.cache)"
        }
    };
    format!(
        "\
usage: {name} [options] [options and files of the compiler]

Runs {compiler} with the flags that programs with {interfaces} need. All other arguments are
passed unchanged.

  {option:20} another compiler; or the first of these variables that is set:
                       {variables}
  -show                print the command instead of running it
  -compile_info        print the compile command (also: -show-compile-info)
  -link_info           print the link command (also: -show-link-info)
  -showme:WHAT         print one part: command, compile, link, incdirs, libdirs, libs, version
  -mpi-abi             accepted: the ABI is always that of the MPI standard{devices}{modules}
  -v                   print the wrapper's version, then the compiler's
  -help                print this help; --help prints the compiler's"
    )
}

fn ignored(option: &&str) -> String {
    let option = format!("{option} DEVICE");
    format!("\n  {option:20} accepted: the library chooses the network")
}

/// A word quoted for shells and for CMake's FindMPI: `-I"/with space"`.
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

/// An option and its path as one argument.
pub(super) fn joined(option: &str, path: &Path) -> OsString {
    let mut word = OsString::from(option);
    word.push(path);
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_with_special_characters_are_quoted() {
        assert_eq!(quoted(OsStr::new("-I/a b")), "-I\"/a b\"");
        assert_eq!(quoted(OsStr::new("it's $5")), r#""it's \$5""#);
    }
}
