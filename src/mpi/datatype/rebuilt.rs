//! A datatype made again from the arguments of its constructors, with elements of other sizes: its bytes in
//! a file of another data representation (MPI 5.0 §14.5).
//!
//! Displacements in extents are in those of the new elements; displacements in bytes stay what the
//! application said, which knows the extents in the file from `MPI_File_get_type_extent`.

use std::sync::Arc;

use super::{ArrayOrder, Combiner, ConstructorForm, Contents, Datatype, DatatypeInner, Predefined};
use crate::engine::memory::layout::Layout;
use platform::base::Result;

/// The arguments of a constructor, taken in their order.
struct ContentsReader<'a> {
    form: ConstructorForm,
    integers: &'a [i32],
    addresses: &'a [i64],
    counts: &'a [i64],
}

impl ContentsReader<'_> {
    /// Arguments that are `int` in either form.
    fn integers(&mut self, count: usize) -> Vec<i64> {
        let (taken, rest) = self.integers.split_at(count);
        self.integers = rest;
        taken.iter().map(|value| i64::from(*value)).collect()
    }

    fn wide(&mut self, count: usize) -> Vec<i64> {
        let (taken, rest) = self.counts.split_at(count);
        self.counts = rest;
        taken.to_vec()
    }

    /// Arguments that are `int` in the one form and `MPI_Count` in the other.
    fn numbers(&mut self, count: usize) -> Vec<i64> {
        match self.form {
            ConstructorForm::Int => self.integers(count),
            ConstructorForm::Large => self.wide(count),
        }
    }

    fn number(&mut self) -> i64 {
        self.numbers(1)[0]
    }

    fn integer(&mut self) -> i64 {
        self.integers(1)[0]
    }

    /// Arguments that are `MPI_Aint` in the one form and `MPI_Count` in the other.
    fn addresses(&mut self, count: usize) -> Vec<i64> {
        match self.form {
            ConstructorForm::Int => {
                let (taken, rest) = self.addresses.split_at(count);
                self.addresses = rest;
                taken.to_vec()
            }
            ConstructorForm::Large => self.wide(count),
        }
    }
}

impl Contents {
    fn reader(&self) -> ContentsReader<'_> {
        let Self { integers, addresses, counts, form, .. } = self;
        ContentsReader { form: *form, integers, addresses, counts }
    }
}

impl Datatype {
    /// The same datatype of elements with these layouts; `None` for an element that keeps its own.
    ///
    /// # Errors
    /// `Arg` if it exceeds the address space; the errors of `element`.
    pub(crate) fn rebuilt(
        &self, element: &impl Fn(&Predefined) -> Result<Option<Layout>>,
    ) -> Result<Self> {
        if let Some(entry) = self.as_predefined() {
            return Ok(element(entry)?.map_or_else(|| self.clone(), |it| self.with_layout(it)));
        }
        let contents = self.contents();
        let types = contents.types.iter().map(|part| part.rebuilt(element));
        let types = types.collect::<Result<Vec<_>>>()?;
        let is_same = types.iter().zip(&contents.types);
        if is_same.into_iter().all(|(new, old)| Arc::ptr_eq(&new.0, &old.0)) {
            return Ok(self.clone());
        }
        remade(contents, &types)
    }

    fn with_layout(&self, layout: Layout) -> Self {
        let DatatypeInner { predefined, unnamed, unit, elements, external_size, .. } = *self.0;
        Self(Arc::new(DatatypeInner {
            layout: Arc::new(layout),
            predefined,
            unnamed,
            unit,
            elements,
            external_size,
            contents: Contents::new(Combiner::Named, ConstructorForm::Int),
            sections: None,
        }))
    }
}

