//! The differences between the wrappers.

/// The language of a wrapper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceLanguage {
    /// C, by `mpicc`.
    C,
    /// C++, by `mpicxx`.
    Cxx,
    /// Fortran, by `mpifort`.
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

    pub(super) fn wrapper(self) -> &'static str {
        match self {
            Self::C => "mpicc",
            Self::Cxx => "mpicxx",
            Self::Fortran => "mpifort",
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

    /// The libraries that programs are linked with, in this order.
    pub(super) fn libraries(self) -> &'static [&'static str] {
        match self {
            Self::C | Self::Cxx => &["mpi_abi"],
            Self::Fortran => &["mpifort_abi", "mpi_abi"],
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
