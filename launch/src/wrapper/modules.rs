//! `mpi.mod` and `mpi_f08.mod`, and those of their extensions: the compiled modules for `use mpi` and `use
//! mpi_f08`.
//!
//! A Fortran compiler reads only modules that the same version of it made. So the installation has
//! the sources, and each compiler builds them once into a directory of its own: `scripts/install`
//! for the compiler that is present, the wrapper at first use for any other. The name of the
//! directory contains the name of the compiler, and a hash of its name, its path and the sources;
//! compilers and installations never read modules of others.
//!
//! Object code of the modules (type descriptors, which programs with `class(*)` need) is in an
//! archive beside them.
//!
//! Any number of wrappers may run at the same time (`make -j`): one builds while the others wait for
//! its lock, and a directory gets its name when it is complete. If file locks do not work, all of
//! them build and the first complete directory is used.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::SourceLanguage;
use crate::folders::Folders;

/// The sources, in the order of compilation.
const SOURCES: &[&str] =
    &["mpi_types.f90", "mpi.f90", "mpi_f08.f90", "mpi_ext.f90", "mpi_f08_ext.f90"];

/// The compiled modules that programs use.
const MODULES: &[&str] = &["mpi.mod", "mpi_f08.mod", "mpi_ext.mod", "mpi_f08_ext.mod"];

/// The name of the archive for `-l`.
pub(super) const LIBRARY: &str = "suiro_modules";

/// The file name of the archive.
const ARCHIVE: &str = "libsuiro_modules.a";

/// The maximum length of the compiler's output in a message, in bytes.
const LOG_MAX: usize = 4000;

/// The first gfortran that refuses calls of one external procedure with different argument types,
/// as in every program with `mpif.h`.
const STRICT_GFORTRAN: u32 = 10;

/// A Fortran compiler, by its `--version`.
#[derive(Clone, Debug)]
pub struct Compiler {
    /// The compiler command.
    words: Vec<OsString>,
    /// The output of `--version`.
    version_output: String,
}

impl Compiler {
    /// Runs the compiler command with `--version`.
    ///
    /// # Errors
    /// Those of starting it.
    pub(super) fn query(words: &[OsString]) -> io::Result<Self> {
        let output = command(words).arg("--version").stdin(Stdio::null()).output()?;
        // The error message of a compiler without this option identifies it as well.
        let log = [output.stdout, output.stderr].concat();
        Ok(Self {
            words: words.to_vec(),
            version_output: String::from_utf8_lossy(&log).into_owned(),
        })
    }

    /// Its name and version.
    pub fn title(&self) -> &str {
        self.version_output.lines().next().unwrap_or("")
    }

    /// Flags without which correct programs do not compile.
    pub(super) fn flags(&self) -> Vec<OsString> {
        let is_strict = self.gnu_version().is_some_and(|version| version >= STRICT_GFORTRAN);
        is_strict.then(|| "-fallow-argument-mismatch".into()).into_iter().collect()
    }

    /// The major version of gfortran; `None` for other compilers.
    fn gnu_version(&self) -> Option<u32> {
        let title = self.title();
        let version = title.strip_prefix("GNU Fortran")?.split_whitespace().next_back()?;
        version.split('.').next()?.parse().ok()
    }

    /// The name of the directory: `gnu-fortran-12.2.0-0123456789abcdef`.
    fn key(&self, sources: &[Vec<u8>]) -> String {
        let mut hasher = DefaultHasher::new();
        (&self.version_output, program(&self.words), sources).hash(&mut hasher);
        format!("{}-{:016x}", slug(self.title()), hasher.finish())
    }
}

/// The modules for one compiler.
#[derive(Debug)]
pub struct Modules {
    compiler: Compiler,
    /// The directory of the sources.
    sources: PathBuf,
    /// Their directory in the installation.
    installed: PathBuf,
    /// Their directory in the user's cache, if the environment names one.
    cached: Option<PathBuf>,
}

impl Modules {
    /// The modules of `compiler`; `variable` reads the environment.
    ///
    /// # Errors
    /// Names the source that cannot be read.
    pub(crate) fn of(
        compiler: Compiler, folders: &Folders, variable: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, String> {
        let read = |name: &&str| {
            let path = folders.include.join(name);
            fs::read(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))
        };
        let key = compiler.key(&SOURCES.iter().map(read).collect::<Result<Vec<_>, _>>()?);
        let installed = folders.modules.join(&key);
        let own = match folders.is_build {
            true => Some(installed.clone()),
            false => cache(variable).map(|cache| cache.join(&key)),
        };
        Ok(Self { compiler, sources: folders.include.clone(), installed, cached: own })
    }

    /// The compiler of the modules.
    pub fn compiler(&self) -> &Compiler {
        &self.compiler
    }

