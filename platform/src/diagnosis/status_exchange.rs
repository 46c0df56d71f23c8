//! What ranks of other hosts wait for: questions and answers between hosts, as datagrams.
//!
//! The lowest waiting rank of a host asks one rank of each other host. That one answers for all ranks of
//! its host, one datagram each, from its [`StatusTable`]:
//!
//! ```text
//!   asking rank                         asked rank, which waits in a call
//!     asked_ns ── question asked_ns ──>
//!               <── answer asked_ns, now_ns, rank, record ──        one for each rank
//!     heard_ns
//! ```
//!
//! *Clocks.* Hosts have clocks of their own. `now_ns` of the other clock is not before `asked_ns` and not
//! after `heard_ns` of this one. So a time at which something has begun is at the latest
//! `time - now_ns + heard_ns` here, and one until which it lasted at the earliest
//! `time - now_ns + asked_ns`: the interval becomes shorter, never longer. Between the times, clocks
//! differ by far less than the margin of the proof.
//!
//! Datagrams may be lost: nothing is known then, and another rank of that host is asked, ever more
//! rarely, but more at once if the device says that the process of the one that was asked has ended: all
//! of that host may have. A host that is asked does not ask. This is a value: its caller has the clock, the table and
//! the device.
//!
//! [`StatusTable`]: super::status_table::StatusTable

use std::collections::BTreeMap;
use std::time::Duration;

use super::deadlock::age;
use super::rank_status::{RankActivity, RankStatus, SteadyInterval};
use crate::base::Peer;
use crate::bootstrap::JobHosts;

/// The time between two questions to a host that answers, and to one that does not, at most.
const INTERVAL_MIN: Duration = Duration::from_millis(500);
const INTERVAL_MAX: Duration = Duration::from_secs(32);

/// A host asks if none of lower number has asked it in this time, for each of them.
const PATIENCE: Duration = Duration::from_secs(3);

/// The most ranks of a host that are asked at once.
const ASKED_MAX: usize = 8;

const QUESTION: &str = "?";
const ANSWER: &str = "=";
/// Instead of a record: the process has ended; the rank is not known to wait.
const ENDED: &str = "ended";
const BUSY: &str = "busy";

/// A datagram, and the rank to which it goes.
pub type StatusDatagram = (Peer, Vec<u8>);

/// What is known of a rank of another host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RemoteActivity {
    /// It waits; times are those of this host's clock.
    Waiting(RankStatus),
    /// Its process has ended.
    Ended,
}

/// The exchange of one rank.
#[derive(Debug)]
pub struct StatusExchange {
    own_host: u32,
    /// By number of host.
    hosts: Vec<AskedHost>,
    /// By rank: the number of its host.
    host_of: Vec<u32>,
    known: BTreeMap<Peer, RemoteActivity>,
    /// When another host asked.
    was_asked_ns: u64,
    /// The wait for which this rank asks.
    since_ns: u64,
}

#[derive(Debug)]
struct AskedHost {
    ranks: Vec<Peer>,
    /// The index of the rank that is asked next.
    next: usize,
    /// When the last question left.
    asked_ns: u64,
    has_answered: bool,
    interval: Duration,
}

impl StatusExchange {
    /// The exchange of `rank` in a job of `size` ranks on several hosts.
    pub fn new(rank: Peer, size: u32, hosts: &JobHosts) -> Self {
        let host = |number: u32| AskedHost {
            ranks: hosts.ranks_on(number, size),
            next: 0,
            asked_ns: 0,
            has_answered: true,
            interval: INTERVAL_MIN,
        };
        Self {
            own_host: hosts.number_of(rank),
            hosts: (0..hosts.names().len() as u32).map(host).collect(),
            host_of: hosts.numbers().to_vec(),
            known: BTreeMap::new(),
            was_asked_ns: 0,
            since_ns: 0,
        }
    }

    /// The ranks of this host, ascending.
    pub fn local_ranks(&self) -> &[Peer] {
        &self.hosts[self.own_host as usize].ranks
    }

