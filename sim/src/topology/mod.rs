//! What a network looks like: nodes, links in one direction, and the links between two nodes.
//!
//! | file | content |
//! |---|---|
//! | `fat_tree` | switches in levels |
//! | `dragonfly` | groups of routers |
//! | `placement` | which node a rank is on |
//!
//! The torus is that of the library's simulated interfaces (`devices::torus`). Times and messages are those of
//! [`executor`](crate::executor).

mod dragonfly;
mod fat_tree;
mod placement;

use std::fmt;
use std::str::FromStr;

use mpi_abi::devices::torus::{PORTS, TorusShape};

pub use dragonfly::Dragonfly;
pub use fat_tree::FatTree;
pub use placement::{NodeOrder, RankNodes};

/// A network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topology {
    /// Switches in levels.
    FatTree(FatTree),
    /// Groups of routers.
    Dragonfly(Dragonfly),
    /// A mesh and torus of six dimensions. A node needs no link to its router.
    Torus(TorusShape),
}

/// Links of one kind, which have adjacent numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkClass {
    /// What they are.
    pub name: String,
    /// How many of them there are.
    pub links: u32,
}

/// The most nodes: more have no memory for their links.
const NODES_MAX: u32 = 1 << 20;

impl Topology {
    /// The forms of a text.
    pub const FORMS: &str =
        "fat-tree:DOWN,LEVELS[,TAPER], dragonfly:ROUTERS,NODES,GLOBAL or torus:XxYxZ[xAxBxC]";

    /// The number of nodes.
    pub fn nodes(self) -> u32 {
        match self {
            Self::FatTree(tree) => tree.nodes(),
            Self::Dragonfly(dragonfly) => dragonfly.nodes(),
            Self::Torus(shape) => shape.nodes() as u32,
        }
    }

    /// All links by kind, in the order of their numbers.
    pub fn classes(self) -> Vec<LinkClass> {
        match self {
            Self::FatTree(tree) => tree.classes(),
            Self::Dragonfly(dragonfly) => dragonfly.classes(),
            Self::Torus(shape) => {
                let links = shape.nodes() as u32;
                let class = |port: usize| {
                    let (axis, way) = (b"XYZABC"[port / 2] as char, ["up", "down"][port % 2]);
                    LinkClass { name: format!("{axis} {way}"), links }
                };
                (0..PORTS).map(class).collect()
            }
        }
    }

    /// Adds the links from one node to another, in order; none for equal nodes.
    pub fn route(self, from: u32, to: u32, links: &mut Vec<u32>) {
        match self {
            Self::FatTree(tree) => tree.route(from, to, links),
            Self::Dragonfly(dragonfly) => dragonfly.route(from, to, links),
            Self::Torus(shape) => {
                let nodes = shape.nodes() as u32;
                links.extend(
                    shape.route(from, to).map(|link| u32::from(link.port) * nodes + link.node),
                );
            }
        }
    }
}

/// Two or three numbers with commas between.
fn sizes(text: &str, last: Option<u32>) -> Option<[u32; 3]> {
    let numbers: Vec<u32> = text.split(',').map(str::parse).collect::<Result<_, _>>().ok()?;
    match (numbers[..].first_chunk::<3>(), numbers[..].first_chunk::<2>(), last) {
        (Some(all), ..) if numbers.len() == 3 => Some(*all),
        (None, Some([first, second]), Some(last)) => Some([*first, *second, last]),
        _ => None,
    }
}

impl FromStr for Topology {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is no topology: expected {}", Self::FORMS);
        let (kind, rest) = text.split_once(':').ok_or_else(wrong)?;
        let topology = match kind {
            "fat-tree" => Self::FatTree(FatTree::new(sizes(rest, Some(1)).ok_or_else(wrong)?)?),
            "dragonfly" => Self::Dragonfly(Dragonfly::new(sizes(rest, None).ok_or_else(wrong)?)?),
            "torus" => Self::Torus(rest.parse()?),
            _ => return Err(wrong()),
        };
        match topology.nodes() {
            nodes if nodes > NODES_MAX => {
                Err(format!("{text} has {nodes} nodes: expected at most {NODES_MAX}"))
            }
            _ => Ok(topology),
        }
    }
}

