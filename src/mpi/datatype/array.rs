//! Parts of arrays as datatypes: subarrays (MPI 5.0 §5.1.3) and distributed arrays (§5.1.4).
//!
//! Both are nested loops over the dimensions of the array. Their extent is the whole array, so that
//! a file view or the next element continues after it.

use std::sync::Arc;

use super::construct::too_large;
use super::{Combiner, ConstructorForm, Contents, Datatype};
use crate::engine::memory::layout::{Block, Layout};
use platform::base::{ErrorClass, Result};

/// Storage order of an array, with its value in the ABI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum ArrayOrder {
    /// The last dimension varies fastest.
    C = 12,
    /// The first dimension varies fastest.
    Fortran = 15,
}

/// Distribution of a dimension, with its value in the ABI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Distribution {
    /// Not distributed.
    None = 16,
    /// One block for each process.
    Block = 17,
    /// Blocks round robin.
    Cyclic = 18,
}

/// `MPI_DISTRIBUTE_DFLT_DARG`: the block length is the default one.
const DEFAULT_LENGTH: i64 = 19;

impl ArrayOrder {
    /// The order with this value in the ABI.
    ///
    /// # Errors
    /// `Arg` if there is none.
    pub fn new(value: i64) -> Result<Self> {
        [Self::C, Self::Fortran].into_iter().find(|order| *order as i64 == value).ok_or_else(|| {
            ErrorClass::Arg
                .error(format!("the order is {value}: expected MPI_ORDER_C or MPI_ORDER_FORTRAN"))
        })
    }

    /// The dimensions from the fastest to the slowest.
    fn dimensions(self, count: usize) -> Vec<usize> {
        match self {
            Self::C => (0..count).rev().collect(),
            Self::Fortran => (0..count).collect(),
        }
    }
}

impl Distribution {
    fn new(value: i64) -> Result<Self> {
        let all = [Self::None, Self::Block, Self::Cyclic];
        all.into_iter().find(|distribution| *distribution as i64 == value).ok_or_else(|| {
            ErrorClass::Arg.error(format!("the distribution is {value}: expected MPI_DISTRIBUTE_*"))
        })
    }
}

impl Datatype {
    /// `MPI_Type_create_subarray`: `subsizes` elements from `starts` on of an array of `sizes`.
    ///
    /// # Errors
    /// `Arg` without dimensions, if the subarray is not inside the array, or if the array exceeds
    /// the address space.
    ///
    /// # Panics
    /// If the lengths of the three lists differ.
    pub fn subarray(
        form: ConstructorForm, sizes: &[i64], subsizes: &[i64], starts: &[i64], order: ArrayOrder,
        old: &Self,
    ) -> Result<Self> {
        assert!(sizes.len() == subsizes.len() && sizes.len() == starts.len());
        let contents = Contents::new(Combiner::Subarray, form)
            .integers(&[sizes.len() as i64])
            .numbers(sizes)
            .numbers(subsizes)
            .numbers(starts)
            .integers(&[order as i64])
            .types(std::slice::from_ref(old));
        check_dimensions(sizes.len())?;
        let mut layout = old.layout().clone();
        let mut stride = old.extent();
        for dimension in order.dimensions(sizes.len()) {
            let (size, subsize, start) = (sizes[dimension], subsizes[dimension], starts[dimension]);
            check_subarray(dimension, size, subsize, start)?;
            let place = stride.checked_mul(start as isize).ok_or_else(too_large)?;
            let block =
                Block { displacement: place, count: subsize as usize, stride, layout: &layout };
            layout = Arc::new(Layout::join([block]).ok_or_else(too_large)?);
            stride = stride.checked_mul(size as isize).ok_or_else(too_large)?;
        }
        Ok(Self::derived(contents, layout.resized(0, stride).ok_or_else(too_large)?))
    }

    /// `MPI_Type_create_darray`: the share of `rank` in an array of `sizes`, distributed over a grid
    /// of `processes` with `distributions` and block `lengths`.
    ///
    /// # Errors
    /// `Arg` if an argument is invalid by §5.1.4, or if the array exceeds the address space.
    ///
    /// # Panics
    /// If the lengths of the four lists differ.
    #[expect(clippy::too_many_arguments, reason = "they are those of the MPI function")]
    pub fn darray(
        form: ConstructorForm, size: i64, rank: i64, sizes: &[i64], distributions: &[i64],
        lengths: &[i64], processes: &[i64], order: ArrayOrder, old: &Self,
    ) -> Result<Self> {
        assert!(sizes.len() == distributions.len() && sizes.len() == lengths.len());
        let contents = Contents::new(Combiner::Darray, form)
            .integers(&[size, rank, sizes.len() as i64])
            .numbers(sizes)
            .integers(distributions)
            .integers(lengths)
            .integers(processes)
            .integers(&[order as i64])
            .types(std::slice::from_ref(old));
        check_dimensions(sizes.len())?;
        let place = coordinates(size, rank, processes)?;
        let mut layout = old.layout().clone();
        for dimension in order.dimensions(sizes.len()) {
            let share = DimensionShare {
                size: check_positive(sizes[dimension], "array size")?,
                processes: processes[dimension],
                coordinate: place[dimension],
                distribution: Distribution::new(distributions[dimension])?,
            };
            layout = Arc::new(share.layout(lengths[dimension], &layout)?);
        }
        Ok(Self::derived(contents, Layout::clone(&layout)))
    }
}

