//! Contexts whose unexpected messages are handled in polls, and not by receives: their arrivals are noted, so
//! that a poll looks for messages only where there are some.

use std::collections::BTreeSet;

/// The contexts, and the arrivals that have not been taken.
#[derive(Debug, Default)]
pub(crate) struct WatchedContexts {
    contexts: BTreeSet<u64>,
    arrivals: Vec<u64>,
}

impl WatchedContexts {
    /// Notes arrivals of this context from now on.
    pub(crate) fn watch(&mut self, context: u64) {
        self.contexts.insert(context);
    }

    /// Ends [`WatchedContexts::watch`].
    pub(crate) fn unwatch(&mut self, context: u64) {
        self.contexts.remove(&context);
    }

    /// An unexpected message has arrived.
    #[inline]
    pub(crate) fn arrived(&mut self, context: u64) {
        let is_known = self.contexts.is_empty() || self.arrivals.last() == Some(&context);
        if !is_known && self.contexts.contains(&context) {
            self.arrivals.push(context);
        }
    }

    /// A watched context that has got messages since it was taken last.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<u64> {
        self.arrivals.pop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_of_watched_contexts_are_taken_once() {
        let mut watched = WatchedContexts::default();
        watched.arrived(7);
        watched.watch(7);
        watched.watch(9);
        assert_eq!(watched.take(), None);
        [7, 7, 8, 9].into_iter().for_each(|context| watched.arrived(context));
        assert_eq!([(); 3].map(|()| watched.take()), [Some(9), Some(7), None]);
        watched.unwatch(7);
        [7, 9].into_iter().for_each(|context| watched.arrived(context));
        assert_eq!([(); 2].map(|()| watched.take()), [Some(9), None]);
    }
}
