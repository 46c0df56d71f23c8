//! Diagnostics on standard error, by `tracing`.

use std::io;

use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use super::Config;
use platform::base::{ErrorClass, Result};

/// Starts the log with the filter in `SUIRO_LOG`. A subscriber installed by the application stays
/// in use.
///
/// # Errors
/// `Other` for an invalid filter.
pub fn start(config: &Config) -> Result {
    let Some(filter) = &config.log else { return Ok(()) };
    let targets: Targets = filter.parse().map_err(|error| {
        ErrorClass::Other.error(format!("SUIRO_LOG={filter} is not a log filter: {error}"))
    })?;
    let lines = tracing_subscriber::fmt::layer().with_writer(io::stderr);
    let log = tracing_subscriber::registry().with(lines).with(targets);
    // Fails only if a subscriber is already installed; that one stays in use.
    drop(log.try_init());
    Ok(())
}