    /// The number of a rank among those of this host, if it is one.
    pub fn entry(&self, rank: Peer) -> Option<u32> {
        let local = self.local_ranks();
        local.binary_search(&rank).ok().map(|index| index as u32)
    }

    /// What is known of a rank of another host.
    pub fn known(&self, rank: Peer) -> Option<&RemoteActivity> {
        self.known.get(&rank)
    }

    /// The questions that are due at `now_ns`: all ranks of this host wait or have ended, and this is
    /// the lowest that waits, since `since_ns`. `has_ended` finds out whether the process of a rank that
    /// was asked has ended; then others of its host are asked, several at once.
    pub fn questions(
        &mut self, now_ns: u64, since_ns: u64, has_ended: impl Fn(Peer) -> bool,
    ) -> Vec<StatusDatagram> {
        if age(self.was_asked_ns.max(since_ns), now_ns) < PATIENCE * self.own_host {
            return Vec::new();
        }
        if self.since_ns != since_ns {
            self.since_ns = since_ns;
            self.hosts.iter_mut().for_each(|host| host.interval = INTERVAL_MIN);
        }
        let mut questions = Vec::new();
        for (number, host) in (0..).zip(&mut self.hosts) {
            if number != self.own_host && age(host.asked_ns, now_ns) >= host.interval {
                let asked = host.ask(now_ns, &has_ended);
                let question = |rank| (rank, format!("{QUESTION}{now_ns}").into_bytes());
                questions.extend(asked.into_iter().map(question));
            }
        }
        questions
    }

    /// Whether all questions of this rank that left last are answered.
    pub fn is_answered(&self) -> bool {
        self.hosts.iter().all(|host| host.has_answered)
    }

    /// Takes a datagram; the answers to send. `read` is what a rank of this host does, if its process
    /// has not ended (`None`).
    pub fn take(
        &mut self, from: Peer, data: &[u8], now_ns: u64,
        read: impl Fn(Peer) -> Option<RankActivity>,
    ) -> Vec<StatusDatagram> {
        let text = String::from_utf8_lossy(data);
        if let Some(asked) = text.strip_prefix(QUESTION).and_then(|text| text.parse::<u64>().ok()) {
            if self.host_of.get(from as usize).is_some_and(|host| *host < self.own_host) {
                self.was_asked_ns = now_ns;
            }
            let answer = |record: &str, rank: Peer| {
                (from, format!("{ANSWER}{asked} {now_ns} {rank}\n{record}").into_bytes())
            };
            let answers = self.local_ranks().iter().map(|rank| match read(*rank) {
                Some(RankActivity::Waiting(status)) => answer(&status.emit(), *rank),
                Some(RankActivity::Busy | RankActivity::Unknown) => answer(BUSY, *rank),
                None => answer(ENDED, *rank),
            });
            return answers.collect();
        }
        if let Some(answer) = text.strip_prefix(ANSWER) {
            // A text that is none is dropped.
            let _ = self.take_answer(from, answer, now_ns);
        }
        Vec::new()
    }

    fn take_answer(&mut self, from: Peer, answer: &str, heard_ns: u64) -> Option<()> {
        let (numbers, record) = answer.split_once('\n')?;
        let mut numbers = numbers.split(' ').map(|number| number.parse::<u64>().ok());
        let (asked_ns, now_ns) = (numbers.next()??, numbers.next()??);
        let rank = Peer::try_from(numbers.next()??).ok()?;
        let number = *self.host_of.get(rank as usize)?;
        let host = self.hosts.get_mut(number as usize)?;
        let is_answer = host.asked_ns == asked_ns && asked_ns > 0;
        if !is_answer || !host.ranks.contains(&from) || number == self.own_host {
            return None;
        }
        let activity = match record {
            ENDED => Some(RemoteActivity::Ended),
            BUSY => None,
            record => {
                let clocks = Clocks { asked_ns, heard_ns, there_ns: now_ns };
                Some(RemoteActivity::Waiting(clocks.status(RankStatus::parse(record)?)?))
            }
        };
        host.has_answered = true;
        host.interval = INTERVAL_MIN;
        match activity {
            Some(activity) => self.known.insert(rank, activity),
            None => self.known.remove(&rank),
        };
        Some(())
    }
}

