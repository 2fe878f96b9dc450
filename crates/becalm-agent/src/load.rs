//! `becalm-agent load` generates a known load, as an ordinary process with the rights of its caller.
//!
//! It reports in lines of JSON when all of the load is up (`started`), and at the end its results (`done`):
//! on the descriptor of `--report-fd`, otherwise on standard output, or on standard error if a command uses
//! standard output.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::process::{Command, ExitCode};

use becalm_core::stress::crew;
use becalm_core::stress::demand::Demand;
use becalm_core::stress::report::{Reason, Report};
use becalm_core::stress::LoadError;
use serde_json::{json, Value};

/// The options of `load`.
#[derive(Debug, Default, PartialEq)]
pub struct Options {
    pub demand: Demand,
    pub time_ns: Option<i64>,
    pub report: Option<RawFd>,
    /// The command and its arguments; empty without one.
    pub command: Vec<OsString>,
}

pub const USAGE: &str =
    "becalm-agent load DEMAND [--for-ns N] [--report-fd N] [-- COMMAND …], DEMAND being a JSON \
                         object such as {\"cpu\":2} (docs/how-to/load.md)";

/// Parse the arguments after `load`.
///
/// # Errors
/// Returns a sentence about invalid arguments.
pub fn parse(mut arguments: impl Iterator<Item = OsString>) -> Result<Options, String> {
    let text = arguments.next().and_then(|word| word.into_string().ok());
    let text = text.ok_or_else(|| format!("load needs to know how much: {USAGE}."))?;
    let demand = serde_json::from_str(&text)
        .map_err(|error| format!("{text:?} does not say which load to make: {error}; {USAGE}."))?;
    let mut options = Options { demand, ..Options::default() };
    while let Some(name) = arguments.next() {
        if name == "--" {
            options.command = arguments.collect();
            break;
        }
        let value = arguments.next().and_then(|word| word.into_string().ok());
        let number = value.and_then(|text| text.parse::<i64>().ok()).filter(|number| *number > 0);
        match (name.to_str(), number) {
            (Some("--for-ns"), Some(ns)) => options.time_ns = Some(ns),
            (Some("--report-fd"), Some(fd)) => options.report = RawFd::try_from(fd).ok(),
            _ => return Err(format!("{} is not an option with a number; {USAGE}.", name.display())),
        }
    }
    if options.time_ns.is_some() && !options.command.is_empty() {
        return Err("A load lasts for a time or as long as a command, not both. Leave one out.".into());
    }
    Ok(options)
}

/// Generate the load. The exit code is the command's (128 plus the signal's number if a signal ended it), 0,
/// or 3 with a sentence.
pub fn run(options: Options) -> ExitCode {
    let report = match open(&options) {
        Ok(report) => report,
        Err(error) => return refuse(&format!("The report's descriptor cannot be used: {error}.")),
    };
    die_with_parent();
    if options.report.is_some() && deserted(&report) {
        // The parent ended before the parent-death signal was set.
        return ExitCode::from(3);
    }
    let mut words = options.command.iter();
    let command = words.next().map(|program| {
        let mut command = Command::new(program);
        command.args(words);
        command
    });
    match run_and_report(report, &options.demand, options.time_ns, command) {
        Ok(made) => code(&made),
        // The reader of the report shows the error to the user.
        Err(error) if options.report.is_some() => failed(&error),
        Err(error) => {
            eprintln!("becalm-agent: {error}");
            failed(&error)
        }
    }
}

/// Generate the load, and report in lines of JSON when it is up and its results, or the error.
pub fn run_and_report(
    mut report: File,
    demand: &Demand,
    time_ns: Option<i64>,
    command: Option<Command>,
) -> Result<Report, LoadError> {
    let mut write_event = |value: &Value| {
        let line = format!("{value}\n");
        // A closed report is ignored.
        let _ = report.write_all(line.as_bytes());
    };
    let made = crew::run(demand, time_ns, command, || write_event(&json!({"event": "started"})));
    write_event(&match &made {
        Ok(made) => made.to_json(),
        Err(error) => json!({"event": "error", "kind": error.kind(), "message": error.to_string()}),
    });
    made
}

fn refuse(sentence: &str) -> ExitCode {
    eprintln!("becalm-agent: {sentence}");
    ExitCode::from(3)
}

fn failed(error: &LoadError) -> ExitCode {
    match error {
        LoadError::Usage(_) => ExitCode::from(2),
        LoadError::Machine(_) => ExitCode::from(3),
    }
}

fn code(made: &Report) -> ExitCode {
    match (made.command, made.reason) {
        _ if made.failure.is_some() => ExitCode::from(3),
        (Some(ended), _) if ended.status < 0 => ExitCode::from((128 - ended.status) as u8),
        (Some(ended), _) => ExitCode::from(ended.status as u8),
        (None, Reason::Failure) => ExitCode::from(3),
        (None, _) => ExitCode::SUCCESS,
    }
}

fn open(options: &Options) -> io::Result<File> {
    let otherwise = if options.command.is_empty() { libc::STDOUT_FILENO } else { libc::STDERR_FILENO };
    // A copy that a command does not inherit.
    // SAFETY: no pointers.
    let copy = unsafe { libc::fcntl(options.report.unwrap_or(otherwise), libc::F_DUPFD_CLOEXEC, 3) };
    if copy < 0 {
        return Err(io::Error::last_os_error());
    }
    if let Some(given) = options.report {
        // SAFETY: the descriptor was passed to this process for the report only.
        unsafe { libc::close(given) };
    }
    // SAFETY: the descriptor is new and owned by nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(copy) }.into())
}

/// End with the parent process, since a load that nobody waits for would run for ever.
fn die_with_parent() {
    // SAFETY: no pointers.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM) };
}

/// Return whether a pipe has no reader any more (poll(2), POLLERR).
fn deserted(report: &File) -> bool {
    let mut about = libc::pollfd { fd: report.as_raw_fd(), events: 0, revents: 0 };
    // SAFETY: one live pollfd, without a timeout.
    unsafe { libc::poll(&mut about, 1, 0) > 0 && about.revents & libc::POLLERR != 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &[&str]) -> Result<Options, String> {
        parse(words.iter().map(OsString::from))
    }

    #[test]
    fn valid_options_are_parsed() {
        let options = of(&[r#"{"cpu":2}"#, "--for-ns", "5", "--report-fd", "7"]).unwrap();
        assert_eq!((options.demand.cpu, options.time_ns, options.report), (2.0, Some(5), Some(7)));
        let options = of(&[r#"{"cpu":2}"#, "--", "sleep", "--for-ns"]).unwrap();
        assert_eq!(options.command, ["sleep", "--for-ns"]);
    }

    #[test]
    fn invalid_options_are_rejected() {
        for (bad, word) in [
            (&[][..], "how much"),
            (&["cpu"], "which load"),
            (&[r#"{"cpus":7}"#], "which load"),
            (&["{}", "--for-ns"], "--for-ns"),
            (&["{}", "--for-ns", "0"], "--for-ns"),
            (&["{}", "--fast", "1"], "--fast"),
            (&["{}", "--for-ns", "1", "--", "true"], "not both"),
        ] {
            assert!(of(bad).unwrap_err().contains(word), "{bad:?}");
        }
    }
}
