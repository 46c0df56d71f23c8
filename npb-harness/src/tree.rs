//! A published source tree of NPB 3.3-MPI or 3.4-MPI, and programs built from it. The tree itself is
//! never modified: each program is built in a copy of its sources, which is kept and reused as long as
//! the sources, the compiler and its flags are the same.
//!
//! ```text
//!              NPB 3.3                          NPB 3.4
//! compiler     MPIF77                           MPIFC
//! make         KERNEL CLASS=C NPROCS=N          KERNEL CLASS=C
//! program      bin/KERNEL.C.N                   bin/KERNEL.C.x
//! ```
//!
//! Both need `config/make.def`, run a generator (`sys/setparams`) that reads it line by line, and
//! accept `SUBTYPE=` for BT with input and output. DT runs on any number of ranks in 3.3 too. Since
//! 3.4.2, `F08=` selects the Fortran interface: `def` (mostly the module `mpi`), `f` (`mpif.h`) or
//! `f08`, with the files `mpinpb_def.f90`, `mpinpb_f.f90`, `mpinpb_f08.f90`.

use std::{
    cell::RefCell,
    collections::HashMap,
    ffi::OsStr,
    fs::{self, Permissions},
    hash::{DefaultHasher, Hash, Hasher},
    io,
    os::unix::{ffi::OsStrExt, fs::PermissionsExt},
    path::{Path, PathBuf},
    time::Duration,
};

use crate::{
    job::{self, Stop},
    matrix::{Cell, Program, Ranks, Refusal, Source},
    probe::{self, Binding},
    toolchain::{Language, Toolchain},
};

/// Time limit of a build.
const BUILD_LIMIT: Duration = Duration::from_secs(900);

/// Directories that each kernel needs in addition to its own.
const SHARED: [&str; 3] = ["config", "sys", "common"];

/// Products of builds in the tree itself, which are not copied.
const PRODUCTS: [&str; 5] = ["npbparams.h", "setparams", "make.def", "suite.def", "core"];

/// Extensions of further such products.
const PRODUCT_EXTENSIONS: [&str; 4] = ["o", "mod", "a", "smod"];

/// Files with several variants, one of which is copied to the name.
const FORMS: [(&str, &str); 2] = [("mpinpb", "f90"), ("mpinpb", "h")];

/// Fortran interfaces: names for users and for `make`.
pub(crate) const BINDINGS: [(&str, &str); 3] =
    [("mpif.h", "f"), ("mpi", "def"), ("mpi_f08", "f08")];

/// Flags for the Fortran compiler, or the reason why it cannot be used.
type Flags = Result<Vec<String>, Refusal>;

/// A kernel of NPB, or a variant of building or running it.
struct TreeKernel {
    /// The name for users.
    name: &'static str,
    /// The target of `make`.
    target: &'static str,
    language: Language,
    /// The value of `SUBTYPE` for `make`, and the suffix of the program; both may be empty.
    subtype: (&'static str, &'static str),
    /// The argument of the program; none if empty.
    argument: &'static str,
    /// Whether it uses files of MPI.
    has_files: bool,
}

const fn fortran(name: &'static str) -> TreeKernel {
    let language = Language::Fortran;
    TreeKernel { name, target: name, language, subtype: ("", ""), argument: "", has_files: false }
}

const fn c(name: &'static str) -> TreeKernel {
    TreeKernel { language: Language::C, ..fortran(name) }
}

const fn bt(
    name: &'static str, subtype: &'static str, end: &'static str, has_files: bool,
) -> TreeKernel {
    TreeKernel { target: "bt", subtype: (subtype, end), has_files, ..fortran(name) }
}

const fn dt(name: &'static str, graph: &'static str) -> TreeKernel {
    TreeKernel { target: "dt", argument: graph, ..c(name) }
}

