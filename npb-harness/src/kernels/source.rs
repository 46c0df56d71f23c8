//! Our own implementations of the kernels: their sources, which this program carries with it, and
//! how each is built. Knows nothing of running them.

use std::{ffi::OsString, fs, path::Path};

use crate::toolchain::{Language, Toolchain};

/// A benchmark that we have the source of.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BundledKernel {
    /// The name in lower case, as NPB's `make` has it, and a form of it after a dot.
    pub name: &'static str,
    /// What it does, in a few words.
    pub purpose: &'static str,
    /// What it is written in.
    pub language: Language,
    file: &'static str,
    text: &'static str,
}

/// Every kernel, in the order of the table.
pub(super) const KERNELS: &[BundledKernel] = &[
    BundledKernel {
        name: "ep",
        purpose: "random numbers that hardly communicate",
        language: Language::C,
        file: "ep.c",
        text: include_str!("../../kernels/ep.c"),
    },
    BundledKernel {
        name: "ep.f",
        purpose: "the same in fixed-form Fortran with mpif.h",
        language: Language::Fortran,
        file: "ep.f",
        text: include_str!("../../kernels/ep.f"),
    },
    BundledKernel {
        name: "is",
        purpose: "an integer sort, all to all",
        language: Language::C,
        file: "is.c",
        text: include_str!("../../kernels/is.c"),
    },
    BundledKernel {
        name: "cg",
        purpose: "conjugate gradient, sums over rows and a transpose",
        language: Language::C,
        file: "cg.c",
        text: include_str!("../../kernels/cg.c"),
    },
    BundledKernel {
        name: "mg",
        purpose: "multigrid, persistent collectives with neighbours",
        language: Language::C,
        file: "mg.c",
        text: include_str!("../../kernels/mg.c"),
    },
    BundledKernel {
        name: "ft",
        purpose: "a Fourier transform, all to all",
        language: Language::C,
        file: "ft.c",
        text: include_str!("../../kernels/ft.c"),
    },
    BundledKernel {
        name: "lu",
        purpose: "over-relaxation as a wavefront, short messages",
        language: Language::C,
        file: "lu.c",
        text: include_str!("../../kernels/lu.c"),
    },
    BundledKernel {
        name: "lu.f08",
        purpose: "the same in Fortran with mpi_f08 and array sections",
        language: Language::Fortran,
        file: "lu.f90",
        text: include_str!("../../kernels/lu.f90"),
    },
];

impl BundledKernel {
    /// The kernel of that name.
    pub(super) fn named(name: &str) -> Option<&'static Self> {
        KERNELS.iter().find(|kernel| kernel.name == name)
    }

    /// Compile it to `program`, with its sources beside it.
    ///
    /// # Errors
    /// If they cannot be written, or what the compiler said.
    pub(super) fn build(&self, tools: &Toolchain, program: &Path) -> Result<(), String> {
        // What all kernels in the language share: the compiler finds a header by itself, and a
        // module must have been compiled before.
        let (shared_file, shared_text) = match self.language {
            Language::C => ("npb.h", include_str!("../../kernels/npb.h")),
            Language::Fortran => ("npb.f90", include_str!("../../kernels/npb.f90")),
        };
        let (shared, source) =
            (program.with_file_name(shared_file), program.with_file_name(self.file));
        for (path, text) in [(&shared, shared_text), (&source, self.text)] {
            fs::write(path, text)
                .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        }
        let mut arguments: Vec<OsString> = match self.language {
            Language::C => vec!["-std=c11".into()],
            Language::Fortran => {
                let folder = program.with_file_name("");
                // There is no word in Fortran for what LU's point by point procedures need.
                let inline = "-finline-limit=2000".into();
                vec![inline, "-J".into(), folder.into(), shared.into()]
            }
        };
        // Else a loop lies differently in each library's program, which alone is worth a tenth in CG.
        arguments.extend(["-O3", "-falign-functions=64", "-falign-loops=64"].map(OsString::from));
        arguments.extend([source.into(), "-o".into(), program.into(), "-lm".into()]);
        tools.compile(self.language, &arguments)
    }
}
