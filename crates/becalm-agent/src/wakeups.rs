//! `becalm-agent wakeups` lets messengers wake workers (`becalm_core::wakeups`) and prints the result as one
//! line of JSON.
//!
//! The agent starts it like any other program, as `/proc/self/exe wakeups …`, so that it exists on every
//! host.

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

use becalm_core::wakeups::{run as serve, Wakeups};

const USAGE: &str =
    "becalm-agent wakeups [--messengers N] [--workers N] [--requests N] [--work N] [--seconds N]";

/// The largest number of threads; more are a mistake.
const MOST_THREADS: u64 = 4096;

/// Parse the arguments after `wakeups`.
///
/// # Errors
/// Returns a sentence about invalid arguments.
pub fn parse(mut arguments: impl Iterator<Item = OsString>) -> Result<Wakeups, String> {
    let mut found =
        Wakeups { messengers: 1, workers: 4, requests: 10_000, work: 10_000, limit: Duration::from_secs(60) };
    while let Some(name) = arguments.next() {
        let value = arguments.next().and_then(|value| value.to_str()?.parse::<u64>().ok());
        let value = value.ok_or_else(|| format!("{} takes a whole number; {USAGE}.", name.display()))?;
        let threads = || u32::try_from(value).ok().filter(|count| *count > 0);
        let refused = || format!("{} cannot be {value}; {USAGE}.", name.display());
        match name.to_str() {
            Some("--messengers") => found.messengers = threads().ok_or_else(refused)?,
            Some("--workers") => found.workers = threads().ok_or_else(refused)?,
            Some("--requests") if (1..=10_000_000).contains(&value) => found.requests = value,
            Some("--work") => found.work = value,
            Some("--seconds") if (1..=86_400).contains(&value) => found.limit = Duration::from_secs(value),
            Some("--requests" | "--seconds") => return Err(refused()),
            _ => return Err(format!("{} is not an option; {USAGE}.", name.display())),
        }
    }
    if u64::from(found.messengers) * (u64::from(found.workers) + 1) > MOST_THREADS {
        return Err(format!("messengers and workers are {MOST_THREADS} threads at most; {USAGE}."));
    }
    Ok(found)
}

/// Run the wake-ups and print the result.
pub fn run(asked: &Wakeups) -> ExitCode {
    let answer = serve(asked).and_then(|served| Ok(serde_json::to_string(&served)?));
    match answer {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("becalm-agent: the threads of wakeups cannot be run: {error}.");
            ExitCode::from(3)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &[&str]) -> Result<Wakeups, String> {
        parse(words.iter().map(OsString::from))
    }

    #[test]
    fn valid_arguments_are_parsed_and_others_rejected() {
        let found = of(&["--messengers", "2", "--requests", "7", "--seconds", "3"]).unwrap();
        assert_eq!((found.messengers, found.workers, found.requests), (2, 4, 7));
        assert_eq!(found.limit, Duration::from_secs(3));
        for bad in [
            &["--workers", "0"][..],
            &["--workers"],
            &["--workers", "x"],
            &["--requests", "0"],
            &["--seconds", "0"],
            &["--messengers", "100", "--workers", "100"],
            &["--work", "-1"],
            &["--sleep", "1"],
        ] {
            assert!(of(bad).is_err(), "{bad:?}");
        }
    }
}
