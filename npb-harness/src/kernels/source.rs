//! The bundled sources of kernels, which are a part of this program, and how each is built.

use std::{ffi::OsString, fs, path::Path};

use crate::toolchain::{Language, Toolchain};

/// A bundled benchmark.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BundledKernel {
    /// The name in lower case, as for NPB's `make`, with an optional variant after a dot.
    pub name: &'static str,
    /// A short description.
    pub purpose: &'static str,
    pub language: Language,
    file: &'static str,
    text: &'static str,
}

/// Every kernel, in the order of the table.
pub(super) const KERNELS: &[BundledKernel] = &[
    BundledKernel {
        name: "ep",
        purpose: "random numbers, almost no communication",
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
    /// The kernel with this name.
    pub(super) fn named(name: &str) -> Option<&'static Self> {
        KERNELS.iter().find(|kernel| kernel.name == name)
    }

    /// Compiles it to `program`, with its sources beside it.
    ///
    /// # Errors
    /// The sources cannot be written, or the output of the compiler.
    pub(super) fn build(&self, tools: &Toolchain, program: &Path) -> Result<(), String> {
        // The shared source of the language: the compiler finds a header itself, but a module must be
        // compiled first.
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
