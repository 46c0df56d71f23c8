//! The experiments with several jobs in one world, or with another MPI library as the carrier of messages:
//! which set-ups each of them compares, and with which. Runs nothing.
//!
//! A set-up is a list of clusters, each a job with a device of its own. Several clusters join one world by
//! IMPI; the clusters of the paper are a machine with its vendor's MPI and a cluster of PCs.

use crate::report::results::LibraryVariant;

/// An experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WorldExperiment {
    /// Clusters with different devices in one world.
    Clusters,
    /// What makes progress, with one way to other ranks and with two.
    Progress,
    /// Another MPI library alone, and as the carrier of messages.
    Vendor,
    /// Two clusters with a slow link between them.
    Wan,
}

/// What carries the messages inside a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carrier {
    /// Another MPI library, below Suiro.
    Vendor,
    /// A device of Suiro.
    Device(&'static str),
}

/// A set-up of a world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Setup {
    /// The carrier of each cluster; the ranks are divided among them.
    pub clusters: Vec<Carrier>,
    /// The mode of progress: of the other library if it is there, else of Suiro.
    pub mode: &'static str,
    /// Whether the link between the clusters is slow.
    pub has_link: bool,
    /// Whether collectives regard all ranks as equally near.
    pub is_flat: bool,
}

const SHM: Carrier = Carrier::Device("shm");
const TCP: Carrier = Carrier::Device("tcp");
const POLLING: &str = "polling";

impl WorldExperiment {
    /// All of them.
    pub(crate) const ALL: [Self; 4] = [Self::Clusters, Self::Progress, Self::Vendor, Self::Wan];

    /// The name on the command line, which is also the source in records.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Clusters => "clusters",
            Self::Progress => "progress",
            Self::Vendor => "vendor",
            Self::Wan => "wan",
        }
    }

    /// The experiment with that name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|experiment| experiment.name() == name)
    }

    /// The title of its section on a page.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Clusters => "Several clusters in one world",
            Self::Progress => "Progress by calls or by threads, with one transport and with two",
            Self::Vendor => "Another MPI library alone, and below Suiro",
            Self::Wan => "Two clusters with a slow link between them",
        }
    }

    /// How to read its charts.
    pub(crate) fn caption(self) -> &'static str {
        match self {
            Self::Clusters => {
                "\u{201c}vendor\u{201d} is a job whose messages the peer carries, \u{201c}shm\u{201d} and \
                 \u{201c}tcp\u{201d} are jobs of Suiro alone; with \u{201c}+\u{201d} the ranks are divided \
                 among several jobs, which IMPI joins. Compared with the peer alone on as many ranks, or \
                 without a peer with shm. All share the processors of one machine: what two machines would \
                 gain is not to be seen, only what the bridge costs."
            }
            Self::Progress => {
                "With two clusters, each rank has two transports: that of its cluster, and connections to the \
                 other one. Polling: calls that wait ask all transports. Thread (vendor) and delegate (shm): \
                 threads alone make progress, as the thread mode of the paper does. Compared with polling over \
                 the same transports. With more ranks than processors, more threads can run than there are \
                 processors: there the paper's threads collapse."
            }
            Self::Vendor => {
                "The rate of Suiro whose messages the peer carries, compared with the peer alone: the paper \
                 has at least 0.9 of its vendor's library."
            }
            Self::Wan => {
                "One cluster of all ranks, two clusters without a slow link, and two with it: with collectives \
                 that cross the link once for each cluster where they can, and flat ones, for which all \
                 ranks are equally near. Compared with one cluster. The paper names the WAN as future work."
            }
        }
    }

    /// The set-ups of Suiro on so many ranks.
    pub(crate) fn setups(self, ranks: u32) -> Vec<Setup> {
        let of = |clusters: &[Carrier], mode| Setup {
            clusters: clusters.to_vec(),
            mode,
            has_link: false,
            is_flat: false,
        };
        let all = match self {
            Self::Clusters => vec![
                of(&[SHM], POLLING),
                of(&[Carrier::Vendor], POLLING),
                of(&[SHM, SHM], POLLING),
                of(&[Carrier::Vendor, SHM], POLLING),
                of(&[Carrier::Vendor, TCP], POLLING),
                // On four ranks, of unequal size.
                of(&[SHM, TCP, SHM], POLLING),
            ],
            Self::Progress => {
                let own = [&[SHM][..], &[SHM, SHM]];
                let own = own.into_iter().flat_map(|clusters| {
                    [POLLING, "auto", "delegate"].map(|mode| of(clusters, mode))
                });
                let others = [&[Carrier::Vendor][..], &[Carrier::Vendor, Carrier::Vendor]];
                let others = others.into_iter().flat_map(|clusters| {
                    [POLLING, "auto", "thread"].map(|mode| of(clusters, mode))
                });
                own.chain(others).collect()
            }
            Self::Vendor => vec![of(&[Carrier::Vendor], POLLING)],
            Self::Wan => {
                let two = of(&[SHM, SHM], POLLING);
                let slow = Setup { has_link: true, ..two.clone() };
                let flat = Setup { is_flat: true, ..slow.clone() };
                vec![of(&[SHM], POLLING), two, slow, flat]
            }
        };
        all.into_iter().filter(|setup| setup.clusters.len() as u32 <= ranks).collect()
    }

    /// Whether the peer alone runs too.
    pub(crate) fn has_peer(self) -> bool {
        matches!(self, Self::Clusters | Self::Vendor)
    }

    /// How well `base` suits as what `way` is compared with, 0 is best; `None` if it does not.
    fn suits(self, way: &LibraryVariant, base: &LibraryVariant) -> Option<u32> {
        let is_one = base.device.as_deref() == Some("shm");
        match self {
            Self::Clusters if !base.is_ours() => Some(0),
            Self::Clusters => is_one.then_some(1),
            Self::Progress => {
                let is_polling = base.progress.as_deref() == Some(POLLING);
                (base.device == way.device && is_polling).then_some(0)
            }
            Self::Vendor => (!base.is_ours()).then_some(0),
            Self::Wan => is_one.then_some(0),
        }
    }

    /// The variant of `all` that `way` is compared with.
    pub(crate) fn base<'a>(
        self, way: &LibraryVariant, all: impl Iterator<Item = &'a LibraryVariant>,
    ) -> Option<&'a LibraryVariant> {
        let ranked = all.filter_map(|base| Some((self.suits(way, base)?, base)));
        ranked.min_by_key(|(rank, _)| *rank).map(|(_, base)| base)
    }
}