const KERNELS: [TreeKernel; 15] = [
    fortran("bt"),
    fortran("sp"),
    fortran("lu"),
    fortran("cg"),
    fortran("mg"),
    fortran("ft"),
    fortran("ep"),
    c("is"),
    dt("dt.bh", "BH"),
    dt("dt.wh", "WH"),
    dt("dt.sh", "SH"),
    bt("bt.full", "full", ".mpi_io_full", true),
    bt("bt.simple", "simple", ".mpi_io_simple", true),
    bt("bt.fortran", "fortran", ".fortran_io", false),
    bt("bt.epio", "epio", ".ep_io", false),
];

/// The names of all kernels and of their variants.
pub(crate) fn kernels() -> impl Iterator<Item = &'static str> {
    KERNELS.iter().map(|kernel| kernel.name)
}

impl TreeKernel {
    fn by_name(name: &str) -> &'static Self {
        let kernel = KERNELS.iter().find(|kernel| kernel.name == name);
        kernel.expect("clap checks the names")
    }

    /// The directory of its sources.
    fn folder(&self) -> String {
        self.target.to_uppercase()
    }
}

/// A tree, and the directory for builds from it.
pub(crate) struct Tree {
    root: PathBuf,
    name: String,
    /// Whether a program is for one number of ranks, as in 3.3.
    is_for_ranks: bool,
    builds: PathBuf,
    /// The value of `F08` for `make`; none if empty.
    form: &'static str,
    /// Results of probes, by label of the library.
    flags: RefCell<HashMap<(String, Binding), Flags>>,
    files: RefCell<HashMap<String, Result<(), Refusal>>>,
}

impl Tree {
    /// The tree in `folder`, or the newest in a subdirectory of it; builds go to `builds`.
    ///
    /// # Errors
    /// There is no tree, or it is another edition of NPB.
    pub(crate) fn open(folder: &Path, builds: &Path) -> Result<Self, String> {
        let root = folder.canonicalize();
        let root = root.map_err(|error| format!("no tree in {}: {error}", folder.display()))?;
        let root = inside(&root).ok_or_else(|| {
            let folder = folder.display();
            format!("no tree of NPB in {folder}: neither it nor a subdirectory has sys/make.common")
        })?;
        for needed in ["Makefile", "sys/setparams.c", "config"] {
            if !root.join(needed).exists() {
                return Err(format!("{} is incomplete: no {needed}", root.display()));
            }
        }
        let path = root.join("sys/make.common");
        let common = fs::read_to_string(&path)
            .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        let names = |variable: &str| {
            common.contains(&format!("({variable})")) || common.contains(&format!("{{{variable}}}"))
        };
        if !names("MPIFC") && !names("MPIF77") {
            let path = path.display();
            return Err(format!("{path} names neither MPIFC nor MPIF77: not an edition with MPI"));
        }
        fs::create_dir_all(builds)
            .map_err(|error| format!("cannot make {}: {error}", builds.display()))?;
        let builds = builds
            .canonicalize()
            .map_err(|error| format!("cannot use {}: {error}", builds.display()))?;
        let name = root.file_name().map_or("npb".into(), |name| name.to_string_lossy());
        Ok(Self {
            name: name.into_owned(),
            is_for_ranks: names("NPROCS"),
            root,
            builds,
            form: "",
            flags: RefCell::default(),
            files: RefCell::default(),
        })
    }

    /// The same tree with one of [`BINDINGS`].
    ///
    /// # Errors
    /// The tree does not support this interface.
    pub(crate) fn with_binding(mut self, binding: &str) -> Result<Self, String> {
        let found = BINDINGS.iter().find(|(name, _)| *name == binding);
        let (name, form) = found.expect("clap checks the names");
        if !self.root.join(format!("EP/mpinpb_{form}.f90")).exists() {
            let root = self.root.display();
            return Err(format!("{root} has no choice of {name}: no EP/mpinpb_{form}.f90"));
        }
        self.form = form;
        self.name = format!("{} {name}", self.name);
        Ok(self)
    }

    /// The directory for the output of runs.
    pub(crate) fn logs(&self) -> PathBuf {
        self.builds.join("logs")
    }

