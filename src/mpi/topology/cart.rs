//! Cartesian grids (MPI 5.0 §8.5.1, §8.5.5 to §8.5.7).
//!
//! Ranks are row-major: the last coordinate changes fastest (§8.2).

use platform::base::{ErrorClass, Result};

/// One dimension of a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dimension {
    /// Number of coordinates, at least 1.
    pub(crate) len: u32,
    /// Whether the last coordinate is adjacent to the first.
    pub(crate) periodic: bool,
}

/// A grid. A grid without dimensions has one rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cart {
    dimensions: Vec<Dimension>,
}

/// The slice of a grid that contains a rank, if some dimensions are dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CartSlice {
    /// The grid of the remaining dimensions.
    pub(crate) cart: Cart,
    /// Index of the slice.
    pub(crate) number: u32,
    /// The rank in the slice.
    pub(crate) rank: u32,
}

impl Cart {
    /// A grid with these lengths; a period is true unless it is 0.
    ///
    /// # Errors
    /// `Dims` for a length below 1; `Arg` if the number of ranks exceeds an `int`.
    pub fn new(lens: &[i32], periods: &[i32]) -> Result<Self> {
        let mut ranks = 1_i32;
        let mut dimensions = Vec::with_capacity(lens.len());
        for (number, (given, period)) in lens.iter().zip(periods).enumerate() {
            let len = u32::try_from(*given).ok().filter(|len| *len > 0).ok_or_else(|| {
                ErrorClass::Dims.error(format!(
                    "the length of dimension {number} is {given}: expected 1 or more"
                ))
            })?;
            ranks = ranks.checked_mul(*given).ok_or_else(|| {
                ErrorClass::Arg
                    .error(format!("the number of ranks in a grid of {lens:?} exceeds an int"))
            })?;
            dimensions.push(Dimension { len, periodic: *period != 0 });
        }
        Ok(Self { dimensions })
    }

    pub(crate) fn dimensions(&self) -> &[Dimension] {
        &self.dimensions
    }

    /// Number of ranks.
    pub fn size(&self) -> u32 {
        self.dimensions.iter().map(|dimension| dimension.len).product()
    }

    /// The coordinates of a rank.
    pub fn coordinates(&self, rank: u32) -> Vec<u32> {
        let mut coordinates = vec![0; self.dimensions.len()];
        let mut rest = rank;
        for (coordinate, dimension) in coordinates.iter_mut().zip(&self.dimensions).rev() {
            *coordinate = rest % dimension.len;
            rest /= dimension.len;
        }
        coordinates
    }

    /// The rank at these coordinates; in a periodic dimension any number is valid (§8.5.5).
    ///
    /// # Errors
    /// `Arg` for a coordinate outside of a dimension that is not periodic.
    pub(crate) fn rank(&self, coordinates: &[i32]) -> Result<u32> {
        let mut rank = 0;
        for (number, (given, dimension)) in coordinates.iter().zip(&self.dimensions).enumerate() {
            let Dimension { len, .. } = *dimension;
            let coordinate = dimension.coordinate(i64::from(*given)).ok_or_else(|| {
                let why = format!("coordinate {given} is not in 0..{len} of dimension {number}");
                ErrorClass::Arg.error(why)
            })?;
            rank = rank * len + coordinate;
        }
        Ok(rank)
    }

    /// The ranks `displacement` before and after `rank` along a dimension; `None` where the grid
    /// ends (§8.5.6).
    ///
    /// # Errors
    /// `Arg` if there is no such dimension.
    pub fn shift(&self, rank: u32, direction: i32, displacement: i32) -> Result<[Option<u32>; 2]> {
        let count = self.dimensions.len();
        let along = usize::try_from(direction).ok().filter(|along| *along < count);
        let along = along.ok_or_else(|| {
            let why = format!("direction {direction} is not in 0..{count} of the grid");
            ErrorClass::Arg.error(why)
        })?;
        let stride: u32 = self.dimensions[along + 1..].iter().map(|later| later.len).product();
        let dimension = self.dimensions[along];
        let own = rank / stride % dimension.len;
        let at = |distance: i64| {
            let coordinate = dimension.coordinate(i64::from(own) + distance)?;
            Some(rank - own * stride + coordinate * stride)
        };
        let distance = i64::from(displacement);
        Ok([at(-distance), at(distance)])
    }

    /// The slice of the grid that contains `rank`, with the dimensions that are true (§8.5.7).
    pub(crate) fn slice(&self, rank: u32, remain: &[bool]) -> CartSlice {
        let mut slice = CartSlice { cart: Self { dimensions: Vec::new() }, number: 0, rank: 0 };
        let coordinates = self.coordinates(rank).into_iter().zip(&self.dimensions);
        for ((coordinate, dimension), remains) in coordinates.zip(remain) {
            let number = if *remains { &mut slice.rank } else { &mut slice.number };
            *number = *number * dimension.len + coordinate;
            if *remains {
                slice.cart.dimensions.push(*dimension);
            }
        }
        slice
    }

