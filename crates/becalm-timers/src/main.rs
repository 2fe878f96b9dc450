//! `becalm-timers REQUEST` evaluates timers as `becalm-agent clock` does, and adds those of PAPI where it is
//! installed.
//!
//! The agent is linked statically, so that it runs everywhere, and therefore cannot load a library. This
//! program is linked dynamically for that reason only. It takes the same request and prints the same lines of
//! JSON as the agent (`becalm_core::clock::serve`). Where it cannot start, the agent evaluates without PAPI.
//! `papi` loads PAPI, and `own` loads the shared objects that the request names.

mod own;
mod papi;

use std::process::ExitCode;

use becalm_core::clock::serve;
use becalm_core::clock::timer::loaded::Loaded;

fn main() -> ExitCode {
    if std::env::args_os().nth(1).is_some_and(|word| word == "--version") {
        println!("becalm-timers {}", env!("CARGO_PKG_VERSION"));
        return ExitCode::SUCCESS;
    }
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
