//! `becalm-agent clock REQUEST`: evaluate the timers of this machine, as an ordinary process with the rights of whoever
//! starts it. Lines of JSON on standard output, one event each, as they come.

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use becalm_core::clock::evaluate::evaluate;
use becalm_core::clock::request::{Event, Refused, Request};
use becalm_core::clock::timer::loaded::Loaded;
use serde_json::json;

use crate::load::die_with_parent;

const USAGE: &str = "becalm-agent clock REQUEST, REQUEST being a JSON object (docs/reference/protocol.md)";
/// This program holds no library but its own, on purpose: it runs on any distribution, and as the first process of guests.
const STATIC: &str =
    "the agent is statically linked and loads no library; python bench/clock.py evaluates PAPI, too";

/// Read what follows `clock`; an error is a sentence.
pub fn parse(mut arguments: impl Iterator<Item = OsString>) -> Result<Request, String> {
    let text = arguments.next().and_then(|word| word.into_string().ok());
    let text = text.ok_or_else(|| format!("clock needs to know what: {USAGE}."))?;
    serde_json::from_str(&text).map_err(|error| format!("{text:?} is not a request: {error}; {USAGE}."))
}

/// Evaluate. Exit code 0, or 3 with a last event that says why.
pub fn run(request: &Request) -> ExitCode {
    // Who asked may be gone: a write then fails, and is no reason for a signal. (Rust ignores SIGPIPE.)
    die_with_parent();
    let mut out = io::stdout().lock();
    match evaluate(request, &Loaded::none(STATIC), &mut |event: &Event| tell(&mut out, &json!(event))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Refused::Told(_)) => ExitCode::from(3),
        Err(reason) => {
            let usage = matches!(reason, Refused::Unknown { .. });
            let told =
                tell(&mut out, &json!({"event": "error", "usage": usage, "message": reason.to_string()}));
            drop(told);
            ExitCode::from(3)
        }
    }
}

fn tell(out: &mut impl Write, event: &serde_json::Value) -> io::Result<()> {
    writeln!(out, "{event}")?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &[&str]) -> Result<Request, String> {
        parse(words.iter().map(OsString::from))
    }

    #[test]
    fn a_request_is_read_or_refused() {
        let text = r#"{"budget_ns": 1, "filter": "robust", "search": "grid", "seed": 3, "cpu": 1}"#;
        assert_eq!(parsed(&[text]).unwrap().cpu, Some(1));
        assert!(parsed(&[]).unwrap_err().contains("needs to know what"));
        assert!(parsed(&["{}"]).unwrap_err().contains("missing field"));
        assert!(parsed(&[&text.replace("cpu", "cup")]).unwrap_err().contains("unknown field"));
    }
}
