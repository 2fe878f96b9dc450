//! `becalm-agent clock REQUEST` evaluates the timers of this machine, as an ordinary process with the rights
//! of its caller.

use std::process::ExitCode;

use becalm_core::clock::request::Request;
pub use becalm_core::clock::serve::parse;
use becalm_core::clock::serve::run as serve;
use becalm_core::clock::timer::loaded::Loaded;

/// The reason why PAPI is missing: this program is statically linked, so that it runs on any distribution and
/// as the first process of a guest.
const STATIC: &str = "the agent, which measures here, is linked statically and loads no library";

/// Evaluate the timers without PAPI, for the reason in the request if there is one.
pub fn run(request: &Request) -> ExitCode {
    serve(request, &Loaded::none(request.no_papi.as_deref().unwrap_or(STATIC)))
}