impl Carrier {
    fn name(self) -> &'static str {
        match self {
            Self::Vendor => "vendor",
            Self::Device(name) => name,
        }
    }
}

impl Setup {
    /// The name in place of a device in records; `link` describes the slow link.
    pub(crate) fn name(&self, link: &str) -> String {
        let names: Vec<_> = self.clusters.iter().map(|carrier| carrier.name()).collect();
        let mut name = names.join(" + ");
        if self.has_link {
            name += &format!(", {link}");
        }
        if self.is_flat {
            name += ", flat";
        }
        name
    }

    /// Whether it needs another MPI library.
    pub(crate) fn needs_vendor(&self) -> bool {
        self.clusters.contains(&Carrier::Vendor)
    }

    /// The ranks of each cluster: the first ones have one more if there is a rest.
    pub(crate) fn shares(&self, ranks: u32) -> Vec<u32> {
        let count = self.clusters.len() as u32;
        (0..count).map(|index| ranks / count + u32::from(index < ranks % count)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(library: &str, device: &str, progress: &str) -> LibraryVariant {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        LibraryVariant {
            library: library.to_owned(),
            device: some(device),
            progress: some(progress),
        }
    }

    #[test]
    fn ranks_are_divided_among_clusters() {
        let two = &WorldExperiment::Wan.setups(5)[1];
        assert_eq!(two.shares(5), [3, 2]);
        assert_eq!(two.shares(2), [1, 1]);
        assert_eq!(WorldExperiment::Clusters.setups(4).pop().unwrap().shares(4), [2, 1, 1]);
        // One rank is in no two clusters.
        assert!(WorldExperiment::Wan.setups(1).iter().all(|setup| setup.clusters.len() == 1));
    }

    #[test]
    fn set_ups_have_names_of_their_own() {
        for experiment in WorldExperiment::ALL {
            let mut names: Vec<_> = experiment
                .setups(4)
                .iter()
                .map(|setup| (setup.name("10ms,100Mbit"), setup.mode))
                .collect();
            let count = names.len();
            names.sort();
            names.dedup();
            assert_eq!(names.len(), count, "{names:?}");
            assert_eq!(WorldExperiment::named(experiment.name()), Some(experiment));
        }
        let last = WorldExperiment::Wan.setups(2).pop().unwrap();
        assert_eq!(last.name("10ms,100Mbit"), "shm + shm, 10ms,100Mbit, flat");
    }

    #[test]
    fn each_is_compared_with_what_the_experiment_says() {
        let (peer, shm) = (way("mpich", "", ""), way("suiro", "shm", "polling"));
        let (thread, polling) =
            (way("suiro", "vendor", "thread"), way("suiro", "vendor", "polling"));
        let all = [peer.clone(), shm.clone(), thread.clone(), polling.clone()];
        let base = |experiment: WorldExperiment, all: &[LibraryVariant]| {
            experiment.base(&thread, all.iter()).cloned()
        };
        assert_eq!(base(WorldExperiment::Clusters, &all), Some(peer.clone()));
        assert_eq!(base(WorldExperiment::Clusters, &all[1..]), Some(shm.clone()));
        assert_eq!(base(WorldExperiment::Progress, &all), Some(polling));
        assert_eq!(base(WorldExperiment::Vendor, &all), Some(peer));
        assert_eq!(base(WorldExperiment::Vendor, &all[1..]), None);
        assert_eq!(base(WorldExperiment::Wan, &all), Some(shm));
    }
}
