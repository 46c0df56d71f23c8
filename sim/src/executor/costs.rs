//! The time of each kind of step, and the engines of a rank.

use super::chunk::MessageTotals;
use super::mark::{Mark, ProcessorWork};
use crate::network::LoggpRates;
use crate::noise::{Noise, RankNoise};

/// What determines the times of steps.
#[derive(Clone, Copy, Debug)]
pub struct StepCosts {
    /// Rates of the network and of the ranks.
    pub network: LoggpRates,
    /// Interruptions of the ranks.
    pub noise: Noise,
}

/// When the engines of a rank are free.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RankEngines {
    processor: Mark,
    send_port: Mark,
    receive_port: Mark,
}

impl StepCosts {
    /// Checks that times fit in their integers, if all steps came one after the other.
    ///
    /// # Errors
    /// They may not.
    pub(crate) fn check(&self, totals: &MessageTotals) -> Result<(), String> {
        let LoggpRates { latency_ps, overhead_ps, gap_ps, .. } = self.network;
        let LoggpRates { byte_ps, reduced_ps, copied_ps, .. } = self.network;
        let all = |each_ps: [u64; 3], number: u64| -> u128 {
            each_ps.iter().map(|ps| u128::from(*ps)).sum::<u128>() * u128::from(number)
        };
        let work_ps = all([latency_ps, 2 * overhead_ps, 2 * gap_ps], totals.steps)
            + all([byte_ps, byte_ps, 0], totals.bytes)
            + all([reduced_ps, copied_ps, 0], totals.local_bytes);
        // A step may wait for an interruption before it begins, and before its end is noticed.
        let most_ps = self.noise.slowed_ps(work_ps, totals.steps);
        match most_ps < 1 << 63 {
            true => Ok(()),
            false => Err(format!(
                "{} steps with {} bytes may take {:.1e} s, which is more than times can be: expected \
                 fewer bytes or other rates",
                totals.steps,
                totals.bytes,
                most_ps as f64 / 1e12
            )),
        }
    }

    /// The completion of a send, and the arrival of its last byte.
    #[inline]
    pub(crate) fn send(
        &self, noise: RankNoise, ready: Mark, mut engines: Option<&mut RankEngines>, bytes: u64,
    ) -> (Mark, Mark) {
        let network = &self.network;
        let mut sent = ready;
        if network.overhead_ps > 0 {
            let overhead = ProcessorWork::Overhead(network.overhead_ps);
            sent = work(noise, sent, engines.as_deref_mut(), overhead);
        }
        if let Some(engines) = &engines {
            sent = sent.later(engines.send_port);
        }
        sent = sent.after_bytes(bytes * network.byte_ps);
        if let Some(engines) = engines {
            engines.send_port = sent.after_gap(network.gap_ps);
        }
        (sent, sent.after_latency(network.latency_ps))
    }

    /// When the first byte of a message reaches its receiver, if the last one arrives then.
    #[inline]
    pub(crate) fn first_byte_ps(&self, arrival: Mark, bytes: u64) -> u64 {
        arrival.time_ps - bytes * self.network.byte_ps
    }

    /// When the port of the receiver has taken a message.
    #[inline]
    pub(crate) fn through_port(
        &self, arrival: Mark, engines: &mut RankEngines, bytes: u64,
    ) -> Mark {
        let is_free = engines.receive_port.time_ps <= self.first_byte_ps(arrival, bytes);
        let taken = match is_free {
            true => arrival,
            false => engines.receive_port.after_bytes(bytes * self.network.byte_ps),
        };
        engines.receive_port = taken.after_gap(self.network.gap_ps);
        taken
    }

    /// The completion of a receive.
    #[inline]
    pub(crate) fn receive(
        &self, noise: RankNoise, ready: Mark, engines: Option<&mut RankEngines>,
    ) -> Mark {
        work(noise, ready, engines, ProcessorWork::Overhead(self.network.overhead_ps))
    }

    /// The completion of a reduction (or a copy) of `bytes` bytes.
    #[inline]
    pub(crate) fn local(
        &self, noise: RankNoise, ready: Mark, engines: Option<&mut RankEngines>, step: LocalStep,
        bytes: u64,
    ) -> Mark {
        let byte_ps = match step {
            LocalStep::Copy => self.network.copied_ps,
            LocalStep::Reduce => self.network.reduced_ps,
        };
        work(noise, ready, engines, ProcessorWork::Arithmetic(bytes * byte_ps))
    }
}

/// A step without a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LocalStep {
    Copy,
    Reduce,
}

#[inline]
fn work(
    noise: RankNoise, ready: Mark, engines: Option<&mut RankEngines>, work: ProcessorWork,
) -> Mark {
    let end_ps = |start: Mark| noise.end_ps(start.time_ps, work.work_ps());
    match engines {
        None => work.after(ready, end_ps(ready)),
        Some(engines) => {
            let start = ready.later(engines.processor);
            engines.processor = work.after(start, end_ps(start));
            engines.processor
        }
    }
}