    /// Every pair of adjacent ranks: from each rank to the next one along each dimension.
    pub(crate) fn edges(&self) -> impl Iterator<Item = (u32, u32)> {
        let directions = 0..self.dimensions.len() as i32;
        (0..self.size()).flat_map(move |rank| {
            directions.clone().filter_map(move |direction| {
                let [_, next] = self.shift(rank, direction, 1).ok()?;
                Some((rank, next?))
            })
        })
    }
}

impl Dimension {
    /// The coordinate of a number, which may be outside of a periodic dimension.
    fn coordinate(self, number: i64) -> Option<u32> {
        let len = i64::from(self.len);
        match self.periodic {
            true => Some(number.rem_euclid(len) as u32),
            false => (0..len).contains(&number).then_some(number as u32),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cart(lens: &[i32], periods: &[i32]) -> Cart {
        Cart::new(lens, periods).unwrap()
    }

    #[test]
    fn ranks_are_row_major() {
        let grid = cart(&[2, 3, 4], &[0, 0, 0]);
        for rank in 0..24 {
            let coordinates = grid.coordinates(rank);
            assert_eq!(coordinates, [rank / 12, rank / 4 % 3, rank % 4]);
            let signed: Vec<_> = coordinates.iter().map(|coordinate| *coordinate as i32).collect();
            assert_eq!(grid.rank(&signed).unwrap(), rank);
        }
    }

    #[test]
    fn periodic_coordinates_are_any_number_and_others_are_not() {
        let grid = cart(&[3, 4], &[1, 0]);
        assert_eq!(grid.rank(&[-1, 3]).unwrap(), 11);
        assert_eq!(grid.rank(&[i32::MAX, 0]).unwrap(), (i32::MAX % 3) as u32 * 4);
        assert_eq!(grid.rank(&[i32::MIN, 0]).unwrap(), i32::MIN.rem_euclid(3) as u32 * 4);
        for coordinate in [-1, 4, i32::MIN, i32::MAX] {
            let error = grid.rank(&[0, coordinate]).unwrap_err();
            assert_eq!(error.why, format!("coordinate {coordinate} is not in 0..4 of dimension 1"));
        }
    }

    #[test]
    fn shifts_end_at_the_border_or_go_round() {
        let grid = cart(&[3, 4], &[1, 0]);
        assert_eq!(grid.shift(1, 0, 1).unwrap(), [Some(9), Some(5)]);
        assert_eq!(grid.shift(1, 1, 1).unwrap(), [Some(0), Some(2)]);
        assert_eq!(grid.shift(1, 1, 2).unwrap(), [None, Some(3)]);
        assert_eq!(grid.shift(1, 1, 0).unwrap(), [Some(1), Some(1)]);
        assert_eq!(grid.shift(1, 0, i32::MIN).unwrap(), [Some(9), Some(5)]);
        assert_eq!(grid.shift(1, 1, i32::MIN).unwrap(), [None, None]);
        assert!(grid.shift(1, 2, 1).is_err() && grid.shift(1, -1, 1).is_err());
        assert!(cart(&[], &[]).shift(0, 0, 1).is_err());
    }

    #[test]
    fn slices_part_the_grid() {
        let grid = cart(&[2, 3, 4], &[0, 1, 0]);
        let slice = grid.slice(23, &[true, false, true]);
        assert_eq!(slice, CartSlice { cart: cart(&[2, 4], &[0, 0]), number: 2, rank: 7 });
        let point = grid.slice(23, &[false; 3]);
        assert_eq!(point, CartSlice { cart: cart(&[], &[]), number: 23, rank: 0 });
        let all = grid.slice(17, &[true; 3]);
        assert_eq!(all, CartSlice { cart: grid, number: 0, rank: 17 });
    }

    #[test]
    fn bad_lengths_are_refused() {
        let class = |lens: &[i32]| Cart::new(lens, &[0; 3]).unwrap_err().code.0;
        assert_eq!(class(&[2, 0]), ErrorClass::Dims as i32);
        assert_eq!(class(&[-1]), ErrorClass::Dims as i32);
        assert_eq!(class(&[1 << 16, 1 << 15]), ErrorClass::Arg as i32);
        assert_eq!(cart(&[], &[]).size(), 1);
    }

    #[test]
    fn edges_go_round_where_a_dimension_does() {
        let edges = |lens: &[i32], periods: &[i32]| cart(lens, periods).edges().count();
        assert_eq!(edges(&[3, 4], &[0, 0]), 17);
        assert_eq!(edges(&[3, 4], &[1, 1]), 24);
        assert_eq!(edges(&[], &[]), 0);
        let line: Vec<_> = cart(&[3], &[0]).edges().collect();
        assert_eq!(line, [(0, 1), (1, 2)]);
    }
}