    /// The kernels of the tree without input and output.
    pub(crate) fn kernels(&self) -> Vec<String> {
        let has =
            |kernel: &&TreeKernel| self.makefile(kernel).exists() && kernel.subtype.0.is_empty();
        KERNELS.iter().filter(has).map(|kernel| kernel.name.to_owned()).collect()
    }

    fn makefile(&self, kernel: &TreeKernel) -> PathBuf {
        self.root.join(kernel.folder()).join("Makefile")
    }

    /// The text of `config/make.def` for this library.
    fn make_def(&self, kernel: &TreeKernel, tools: &Toolchain) -> Result<String, Refusal> {
        let flags = match kernel.language {
            Language::C => Vec::new(),
            Language::Fortran => self.fortran_flags(kernel, tools)?,
        };
        if kernel.has_files {
            self.has_files(tools)?;
        }
        if let Some((flag, c)) = flags.iter().find_map(|flag| Some((flag, unusable(flag)?))) {
            let why = format!("{flag} cannot be used in make.def: it contains {c:?}");
            return Err(Refusal::broken(why));
        }
        let [cc, fc] = [Language::C, Language::Fortran].map(|it| {
            let path = tools.compiler(it).to_string_lossy();
            if unusable(&path).is_none() { path.into_owned() } else { format!("../{}", script(it)) }
        });
        let flags = [vec!["-O3".to_owned()], flags].concat().join(" ");
        // The unit of record lengths in gfortran is a byte. Lines are short, because the generator
        // accepts at most 400 bytes.
        Ok(format!(
            "MPIFC = {fc}
MPIF77 = {fc}
FLINK = {fc}
FMPI_LIB =
FMPI_INC =
FFLAGS = {flags}
FLINKFLAGS = -O3
MPICC = {cc}
CLINK = {cc}
CMPI_LIB =
CMPI_INC =
CFLAGS = -O3
CLINKFLAGS = -O3
CC = cc
BINDIR = ../bin
CONVERTFLAG = -DFORTRAN_REC_SIZE=1
RAND = randi8
"
        ))
    }

    fn fortran_flags(&self, kernel: &TreeKernel, tools: &Toolchain) -> Flags {
        let binding = self.binding(kernel);
        let mut known = self.flags.borrow_mut();
        let found = known.entry((tools.label.clone(), binding));
        found.or_insert_with(|| probe::fortran_flags(tools, binding, &self.builds)).clone()
    }

    /// The most recent interface that the sources of the kernel use.
    fn binding(&self, kernel: &TreeKernel) -> Binding {
        let sources = self.sources(kernel).unwrap_or_default();
        let form = if self.form.is_empty() { "def" } else { self.form };
        let is_used = |source: &&PathBuf| {
            let name = source.file_stem().and_then(OsStr::to_str).unwrap_or_default();
            name.strip_prefix("mpinpb_").is_none_or(|other| other == form)
        };
        let text = |source: &PathBuf| fs::read_to_string(self.root.join(source)).ok();
        let texts: Vec<_> = sources.iter().filter(is_used).filter_map(text).collect();
        let uses = |module: &str| texts.iter().any(|text| uses(text, module));
        match () {
            () if uses("mpi_f08") => Binding::Module08,
            () if uses("mpi") => Binding::Module,
            () => Binding::Include,
        }
    }

    fn has_files(&self, tools: &Toolchain) -> Result<(), Refusal> {
        let mut known = self.files.borrow_mut();
        let found = known.entry(tools.label.clone());
        found.or_insert_with(|| probe::files(tools, &self.builds)).clone()
    }

