//! A program that only makes an evaluation: its argument is a request in JSON, and it writes lines of JSON to
//! standard output, one event each, as they come. `becalm-agent clock` and `becalm-timers` are such programs.

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use serde_json::json;

use super::evaluate::evaluate;
use super::request::{Event, Refused, Request};
use super::timer::loaded::Loaded;

const USAGE: &str = "REQUEST is a JSON object (docs/reference/protocol.md)";

/// Read the request; an error is a sentence.
pub fn parse(mut arguments: impl Iterator<Item = OsString>) -> Result<Request, String> {
    let text = arguments.next().and_then(|word| word.into_string().ok());
    let text = text.ok_or_else(|| format!("an evaluation of timers needs a REQUEST: {USAGE}."))?;
    serde_json::from_str(&text).map_err(|error| format!("{text:?} is not a request: {error}; {USAGE}."))
}

/// Evaluate. The exit code is 0, or 3 with a last event that has the reason.
pub fn run(request: &Request, loaded: &Loaded) -> ExitCode {
    // Work that nobody waits for any more must not go on. The reader alone may be gone: then a write fails,
    // which is no reason for a signal. (Rust ignores SIGPIPE.)
    // SAFETY: no pointers.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM) };
    let mut out = io::stdout().lock();
    match evaluate(request, loaded, &mut |event: &Event| send(&mut out, &json!(event))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Refused::NotSent(_)) => ExitCode::from(3),
        Err(reason) => {
            let usage = matches!(reason, Refused::Unknown { .. });
            let sent =
                send(&mut out, &json!({"event": "error", "usage": usage, "message": reason.to_string()}));
            drop(sent);
            ExitCode::from(3)
        }
    }
}

/// Report that a request names something that cannot be used.
pub fn refused(sentence: &str) -> ExitCode {
    let event = json!({"event": "error", "usage": true, "message": sentence});
    drop(send(&mut io::stdout().lock(), &event));
    ExitCode::from(3)
}

fn send(out: &mut impl Write, event: &serde_json::Value) -> io::Result<()> {
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
        assert!(parsed(&[]).unwrap_err().contains("needs a REQUEST"));
        assert!(parsed(&["{}"]).unwrap_err().contains("missing field"));
        assert!(parsed(&[&text.replace("cpu", "cup")]).unwrap_err().contains("unknown field"));
    }
}
