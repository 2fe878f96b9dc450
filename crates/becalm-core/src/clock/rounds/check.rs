//! The self-check before each cell: a chain of additions is one.

use std::time::Duration;

use becalm_clock::portable;

use crate::clock::chain::{self, Check};
use crate::clock::request::Refused;

/// Rounds of the self-check, how often it is tried, and the rest before it is tried again: other load on the machine, most of
/// all on the other thread of the same core, may spoil several in a row.
const CHECKS: usize = 101;
const TRIES: usize = 20;
const REST: Duration = Duration::from_millis(50);

/// The chain of additions, if it is one.
pub fn checked() -> Result<Check, Refused> {
    let mut ratio = 0.0;
    for attempt in 0..TRIES {
        if attempt > 0 {
            std::thread::sleep(REST);
        }
        let check = chain::check(portable::now_ns, CHECKS);
        if check.passed() {
            return Ok(check);
        }
        ratio = check.ratio;
    }
    Err(Refused::Chain { ratio })
}