    /// The source files of the kernel, as paths in the tree.
    fn sources(&self, kernel: &TreeKernel) -> io::Result<Vec<PathBuf>> {
        let mut sources = vec![PathBuf::from("Makefile")];
        let own = kernel.folder();
        for folder in SHARED.iter().copied().chain([own.as_str()]) {
            for entry in fs::read_dir(self.root.join(folder))? {
                let entry = entry?;
                let name = entry.file_name();
                let path = Path::new(folder).join(&name);
                let is_made = FORMS.iter().any(|(stem, extension)| {
                    name == *format!("{stem}.{extension}")
                        && self.root.join(folder).join(format!("{stem}_def.{extension}")).exists()
                });
                let is_product = is_made
                    || PRODUCTS.iter().any(|product| name == *product)
                    || path
                        .extension()
                        .and_then(OsStr::to_str)
                        .is_some_and(|extension| PRODUCT_EXTENSIONS.contains(&extension));
                if !is_product && entry.path().is_file() {
                    sources.push(path);
                }
            }
        }
        sources.sort();
        Ok(sources)
    }

    /// A hash of everything that affects the program.
    fn key(&self, sources: &[PathBuf], make_def: &str, tools: &Toolchain) -> io::Result<u64> {
        let mut hasher = DefaultHasher::new();
        (make_def, self.form).hash(&mut hasher);
        for language in [Language::C, Language::Fortran] {
            let compiler = tools.compiler(language);
            let changed = fs::metadata(compiler).and_then(|it| it.modified());
            (compiler, changed.ok()).hash(&mut hasher);
        }
        for source in sources {
            source.hash(&mut hasher);
            fs::read(self.root.join(source))?.hash(&mut hasher);
        }
        Ok(hasher.finish())
    }

    /// The possible names of the program in `bin`.
    fn programs(&self, kernel: &TreeKernel, cell: &Cell) -> Vec<String> {
        let (target, class, end) = (kernel.target, cell.class, kernel.subtype.1);
        let mut names = vec![format!("{target}.{class}.x{end}")];
        if self.is_for_ranks {
            names.push(format!("{target}.{class}.{}{end}", cell.ranks));
            names.push(format!("{target}.{class}.1{end}"));
        }
        names
    }

    fn make(&self, kernel: &TreeKernel, cell: &Cell, tools: &Toolchain) -> std::process::Command {
        let mut make = tools.command(Path::new("make"));
        // Variables of an outer `make`.
        make.env_remove("MAKEFLAGS").env_remove("MAKELEVEL").env("LC_ALL", "C");
        make.arg(kernel.target).arg(format!("CLASS={}", cell.class));
        if self.is_for_ranks && kernel.target != "dt" {
            make.arg(format!("NPROCS={}", cell.ranks));
        }
        if !self.form.is_empty() {
            make.arg(format!("F08={}", self.form));
        }
        if !kernel.subtype.0.is_empty() {
            make.arg(format!("SUBTYPE={}", kernel.subtype.0));
        }
        make
    }
}

impl Source for Tree {
    fn name(&self) -> &str {
        &self.name
    }

    fn ranks(&self, kernel: &str, class: char) -> Ranks {
        let kernel = TreeKernel::by_name(kernel);
        match kernel.target {
            "bt" | "sp" => Ranks::Squares,
            "lu" => Ranks::TwoFactors,
            "ep" => Ranks::Any,
            "dt" => Ranks::Exactly(nodes(kernel.argument, class)),
            _ => Ranks::PowersOfTwo,
        }
    }

    fn missing(&self, kernel: &str, class: char) -> Option<String> {
        let kernel = TreeKernel::by_name(kernel);
        let makefile = self.makefile(kernel);
        if !makefile.exists() {
            return Some(format!("{}: there is no {}", kernel.name, makefile.display()));
        }
        let is_undefined = match kernel.target {
            "dt" => "EF".contains(class),
            "is" => class == 'F',
            _ => class == 'F' && !kernel.subtype.0.is_empty(),
        };
        is_undefined.then(|| format!("{}: no class {class}", kernel.name))
    }

    fn is_built_for_ranks(&self) -> bool {
        self.is_for_ranks
    }

