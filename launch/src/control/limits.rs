//! The times after which hosts are given up: `SUIRO_HOST_TIMEOUT`, `SUIRO_START_TIMEOUT`.

use std::time::Duration;

use platform::base::settings::{SETTINGS, parse_duration};
use serde::{Deserialize, Serialize};

use crate::{LaunchError, USAGE};

const SILENCE: &str = "SUIRO_HOST_TIMEOUT";
const START: &str = "SUIRO_START_TIMEOUT";

const BEAT_INTERVAL_MAX: Duration = Duration::from_secs(1);

/// The limits of a job; `None` is no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HostLimits {
    /// The silence after which an agent is lost.
    pub silence: Option<Duration>,
    /// The time that the command of an agent has to start it.
    pub start: Option<Duration>,
}

impl HostLimits {
    /// The limits that variables set.
    ///
    /// # Errors
    /// A value is no duration.
    pub(crate) fn from_lookup(
        lookup: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, LaunchError> {
        let limit = |name: &str| {
            let setting = SETTINGS.iter().find(|setting| setting.name == name);
            let (default, values) = setting.map_or(("off", ""), |one| (one.default, one.values));
            let text = lookup(name).filter(|text| !text.is_empty());
            let text = text.as_deref().unwrap_or(default);
            parse_duration(text).ok_or_else(|| {
                LaunchError::new(USAGE, format!("{name}={text} is not one of {values}"))
            })
        };
        Ok(Self { silence: limit(SILENCE)?, start: limit(START)? })
    }

    /// The silence after which the head is lost: it may wait for a file server with output of ranks.
    pub(crate) fn silence_of_head(self) -> Option<Duration> {
        self.silence.and_then(|silence| silence.checked_mul(2))
    }
}

impl Default for HostLimits {
    fn default() -> Self {
        let none = Self { silence: None, start: None };
        Self::from_lookup(|_| None).unwrap_or(none)
    }
}

/// The time between two beats for this limit of silence.
pub(crate) fn beat_interval(limit: Option<Duration>) -> Duration {
    limit.map_or(BEAT_INTERVAL_MAX, |limit| (limit / 5).min(BEAT_INTERVAL_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_durations_or_off() {
        let limits = |value: &'static str| {
            HostLimits::from_lookup(|name| (name == SILENCE).then(|| value.to_owned()))
        };
        let seconds = |count| Some(Duration::from_secs(count));
        let default = HostLimits { silence: seconds(3), start: seconds(120) };
        assert_eq!((limits(""), HostLimits::default()), (Ok(default), default));
        assert_eq!(limits("30s").unwrap().silence_of_head(), seconds(60));
        assert_eq!(limits("off").unwrap().silence_of_head(), None);
        let why = "SUIRO_HOST_TIMEOUT=5 is not one of off|a duration like 500ms, 30s or 2m";
        assert_eq!(limits("5"), Err(LaunchError::new(USAGE, why)));
        assert_eq!(beat_interval(seconds(30)), BEAT_INTERVAL_MAX);
        assert_eq!(beat_interval(seconds(1)), Duration::from_millis(200));
    }
}
