//! Random input for what a peer or a stranger may send.

use std::fmt::Debug;
use std::time::{Duration, Instant};

use proptest::strategy::Strategy;
use proptest::test_runner::{TestCaseError, TestRunner};

/// How long each test goes on with `SUIRO_TEST_LONG=1`.
const LONG: Duration = Duration::from_secs(60);

/// Runs `test` on 256 random values, or for a minute with `SUIRO_TEST_LONG=1`. A failure prints the
/// smallest value that fails.
pub(crate) fn for_each<S: Strategy>(
    strategy: S, test: impl Fn(S::Value) -> Result<(), TestCaseError>,
) where
    S::Value: Debug,
{
    let is_long = std::env::var_os("SUIRO_TEST_LONG").is_some_and(|value| value == "1");
    let begin = Instant::now();
    let mut runs = 0;
    while runs == 0 || is_long && begin.elapsed() < LONG {
        TestRunner::default().run(&strategy, &test).unwrap_or_else(|failure| panic!("{failure}"));
        runs += 1;
    }
}
