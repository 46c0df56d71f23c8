//! Messages about failures between processes, as words of 64 bits, least significant byte first.
//!
//! ```text
//! Revoke      0 | context
//! Agreement   1 | context | instance | kind: 0 vote, 1 decision, 2 ask | value, unless it asks
//! Failed      2 | context | member
//! value       flag | context | segment, 0 for none | count, words of failed | count, words of acknowledged
//! ```

use crate::mpi::resilience::agreement::{AgreementMessage, Value};
use crate::mpi::resilience::rank_bits::RankBits;

/// A message about failures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Notice {
    /// The communicator with this context was revoked.
    Revoke { context: u64 },
    /// This member of the communicator with this context has failed.
    Failed { context: u64, member: u32 },
    /// A message of the agreement number `instance` on the communicator with this context.
    Agreement { context: u64, instance: u32, message: AgreementMessage },
}

impl Notice {
    pub(super) fn emit(&self) -> Vec<u8> {
        let words = match self {
            Self::Revoke { context } => vec![0, *context],
            Self::Failed { context, member } => vec![2, *context, u64::from(*member)],
            Self::Agreement { context, instance, message } => {
                let mut words = vec![1, *context, u64::from(*instance)];
                put_message(&mut words, message);
                words
            }
        };
        words.into_iter().flat_map(u64::to_le_bytes).collect()
    }

    /// `None` for bytes that are no notice.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let (words, []) = bytes.as_chunks() else { return None };
        let words: Vec<_> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        let mut words = Words(words.into_iter());
        match words.next()? {
            0 => Some(Self::Revoke { context: words.next()? }),
            1 => {
                let (context, instance) = (words.next()?, words.next()? as u32);
                Some(Self::Agreement { context, instance, message: words.message()? })
            }
            2 => Some(Self::Failed { context: words.next()?, member: words.next()? as u32 }),
            _ => None,
        }
    }
}

fn put_message(words: &mut Vec<u64>, message: &AgreementMessage) {
    let (kind, value) = match message {
        AgreementMessage::Vote(value) => (0, value),
        AgreementMessage::Decide(value) => (1, value),
        AgreementMessage::Ask => return words.push(2),
    };
    words.push(kind);
    put_value(words, value);
}

fn put_value(words: &mut Vec<u64>, value: &Value) {
    words.extend([u64::from(value.flag), value.context, value.segment.unwrap_or(0).into()]);
    for set in [&value.failed, &value.acknowledged] {
        words.push(set.words().len() as u64);
        words.extend(set.words());
    }
}

/// The words that have not been parsed.
struct Words(std::vec::IntoIter<u64>);

impl Words {
    fn next(&mut self) -> Option<u64> {
        self.0.next()
    }

    fn message(&mut self) -> Option<AgreementMessage> {
        Some(match self.next()? {
            0 => AgreementMessage::Vote(self.value()?),
            1 => AgreementMessage::Decide(self.value()?),
            2 => AgreementMessage::Ask,
            _ => return None,
        })
    }

    fn value(&mut self) -> Option<Value> {
        let (flag, context) = (self.next()? as u32, self.next()?);
        let segment = Some(self.next()? as u32).filter(|segment| *segment != 0);
        let (failed, acknowledged) = (self.set()?, self.set()?);
        Some(Value { flag, failed, acknowledged, context, segment })
    }

    fn set(&mut self) -> Option<RankBits> {
        let count = usize::try_from(self.next()?).ok().filter(|count| *count <= self.0.len())?;
        Some(RankBits::from_words(self.0.by_ref().take(count).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notices_cross_the_wire_and_other_bytes_are_none() {
        let value = |flag| Value {
            flag,
            failed: [3, 70].into_iter().collect(),
            acknowledged: RankBits::default(),
            context: 1 << 40,
            segment: (flag == 7).then_some(5),
        };
        for message in [AgreementMessage::Vote(value(7)), AgreementMessage::Decide(value(u32::MAX))]
        {
            let notice = Notice::Agreement { context: 8, instance: 9, message };
            let bytes = notice.emit();
            assert_eq!(Notice::parse(&bytes), Some(notice));
            for len in [0, 8, bytes.len() - 8, bytes.len() - 1] {
                assert_eq!(Notice::parse(&bytes[..len]), None);
            }
        }
        let ask = Notice::Agreement { context: 8, instance: 9, message: AgreementMessage::Ask };
        for notice in
            [Notice::Revoke { context: 16 }, Notice::Failed { context: 8, member: 3 }, ask]
        {
            let bytes = notice.emit();
            assert_eq!(Notice::parse(&bytes[..bytes.len() - 8]), None);
            assert_eq!(Notice::parse(&bytes), Some(notice));
        }
    }
}
