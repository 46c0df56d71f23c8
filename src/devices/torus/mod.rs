//! The network between simulated interfaces: a mesh and torus of six dimensions, with its links.
//!
//! ```text
//!   X, Y, Z: rings of any size      A, C: rows of at most 2      B: a ring of at most 3
//!   route: along X first, then along Y, Z, A, B, C; in the shorter direction, up if both are equal
//! ```
//!
//! A node has one rank, in the order of coordinates with X fastest. Twelve nodes of one X, Y and Z
//! form a unit (Ajima, Sumimoto and Shimizu, "Tofu: a 6D mesh/torus interconnect for exascale
//! computers", IEEE Computer 42(11), 2009). The sizes follow the header of a public driver, with 5, 5,
//! 5, 1, 2 and 1 bits for the dimensions: at most 32 x 32 x 32 units.
//!
//! It knows no ranks of communicators, memory or clocks.

mod fabric;
mod generation;

pub(crate) use fabric::{TorusEndpoint, TorusFabric, busy_words};
pub use generation::Generation;
pub(crate) use generation::NetworkRates;

use std::fmt;
use std::str::FromStr;

const DIMENSIONS: usize = 6;

/// The largest number of nodes along each dimension.
const SIZES_MAX: [u32; DIMENSIONS] = [32, 32, 32, 2, 3, 2];

/// Whether each dimension is a ring.
const WRAPS: [bool; DIMENSIONS] = [true, true, true, false, true, false];

/// Links that leave a node: two for each dimension.
pub const PORTS: usize = 2 * DIMENSIONS;

/// A node, from 0.
pub type TorusNode = u32;

/// A link that leaves a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TorusLink {
    /// The node at its beginning.
    pub node: TorusNode,
    /// Twice the dimension, plus one for the direction down.
    pub port: u8,
}

/// The number of nodes along X, Y, Z, A, B and C.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TorusShape([u32; DIMENSIONS]);

impl TorusShape {
    /// The smallest shape for this number of ranks: a unit is filled first, then X, Y and Z grow in
    /// turn.
    ///
    /// # Errors
    /// A sentence if there are too many ranks.
    pub(crate) fn fitting(ranks: usize) -> Result<Self, String> {
        let small = [[1, 1, 1], [2, 1, 1], [2, 1, 2], [2, 3, 1], [2, 3, 2]];
        let unit = small.into_iter().find(|unit| ranks <= unit.iter().product::<u32>() as usize);
        let [a, b, c] = unit.unwrap_or([2, 3, 2]);
        let mut shape = Self([1, 1, 1, a, b, c]);
        while shape.nodes() < ranks {
            let shortest = (0..3).min_by_key(|dimension| shape.0[*dimension]).unwrap_or(0);
            if shape.0[shortest] == SIZES_MAX[shortest] {
                return Err(format!("{ranks} ranks are more than the {} nodes", shape.nodes()));
            }
            shape.0[shortest] += 1;
        }
        Ok(shape)
    }

    /// The number of nodes.
    pub fn nodes(self) -> usize {
        self.0.iter().map(|size| *size as usize).product()
    }

    /// The coordinates of a node.
    pub fn coordinates(self, node: TorusNode) -> [u32; DIMENSIONS] {
        let mut left = node;
        self.0.map(|size| {
            let coordinate = left % size;
            left /= size;
            coordinate
        })
    }

    /// The node at these coordinates.
    pub fn node(self, coordinates: [u32; DIMENSIONS]) -> TorusNode {
        let along = self.0.iter().zip(coordinates).rev();
        along.fold(0, |node, (size, coordinate)| node * size + coordinate)
    }

    /// The links from one node to another, in order; no link for equal nodes.
    ///
    /// # Panics
    /// If there are no such nodes.
    pub fn route(self, from: TorusNode, to: TorusNode) -> TorusRoute {
        assert!((from.max(to) as usize) < self.nodes());
        TorusRoute { shape: self, at: self.coordinates(from), to: self.coordinates(to) }
    }

    /// The number of steps along a dimension, and whether they go up.
    fn steps(self, dimension: usize, from: u32, to: u32) -> (u32, bool) {
        let size = self.0[dimension];
        let (up, down) = ((to + size - from) % size, (from + size - to) % size);
        match WRAPS[dimension] {
            true => (up.min(down), up <= down),
            false => (to.abs_diff(from), to > from),
        }
    }
}

/// The links of a route, in order.
#[derive(Clone, Debug)]
pub struct TorusRoute {
    shape: TorusShape,
    at: [u32; DIMENSIONS],
    to: [u32; DIMENSIONS],
}

impl Iterator for TorusRoute {
    type Item = TorusLink;

