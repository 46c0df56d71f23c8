//! Diagnostics on standard error, by `tracing`.

use std::io;

use tracing_subscriber::EnvFilter;

use super::config::Config;
use crate::base::{ErrorClass, Result};

/// Starts the log as `SUIRO_LOG` says. An application that has a subscriber of its own keeps it.
///
/// # Errors
/// `Other` for a filter that cannot be read.
pub fn start(config: &Config) -> Result {
    let Some(filter) = &config.log else { return Ok(()) };
    let filter = EnvFilter::try_new(filter).map_err(|error| {
        ErrorClass::Other.error(format!("SUIRO_LOG={filter} is not a log filter: {error}"))
    })?;
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr);
    // Fails only where there is a subscriber already, which is then the one to use.
    drop(log.try_init());
    Ok(())
}
