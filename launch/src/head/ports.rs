//! The ports on which the head and the ranks listen, by the variables of any launcher.

use std::ops::RangeInclusive;

use platform::base::settings::SETTINGS;
use platform::network::parse_ports;

use crate::command_line::plan::{EnvironmentChanges, EnvironmentEdit};
use crate::{LaunchError, USAGE};

const SETTING: &str = "SUIRO_TCP_PORTS";

/// The same as [`SETTING`], as `10000:10100`, of Hydra and Intel MPI.
const OF_OTHERS: &[&str] =
    &["MPIEXEC_PORT_RANGE", "MPICH_PORT_RANGE", "MPIR_CVAR_PORT_RANGE", "I_MPI_PORT_RANGE"];

/// A range that a variable sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PortRange {
    /// The variable with its value, for messages.
    pub text: String,
    pub ports: RangeInclusive<u16>,
}

impl PortRange {
    /// The range that variables set.
    ///
    /// # Errors
    /// A value is no range.
    pub(crate) fn from_lookup(
        lookup: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Self>, LaunchError> {
        let given = |name: &&str| lookup(name).filter(|text| !text.is_empty());
        let first = [SETTING].iter().chain(OF_OTHERS).find_map(|name| Some((*name, given(name)?)));
        let Some((name, value)) = first else { return Ok(None) };
        let text = format!("{name}={value}");
        let ports = match (name, &*value) {
            (SETTING, "auto") => return Ok(None),
            (SETTING, value) => parse_ports(value).ok_or_else(|| {
                let setting = SETTINGS.iter().find(|setting| setting.name == name);
                format!("one of {}", setting.map_or("", |setting| setting.values))
            }),
            (_, value) => parse_ports(&value.replacen(':', "-", 1))
                .ok_or_else(|| "a range of ports like 10000:10100".to_owned()),
        };
        match ports {
            Ok(ports) => Ok(Some(Self { text, ports })),
            Err(wanted) => Err(LaunchError::new(USAGE, format!("{text} is not {wanted}"))),
        }
    }

    /// The range in the value of an option or of a variable of another program; `first:last` is a range,
    /// too.
    ///
    /// # Errors
    /// The value is no range.
    pub(crate) fn from_option(name: &str, value: &str) -> Result<Self, LaunchError> {
        let text = format!("{name} {value}");
        match parse_ports(&value.replacen(':', "-", 1)) {
            Some(ports) => Ok(Self { text, ports }),
            None => {
                let why = format!("{text}: expected a port, or a range like 40000-40100");
                Err(LaunchError::new(USAGE, why))
            }
        }
    }

    /// Passes the range to ranks, unless options set another for them.
    pub(crate) fn pass_on(&self, environment: &mut EnvironmentChanges) {
        let value = format!("{}-{}", self.ports.start(), self.ports.end());
        environment.edits.insert(0, EnvironmentEdit::Set(SETTING.into(), value.into()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Result<Option<RangeInclusive<u16>>, String> {
        let range = PortRange::from_lookup(|asked| {
            let found = variables.iter().find(|(name, _)| *name == asked);
            found.map(|(_, value)| (*value).to_owned())
        });
        range.map(|range| range.map(|range| range.ports)).map_err(|error| error.why)
    }

    #[test]
    fn ports_are_those_of_the_setting_or_of_other_launchers() {
        assert_eq!(of(&[("MPIEXEC_PORT_RANGE", "")]), Ok(None));
        for name in OF_OTHERS {
            assert_eq!(of(&[(name, "10000:10100")]), Ok(Some(10000..=10100)), "{name}");
        }
        let hydra = ("MPIEXEC_PORT_RANGE", "7");
        assert_eq!(of(&[hydra]), Ok(Some(7..=7)));
        assert_eq!(of(&[hydra, ("SUIRO_TCP_PORTS", "8-9")]), Ok(Some(8..=9)));
        assert_eq!(of(&[hydra, ("SUIRO_TCP_PORTS", "auto")]), Ok(None));
        let why = "SUIRO_TCP_PORTS=9-8 is not one of auto|a range like 40000-40100";
        assert_eq!(of(&[("SUIRO_TCP_PORTS", "9-8")]), Err(why.to_owned()));
        for bad in ["x", "9:8", "0:9", "1:70000", "1:2:3"] {
            let why = format!("I_MPI_PORT_RANGE={bad} is not a range of ports like 10000:10100");
            assert_eq!(of(&[("I_MPI_PORT_RANGE", bad)]), Err(why));
        }
    }
}
