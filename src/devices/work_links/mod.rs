//! Puts and additions to counters of ranks that an interface reaches by libfabric, on an endpoint for deferred work.
//!
//! ```text
//!   application, engine thread ──post──> write to memory of the peer, under the key of the addition
//!                                           │ the provider: bytes, then +1
//!   engine thread <── value for each 1 ── counter of the provider <┘
//! ```
//!
//! A write of a provider adds 1 and no other number, so each addition to a counter that a program awaits has a counter of
//! the provider, and memory is registered once for each addition that follows writes to it ([`PreparedArrivals`]). Its key is
//! derived from the job's secret and the names of memory, counter and value, by the owner and by its peers: only they
//! know it, and nobody has to be told. What peers do is the same whether a program here runs on the provider or by
//! software.
//!
//! The queue of the provider wakes the engine thread, and tells which counter to read. An entry may be there before the
//! counter has risen: a sleep is short then.
//!
//! A write that fails ends the programs that name the peer.

mod arrivals;

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use parking_lot::Mutex;

use crate::device::rma::MemoryKey;
use crate::device::trigger::{AwaitedArrival, CounterKey};
use crate::devices::interface::{ActionId, DueAction, InterfaceAction};
use crate::devices::put_links::{InterfaceLinks, Landing, LinkNews, LostLink, process_failed};
use arrivals::{PlaceName, PreparedArrivals, UNCOUNTED};
use platform::base::{ErrorClass, MpiError, Peer, Result, Span};
use platform::network::SharedSecret;
use platform::sys::doorbell::{Doorbell, DoorbellAddress};
use platform::sys::fabric::{WorkEndpoint, WorkEvent, WriteError};
use platform::sys::poll::is_readable;
use platform::sys::ready_set::Ready;
use platform::sys::tcp::Watched;

/// The longest sleep while a counter of the provider will rise soon.
const SHORT_SLEEP: Duration = Duration::from_micros(50);

/// The links of one rank.
pub(crate) struct WorkLinks {
    me: Peer,
    size: Peer,
    is_everywhere: bool,
    endpoint: WorkEndpoint,
    secret: SharedSecret,
    arrivals: Mutex<PreparedArrivals>,
    lost: Mutex<LostPeers>,
    watched: Watched,
    /// Room for what is watched.
    ready: Mutex<Vec<Ready>>,
    /// Rung by ranks of this host.
    doorbell: Doorbell,
}

/// Peers to which a write has failed.
#[derive(Default)]
struct LostPeers {
    errors: BTreeMap<Peer, Box<MpiError>>,
    /// Those that the interface has not been told.
    news: Vec<Peer>,
}

impl WorkLinks {
    /// The links of rank `me` of `size`, by an endpoint that has met all: to ranks of other hosts, or to all.
    ///
    /// # Errors
    /// `Other` if this process may not have more descriptors, or the provider has none.
    pub(crate) fn new(
        me: Peer, size: Peer, is_everywhere: bool, endpoint: WorkEndpoint, secret: SharedSecret,
    ) -> Result<Self> {
        let failed = |error: io::Error| {
            let why = format!("the interface of a rank cannot watch libfabric: {error}");
            ErrorClass::Other.error(why)
        };
        let watched = Watched::new().map_err(failed)?;
        let doorbell = Doorbell::new().map_err(failed)?;
        watched.add_beside(&doorbell).map_err(failed)?;
        let none = || failed(io::Error::other("its queue has no descriptor"));
        watched.add_beside(endpoint.descriptor().ok_or_else(none)?).map_err(failed)?;
        Ok(Self {
            me,
            size,
            is_everywhere,
            endpoint,
            secret,
            arrivals: Mutex::default(),
            lost: Mutex::default(),
            watched,
            ready: Mutex::default(),
            doorbell,
        })
    }

    /// The memory of a peer that an action writes to, with the offset there, and what it writes; none for an action
    /// that is no put.
    fn target(action: &InterfaceAction) -> Option<(PlaceName, u64, Span)> {
        let (owner, memory, offset, signal, from) = match *action {
            InterfaceAction::Put { from, to, signal } => {
                (to.peer, to.key, to.offset, signal.unwrap_or(UNCOUNTED), from)
            }
            InterfaceAction::Signal { peer, signal } => {
                (peer, MemoryKey(0), 0, signal, Span::EMPTY)
            }
            _ => return None,
        };
        Some((PlaceName { owner, memory, signal }, offset, from))
    }