    fn build(&self, cell: &Cell, tools: &Toolchain, stop: &Stop) -> Result<Program, Refusal> {
        let kernel = TreeKernel::by_name(&cell.kernel);
        let make_def = self.make_def(kernel, tools)?;
        let uncopied = |error: io::Error| {
            Refusal::broken(format!("cannot copy {}: {error}", self.root.display()))
        };
        let sources = self.sources(kernel).map_err(uncopied)?;
        let key = self.key(&sources, &make_def, tools).map_err(uncopied)?;
        let ranks = if self.is_for_ranks { format!(".{}", cell.ranks) } else { String::new() };
        let label = tools.folder_name();
        let name = format!("{}.{}{ranks}-{label}-{key:016x}", kernel.name, cell.class);
        let folder = self.builds.join(name);
        let arguments = Some(kernel.argument).filter(|it| !it.is_empty()).map(str::to_owned);
        let arguments: Vec<_> = arguments.into_iter().collect();
        let find = || {
            let names = self.programs(kernel, cell);
            names.iter().map(|name| folder.join("bin").join(name)).find(|path| path.is_file())
        };
        let stamp = folder.join("built");
        if let Some(path) = find().filter(|_| stamp.exists()) {
            return Ok(Program { path, arguments });
        }
        copy(&self.root, &sources, &folder).map_err(uncopied)?;
        write_scripts(tools, &folder).map_err(uncopied)?;
        fs::write(folder.join("config/make.def"), make_def).map_err(uncopied)?;
        let log = folder.join("make.log");
        let mut make = self.make(kernel, cell, tools);
        make.current_dir(&folder);
        let made = job::run(make, &log, BUILD_LIMIT, stop);
        let what = format!("{}.{} cannot be built with {}", kernel.name, cell.class, tools.label);
        let why = match (made, find()) {
            (Ok(_), Some(path)) => {
                fs::write(stamp, "").map_err(uncopied)?;
                return Ok(Program { path, arguments });
            }
            (Ok(_), None) => {
                let names = self.programs(kernel, cell).join(" or ");
                format!("{what}: make succeeded, but there is no bin/{names}")
            }
            (Err(why), _) => format!("{what}: make: {why}"),
        };
        Err(Refusal { why: job::explained(&why, &log), log: Some(log), is_unfit: false })
    }
}

/// A character of a word of `make.def` that `make`, the shell or the generator would not take as a part
/// of it.
fn unusable(word: &str) -> Option<char> {
    word.chars().find(|&c| !c.is_ascii_alphanumeric() && !"/._+-@,:=".contains(c))
}

/// The script in place of a compiler whose path cannot be in `make.def`. Kernels are compiled in
/// directories beside that of the scripts.
fn script(language: Language) -> &'static str {
    match language {
        Language::C => "compilers/mpicc",
        Language::Fortran => "compilers/mpifort",
    }
}

/// Writes the scripts for compilers whose paths cannot be in `make.def`.
fn write_scripts(tools: &Toolchain, folder: &Path) -> io::Result<()> {
    for language in [Language::C, Language::Fortran] {
        let compiler = tools.compiler(language);
        if unusable(&compiler.to_string_lossy()).is_none() {
            continue;
        }
        let path = folder.join(script(language));
        fs::create_dir_all(folder.join("compilers"))?;
        let quoted = compiler.as_os_str().as_bytes().to_vec();
        let quoted = quoted.split(|byte| *byte == b'\'').collect::<Vec<_>>().join(&br"'\''"[..]);
        fs::write(&path, [b"#!/bin/sh\nexec '", &quoted[..], b"' \"$@\"\n"].concat())?;
        fs::set_permissions(path, Permissions::from_mode(0o755))?;
    }
    Ok(())
}

/// Whether a Fortran source uses that module.
fn uses(text: &str, module: &str) -> bool {
    text.lines().any(|line| {
        let line = line.to_ascii_lowercase();
        let Some(rest) = line.trim().strip_prefix("use") else { return false };
        let name = rest.trim_start_matches([' ', ':']);
        let after = name.strip_prefix(module).filter(|_| rest.starts_with([' ', ':']));
        after.is_some_and(|rest| rest.trim().is_empty() || rest.trim().starts_with([',', '!']))
    })
}

