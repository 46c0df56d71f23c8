//! The progress of a spawned job, as its mpirun tells it.

use super::{ChildMessage, SpawnState};

/// The code of a job whose exit code is not known.
const UNKNOWN_CODE: i32 = 1;

/// What the mpirun of a spawned job has told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpawnProgress {
    has_started: bool,
    failure: Option<String>,
    code: Option<i32>,
}

impl SpawnProgress {
    /// Takes a message of the job.
    pub fn note(&mut self, message: ChildMessage) {
        match message {
            ChildMessage::Started => self.has_started = true,
            ChildMessage::Failed(why) => drop(self.failure.get_or_insert(why)),
            ChildMessage::Ended(code) => self.code = Some(code),
            ChildMessage::Name(_) => {}
        }
    }

    /// Whether all processes have started.
    pub fn has_started(&self) -> bool {
        self.has_started
    }

    /// The state of a job whose mpirun runs.
    pub fn running(&self) -> SpawnState {
        if self.has_started { SpawnState::Running } else { SpawnState::Starting }
    }

    /// The state of a job whose mpirun has ended, with the exit code if that is known.
    pub fn ended(&self, exit_code: Option<i32>) -> SpawnState {
        let code = exit_code.or(self.code).unwrap_or(UNKNOWN_CODE);
        let why = match (&self.failure, self.has_started) {
            (Some(why), false) => why.clone(),
            (_, true) => format!("the spawned processes have ended with code {code}"),
            (None, false) => format!(
                "mpirun has ended with code {code} before it had started all processes; its \
                 message on standard error says why"
            ),
        };
        SpawnState::Ended { code, why }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_that_the_application_has_collected_has_the_code_that_it_told() {
        let mut progress = SpawnProgress::default();
        assert_eq!(progress.running(), SpawnState::Starting);
        let SpawnState::Ended { code, why } = progress.ended(None) else { panic!() };
        assert!(code == 1 && why.contains("before it had started"), "{why}");
        progress.note(ChildMessage::Failed("no such program".to_owned()));
        let SpawnState::Ended { why, .. } = progress.ended(None) else { panic!() };
        assert_eq!(why, "no such program");
        progress.note(ChildMessage::Started);
        assert_eq!(progress.running(), SpawnState::Running);
        progress.note(ChildMessage::Ended(3));
        assert!(matches!(progress.ended(None), SpawnState::Ended { code: 3, .. }));
        assert!(matches!(progress.ended(Some(4)), SpawnState::Ended { code: 4, .. }));
    }
}
