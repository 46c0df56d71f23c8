//! Diagnostics on standard error, by `tracing`.

use std::io;

use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use super::Config;
use platform::base::{ErrorClass, Result};

/// Starts the log as `SUIRO_LOG` says. An application that has a subscriber of its own keeps it.
///
/// # Errors
/// `Other` for a filter that cannot be read.
pub fn start(config: &Config) -> Result {
    let Some(filter) = &config.log else { return Ok(()) };
    let targets: Targets = filter.parse().map_err(|error| {
        ErrorClass::Other.error(format!("SUIRO_LOG={filter} is not a log filter: {error}"))
    })?;
    let lines = tracing_subscriber::fmt::layer().with_writer(io::stderr);
    let log = tracing_subscriber::registry().with(lines).with(targets);
    // Fails only where there is a subscriber already, which is then the one to use.
    drop(log.try_init());
    Ok(())
}
