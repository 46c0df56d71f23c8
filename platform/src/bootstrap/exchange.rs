//! The exchange of records between all ranks of a job, through the key-value space of the launcher.
//!
//! ```text
//!   first rank of a host    put ── barrier ── get all records, write file ── barrier ── (open segment)
//!   other ranks             put ── barrier ── get its record, open files ─── barrier ── read file
//! ```
//!
//! The *first rank of a host* and its other ranks are those that the launcher names: one rank gets the
//! records for all of them, so a job of H hosts needs H, not N, times the N records. The launcher may be
//! wrong. Two of its hosts may be one, or containers may divide one: the identities in the records
//! decide which ranks share memory. A rank whose first rank has another identity gets all records by
//! itself. If the launcher was wrong anywhere, which all ranks see in the records, a further barrier
//! follows while ranks open the segment of the right first rank.
//!
//! The secret of the job needs one value and one barrier before, under launchers that pass none.

use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::FileExt;

use super::client::Client;
use super::host_file;
use super::hosts::JobHosts;
use super::identity;
use super::job::JobView;
use super::record::{self, PeerRecord};
use crate::base::{ErrorClass, MpiError, Peer, Result};
use crate::sys::secret::JobCredentials;
use crate::sys::{descriptor, host, process};

/// The key of the secret.
const SECRET: &str = "suiro-secret";

/// What a rank tells all others.
#[derive(Clone, Copy, Debug)]
pub struct PeerOffer<'a> {
    /// The settings that must be equal on all ranks.
    pub settings: &'a str,
    /// The number of processors that the ranks of its host have together.
    pub processors: usize,
    /// What peers need to connect.
    pub card: &'a str,
}

impl JobView {
    /// The secret of the job, which rank 0 draws unless the launcher passed one. All ranks call this.
    ///
    /// # Errors
    /// `Other` if the launcher has gone, or rank 0 has not called this.
    pub fn agree_secret(&mut self, launcher: &mut Client) -> Result<JobCredentials> {
        if let Some(secret) = &self.secret {
            return Ok(secret.clone());
        }
        let secret = if self.rank == 0 {
            let drawn = JobCredentials::draw().map_err(|error| {
                ErrorClass::Other.error(format!("the system gives no random bytes: {error}"))
            })?;
            launcher.put(SECRET, &drawn.to_text())?;
            launcher.barrier()?;
            drawn
        } else {
            launcher.barrier()?;
            let text = launcher.get(0, SECRET)?.unwrap_or_default();
            JobCredentials::from_text(&text).ok_or_else(|| {
                let why = "rank 0 has published no secret of the job; SUIRO_DEVICE and the library \
                           must be the same in all ranks of a job";
                ErrorClass::Other.error(why)
            })?
        };
        self.secret = Some(secret.clone());
        Ok(secret)
    }