/// The datatype that the same constructor makes of these datatypes.
fn remade(contents: &Contents, types: &[Datatype]) -> Result<Datatype> {
    let (form, old) = (contents.form, &types[0]);
    let mut next = contents.reader();
    match contents.combiner {
        Combiner::Named
        | Combiner::F90Real
        | Combiner::F90Complex
        | Combiner::F90Integer
        | Combiner::ValueIndex
        | Combiner::Dup => Ok(old.dup()),
        Combiner::Contiguous => Datatype::contiguous(form, next.number(), old),
        Combiner::Vector => {
            let numbers = next.numbers(3);
            Datatype::vector(form, numbers[0], numbers[1], numbers[2], old)
        }
        Combiner::Hvector => {
            let (numbers, stride) = (next.numbers(2), next.addresses(1)[0]);
            Datatype::hvector(form, numbers[0], numbers[1], stride, old)
        }
        Combiner::Indexed => {
            let count = next.number() as usize;
            let (lengths, places) = (next.numbers(count), next.numbers(count));
            Datatype::indexed(form, &lengths, &places, old)
        }
        Combiner::Hindexed => {
            let count = next.number() as usize;
            let (lengths, places) = (next.numbers(count), next.addresses(count));
            Datatype::hindexed(form, &lengths, &places, old)
        }
        Combiner::IndexedBlock => {
            let (count, length) = (next.number() as usize, next.number());
            Datatype::indexed_block(form, length, &next.numbers(count), old)
        }
        Combiner::HindexedBlock => {
            let (count, length) = (next.number() as usize, next.number());
            Datatype::hindexed_block(form, length, &next.addresses(count), old)
        }
        Combiner::Struct => {
            let count = next.number() as usize;
            let (lengths, places) = (next.numbers(count), next.addresses(count));
            Datatype::structure(form, &lengths, &places, types)
        }
        Combiner::Subarray => {
            let count = next.integer() as usize;
            let [sizes, subsizes, starts] = [(); 3].map(|()| next.numbers(count));
            let order = ArrayOrder::new(next.integer())?;
            Datatype::subarray(form, &sizes, &subsizes, &starts, order, old)
        }
        Combiner::Darray => {
            let (size, rank, count) = (next.integer(), next.integer(), next.integer() as usize);
            let sizes = next.numbers(count);
            let [distributions, lengths, processes] = [(); 3].map(|()| next.integers(count));
            let order = ArrayOrder::new(next.integer())?;
            Datatype::darray(
                form,
                size,
                rank,
                &sizes,
                &distributions,
                &lengths,
                &processes,
                order,
                old,
            )
        }
        Combiner::Resized => {
            let bounds = next.addresses(2);
            Datatype::resized(form, old, bounds[0], bounds[1])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mpi::datatype::predefined;

    fn named(name: &str) -> Datatype {
        let entry = Predefined::named(name);
        predefined(entry.unwrap().handle).unwrap()
    }

    /// Elements of half their size.
    fn halved(datatype: &Datatype) -> Datatype {
        let half = |entry: &Predefined| Ok(Some(Layout::dense(entry.unit.size() / 2)));
        datatype.rebuilt(&half).unwrap()
    }

    fn shape(datatype: &Datatype) -> (usize, isize, isize) {
        (datatype.size(), datatype.true_lb(), datatype.extent())
    }

    #[test]
    fn displacements_in_extents_shrink_with_the_elements() {
        let int = named("MPI_INT");
        for form in [ConstructorForm::Int, ConstructorForm::Large] {
            let vector = Datatype::vector(form, 3, 2, 5, &int).unwrap();
            assert_eq!(shape(&halved(&vector)), (12, 0, 24));
            let row = Datatype::contiguous(form, 3, &vector).unwrap();
            assert_eq!(shape(&halved(&row)), (36, 0, 72));
            let indexed = Datatype::indexed(form, &[1, 2], &[1, 5], &int).unwrap();
            assert_eq!(shape(&halved(&indexed)), (6, 2, 12));
            let blocks = Datatype::indexed_block(form, 2, &[3, 6], &int).unwrap();
            assert_eq!(shape(&halved(&blocks)), (8, 6, 10));
            let part = Datatype::subarray(form, &[4, 6], &[2, 3], &[1, 2], ArrayOrder::C, &int);
            assert_eq!(shape(&halved(&part.unwrap())), (12, 16, 48));
            let lists = [[8, 8], [17, 17], [19, 19], [2, 2]];
            let [sizes, block, default, grid] = &lists;
            let share = Datatype::darray(
                form,
                4,
                3,
                sizes,
                block,
                default,
                grid,
                ArrayOrder::Fortran,
                &int,
            );
            assert_eq!(shape(&halved(&share.unwrap())), (32, 72, 128));
        }
    }

    #[test]
    fn displacements_in_bytes_stay() {
        let int = named("MPI_INT");
        for form in [ConstructorForm::Int, ConstructorForm::Large] {
            let vector = Datatype::hvector(form, 3, 1, 100, &int).unwrap();
            assert_eq!(shape(&halved(&vector)), (6, 0, 202));
            let indexed = Datatype::hindexed(form, &[1, 1], &[10, 30], &int).unwrap();
            assert_eq!(shape(&halved(&indexed)), (4, 10, 22));
            let blocks = Datatype::hindexed_block(form, 1, &[10, 30], &int).unwrap();
            assert_eq!(shape(&halved(&blocks)), (4, 10, 22));
            let types = [int.clone(), named("MPI_SHORT")];
            let structure = Datatype::structure(form, &[1, 2], &[0, 8], &types).unwrap();
            assert_eq!(shape(&halved(&structure)), (4, 0, 10));
            let resized = Datatype::resized(form, &int, 0, 64).unwrap();
            assert_eq!(shape(&halved(&resized.dup())), (2, 0, 64));
        }
    }

    #[test]
    fn what_stays_is_the_same_value() {
        let vector = Datatype::vector(ConstructorForm::Int, 3, 2, 5, &named("MPI_INT")).unwrap();
        assert!(vector.rebuilt(&|_| Ok(None)).unwrap().is(&vector));
    }
}