impl AskedHost {
    /// The ranks to ask at `now_ns`.
    fn ask(&mut self, now_ns: u64, has_ended: impl Fn(Peer) -> bool) -> Vec<Peer> {
        let mut count = 1;
        if !self.has_answered && has_ended(self.ranks[self.next]) {
            // It answers no more; what is known of it is no answer.
            let running = |index: &usize| !has_ended(self.ranks[*index]);
            let next = (self.next..self.ranks.len()).chain(0..self.next).find(running);
            (self.next, count) = (next.unwrap_or(self.next), ASKED_MAX);
        } else if !self.has_answered {
            self.next = (self.next + 1) % self.ranks.len();
            self.interval = (2 * self.interval).min(INTERVAL_MAX);
        }
        self.has_answered = false;
        self.asked_ns = now_ns;
        let (before, from) = self.ranks.split_at(self.next);
        let running = from.iter().chain(before).copied().filter(|rank| !has_ended(*rank));
        running.take(count).collect()
    }
}

/// One moment on two clocks: `there_ns` is between the other two times.
struct Clocks {
    asked_ns: u64,
    heard_ns: u64,
    there_ns: u64,
}

impl Clocks {
    /// A status of the other host with times of this one; `None` if its times are no such times.
    fn status(&self, status: RankStatus) -> Option<RankStatus> {
        let RankStatus { since_ns, report, steady } = status;
        let steady = match steady {
            None => None,
            Some(SteadyInterval { from_ns, until_ns, is_multiple }) => Some(SteadyInterval {
                from_ns: self.here(from_ns, self.heard_ns)?,
                until_ns: self.here(until_ns, self.asked_ns)?,
                is_multiple,
            }),
        };
        Some(RankStatus { since_ns: self.here(since_ns, self.heard_ns)?, report, steady })
    }

    /// `there_ns` was `here_ns`; a time before it.
    fn here(&self, time_ns: u64, here_ns: u64) -> Option<u64> {
        Some(here_ns.saturating_sub(self.there_ns.checked_sub(time_ns)?))
    }
}

#[cfg(test)]
mod tests {
    use super::super::wait_report::WaitReport;
    use super::*;
    use crate::diagnosis::rank_status::RankStatus;

    const MS: u64 = 1_000_000;
    const SECOND: u64 = 1000 * MS;

    /// Ranks 0 and 2 on one host, 1 and 3 on another.
    fn exchange(rank: Peer) -> StatusExchange {
        let names = ["one", "two", "one", "two"];
        let hosts = JobHosts::of_ranks(names.iter().map(|name| (*name, *name)));
        StatusExchange::new(rank, 4, &hosts)
    }

    fn waiting(from_ns: u64, until_ns: u64) -> RankStatus {
        let steady = Some(SteadyInterval { from_ns, until_ns, is_multiple: false });
        RankStatus { since_ns: from_ns, report: WaitReport::new("MPI_Recv"), steady }
    }

    /// The question of rank 0 at `now_ns`.
    fn ask(asking: &mut StatusExchange, now_ns: u64) -> StatusDatagram {
        let mut questions = asking.questions(now_ns, 1, |_| false);
        assert_eq!(questions.len(), 1);
        questions.remove(0)
    }

    #[test]
    fn an_interval_of_another_clock_becomes_shorter() {
        let (mut asking, mut asked) = (exchange(0), exchange(1));
        let (to, question) = ask(&mut asking, 50 * SECOND);
        assert_eq!(to, 1);
        // The other host's clock is 43 s behind; question and answer take 2 ms each.
        let there = 7 * SECOND + 2 * MS;
        let read = |rank| match rank {
            1 => Some(RankActivity::Waiting(waiting(6 * SECOND, 7 * SECOND))),
            _ => None,
        };
        let answers = asked.take(0, &question, there, read);
        assert_eq!(answers.len(), 2);
        for (to, answer) in answers {
            assert_eq!(to, 0);
            assert_eq!(asking.take(1, &answer, 50 * SECOND + 4 * MS, |_| None), []);
        }
        let expected = waiting(49 * SECOND + 2 * MS, 50 * SECOND - 2 * MS);
        assert_eq!(asking.known(1), Some(&RemoteActivity::Waiting(expected)));
        assert_eq!(asking.known(3), Some(&RemoteActivity::Ended));
        // Later rank 1 goes on.
        let (_, question) = ask(&mut asking, 51 * SECOND);
        let answers = asked.take(0, &question, 8 * SECOND, |_| Some(RankActivity::Busy));
        asking.take(1, &answers[0].1, 51 * SECOND + MS, |_| None);
        assert_eq!(asking.known(1), None);
    }

