//! The clocks that time runs: the clock source, the properties of the time stamp counter, the resolution.

use serde_json::Value;

use super::read::{field, Known, Machine, Subject};
use super::system;

const CLOCKSOURCE: &str = "sys/devices/system/clocksource/clocksource0";

/// The flags of /proc/cpuinfo about the time stamp counter (Linux, arch/x86/include/asm/cpufeatures.h).
const TSC_FLAGS: &[&str] = &["constant_tsc", "nonstop_tsc", "tsc_known_freq", "tsc_reliable"];

/// Collect clock source and counter; the resolution only of the running machine.
pub fn collect(machine: &Machine) -> Value {
    let mut clocks = Subject::default();
    clocks.put("current", current(machine));
    let available = machine.line(&format!("{CLOCKSOURCE}/available_clocksource"));
    clocks.put(
        "available",
        available.map(|text| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>()),
    );
    clocks.put("tsc_flags", tsc_flags(machine));
    let live = |clock| {
        if machine.live {
            system::resolution_ns(clock)
        } else {
            Err("recorded files do not show it".to_owned())
        }
    };
    clocks.put("resolution_ns", live(libc::CLOCK_MONOTONIC_RAW));
    clocks.put("tick_ns", live(libc::CLOCK_MONOTONIC_COARSE));
    clocks.finish()
}

/// Return the clock source by which the kernel keeps time.
pub(crate) fn current(machine: &Machine) -> Known<String> {
    machine.line(&format!("{CLOCKSOURCE}/current_clocksource"))
}

fn tsc_flags(machine: &Machine) -> Known<Vec<String>> {
    let info = machine.text("proc/cpuinfo")?;
    let flags = field(&info, "flags").ok_or_else(|| "the processor lists no x86 flags".to_owned())?;
    Ok(TSC_FLAGS
        .iter()
        .filter(|flag| flags.split_whitespace().any(|word| word == **flag))
        .map(|f| (*f).to_owned())
        .collect())
}
