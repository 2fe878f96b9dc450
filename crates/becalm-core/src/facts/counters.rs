//! Hardware performance counters: whether they are permitted and exist.

use serde_json::{Map, Value};

use super::read::{Machine, Subject};
use crate::source::perf_events;

/// Collect the kernel's limits, and the result of opening each event for a moment.
pub fn collect(machine: &Machine) -> Value {
    let mut counters = Subject::default();
    counters.put("perf_event_paranoid", machine.number::<i32>("proc/sys/kernel/perf_event_paranoid"));
    counters.put(
        "perf_event_max_sample_rate",
        machine.number::<u64>("proc/sys/kernel/perf_event_max_sample_rate"),
    );
    counters.put("nmi_watchdog", machine.number::<u8>("proc/sys/kernel/nmi_watchdog").map(|n| n != 0));
    counters.put("hardware", hardware(machine));
    counters.finish()
}

/// Map each event to true (usable) or the reason why it is not.
fn hardware(machine: &Machine) -> Result<Value, String> {
    if !machine.live {
        return Err("recorded files do not show it".to_owned());
    }
    let mut events = Map::new();
    for event in &perf_events::EVENTS {
        let value = match perf_events::attempt(event) {
            Ok(()) => Value::Bool(true),
            Err(reason) => Value::String(reason),
        };
        events.insert(event.name.to_owned(), value);
    }
    Ok(events.into())
}