    #[test]
    fn a_host_that_does_not_answer_is_asked_ever_more_rarely() {
        let mut asking = exchange(0);
        let mut asked = Vec::new();
        for second in 1..40 {
            let questions = asking.questions(second * SECOND, 1, |_| false);
            asked.extend(questions.iter().map(|(to, _)| (second, *to)));
        }
        assert_eq!(asked, [(1, 1), (2, 3), (3, 1), (5, 3), (9, 1), (17, 3), (33, 1)]);
        // Another wait has begun.
        assert_eq!(asking.questions(40 * SECOND, 2, |_| false).len(), 1);
    }

    #[test]
    fn the_others_of_a_host_are_asked_if_the_process_that_was_asked_has_ended() {
        let names = ["one", "two", "two", "two"];
        let hosts = JobHosts::of_ranks(names.iter().map(|name| (*name, *name)));
        let mut asking = StatusExchange::new(0, 4, &hosts);
        let mut asked = |second: u64, ended: &[Peer]| {
            let questions = asking.questions(second * SECOND, 1, |rank| ended.contains(&rank));
            questions.into_iter().map(|(to, _)| to).collect::<Vec<_>>()
        };
        assert_eq!(asked(1, &[]), [1]);
        assert_eq!(asked(2, &[1]), [2, 3]);
        assert_eq!(asked(3, &[1, 2]), [3]);
        assert_eq!(asked(4, &[1, 2, 3]), []);
    }

    #[test]
    fn a_host_that_is_asked_does_not_ask() {
        let mut asked = exchange(1);
        assert_eq!(asked.questions(3 * SECOND, SECOND, |_| false), []);
        asked.take(0, b"?5", 3 * SECOND, |_| Some(RankActivity::Busy));
        assert_eq!(asked.questions(5 * SECOND, SECOND, |_| false), []);
        assert_eq!(asked.questions(6 * SECOND, SECOND, |_| false).len(), 1);
    }

    #[test]
    fn texts_that_are_no_answers_change_nothing() {
        let mut asking = exchange(0);
        let now = 50 * SECOND;
        let (_, sent) = ask(&mut asking, now);
        let record = waiting(6 * SECOND, 7 * SECOND).emit();
        let later = waiting(6 * SECOND, 9 * SECOND).emit();
        let texts = [
            (1, "=".to_owned()),
            (1, "x".to_owned()),
            (1, "?x".to_owned()),
            (1, format!("={now} 1\n{record}")),
            (1, format!("={now} 1 9\n{record}")),
            (1, format!("={now} {} 1\nnonsense", 8 * SECOND)),
            // Another question; a rank of this host; a rank of another host; times to come.
            (1, format!("=7 {} 1\n{record}", 8 * SECOND)),
            (1, format!("={now} {} 2\n{record}", 8 * SECOND)),
            (2, format!("={now} {} 1\n{record}", 8 * SECOND)),
            (1, format!("={now} {} 1\n{later}", 8 * SECOND)),
        ];
        for (from, text) in &texts {
            assert_eq!(asking.take(*from, text.as_bytes(), now, |_| None), [], "{text}");
        }
        assert_eq!(asking.take(1, &[0xff; 100], now, |_| None), []);
        assert_eq!((0..4).find_map(|rank| asking.known(rank)), None);
        assert_eq!(String::from_utf8(sent).unwrap(), format!("?{now}"));
        let good = format!("={now} {} 1\n{record}", 8 * SECOND);
        asking.take(1, good.as_bytes(), now, |_| None);
        assert!(asking.known(1).is_some());
    }
}
