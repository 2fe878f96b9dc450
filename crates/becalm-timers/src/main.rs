//! `becalm-timers REQUEST`: the evaluation of `becalm-agent clock`, with the timers of PAPI where that is installed.
//!
//! The agent is linked statically, so that it runs everywhere, and therefore loads no library. This program is linked
//! dynamically for that alone: what it is asked and what it tells are the agent's (`becalm_core::clock::serve`), lines of
//! JSON. Where it cannot start, the agent does without PAPI. `papi` loads that library, `own` those that the request names.

mod own;
mod papi;

use std::process::ExitCode;

use becalm_core::clock::serve;
use becalm_core::clock::timer::loaded::Loaded;

fn main() -> ExitCode {
    match serve::parse(std::env::args_os().skip(1)) {
        Ok(request) => match own::loaded(&request.timers) {
            Ok(own) => serve::run(&request, &Loaded { own, ..papi::loaded(&papi::NAMES) }),
            Err(sentence) => serve::refused(&sentence),
        },
        Err(sentence) => {
            eprintln!("becalm-timers: {sentence}");
            ExitCode::from(2)
        }
    }
}
