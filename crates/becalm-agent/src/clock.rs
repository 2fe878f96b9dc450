//! `becalm-agent clock REQUEST`: evaluate the timers of this machine, as an ordinary process with the rights of whoever
//! starts it.

use std::process::ExitCode;

use becalm_core::clock::request::Request;
pub use becalm_core::clock::serve::parse;
use becalm_core::clock::serve::run as serve;
use becalm_core::clock::timer::loaded::Loaded;

/// This program holds no library but its own, on purpose: it runs on any distribution, and as the first process of guests.
const STATIC: &str = "the agent, which measures here, is linked statically and loads no library";

/// Evaluate without PAPI, for the reason that the request gives, if it does.
pub fn run(request: &Request) -> ExitCode {
    serve(request, &Loaded::none(request.no_papi.as_deref().unwrap_or(STATIC)))
}