impl fmt::Display for Topology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, [first, second, third]) = match self {
            Self::FatTree(tree) => ("fat-tree", tree.sizes()),
            Self::Dragonfly(dragonfly) => ("dragonfly", dragonfly.sizes()),
            Self::Torus(shape) => return write!(f, "torus:{shape}"),
        };
        write!(f, "{kind}:{first},{second},{third}")
    }
}

/// A node, level 0, or a switch of a level, with its numbers there.
#[cfg(test)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct EndOfLink {
    level: u32,
    number: u32,
    copy: u32,
}

#[cfg(test)]
impl EndOfLink {
    fn node(number: u32) -> Self {
        Self { level: 0, number, copy: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_names_a_topology() {
        for (text, nodes, links) in [
            ("fat-tree:4,2,1", 16, 2 * (16 + 16)),
            ("fat-tree:4,3,2", 64, 2 * (64 + 32 + 16)),
            ("dragonfly:4,2,2", 72, 72 + 36 * 3 + 36 * 2 + 72),
            ("torus:4x3x2x1x1x1", 24, 24 * 12),
        ] {
            let topology: Topology = text.parse().unwrap();
            let count: u32 = topology.classes().iter().map(|class| class.links).sum();
            assert_eq!((topology.nodes(), count), (nodes, links), "{text}");
            assert_eq!(topology.to_string(), text);
        }
        assert_eq!("fat-tree:4,2".parse::<Topology>(), "fat-tree:4,2,1".parse());
    }

    #[test]
    fn a_wrong_text_is_an_error() {
        for wrong in [
            "",
            "ring:4",
            "fat-tree:4",
            "fat-tree:4,2,3",
            "fat-tree:4,2,0",
            "fat-tree:4,2,1,1",
            "fat-tree:1,2",
            "fat-tree:64,4",
            "dragonfly:4,2",
            "dragonfly:0,2,2",
            "torus:4",
        ] {
            assert!(wrong.parse::<Topology>().is_err(), "{wrong}");
        }
    }

    /// Between any two nodes there is a route from the one to the other, over links that fit together.
    #[test]
    fn routes_are_connected() {
        for text in
            ["fat-tree:4,1", "fat-tree:4,2", "fat-tree:4,3,2", "fat-tree:6,2,3", "fat-tree:2,4"]
        {
            let Ok(Topology::FatTree(tree)) = text.parse() else { panic!("{text}") };
            check(Topology::FatTree(tree), |link| tree.ends(link), 2 * 4);
        }
        for text in ["dragonfly:4,2,2", "dragonfly:3,1,1", "dragonfly:1,2,3", "dragonfly:2,3,1"] {
            let Ok(Topology::Dragonfly(dragonfly)) = text.parse() else { panic!("{text}") };
            check(Topology::Dragonfly(dragonfly), |link| dragonfly.ends(link), 5);
        }
    }

    /// Checks all routes; `ends` are the places at both ends of a link, `EndOfLink::node` for a node.
    fn check(topology: Topology, ends: impl Fn(u32) -> [EndOfLink; 2], hops_max: usize) {
        let nodes = topology.nodes();
        let count: u32 = topology.classes().iter().map(|class| class.links).sum();
        let mut is_used = vec![false; count as usize];
        for (from, to) in (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to))) {
            let mut links = Vec::new();
            topology.route(from, to, &mut links);
            assert!(links.len() <= hops_max, "{topology}: {from} to {to}: {links:?}");
            let mut at = EndOfLink::node(from);
            for link in links {
                let [begin, end] = ends(link);
                assert_eq!(begin, at, "{topology}: {from} to {to}, link {link}");
                at = end;
                is_used[link as usize] = true;
            }
            assert_eq!(at, EndOfLink::node(to), "{topology}: {from} to {to}");
        }
        assert!(is_used.iter().all(|used| *used), "{topology}: {is_used:?}");
    }
}
