//! A fat tree of switches with equal numbers of ports (a k-ary n-tree if it does not taper; Petrini and Vanneschi,
//! "k-ary n-trees: high performance networks for massively parallel architectures", IPPS 1997).
//!
//! ```text
//!   level 2      [0]   [1]         copies of a switch that reaches `down`^2 nodes, one for each way up to it
//!                 │ ╲ ╱ │
//!   level 1      [0]   [1]         a switch with `down` ports to nodes and `up` ports to level 2
//!                ╱ ╲   ╱ ╲
//!   nodes       0   1 2   3
//! ```
//!
//! A message goes up to the lowest level that reaches its receiver, then down. The digits of the receiver's number
//! choose the ways up, so all messages to one node meet at the top (destination-modulo routing, as InfiniBand's tables
//! have it).

use super::LinkClass;

/// The sizes of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FatTree {
    /// Ports of a switch towards the nodes.
    down: u32,
    /// Levels of switches.
    levels: u32,
    /// Ports of a switch towards the top: `down` over the taper.
    up: u32,
}

impl FatTree {
    /// A tree whose switches have `down` ports to the level below and `down / taper` to the one above.
    ///
    /// # Errors
    /// A sentence about a wrong size.
    pub(super) fn new([down, levels, taper]: [u32; 3]) -> Result<Self, String> {
        if !(2..=64).contains(&down) || !(1..=4).contains(&levels) {
            return Err(format!(
                "a fat tree of {levels} levels with {down} ports down: expected 1 to 4 levels, 2 to 64 ports"
            ));
        }
        if taper == 0 || !down.is_multiple_of(taper) {
            return Err(format!("a taper of {taper}: expected a divisor of the {down} ports down"));
        }
        Ok(Self { down, levels, up: down / taper })
    }

    pub(super) fn sizes(self) -> [u32; 3] {
        [self.down, self.levels, self.down / self.up]
    }

    pub(super) fn nodes(self) -> u32 {
        self.down.pow(self.levels)
    }

    /// Links from the switches of a level to those above, or from the nodes at level 0.
    fn links_above(self, level: u32) -> u32 {
        self.down.pow(self.levels - level) * self.up.pow(level)
    }

    /// The number of the first upward link above a level; of `levels`, all upward links.
    fn first_above(self, level: u32) -> u32 {
        (0..level).map(|level| self.links_above(level)).sum()
    }

    /// Upward links by level, then downward ones.
    pub(super) fn classes(self) -> Vec<LinkClass> {
        let class = |way: &str, level: u32| {
            let name = match level {
                0 => format!("node {way}"),
                level => format!("level {level} {way}"),
            };
            LinkClass { name, links: self.links_above(level) }
        };
        let up = (0..self.levels).map(|level| class("up", level));
        up.chain((0..self.levels).map(|level| class("down", level))).collect()
    }

    pub(super) fn route(self, from: u32, to: u32, links: &mut Vec<u32>) {
        let Self { down, levels, up } = self;
        let top = (1..=levels).find(|level| from / down.pow(*level) == to / down.pow(*level));
        let Some(top) = top.filter(|_| from != to) else { return };
        links.push(from);
        // The copy of the switch at a level, whose digits are the ways up to it.
        let mut copy = 0;
        for level in 1..top {
            let way = to / up.pow(level - 1) % up;
            let switch = from / down.pow(level) * up.pow(level - 1) + copy;
            links.push(self.first_above(level) + switch * up + way);
            copy = copy * up + way;
        }
        let all_up = self.first_above(levels);
        for level in (1..top).rev() {
            let (below, way) = (copy / up, copy % up);
            let switch = to / down.pow(level) * up.pow(level - 1) + below;
            links.push(all_up + self.first_above(level) + switch * up + way);
            copy = below;
        }
        links.push(all_up + to);
    }

    /// The places at both ends of a link, from its number.
    #[cfg(test)]
    pub(super) fn ends(self, link: u32) -> [super::EndOfLink; 2] {
        use super::EndOfLink;
        let all_up = self.first_above(self.levels);
        let (mut left, goes_up) = (link % all_up, link < all_up);
        let mut level = 0;
        while left >= self.links_above(level) {
            left -= self.links_above(level);
            level += 1;
        }
        let (below, above) = match level {
            0 => (EndOfLink::node(left), EndOfLink { level: 1, number: left / self.down, copy: 0 }),
            level => {
                let (switch, way) = (left / self.up, left % self.up);
                let copies = self.up.pow(level - 1);
                let (number, copy) = (switch / copies, switch % copies);
                let above = EndOfLink {
                    level: level + 1,
                    number: number / self.down,
                    copy: copy * self.up + way,
                };
                (EndOfLink { level, number, copy }, above)
            }
        };
        if goes_up { [below, above] } else { [above, below] }
    }
}