    /// Exchanges records, and finds the hosts of all ranks and the memory file of this host. All ranks
    /// call this, once; the result has a record for each rank.
    ///
    /// # Errors
    /// `Other` if the launcher has gone, or a rank runs another build of the library; `NoMem` without
    /// memory to share.
    pub fn exchange(
        &mut self, launcher: &mut Client, offer: PeerOffer<'_>,
    ) -> Result<Vec<PeerRecord>> {
        let leader = self.local_ranks.first().copied().unwrap_or(self.rank);
        let shares = !launcher.attributes().is_own_launcher;
        let segment = shares.then(host_file::create).transpose()?;
        let is_copied = leader == self.rank && self.local_ranks.len() > 1;
        let records = is_copied.then(|| descriptor::memory_file("suiro-records")).transpose();
        let records = records.map_err(|error| host_file::cannot_share(&error.to_string()))?;
        let own = PeerRecord {
            build: record::own_build(),
            identity: identity::of_this_host(),
            host: host::name(),
            processors: u32::try_from(offer.processors).unwrap_or(u32::MAX),
            settings: offer.settings.to_owned(),
            leader,
            segment: segment.as_ref().map_or(String::new(), location),
            records: records.as_ref().map_or(String::new(), location),
            card: offer.card.to_owned(),
        };
        launcher.put_text(&record::key(self.rank), &own.emit())?;
        launcher.barrier()?;
        let found = FirstRank::find(launcher, self.rank, leader, &own)?;
        let records = records.map(File::from);
        let lines = match &found.records {
            Some(_) => None,
            None => {
                let lines = all_lines(launcher, self.size)?;
                records.as_ref().map_or(Ok(()), |file| write_lines(file, &lines))?;
                Some(lines)
            }
        };
        launcher.barrier()?;
        // Until here others may open it.
        drop(records);
        let lines = match (lines, found.records) {
            (None, Some(file)) => read_lines(&file)?,
            (lines, _) => lines.unwrap_or_default(),
        };
        let records = parse(&lines, self.size)?;
        if shares {
            let own_or_first = found.segment.or(segment);
            self.find_hosts(launcher, &records, own_or_first)?;
        } else {
            // The launcher has made the files of each host that it names.
            let leaders: Vec<_> = records.iter().map(|record| record.leader.to_string()).collect();
            let names = records.iter().map(|record| &*record.host);
            self.hosts = JobHosts::of_ranks(leaders.iter().map(String::as_str).zip(names));
        }
        Ok(records)
    }

    /// Takes the hosts from the records, and the segment of this host: `segment` if the launcher knew
    /// the hosts.
    fn find_hosts(
        &mut self, launcher: &mut Client, records: &[PeerRecord], segment: Option<OwnedFd>,
    ) -> Result {
        self.hosts = JobHosts::of_ranks(records.iter().map(|one| (&*one.identity, &*one.host)));
        self.local_ranks = self.hosts.ranks_on(self.hosts.number_of(self.rank), self.size);
        if launcher_knew(records) {
            self.segment = segment;
            return Ok(());
        }
        let first = self.local_ranks[0];
        let opened = match first == self.rank {
            true => Ok(segment),
            false => host_file::open(&records[first as usize].segment).map(Some),
        };
        launcher.barrier()?;
        self.segment = opened?;
        Ok(())
    }
}

/// What a rank gets from the first rank of its host.
#[derive(Default)]
struct FirstRank {
    /// The file with the records.
    records: Option<File>,
    segment: Option<OwnedFd>,
}

impl FirstRank {
    /// Opens the files of `leader`, unless that is this rank or a rank of another host.
    fn find(launcher: &mut Client, rank: Peer, leader: Peer, own: &PeerRecord) -> Result<Self> {
        if leader == rank {
            return Ok(Self::default());
        }
        let line = line_of(launcher, leader)?;
        match PeerRecord::parse(&line) {
            Ok(first) if first.identity == own.identity => Ok(Self {
                records: host_file::open(&first.records).ok().map(File::from),
                segment: match first.segment.is_empty() {
                    true => None,
                    false => Some(host_file::open(&first.segment)?),
                },
            }),
            _ => Ok(Self::default()),
        }
    }
}

/// Whether each rank has the first rank of its host as its leader.
fn launcher_knew(records: &[PeerRecord]) -> bool {
    let mut first = std::collections::HashMap::new();
    (0..)
        .zip(records)
        .all(|(rank, record)| *first.entry(&record.identity).or_insert(rank) == record.leader)
}

fn location(file: &OwnedFd) -> String {
    format!("{}:{}", process::own_pid(), file.as_raw_fd())
}

