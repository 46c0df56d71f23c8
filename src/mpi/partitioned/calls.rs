//! `MPI_Pready` and `MPI_Parrived` on the state of a request: the partitions that a call names, and its
//! errors. Needs no lock.

use super::ready::Release;
use super::state::PartitionedState;
use platform::base::{ErrorClass, MpiError, Result};

impl PartitionedState {
    /// Marks partitions of a send as ready (`MPI_Pready`). `complete` is given the messages that are
    /// complete by that; the caller sends them, also after an error.
    ///
    /// # Errors
    /// `Request` unless this is an active send; `Arg` for a partition that is out of range or has been
    /// marked before. Nothing has been marked, unless two partitions of this call are equal or another
    /// thread marks them at the same time.
    pub(crate) fn make_ready(
        &self, partitions: impl Iterator<Item = i32> + Clone, mut complete: impl FnMut(u32),
    ) -> Result {
        if !self.is_sender() {
            return Err(self.error("is a partitioned receive: expected a partitioned send"));
        }
        if !self.is_started() {
            return Err(self.error("is inactive: MPI_Start comes before MPI_Pready"));
        }
        for partition in partitions.clone() {
            let partition = self.check(partition)?;
            if self.is_released(partition) {
                return Err(self.ready_twice(partition));
            }
        }
        let mut twice = None;
        for partition in partitions {
            match self.release(partition as u32) {
                Some((Release::Send, message)) => complete(message),
                Some((Release::Twice, _)) => twice = twice.or(Some(partition as u32)),
                Some((Release::Wait, _)) | None => {}
            }
        }
        twice.map_or(Ok(()), |partition| Err(self.ready_twice(partition)))
    }

    /// Whether a partition of a receive has arrived (`MPI_Parrived`); true if the request is inactive.
    ///
    /// # Errors
    /// `Request` unless this is a receive; `Arg` for a partition out of range.
    pub(crate) fn is_there(&self, partition: i32) -> Result<bool> {
        if self.is_sender() {
            return Err(self.error("is a partitioned send: expected a partitioned receive"));
        }
        let partition = self.check(partition)?;
        Ok(!self.is_started() || self.has_arrived(partition))
    }

    fn check(&self, partition: i32) -> Result<u32> {
        match u32::try_from(partition) {
            Ok(partition) if partition < self.partitions().count => Ok(partition),
            _ => Err(self.out_of_range(partition)),
        }
    }

    #[cold]
    fn error(&self, what: &str) -> Box<MpiError> {
        ErrorClass::Request.error(format!("request {:#x} {what}", self.handle()))
    }

    #[cold]
    fn out_of_range(&self, partition: i32) -> Box<MpiError> {
        let (count, handle) = (self.partitions().count, self.handle());
        let why = format!("partition {partition} is not in 0..{count} of request {handle:#x}");
        ErrorClass::Arg.error(why)
    }

    #[cold]
    fn ready_twice(&self, partition: u32) -> Box<MpiError> {
        let handle = self.handle();
        let why = format!(
            "partition {partition} of request {handle:#x} has been marked as ready since MPI_Start: \
             expected each partition once"
        );
        ErrorClass::Arg.error(why)
    }
}

#[cfg(test)]
mod tests {
    use super::super::division::Partitions;
    use super::*;

    const PARTITIONS: Partitions = Partitions { count: 4, bytes: 3000 };

    fn class<T>(result: Result<T>) -> i32 {
        result.map(drop).unwrap_err().code.0
    }

    #[test]
    fn a_call_that_names_a_wrong_partition_marks_none() {
        let send = PartitionedState::sender(1, PARTITIONS);
        let (request, argument) = (ErrorClass::Request as i32, ErrorClass::Arg as i32);
        let mut messages = Vec::new();
        let mut ready = |partitions: &[i32]| {
            let result =
                send.make_ready(partitions.iter().copied(), |message| messages.push(message));
            (result.err().map(|error| error.code.0), std::mem::take(&mut messages))
        };
        assert_eq!(ready(&[0]), (Some(request), vec![]));
        send.start();
        for wrong in [[0, -1], [0, 4], [0, i32::MAX]] {
            assert_eq!(ready(&wrong), (Some(argument), vec![]));
        }
        assert!(!send.is_released(0));
        assert_eq!(ready(&[0]), (None, vec![]));
        assert_eq!(ready(&[1, 0]), (Some(argument), vec![]));
        assert_eq!(ready(&[1, 1]), (Some(argument), vec![0]));
        assert_eq!(ready(&[3, 2]), (None, vec![1]));
        send.stop();
        assert_eq!(ready(&[1]), (Some(request), vec![]));
        assert_eq!(class(send.is_there(0)), request);
    }

    #[test]
    fn a_partition_is_there_when_its_messages_are_or_the_request_is_inactive() {
        let receive = PartitionedState::receiver(1, Partitions { count: 3, bytes: 4000 });
        assert!(receive.is_there(1).unwrap());
        assert_eq!(class(receive.is_there(3)), ErrorClass::Arg as i32);
        assert_eq!(class(receive.make_ready(0..1, |_| ())), ErrorClass::Request as i32);
        receive.start();
        assert!(!receive.is_there(0).unwrap());
        receive.set_sender(PARTITIONS, None);
        receive.arrive(0);
        assert!(receive.is_there(0).unwrap() && !receive.is_there(1).unwrap());
        receive.arrive(1);
        assert!(receive.is_there(1).unwrap());
        receive.start();
        assert!(!receive.is_there(1).unwrap());
        receive.stop();
        assert!(receive.is_there(1).unwrap());
    }

    #[test]
    fn without_a_sender_everything_is_there() {
        let receive = PartitionedState::without_sender(1, PARTITIONS);
        receive.start();
        assert!(receive.is_there(3).unwrap() && receive.is_there(4).is_err());
    }
}