    /// Their directory, if they have been built.
    pub fn found(&self) -> Option<&Path> {
        [Some(&self.installed), self.cached.as_ref()]
            .into_iter()
            .flatten()
            .map(PathBuf::as_path)
            .find(|place| is_complete(place))
    }

    /// The directory in which they are built at first use, if the environment names one.
    pub fn cached(&self) -> Option<&Path> {
        self.cached.as_deref()
    }

    /// Their directory; builds them if needed.
    ///
    /// # Errors
    /// Why they cannot be built, with the output of the compiler.
    pub(super) fn build_if_missing(self) -> Result<PathBuf, String> {
        match (self.found(), &self.cached) {
            (Some(place), _) => Ok(place.to_owned()),
            (None, Some(place)) => self.build(place),
            (None, None) => Err("neither XDG_CACHE_HOME nor HOME is set".to_owned()),
        }
    }

    /// Builds them into the installation, for all users.
    ///
    /// # Errors
    /// As for [`Self::build_if_missing`].
    pub(super) fn install(self) -> Result<PathBuf, String> {
        match is_complete(&self.installed) {
            true => Ok(self.installed),
            false => self.build(&self.installed),
        }
    }

    /// Builds them in `place`; other builders wait.
    fn build(&self, place: &Path) -> Result<PathBuf, String> {
        let name = place.file_name().unwrap_or_default();
        let parent = place.parent().unwrap_or(Path::new("."));
        let cannot = |error: io::Error| format!("cannot write in {}: {error}", parent.display());
        fs::create_dir_all(parent).map_err(cannot)?;
        let lock = lock(&parent.join(concatenated(".", name, ".lock"))).map_err(cannot)?;
        if is_complete(place) {
            return Ok(place.to_owned());
        }
        if lock.is_some() {
            remove_left(parent, name);
        }
        let scratch = parent.join(concatenated(".", name, &format!(".{}", std::process::id())));
        fs::create_dir(&scratch).map_err(cannot)?;
        let built = self.compile_in(&scratch).and_then(|()| {
            // Without locks, another wrapper may have built them first.
            fs::rename(&scratch, place).or_else(|error| match is_complete(place) {
                true => Ok(()),
                false => Err(cannot(error)),
            })
        });
        // Fails if the directory was renamed, which is fine.
        let _ = fs::remove_dir_all(&scratch);
        built.map(|()| place.to_owned())
    }

    /// Makes the modules and the archive in `folder`.
    fn compile_in(&self, folder: &Path) -> Result<(), String> {
        for name in SOURCES {
            // Every compiler writes modules to its working directory.
            let mut compiler = command(&self.compiler.words);
            compiler.args(["-fPIC", "-c"]).arg(self.sources.join(name));
            self.run(compiler.current_dir(folder))?;
        }
        if let Some(missing) = MODULES.iter().find(|name| !folder.join(name).is_file()) {
            let title = self.compiler.title();
            return Err(format!("{title} made no {missing} in its working directory"));
        }
        let objects = SOURCES.iter().map(|name| Path::new(name).with_extension("o"));
        let objects: Vec<_> = objects.collect();
        self.run(Command::new("ar").arg("qc").arg(ARCHIVE).args(&objects).current_dir(folder))?;
        for object in objects {
            let _ = fs::remove_file(folder.join(object));
        }
        Ok(())
    }

    /// Runs one build step; the error has its output.
    fn run(&self, command: &mut Command) -> Result<(), String> {
        let name = command.get_program().to_string_lossy().into_owned();
        let output = command.stdin(Stdio::null()).output();
        let output = output.map_err(|error| format!("cannot run {name}: {error}"))?;
        if output.status.success() {
            return Ok(());
        }
        let log = [output.stdout, output.stderr].concat();
        let log = String::from_utf8_lossy(&log);
        let words: Vec<_> = command.get_args().map(OsStr::to_string_lossy).collect();
        let (title, words, status) = (self.compiler.title(), words.join(" "), output.status);
        Err(format!("{title}: {name} {words}: {status}\n{}", beginning(&log)))
    }
}

/// The compiler command, without the variables that could name this wrapper.
fn command(words: &[OsString]) -> Command {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    for variable in SourceLanguage::Fortran.variables() {
        command.env_remove(variable);
    }
    command
}

/// The file of the compiler, for `ccache gfortran` the latter, with links resolved.
fn program(words: &[OsString]) -> PathBuf {
    let is_option = |word: &&OsString| word.as_bytes().starts_with(b"-");
    let word = words.iter().rfind(|word| !is_option(word)).unwrap_or(&words[0]);
    let mut places = env::var_os("PATH")
        .filter(|_| !word.as_bytes().contains(&b'/'))
        .map(|path| env::split_paths(&path).map(|folder| folder.join(word)).collect::<Vec<_>>())
        .unwrap_or_default()
        .into_iter();
    let found = places.find(|file| file.is_file()).unwrap_or_else(|| word.into());
    fs::canonicalize(&found).unwrap_or(found)
}

