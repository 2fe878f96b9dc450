//! A wait for a condition in tests, with one limit for conditions that never hold.

use std::time::{Duration, Instant};

/// The time after which a wait counts as hanging. It is not an expectation about speed.
pub const HANG_LIMIT: Duration = Duration::from_secs(300);

/// Wait until a condition holds.
pub fn wait_for(condition: impl Fn() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < HANG_LIMIT, "the condition did not hold within {HANG_LIMIT:?}");
        std::thread::sleep(Duration::from_millis(1));
    }
}
