//! The self-check before each cell, of the chain of additions.

use std::time::Duration;

use becalm_clock::portable;

use crate::clock::chain::{self, Check};
use crate::clock::request::Refused;

/// The rounds of the self-check, the number of tries, and the pause between them: other load on the machine,
/// above all on the other thread of the same core, may spoil several in a row.
const CHECKS: usize = 101;
const TRIES: usize = 20;
const REST: Duration = Duration::from_millis(50);

/// Check the chain of additions; fail if an addition does not take a cycle.
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
