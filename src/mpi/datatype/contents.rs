//! Constructor and arguments of a datatype (MPI 5.0 §5.1.13), for `MPI_Type_get_envelope` and
//! `MPI_Type_get_contents`.

use super::Datatype;

/// The constructor of a datatype, with its value in the ABI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Combiner {
    /// Predefined.
    Named = 101,
    /// `MPI_Type_dup`.
    Dup = 102,
    /// `MPI_Type_contiguous`.
    Contiguous = 103,
    /// `MPI_Type_vector`.
    Vector = 104,
    /// `MPI_Type_create_hvector`.
    Hvector = 105,
    /// `MPI_Type_indexed`.
    Indexed = 106,
    /// `MPI_Type_create_hindexed`.
    Hindexed = 107,
    /// `MPI_Type_create_indexed_block`.
    IndexedBlock = 108,
    /// `MPI_Type_create_hindexed_block`.
    HindexedBlock = 109,
    /// `MPI_Type_create_struct`.
    Struct = 110,
    /// `MPI_Type_create_subarray`.
    Subarray = 111,
    /// `MPI_Type_create_darray`.
    Darray = 112,
    /// `MPI_Type_create_f90_real`.
    F90Real = 113,
    /// `MPI_Type_create_f90_complex`.
    F90Complex = 114,
    /// `MPI_Type_create_f90_integer`.
    F90Integer = 115,
    /// `MPI_Type_create_resized`.
    Resized = 116,
    /// `MPI_Type_get_value_index`, for an unnamed pair.
    ValueIndex = 117,
}

/// The form of a constructor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConstructorForm {
    /// The form with `int` counts.
    Int,
    /// The form with the suffix `_c`: counts and displacements are `MPI_Count`.
    Large,
}

/// The arguments of the constructor, in the order of §5.1.13.
#[derive(Debug)]
pub struct Contents {
    pub(crate) combiner: Combiner,
    /// Arguments that are `int`.
    pub(crate) integers: Vec<i32>,
    /// Arguments that are `MPI_Aint`.
    pub(crate) addresses: Vec<i64>,
    /// Arguments that are `MPI_Count`; only the large form has any.
    pub(crate) counts: Vec<i64>,
    /// Arguments that are datatypes.
    pub(crate) types: Vec<Datatype>,
    pub(crate) form: ConstructorForm,
}

impl Contents {
    /// The contents without arguments.
    pub(crate) fn new(combiner: Combiner, form: ConstructorForm) -> Self {
        Self {
            combiner,
            integers: Vec::new(),
            addresses: Vec::new(),
            counts: Vec::new(),
            types: Vec::new(),
            form,
        }
    }

    /// Adds arguments that are `int` in either form.
    pub(crate) fn integers(mut self, values: &[i64]) -> Self {
        self.integers.extend(values.iter().map(|value| *value as i32));
        self
    }

    /// Adds arguments that are `int` in the one form and `MPI_Count` in the other.
    pub(crate) fn numbers(mut self, values: &[i64]) -> Self {
        match self.form {
            ConstructorForm::Int => self.integers(values),
            ConstructorForm::Large => {
                self.counts.extend(values);
                self
            }
        }
    }

    /// Adds arguments that are `MPI_Aint` in the one form and `MPI_Count` in the other.
    pub(crate) fn addresses(mut self, values: &[i64]) -> Self {
        match self.form {
            ConstructorForm::Int => self.addresses.extend(values),
            ConstructorForm::Large => self.counts.extend(values),
        }
        self
    }

    /// Adds datatypes.
    pub(crate) fn types(mut self, types: &[Datatype]) -> Self {
        self.types.extend_from_slice(types);
        self
    }
}