/// Texts in several values.
impl Client {
    /// Publishes a text that may be longer than a value, not empty, in characters that
    /// [`Client::put`] takes; others see it after the next [`Client::barrier`].
    ///
    /// # Errors
    /// `Other` if it is too long, or the launcher has exited.
    pub fn put_text(&mut self, key: &str, text: &str) -> Result {
        let value_bytes = self.attributes().limits.value_bytes;
        let Some(parts) = record::divide(text, value_bytes) else {
            let len = text.len();
            return Err(ErrorClass::Other.error(format!(
                "{len} bytes under {key} are too long for the launcher's values of {value_bytes}"
            )));
        };
        let mut parts = parts.iter().enumerate();
        parts.try_for_each(|(number, part)| self.put(&record::part_key(key, number), part))
    }

    /// The text that rank `from` published under `key`; `None` if it has published none.
    ///
    /// # Errors
    /// `Other` if the launcher has exited, or the text is not whole.
    pub fn get_text(&mut self, from: Peer, key: &str) -> Result<Option<String>> {
        let Some(first) = self.get(from, key)? else { return Ok(None) };
        let Some((count, first)) = record::first_part(&first) else { return Err(invalid(from)) };
        let rest = (1..count).try_fold(first.to_owned(), |text, number| {
            let part = self.get(from, &record::part_key(key, number))?;
            Ok(text + &part.ok_or_else(|| invalid(from))?)
        });
        rest.map(Some)
    }
}

fn all_lines(launcher: &mut Client, size: u32) -> Result<Vec<String>> {
    (0..size).map(|rank| line_of(launcher, rank)).collect()
}

fn line_of(launcher: &mut Client, rank: Peer) -> Result<String> {
    let line = launcher.get_text(rank, &record::key(rank))?;
    line.ok_or_else(|| {
        ErrorClass::Other.error(format!(
            "rank {rank} has published nothing; SUIRO_DEVICE and the library must be the same in all \
             ranks of a job"
        ))
    })
}

fn write_lines(file: &File, lines: &[String]) -> Result {
    let text = lines.join("\n");
    descriptor::check_file_size(text.len() as u64)
        .and_then(|()| file.write_all_at(text.as_bytes(), 0))
        .map_err(|error| host_file::cannot_share(&error.to_string()))
}

fn read_lines(file: &File) -> Result<Vec<String>> {
    let len = file.metadata().map(|data| data.len() as usize);
    let mut bytes = vec![0; len.unwrap_or(0)];
    file.read_exact_at(&mut bytes, 0)
        .map_err(|error| host_file::cannot_share(&error.to_string()))?;
    Ok(String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect())
}

fn parse(lines: &[String], size: u32) -> Result<Vec<PeerRecord>> {
    let count = lines.len();
    if count != size as usize {
        let why = format!("the first rank of this host has {count} records of {size} ranks");
        return Err(ErrorClass::Other.error(why));
    }
    let records = (0..).zip(lines).map(|(rank, line)| {
        PeerRecord::parse(line).map_err(|other| {
            let ours = record::own_build();
            match other.build == ours {
                true => invalid(rank),
                false => ErrorClass::Other.error(format!(
                    "rank {rank} on host {} runs the build {} of the library, rank 0 or this rank \
                     the build {ours}; it must be the same in all ranks of a job",
                    other.host, other.build
                )),
            }
        })
    });
    records.collect()
}