    /// A write to `peer` has failed; the error of actions with it from now on.
    fn lose(&self, peer: Peer, failed: &WriteError) -> Box<MpiError> {
        let mut lost = self.lost.lock();
        let LostPeers { errors, news } = &mut *lost;
        let error = errors.entry(peer).or_insert_with(|| {
            tracing::debug!(peer, why = failed.why, "a write of an interface has failed");
            news.push(peer);
            let what = format!("does not answer ({})", failed.why);
            match failed.is_lost {
                true => process_failed(peer, "its process", &what),
                false => {
                    let why =
                        format!("a write to memory of rank {peer} has failed: {}", failed.why);
                    ErrorClass::Other.error(why)
                }
            }
        });
        error.clone()
    }

    /// The same for [`InterfaceLinks::look`] and [`InterfaceLinks::look_beside`].
    fn serve(&self, landing: &dyn Landing, news: &mut LinkNews) {
        news.ended.clear();
        let mut arrivals = self.arrivals.lock();
        self.endpoint.look(&mut |event| match event {
            WorkEvent::Written { number, peer, end } => {
                let end = end.map_err(|failed| self.lose(peer, &failed));
                news.ended.push((ActionId(number), end));
            }
            WorkEvent::Arrived(key) => arrivals.tell(key),
            WorkEvent::Worked(_) => (),
        });
        news.has_arrivals = arrivals.take(&self.endpoint, &mut |signal| {
            if let Err(error) = landing.count(signal) {
                tracing::warn!(%error, "an addition of a peer is dropped");
            }
        });
        let mut lost = self.lost.lock();
        let LostPeers { errors, news: peers } = &mut *lost;
        news.lost = std::mem::take(peers)
            .into_iter()
            .map(|peer| LostLink { peer, error: errors[&peer].clone(), ends_programs: true })
            .collect();
    }
}

impl InterfaceLinks for WorkLinks {
    fn are_everywhere(&self) -> bool {
        self.is_everywhere
    }

    fn knows(&self, peer: Peer) -> bool {
        peer < self.size && peer != self.me
    }

    fn put_max(&self) -> usize {
        self.endpoint.write_max()
    }

    fn connect(&self, peer: Peer) -> Option<Result<(), String>> {
        // The provider connects at the first write.
        let lost = self.lost.lock();
        Some(lost.errors.get(&peer).map_or(Ok(()), |error| Err(error.why.to_string())))
    }

    fn await_arrivals(&self, arrivals: &mut dyn Iterator<Item = AwaitedArrival>) -> Result {
        let mut all = self.arrivals.lock();
        for arrival in arrivals {
            all.await_one(&self.endpoint, &self.secret, self.me, &arrival)
                .map_err(|why| ErrorClass::NoMem.error(why))?;
        }
        Ok(())
    }

    fn forget_arrivals(&self, counters: &[CounterKey]) {
        self.arrivals.lock().forget(&self.endpoint, counters);
    }

    fn post(&self, due: &DueAction) -> Option<Result> {
        let Some((name, offset, from)) = Self::target(&due.action) else {
            let why = "an interface puts to ranks that it reaches by libfabric, and does nothing else there";
            return Some(Err(ErrorClass::Intern.error(why)));
        };
        if let Some(error) = self.lost.lock().errors.get(&name.owner) {
            return Some(Err(error.clone()));
        }
        self.endpoint.write(due.id.0, from, name.owner, name.key(&self.secret), offset);
        None
    }

    fn leave(&self) {}

    fn look(&self, landing: &dyn Landing, news: &mut LinkNews) {
        // Rings are forgotten. Nothing else is reported.
        self.watched.look(&mut self.ready.lock());
        self.serve(landing, news);
    }

    fn look_beside(&self, landing: &dyn Landing, news: &mut LinkNews) {
        self.serve(landing, news);
        // This thread has taken the entry, and may not look again.
        if self.arrivals.lock().will_rise() {
            self.ring();
        }
    }

    fn fence(&self) {}

    fn doorbell(&self) -> DoorbellAddress {
        self.doorbell.address()
    }

    fn ring(&self) {
        self.watched.ring();
    }

    fn prepare_sleep(&self) {
        self.doorbell.drain();
    }

    fn sleep(&self, timeout: Duration) {
        if !self.endpoint.may_sleep() {
            return;
        }
        let is_short = self.arrivals.lock().will_rise();
        let timeout = if is_short { timeout.min(SHORT_SLEEP) } else { timeout };
        is_readable(&*self.watched.descriptor(), timeout);
    }
}
