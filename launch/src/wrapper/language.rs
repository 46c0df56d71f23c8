//! The differences between the wrappers.

/// A wrapper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompilerWrapper {
    /// For MPI in C.
    Mpicc,
    /// For MPI in C++.
    Mpicxx,
    /// For MPI in Fortran.
    Mpifort,
    /// For ACP, with or without MPI, in C.
    Acpcc,
    /// For ACP, with or without MPI, in C++.
    Acpcxx,
}

impl CompilerWrapper {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Mpicc => "mpicc",
            Self::Mpicxx => "mpicxx",
            Self::Mpifort => "mpifort",
            Self::Acpcc => "acpcc",
            Self::Acpcxx => "acpcxx",
        }
    }

    pub(super) fn language(self) -> SourceLanguage {
        match self {
            Self::Mpicc | Self::Acpcc => SourceLanguage::C,
            Self::Mpicxx | Self::Acpcxx => SourceLanguage::Cxx,
            Self::Mpifort => SourceLanguage::Fortran,
        }
    }

    /// The interfaces of its programs.
    pub(super) fn interfaces(self) -> &'static str {
        match self {
            Self::Mpicc | Self::Mpicxx | Self::Mpifort => "MPI",
            Self::Acpcc | Self::Acpcxx => "ACP and MPI",
        }
    }

    /// The libraries that programs are linked with, in this order.
    pub(super) fn libraries(self) -> &'static [&'static str] {
        match self {
            Self::Mpicc | Self::Mpicxx => &["mpi_abi"],
            Self::Mpifort => &["mpifort_abi", "mpi_abi"],
            // Each calls the next; the linker takes from a static library what is missing so far.
            Self::Acpcc | Self::Acpcxx => &["acp", "mpi_abi"],
        }
    }

    /// Options with a value in the next word that have no effect: the library chooses the network.
    pub(super) fn ignored_options(self) -> &'static [&'static str] {
        match self {
            Self::Mpicc | Self::Mpicxx | Self::Mpifort => &[],
            Self::Acpcc | Self::Acpcxx => &["-ndev", "-net"],
        }
    }
}

/// The language of a wrapper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SourceLanguage {
    C,
    Cxx,
    Fortran,
}

impl SourceLanguage {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::C => "C",
            Self::Cxx => "C++",
            Self::Fortran => "Fortran",
        }
    }

    pub(super) fn compiler(self) -> &'static str {
        match self {
            Self::C => "cc",
            Self::Cxx => "c++",
            Self::Fortran => "gfortran",
        }
    }

    /// Variables that name another compiler; the first that is set wins.
    pub(super) fn variables(self) -> &'static [&'static str] {
        match self {
            Self::C => &["SUIRO_CC", "MPICH_CC", "OMPI_CC", "I_MPI_CC"],
            Self::Cxx => &["SUIRO_CXX", "MPICH_CXX", "OMPI_CXX", "I_MPI_CXX"],
            Self::Fortran => &[
                "SUIRO_FC",
                "MPICH_FC",
                "MPICH_F90",
                "MPICH_F77",
                "OMPI_FC",
                "I_MPI_FC",
                "I_MPI_F90",
                "I_MPI_F77",
            ],
        }
    }

    /// The options that name another compiler, with their `=`; help has the first.
    pub(super) fn options(self) -> &'static [&'static str] {
        match self {
            Self::C => &["-cc="],
            Self::Cxx => &["-cxx="],
            Self::Fortran => &["-fc=", "-f90=", "-f77="],
        }
    }

    /// The remedy for a missing compiler.
    pub(super) fn advice(self) -> String {
        let variable = self.variables()[0];
        match self {
            Self::C | Self::Cxx => format!("name another with {variable}"),
            Self::Fortran => format!("install gfortran, or name another with {variable}"),
        }
    }
}
