//! Targets for the requests of the protocol and the settings in them.

use becalm_agent::protocol::{self as requests, Action};
use becalm_core::knob::catalogue::CATALOGUE;
use becalm_core::knob::settings::Settings;
use becalm_core::knob::tree::Tree;
use serde_json::{json, Map, Value};

use crate::class;
use crate::machine::{written, Machine};

/// Parse a request into an action or an error, and display and convert its strings.
pub fn protocol(bytes: &[u8]) -> u64 {
    let action = match requests::parse(bytes) {
        Ok(request) => request.action,
        Err((_, failure)) => return class(&failure.message),
    };
    let kind = class(format!("{action:?}").split([' ', '{']).next().unwrap_or_default());
    let Action::Define { workloads, .. } = &action else { return kind };
    let strings =
        workloads.iter().flat_map(|workload| workload.argv.iter().chain(workload.environment.values()));
    strings.take(8).fold(kind, |seen, text| {
        drop(text.shown());
        seen.wrapping_mul(3).wrapping_add(u64::from(text.c_string().is_ok()))
    })
}

/// Return a request of every kind.
pub fn requests() -> Vec<Vec<u8>> {
    let workload = json!({"argv": ["sort", {"hex": "2f746d70ff"}], "directory": "/tmp", "environment": {"A": "b"},
        "input": "/etc/passwd", "prepare": ["sync"], "cleanup": ["true"], "timeout_ns": 1_000_000_000,
        "expect": [0, 1], "output": "keep", "cold": true, "copies": 2});
    let kernel = json!({"kernel": "add", "iterations": 1_000_000});
    [
        json!({"do": "open", "protocol": 1, "environment": {"PATH": "/bin"}, "directory": "/", "title": "t", "reboot": true}),
        json!({"do": "facts", "root": "/nowhere"}),
        json!({"do": "knobs"}),
        json!({"do": "read", "sources": ["stat"], "changes": true, "load": true, "consumers": 3}),
        json!({"do": "follow", "pid": 1, "started": 2, "period_ns": 10_000_000, "sources": ["psi"], "consumers": 1}),
        json!({"do": "define", "workloads": [workload, kernel], "settings": [{"nice": "-5"}, null], "dangerous": true}),
        json!({"do": "plan", "settings": {"aslr": "off"}, "dangerous": false}),
        json!({"do": "hold", "settings": {"swappiness": 1}, "keep": true}),
        json!({"do": "effects", "settings": {"nohz_full": "last-core"}}),
        json!({"do": "release"}),
        json!({"do": "restore", "force": true}),
        json!({"do": "status"}),
        json!({"do": "boot", "parameters": ["quiet"], "limit_s": 60, "dangerous": true}),
        json!({"do": "reboot"}),
        json!({"do": "healthy"}),
        json!({"do": "unboot", "force": true}),
        json!({"do": "measure", "first": 0, "steps": [[0, 0, 16, -1], [1, 1, 0, 0]], "stop_on_failure": false, "load": "series"}),
        json!({"do": "overhead", "runs": 10}),
        json!({"do": "stop"}),
        json!({"do": "alive"}),
        json!({"do": "bye"}),
    ]
    .map(|mut request| {
        request["id"] = 7.into();
        request.to_string().into_bytes()
    })
    .to_vec()
}

thread_local! {
    static LAPTOP: Machine = Machine::new(written("debian"));
}

/// Parse settings, which are resolved or rejected with a sentence; nothing is written.
pub fn settings(bytes: &[u8]) -> u64 {
    let Ok(given) = serde_json::from_slice::<Map<String, Value>>(bytes) else { return 0 };
    let tree = LAPTOP.with(|machine| Tree::new(machine.root()));
    let at_boot =
        Settings::at_boot(&given, &tree, true).map_or_else(|error| class(&start(&error.to_string())), |_| 1);
    let read = match Settings::read(&given, &tree, true) {
        Ok(settings) => {
            settings.changes.writes.iter().map(|change| class(&change.knob)).fold(2, u64::wrapping_add)
        }
        Err(error) => class(&start(&error.to_string())),
    };
    read ^ at_boot
}

/// Return the first words of a sentence, before it names the value.
fn start(sentence: &str) -> String {
    sentence.split_whitespace().take(4).collect()
}

/// Return each setting of the catalogue with common values.
pub fn settings_seeds() -> Vec<Vec<u8>> {
    let values =
        ["on", "off", "first-core", "last-core", "0-1", "5", "performance", "always", "never", "max", "50%"];
    let one = |name: &str| {
        values.iter().map(|value| json!({name: value}).to_string().into_bytes()).collect::<Vec<_>>()
    };
    CATALOGUE.iter().flat_map(|knob| one(knob.name)).collect()
}
