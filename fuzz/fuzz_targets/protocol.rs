//! Whatever bytes come as a request: an answer or an error, never a panic. `cargo +nightly fuzz run protocol`.
#![no_main]
#![allow(dead_code)]

use becalm_core::knob::process::ProcessSettings;
use libfuzzer_sys::fuzz_target;

#[path = "../../crates/becalm-agent/src/protocol.rs"]
mod protocol;

use protocol::Action;

fuzz_target!(|bytes: &[u8]| {
    let Ok(request) = protocol::parse(bytes) else { return };
    if let Action::Define { workloads, settings } = request.action {
        for values in &settings {
            let _ = ProcessSettings::parse(values);
        }
        for workload in &workloads {
            for text in &workload.argv {
                let _ = text.c_string();
                let _ = text.shown();
            }
        }
    }
});
