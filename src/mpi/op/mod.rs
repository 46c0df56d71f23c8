//! Reduction operations (MPI 5.0 §6.9): operations, their datatypes, and their loops.
//!
//! A predefined operation on a predefined datatype is a [`OpKernel`], which the engine runs. A
//! user-defined operation is the address of a function of the application. Only `abi` can call it,
//! outside the engine; here the address is a number.

mod float;
mod kernels;
mod logical;
mod pairs;
#[cfg(test)]
mod tests;
#[cfg(target_arch = "x86_64")]
mod x87;

pub(crate) use kernels::OpKernel;
pub(crate) use pairs::PaddedKernel;

use crate::engine::schedules::reduction;
use crate::mpi::datatype::{Datatype, DatatypeClass, Predefined, Unit};
use crate::mpi::fortran::Booleans;
use crate::offload::Arithmetic;
use platform::base::{ErrorClass, Result, Span};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    /// Predefined by the standard.
    Predefined(Operator),
    /// Defined by the application.
    User(UserFunction),
}

/// Combination of contiguous packed elements.
#[derive(Clone)]
pub enum Combination {
    /// A loop of this library.
    Plain(OpKernel),
    /// Any other function.
    Shared(reduction::ReductionKernel),
}

/// Reduction function of the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UserFunction {
    pub(crate) address: usize,
    /// Whether its count is an `MPI_Count` (`MPI_Op_create_c`) and not an `int`.
    pub(crate) large: bool,
    /// Whether the operands may be swapped.
    pub(crate) commutative: bool,
}

macro_rules! operators {
    ($($name:ident = $value:literal, $c:literal;)*) => {
        /// The predefined operations with their handle values in the ABI.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u32)]
        pub enum Operator {
            $(#[doc = concat!("`", $c, "`")] $name = $value,)*
        }

        impl Operator {
            /// Every predefined operation.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// Its name in `mpi.h`.
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => $c,)* }
            }
        }
    };
}

operators! {
    Sum = 0x21, "MPI_SUM";
    Min = 0x22, "MPI_MIN";
    Max = 0x23, "MPI_MAX";
    Prod = 0x24, "MPI_PROD";
    Band = 0x28, "MPI_BAND";
    Bor = 0x29, "MPI_BOR";
    Bxor = 0x2a, "MPI_BXOR";
    Land = 0x30, "MPI_LAND";
    Lor = 0x31, "MPI_LOR";
    Lxor = 0x32, "MPI_LXOR";
    Minloc = 0x38, "MPI_MINLOC";
    Maxloc = 0x39, "MPI_MAXLOC";
    Replace = 0x3c, "MPI_REPLACE";
    NoOp = 0x3d, "MPI_NO_OP";
}

impl Op {
    /// The predefined operation with this handle value; `None` for `MPI_OP_NULL` and other values.
    pub(crate) fn predefined(handle: u32) -> Option<Self> {
        Operator::of_handle(handle.into()).map(Self::Predefined)
    }

    /// Whether the operands may be swapped.
    pub(crate) fn is_commutative(self) -> bool {
        match self {
            Self::Predefined(operator) => !matches!(operator, Operator::Replace | Operator::NoOp),
            Self::User(function) => function.commutative,
        }
    }
}

impl Combination {
    /// Computes `into = from op into`.
    ///
    /// # Panics
    /// If the lengths differ or are not a whole number of elements.
    #[inline]
    pub(crate) fn apply(&self, from: Span, into: Span) {
        match self {
            Self::Plain(kernel) => kernel.reduce(from, into),
            Self::Shared(kernel) => kernel(from, into),
        }
    }

    /// Computes `into = from op with`; `into` may equal `from` or `with`, or overlap `with`.
    ///
    /// # Panics
    /// As [`Combination::apply`].
    #[inline]
    pub fn apply_to(&self, from: Span, with: Span, into: Span) {
        if with != into {
            with.copy_to(into);
        }
        self.apply(from, into);
    }

    /// The same combination as a function for the engine.
    pub(crate) fn shared(self) -> reduction::ReductionKernel {
        match self {
            Self::Plain(kernel) => kernel.shared(),
            Self::Shared(kernel) => kernel,
        }
    }
}

impl std::fmt::Debug for Combination {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Plain(kernel) => kernel.fmt(f),
            Self::Shared(_) => f.write_str("a function"),
        }
    }
}

impl Operator {
    /// The operation with this handle value.
    pub(crate) fn of_handle(handle: u64) -> Option<Self> {
        Self::ALL.iter().copied().find(|operator| *operator as u64 == handle)
    }