/// A title as part of a file name: in lower case, without text in parentheses.
fn slug(title: &str) -> String {
    let mut depth = 0;
    let kept = title.chars().filter(|character| {
        depth += i32::from(*character == '(');
        let is_kept = depth == 0;
        depth -= i32::from(*character == ')');
        is_kept
    });
    let kept: String = kept.collect();
    let words =
        kept.split(|character: char| !character.is_ascii_alphanumeric() && character != '.');
    let words: Vec<_> = words.filter(|word| !word.is_empty()).take(6).collect();
    words.join("-").to_lowercase()
}

/// The cache directory of the user for all modules, if the environment names one.
fn cache(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    // Relative paths must be ignored (XDG Base Directory Specification).
    let absolute = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(cache.join("suiro"))
}

fn is_complete(folder: &Path) -> bool {
    // The archive is made last.
    folder.join(ARCHIVE).is_file()
}

/// Locks a file, which is made if it does not exist; `None` if locks do not work.
fn lock(path: &Path) -> io::Result<Option<File>> {
    let file = OpenOptions::new().create(true).append(true).open(path)?;
    Ok(file.lock().is_ok().then_some(file))
}

/// Removes the directories of killed builders in `parent`. For the owner of the lock.
fn remove_left(parent: &Path, name: &OsStr) {
    let prefix = concatenated(".", name, ".");
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        if entry.file_name().as_bytes().starts_with(prefix.as_bytes()) && entry.path().is_dir() {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn concatenated(before: &str, name: &OsStr, after: &str) -> OsString {
    [OsStr::new(before), name, OsStr::new(after)].into_iter().collect()
}

/// The beginning of a log, which has the first error.
fn beginning(log: &str) -> &str {
    let end = (0..=LOG_MAX.min(log.len())).rfind(|end| log.is_char_boundary(*end));
    log[..end.unwrap_or(0)].trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compiler(log: &str) -> Compiler {
        Compiler { words: vec!["fc".into()], version_output: log.to_owned() }
    }

    #[test]
    fn strict_versions_of_gfortran_get_a_flag() {
        let flags = |log: &str| compiler(log).flags().len();
        assert_eq!(flags("GNU Fortran (Debian 12.2.0-14+deb12u1) 12.2.0\nCopyright"), 1);
        assert_eq!(flags("GNU Fortran (GCC) 10.1.0"), 1);
        assert_eq!(flags("GNU Fortran (GCC) 9.4.0"), 0);
        assert_eq!(flags("flang version 18.1.3 (https://example.org)"), 0);
        assert_eq!(flags(""), 0);
    }

    #[test]
    fn directory_names_identify_the_compiler_and_the_sources() {
        let gnu = compiler("GNU Fortran (Debian 12.2.0-14+deb12u1) 12.2.0\nCopyright");
        let key = gnu.key(&[b"module mpi".to_vec()]);
        assert!(key.starts_with("gnu-fortran-12.2.0-"), "{key}");
        assert_eq!(key, gnu.key(&[b"module mpi".to_vec()]));
        assert_ne!(key, gnu.key(&[b"module mpj".to_vec()]));
        let other = compiler("GNU Fortran (Debian 12.2.0-14+deb12u2) 12.2.0\nCopyright");
        assert_ne!(key, other.key(&[b"module mpi".to_vec()]));
        assert_eq!(slug("ifx (IFX) 2024.0.0 20231017"), "ifx-2024.0.0-20231017");
        assert_eq!(slug("../a b/c"), "..-a-b-c");
    }

    #[test]
    fn the_environment_names_the_cache() {
        let of = |settings: &[(&str, &str)]| {
            let value = |name: &str| settings.iter().find(|setting| setting.0 == name);
            cache(|name| value(name).map(|setting| setting.1.into()))
        };
        assert_eq!(of(&[("XDG_CACHE_HOME", "/c"), ("HOME", "/h")]), Some("/c/suiro".into()));
        assert_eq!(of(&[("XDG_CACHE_HOME", "c"), ("HOME", "/h")]), Some("/h/.cache/suiro".into()));
        assert_eq!(of(&[("HOME", "")]), None);
    }

    #[test]
    fn a_long_log_is_cut_between_characters() {
        assert_eq!(beginning("error\n"), "error");
        assert_eq!(beginning(&"é".repeat(LOG_MAX)).len(), LOG_MAX);
        assert_eq!(beginning(&format!("a{}", "é".repeat(LOG_MAX))).len(), LOG_MAX - 1);
    }
}