/// The root of a tree: the directory itself, or the last subdirectory by name that is one.
fn inside(folder: &Path) -> Option<PathBuf> {
    let is_root = |path: &Path| path.join("sys/make.common").is_file();
    if is_root(folder) {
        return Some(folder.to_owned());
    }
    let entries = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    let is_mpi = |path: &PathBuf| path.to_string_lossy().ends_with("-MPI");
    // Other editions may be beside it, such as NPB3.4-OMP.
    let roots = entries.filter(|path| is_root(path));
    roots.max_by_key(|path| (is_mpi(path), path.clone()))
}

/// The number of nodes of a graph of DT, which is its minimum number of ranks: a tree of degree 4 for
/// BH and WH, a shuffle for SH, with the number of sources of the class.
fn nodes(graph: &str, class: char) -> u32 {
    let doublings = match class {
        'S' => 2,
        'W' => 3,
        'A' => 4,
        'B' => 5,
        'C' => 6,
        _ => 7,
    };
    let sources = 1_u32 << doublings;
    if graph == "SH" {
        return sources * (doublings + 1);
    }
    let layers =
        std::iter::successors(Some(sources), |&layer| (layer > 4).then(|| layer.div_ceil(4)));
    layers.sum::<u32>() + 1
}

/// A new copy of the sources, with an empty `bin`.
fn copy(root: &Path, sources: &[PathBuf], folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => fs::create_dir_all(folder.join("bin"))?,
    }
    for source in sources {
        let target = folder.join(source);
        fs::create_dir_all(target.parent().unwrap_or(folder))?;
        fs::copy(root.join(source), &target)?;
        // Scripts that `make` runs may have lost their mode.
        if source.starts_with("sys") && source.extension().is_none() {
            fs::set_permissions(target, Permissions::from_mode(0o755))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn graphs_have_as_many_nodes_as_sources_layers_and_a_sink() {
        let counts = |graph| ['S', 'W', 'A', 'B', 'C', 'D'].map(|class| nodes(graph, class));
        assert_eq!(counts("BH"), [5, 11, 21, 43, 85, 171]);
        assert_eq!(counts("WH"), counts("BH"));
        assert_eq!(counts("SH"), [12, 32, 80, 192, 448, 1024]);
    }

    #[test]
    fn used_modules_are_found() {
        for line in ["use mpi", "   USE MPI ! or mpif.h", "use :: mpi, only : MPI_Wtime"] {
            assert!(uses(&format!("module a\n{line}\nend"), "mpi"), "{line}");
            assert!(!uses(line, "mpi_f08"), "{line}");
        }
        for line in
            ["!     use mpi", "c use mpi", "use mpinpb", "usempi", "use mpi_f08", "used mpi"]
        {
            assert!(!uses(line, "mpi"), "{line}");
        }
        assert!(uses("      use mpi_f08", "mpi_f08"));
    }

    #[test]
    fn directories_without_a_tree_are_refused() {
        let builds = std::env::temp_dir();
        let refused = |folder: &Path| Tree::open(folder, &builds).err().unwrap();
        let error = refused(Path::new("/nowhere"));
        assert!(error.starts_with("no tree in /nowhere: "), "{error}");
        let root = std::env::temp_dir().join(format!("npb-tree-{}", std::process::id()));
        fs::create_dir_all(root.join("NPB3.4-OMP/sys")).unwrap();
        assert!(refused(&root).contains("has sys/make.common"), "{}", refused(&root));
        fs::write(root.join("NPB3.4-OMP/sys/make.common"), "FCOMPILE = $(FC) -c").unwrap();
        assert!(refused(&root).ends_with("is incomplete: no Makefile"), "{}", refused(&root));
        fs::create_dir_all(root.join("NPB3.4-OMP/config")).unwrap();
        fs::write(root.join("NPB3.4-OMP/Makefile"), "").unwrap();
        fs::write(root.join("NPB3.4-OMP/sys/setparams.c"), "").unwrap();
        assert!(refused(&root).contains("neither MPIFC nor MPIF77"), "{}", refused(&root));
        fs::remove_dir_all(&root).unwrap();
    }
}