    /// The loop of this operation in a reduction of elements of `datatype`.
    ///
    /// # Errors
    /// `Op` if the standard does not define this operation for the datatype: §6.9.2 for predefined
    /// datatypes. Derived datatypes take user-defined operations only, and `MPI_REPLACE` and
    /// `MPI_NO_OP` are for one-sided communication.
    pub(crate) fn reduction(self, datatype: &Datatype) -> Result<OpKernel> {
        let for_reductions = !matches!(self, Self::Replace | Self::NoOp);
        let entry = datatype.as_predefined().filter(|_| for_reductions);
        entry.and_then(|entry| self.kernel(entry)).ok_or_else(|| self.not_for(datatype.describe()))
    }

    /// The same as a function for the engine, with Fortran's truth values if they are known.
    ///
    /// # Errors
    /// As [`Operator::reduction`].
    pub(crate) fn combination(
        self, datatype: &Datatype, booleans: Option<Booleans>,
    ) -> Result<Combination> {
        let kernel = self.reduction(datatype)?;
        Ok(match datatype.as_predefined() {
            Some(entry) => self.with_booleans(kernel, entry, booleans),
            None => Combination::Plain(kernel),
        })
    }

    /// This operation in one-sided communication, on data of one predefined datatype.
    ///
    /// # Errors
    /// `Op` if the standard does not define the operation for the datatype.
    pub(crate) fn accumulation(
        self, unit: &Predefined, booleans: Option<Booleans>,
    ) -> Result<Combination> {
        let kernel = self.kernel(unit).ok_or_else(|| self.not_for(unit.title()))?;
        Ok(self.with_booleans(kernel, unit, booleans))
    }

    /// The loop, or the one for Fortran's truth values.
    fn with_booleans(
        self, kernel: OpKernel, entry: &Predefined, booleans: Option<Booleans>,
    ) -> Combination {
        let own = booleans.filter(|booleans| !booleans.are_those_of_c());
        let logical = own.and_then(|own| logical::kernel(self, entry, own));
        logical.map_or(Combination::Plain(kernel), Combination::Shared)
    }

    /// Equivalent operation of a network interface on elements of `datatype`: integers of 8 bytes.
    pub(crate) fn arithmetic(self, datatype: &Datatype) -> Option<Arithmetic> {
        let entry = datatype.as_predefined().filter(|entry| self.takes(entry.class))?;
        match (self, entry.unit) {
            (Self::Sum, Unit::I64 | Unit::U64) => Some(Arithmetic::Sum),
            (Self::Max, Unit::I64) => Some(Arithmetic::Max),
            (Self::Max, Unit::U64) => Some(Arithmetic::MaxUnsigned),
            (Self::Min, Unit::I64) => Some(Arithmetic::Min),
            (Self::Min, Unit::U64) => Some(Arithmetic::MinUnsigned),
            (Self::Band, Unit::I64 | Unit::U64) => Some(Arithmetic::And),
            (Self::Bor, Unit::I64 | Unit::U64) => Some(Arithmetic::Or),
            (Self::Bxor, Unit::I64 | Unit::U64) => Some(Arithmetic::Xor),
            _ => None,
        }
    }

    /// The loop on elements of a predefined datatype, if the standard defines this operation for
    /// it.
    pub fn kernel(self, entry: &Predefined) -> Option<OpKernel> {
        if self.takes(entry.class) { OpKernel::find(self, entry.unit) } else { None }
    }

    /// The table of §6.9.2.
    fn takes(self, class: DatatypeClass) -> bool {
        use DatatypeClass::*;
        match self {
            Self::Min | Self::Max => {
                matches!(class, CInteger | FortranInteger | Float | MultiLanguage)
            }
            Self::Sum | Self::Prod => {
                matches!(class, CInteger | FortranInteger | Float | Complex | MultiLanguage)
            }
            Self::Land | Self::Lor | Self::Lxor => matches!(class, CInteger | Logical),
            Self::Band | Self::Bor | Self::Bxor => {
                matches!(class, CInteger | FortranInteger | Byte | MultiLanguage)
            }
            Self::Minloc | Self::Maxloc => class == Pair,
            Self::Replace | Self::NoOp => true,
        }
    }

    fn not_for(self, datatype: &str) -> Box<platform::base::MpiError> {
        let why = format!("{} is not defined for {datatype}", self.name());
        ErrorClass::Op.error(why)
    }
}