fn invalid(rank: Peer) -> Box<MpiError> {
    ErrorClass::Other.error(format!("what rank {rank} has published is no record of a rank"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;
    use std::sync::{Arc, Mutex};
    use std::thread;

    use super::*;
    use crate::bootstrap::environment::Environment;
    use crate::bootstrap::server::{FenceEvent, FenceMerger, Server, ServerEvent};
    use crate::sys::socket::SocketStream;

    /// Runs `body` on each of `size` ranks in turn of their arrival at a real server.
    fn with_ranks<T: Send + 'static>(
        size: u32, body: impl Fn(&mut Client, JobView) -> T + Clone + Send + 'static,
    ) -> Vec<T> {
        with_hosts(&vec![0; size as usize], false, body)
    }

    /// The servers of all hosts, and what merges their fences.
    struct HostServers {
        servers: Vec<Server>,
        merger: FenceMerger,
    }

    impl HostServers {
        fn of(host_of_rank: &[u32]) -> Self {
            let hosts = host_of_rank.iter().max().map_or(0, |last| last + 1);
            let apps = vec![0; host_of_rank.len()];
            let server = |host| Server::of_host("job_1", &apps, host_of_rank, host);
            let ranks_of = |host| {
                let ranks = (0..).zip(host_of_rank).filter(move |(_, other)| **other == host);
                ranks.map(|(rank, _)| rank).collect()
            };
            let children = (0..hosts).map(ranks_of).collect();
            let merger = FenceMerger::new(apps.len() as u32, children);
            Self { servers: (0..hosts).map(server).collect(), merger }
        }

        /// The replies to `bytes` of `rank` on `host`.
        fn receive(&mut self, host: u32, rank: u32, bytes: &[u8]) -> Vec<(u32, Vec<u8>)> {
            let mut replies = Vec::new();
            let mut events = self.servers[host as usize].receive(rank, bytes);
            while let Some(event) = events.pop() {
                match event {
                    ServerEvent::Reply { rank, bytes } => replies.insert(0, (rank, bytes)),
                    ServerEvent::Fence(fence) => {
                        for event in self.merger.reached(host as usize, fence).unwrap() {
                            let FenceEvent::Merged { fence, children } = event else { continue };
                            for child in children {
                                events.extend(self.servers[child].fence_done(&fence).unwrap());
                            }
                        }
                    }
                    _ => {}
                }
            }
            replies
        }
    }

    /// Runs `body` on each rank of a job on these hosts, of the own launcher or of another.
    fn with_hosts<T: Send + 'static>(
        host_of_rank: &[u32], ours: bool,
        body: impl Fn(&mut Client, JobView) -> T + Clone + Send + 'static,
    ) -> Vec<T> {
        let size = host_of_rank.len() as u32;
        let pairs: Vec<_> = (0..size).map(|_| SocketStream::pair().unwrap()).collect();
        let (servers, clients): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
        let servers = Arc::new(servers);
        let server = Arc::new(Mutex::new(HostServers::of(host_of_rank)));
        let serve = |rank: u32| {
            let (servers, server) = (servers.clone(), server.clone());
            let host = host_of_rank[rank as usize];
            move || {
                let mut buffer = [0; 256];
                while let Ok(received) = servers[rank as usize].receive(&mut buffer) {
                    if received.len_bytes == 0 {
                        break;
                    }
                    let bytes = &buffer[..received.len_bytes];
                    // The lock keeps the order of replies to one rank.
                    let mut server = server.lock().unwrap();
                    for (rank, bytes) in server.receive(host, rank, bytes) {
                        let _ = servers[rank as usize].send_all(&bytes);
                    }
                }
            }
        };
        let serving: Vec<_> = (0..size).map(|rank| thread::spawn(serve(rank))).collect();
        let ranks = (0..).zip(clients).map(|(rank, stream)| {
            let body = body.clone();
            thread::spawn(move || {
                let mut client = Client::of_stream(stream, rank, size, ours);
                let job = JobView::assemble(&Environment::default(), Some(&mut client)).unwrap();
                body(&mut client, job)
            })
        });
        let ranks: Vec<_> = ranks.collect();
        let results = ranks.into_iter().map(|rank| rank.join().unwrap()).collect();
        serving.into_iter().for_each(|thread| thread.join().unwrap());
        results
    }

    #[test]
    fn all_ranks_get_one_secret_all_records_and_one_segment() {
        // What the launcher says: the truth, that each rank has a host of its own, or two hosts.
        for wrong in 0..3 {
            let results = with_ranks(4, move |client, mut job| {
                let rank = job.rank;
                assert_eq!(job.local_ranks, [0, 1, 2, 3]);
                match wrong {
                    0 => {}
                    1 => job.local_ranks = vec![rank],
                    _ => job.local_ranks = vec![rank & 2, rank | 1],
                }
                let secret = job.agree_secret(client).unwrap();
                let card = format!("{rank} ").repeat(300);
                let offer = PeerOffer { settings: "A=1\n", processors: 3, card: &card };
                let records = job.exchange(client, offer).unwrap();
                let cards = records.iter().map(|record| record.card.len());
                assert_eq!(cards.collect::<Vec<_>>(), [600; 4]);
                assert!(records.iter().all(|record| record.settings == "A=1\n"));
                assert!(job.hosts.is_one() && job.local_ranks == [0, 1, 2, 3], "{:?}", job.hosts);
                let segment = File::from(job.segment.take().unwrap());
                (secret, segment.metadata().unwrap().ino(), segment)
            });
            let same = |(secret, file, _): &(_, u64, File)| {
                *secret == results[0].0 && *file == results[0].1
            };
            assert!(results.iter().all(same), "case {wrong}");
        }
    }

    #[test]
    fn the_hosts_of_a_launcher_that_made_their_files_are_its_own() {
        let hosts = with_hosts(&[0, 1, 1, 0, 2], true, |client, mut job| {
            assert!(job.has_remote_ranks());
            let offer = PeerOffer { settings: "", processors: 1, card: "card" };
            let records = job.exchange(client, offer).unwrap();
            assert!(records.iter().all(|record| record.card == "card"));
            job.hosts.numbers().to_vec()
        });
        assert_eq!(hosts, vec![vec![0, 1, 1, 0, 2]; 5]);
    }

    #[test]
    fn a_rank_without_the_secret_of_rank_0_says_so() {
        let errors = with_ranks(2, |client, mut job| match job.rank {
            0 => {
                client.barrier().unwrap();
                String::new()
            }
            _ => job.agree_secret(client).unwrap_err().why,
        });
        assert!(errors[1].contains("rank 0 has published no secret"), "{}", errors[1]);
    }

    fn records(of: &[(&str, Peer)]) -> Vec<PeerRecord> {
        let one = |(identity, leader): &(&str, Peer)| PeerRecord {
            identity: (*identity).to_owned(),
            leader: *leader,
            ..PeerRecord::default()
        };
        of.iter().map(one).collect()
    }

    #[test]
    fn the_launcher_is_wrong_if_hosts_are_one_or_one_is_divided() {
        assert!(launcher_knew(&records(&[("a", 0), ("b", 1), ("a", 0), ("b", 1)])));
        assert!(!launcher_knew(&records(&[("a", 0), ("a", 1)])), "two hosts are one");
        assert!(!launcher_knew(&records(&[("a", 0), ("b", 0)])), "one host is two");
    }

    #[test]
    fn lines_cross_a_file_and_each_rank_needs_one() {
        let file = File::from(descriptor::memory_file("test").unwrap());
        let lines = ["a,b".to_owned(), "c".to_owned()];
        write_lines(&file, &lines).unwrap();
        assert_eq!(read_lines(&file).unwrap(), lines);
        let why = parse(&lines, 3).unwrap_err().why;
        assert!(why.contains("2 records of 3 ranks"), "{why}");
    }

    #[test]
    fn another_build_is_an_error_that_names_the_rank_and_its_host() {
        let good = PeerRecord { build: record::own_build(), ..PeerRecord::default() };
        let other =
            PeerRecord { build: "9.9/vax".to_owned(), host: "far".to_owned(), ..good.clone() };
        let why = parse(&[good.emit(), other.emit()], 2).unwrap_err().why;
        assert!(why.starts_with("rank 1 on host far runs the build 9.9/vax"), "{why}");
        let why = parse(&["x!".to_owned()], 1).unwrap_err().why;
        assert!(why.contains("rank 0"), "{why}");
    }
}