    fn next(&mut self) -> Option<TorusLink> {
        let dimension = (0..DIMENSIONS).find(|at| self.at[*at] != self.to[*at])?;
        let node = self.shape.node(self.at);
        let (size, at) = (self.shape.0[dimension], &mut self.at[dimension]);
        let (_, up) = self.shape.steps(dimension, *at, self.to[dimension]);
        *at = if up { (*at + 1) % size } else { (*at + size - 1) % size };
        Some(TorusLink { node, port: 2 * dimension as u8 + u8::from(!up) })
    }
}

impl FromStr for TorusShape {
    type Err = String;

    /// Three to six sizes with `x` between, such as `4x3x2` or `2x2x2x2x3x2`; missing sizes are 1.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is not a shape such as 4x3x2 or 2x2x2x2x3x2");
        let sizes: Vec<u32> =
            text.split('x').map(str::parse).collect::<Result<_, _>>().map_err(|_| wrong())?;
        if !(3..=DIMENSIONS).contains(&sizes.len()) {
            return Err(wrong());
        }
        let mut shape = [1; DIMENSIONS];
        for (dimension, size) in sizes.into_iter().enumerate() {
            if !(1..=SIZES_MAX[dimension]).contains(&size) {
                let (name, most) = (b"XYZABC"[dimension] as char, SIZES_MAX[dimension]);
                return Err(format!(
                    "{size} nodes along {name} in {text:?}: 1 to {most} are possible"
                ));
            }
            shape[dimension] = size;
        }
        Ok(Self(shape))
    }
}

impl fmt::Display for TorusShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z, a, b, c] = self.0;
        write!(f, "{x}x{y}x{z}x{a}x{b}x{c}")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shapes() -> impl Strategy<Value = TorusShape> {
        (1..6_u32, 1..6_u32, 1..6_u32, 1..=2_u32, 1..=3_u32, 1..=2_u32)
            .prop_map(|(x, y, z, a, b, c)| TorusShape([x, y, z, a, b, c]))
    }

    /// The node at the other end of a link.
    fn end(shape: TorusShape, link: TorusLink) -> TorusNode {
        let mut at = shape.coordinates(link.node);
        let (dimension, size) = (usize::from(link.port) / 2, shape.0[usize::from(link.port) / 2]);
        let step = if link.port.is_multiple_of(2) { 1 } else { size - 1 };
        at[dimension] = (at[dimension] + step) % size;
        shape.node(at)
    }

    proptest! {
        #[test]
        fn a_route_is_a_shortest_path(shape in shapes(), pair in any::<(u32, u32)>()) {
            let nodes = shape.nodes() as u32;
            let (from, to) = (pair.0 % nodes, pair.1 % nodes);
            let mut at = from;
            let mut ports = Vec::new();
            for link in shape.route(from, to) {
                prop_assert_eq!(link.node, at);
                at = end(shape, link);
                ports.push(link.port / 2);
            }
            prop_assert_eq!(at, to);
            prop_assert!(ports.is_sorted());
            let (one, other) = (shape.coordinates(from), shape.coordinates(to));
            let apart = |dimension: usize| {
                let (near, size) = (one[dimension].abs_diff(other[dimension]), shape.0[dimension]);
                if WRAPS[dimension] { near.min(size - near) } else { near }
            };
            prop_assert_eq!(ports.len() as u32, (0..DIMENSIONS).map(apart).sum::<u32>());
        }

        #[test]
        fn coordinates_name_nodes(shape in shapes(), node in any::<u32>()) {
            let node = node % shape.nodes() as u32;
            prop_assert_eq!(shape.node(shape.coordinates(node)), node);
            prop_assert_eq!(shape.to_string().parse::<TorusShape>(), Ok(shape));
        }
    }

    #[test]
    fn every_number_of_ranks_has_a_shape() {
        for (ranks, expected) in [
            (1, "1x1x1x1x1x1"),
            (2, "1x1x1x2x1x1"),
            (4, "1x1x1x2x1x2"),
            (5, "1x1x1x2x3x1"),
            (12, "1x1x1x2x3x2"),
            (13, "2x1x1x2x3x2"),
            (100, "3x2x2x2x3x2"),
        ] {
            assert_eq!(TorusShape::fitting(ranks).unwrap().to_string(), expected, "{ranks}");
        }
        assert!(TorusShape::fitting(12 * 32 * 32 * 32).is_ok());
        assert!(TorusShape::fitting(12 * 32 * 32 * 32 + 1).is_err());
        // Fugaku, and the K computer with its nodes for input and output.
        assert_eq!("24x23x24x2x3x2".parse::<TorusShape>().unwrap().nodes(), 158_976);
        assert_eq!("24x18x17x2x3x2".parse::<TorusShape>().unwrap().nodes(), 88_128);
    }

    #[test]
    fn an_invalid_shape_is_an_error() {
        for wrong in ["", "4", "4x4", "0x1x1", "1x1x1x3", "1x1x1x1x4", "33x1x1", "1x1x1x1x1x1x1"] {
            assert!(wrong.parse::<TorusShape>().is_err(), "{wrong}");
        }
    }
}