/// The share of one process in one dimension of a distributed array.
struct DimensionShare {
    /// Length of the dimension.
    size: i64,
    /// Number of processes in the dimension.
    processes: i64,
    coordinate: i64,
    distribution: Distribution,
}

impl DimensionShare {
    /// The layout of the share, with the extent of the whole dimension.
    fn layout(&self, length: i64, element: &Arc<Layout>) -> Result<Layout> {
        let length = self.block_length(length)?;
        let bytes =
            |elements: i64| element.extent().checked_mul(elements as isize).ok_or_else(too_large);
        let round = length.checked_mul(self.processes).ok_or_else(too_large)?;
        let first = self.coordinate * length;
        // Elements from the first one of this process: complete cycles of blocks, then possibly
        // a last block, which may be shorter.
        let left = (self.size - first).max(0);
        let rest = (left % round).min(length);
        let rounds = left / round + i64::from(rest == length);
        let row = Layout::join([Block::array(0, length as usize, element)]);
        let row = Arc::new(row.ok_or_else(too_large)?);
        let mut blocks = vec![Block {
            displacement: bytes(first)?,
            count: rounds as usize,
            stride: bytes(round)?,
            layout: &row,
        }];
        if rest < length {
            let place = bytes(rounds * round + first)?;
            blocks.push(Block::array(place, rest as usize, element));
        }
        let layout = Layout::join(blocks).ok_or_else(too_large)?;
        layout.resized(0, bytes(self.size)?).ok_or_else(too_large)
    }

    /// The length of a block, from the argument.
    fn block_length(&self, length: i64) -> Result<i64> {
        let wrong = |why: String| Err(ErrorClass::Arg.error(why));
        if length != DEFAULT_LENGTH {
            check_positive(length, "distribution argument")?;
        }
        match self.distribution {
            Distribution::None if self.processes != 1 => {
                let count = self.processes;
                wrong(format!("a dimension without distribution has {count} processes: expected 1"))
            }
            Distribution::None => Ok(self.size),
            Distribution::Block if length == DEFAULT_LENGTH => {
                Ok((self.size - 1) / self.processes + 1)
            }
            Distribution::Block if length.saturating_mul(self.processes) < self.size => {
                let (size, count) = (self.size, self.processes);
                wrong(format!("{count} blocks of {length} do not cover a dimension of {size}"))
            }
            Distribution::Cyclic if length == DEFAULT_LENGTH => Ok(1),
            Distribution::Block | Distribution::Cyclic => Ok(length),
        }
    }
}

/// The coordinates of `rank` in the grid; the last dimension varies fastest in any storage order.
fn coordinates(size: i64, rank: i64, processes: &[i64]) -> Result<Vec<i64>> {
    check_positive(size, "number of processes")?;
    let mut total = 1i64;
    for count in processes {
        total = total.saturating_mul(check_positive(*count, "number of processes of a dimension")?);
    }
    if total != size {
        let why =
            format!("the grid has {total} processes: expected {size}, as in the argument size");
        return Err(ErrorClass::Arg.error(why));
    }
    if !(0..size).contains(&rank) {
        return Err(ErrorClass::Arg.error(format!("the rank is {rank}: expected 0..{size}")));
    }
    let mut rest = rank;
    let mut place: Vec<i64> = processes
        .iter()
        .rev()
        .map(|count| {
            let here = rest % count;
            rest /= count;
            here
        })
        .collect();
    place.reverse();
    Ok(place)
}

fn check_subarray(dimension: usize, size: i64, subsize: i64, start: i64) -> Result<()> {
    if size >= 1 && (1..=size).contains(&subsize) && (0..=size - subsize).contains(&start) {
        return Ok(());
    }
    Err(ErrorClass::Arg.error(format!(
        "{subsize} elements at {start} exceed the {size} elements of dimension {dimension}"
    )))
}

fn check_dimensions(count: usize) -> Result<()> {
    if count > 0 {
        return Ok(());
    }
    Err(ErrorClass::Arg.error("the array has 0 dimensions: expected at least 1"))
}

fn check_positive(value: i64, what: &str) -> Result<i64> {
    if value > 0 {
        return Ok(value);
    }
    Err(ErrorClass::Arg.error(format!("the {what} is {value}: expected 1 or more")))
}
