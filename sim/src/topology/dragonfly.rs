//! A dragonfly: groups of routers that are linked with each other, and groups that are linked with each other (Kim,
//! Dally, Scott and Abts, "Technology-driven, highly-scalable dragonfly topology", ISCA 2008).
//!
//! ```text
//!   group      a routers, each with a link to every other one, to p nodes, and h links to other groups
//!   network    a · h + 1 groups, each with a link to every other one
//!   route      node ─> router ─(local)─> router ─(global)─> router ─(local)─> router ─> node
//! ```
//!
//! Routes are the minimal ones. Real networks take detours by other groups where a link is busy.

use super::LinkClass;

/// The sizes of a dragonfly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dragonfly {
    /// `a`, of a group.
    routers: u32,
    /// `p`, of a router.
    nodes: u32,
    /// `h`, of a router.
    global: u32,
}

impl Dragonfly {
    /// A dragonfly with as many groups as it can have.
    ///
    /// # Errors
    /// A sentence about a wrong size.
    pub(super) fn new([routers, nodes, global]: [u32; 3]) -> Result<Self, String> {
        if [routers, nodes, global].iter().any(|size| !(1..=64).contains(size)) {
            return Err(format!(
                "a dragonfly of {routers} routers a group, {nodes} nodes and {global} global links a router: \
                 expected 1 to 64 of each"
            ));
        }
        Ok(Self { routers, nodes, global })
    }

    pub(super) fn sizes(self) -> [u32; 3] {
        [self.routers, self.nodes, self.global]
    }

    fn groups(self) -> u32 {
        self.routers * self.global + 1
    }

    fn all_routers(self) -> u32 {
        self.groups() * self.routers
    }

    pub(super) fn nodes(self) -> u32 {
        self.all_routers() * self.nodes
    }

    /// Links inside groups.
    fn local_links(self) -> u32 {
        self.all_routers() * (self.routers - 1)
    }

    /// Links between groups.
    fn global_links(self) -> u32 {
        self.all_routers() * self.global
    }

    pub(super) fn classes(self) -> Vec<LinkClass> {
        let (local, global) = (self.local_links(), self.global_links());
        [
            ("node up", self.nodes()),
            ("local", local),
            ("global", global),
            ("node down", self.nodes()),
        ]
        .map(|(name, links)| LinkClass { name: name.to_owned(), links })
        .into()
    }

    /// The router of a group with the link to another group, and the number of the link there.
    fn gateway(self, group: u32, other: u32) -> (u32, u32) {
        let link = other - u32::from(other > group);
        (group * self.routers + link / self.global, link % self.global)
    }

    pub(super) fn route(self, from: u32, to: u32, links: &mut Vec<u32>) {
        if from == to {
            return;
        }
        let local = self.nodes();
        let global = local + self.local_links();
        let down = global + self.global_links();
        let across = |links: &mut Vec<u32>, from: u32, to: u32| {
            let (here, there) = (from % self.routers, to % self.routers);
            if here != there {
                links.push(local + from * (self.routers - 1) + there - u32::from(there > here));
            }
        };
        let (source, target) = (from / self.nodes, to / self.nodes);
        let (group, other) = (source / self.routers, target / self.routers);
        links.push(from);
        if group == other {
            across(links, source, target);
        } else {
            let (leaves, link) = self.gateway(group, other);
            let (enters, _) = self.gateway(other, group);
            across(links, source, leaves);
            links.push(global + leaves * self.global + link);
            across(links, enters, target);
        }
        links.push(down + to);
    }

    /// The places at both ends of a link, from its number.
    #[cfg(test)]
    pub(super) fn ends(self, link: u32) -> [super::EndOfLink; 2] {
        use super::EndOfLink;
        let router = |number| EndOfLink { level: 1, number, copy: 0 };
        let at_node = |node: u32| [EndOfLink::node(node), router(node / self.nodes)];
        let (nodes, local, global) = (self.nodes(), self.local_links(), self.global_links());
        if link < nodes {
            at_node(link)
        } else if link < nodes + local {
            let (from, other) =
                ((link - nodes) / (self.routers - 1), (link - nodes) % (self.routers - 1));
            let group = from / self.routers * self.routers;
            [router(from), router(group + other + u32::from(other >= from % self.routers))]
        } else if link < nodes + local + global {
            // The link from this router to that group comes from that group's link to this one.
            let from = (link - nodes - local) / self.global;
            let (group, way) = (from / self.routers, link - nodes - local - from * self.global);
            let there = (from % self.routers) * self.global + way;
            let there = there + u32::from(there >= group);
            [router(from), router(self.gateway(there, group).0)]
        } else {
            let [node, router] = at_node(link - nodes - local - global);
            [router, node]
        }
    }
}
