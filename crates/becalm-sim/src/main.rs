//! The program `becalm-sim` reads one JSON request per line on standard input and writes its answer to
//! standard output.
//!
//! Without an argument it runs scheduler simulations; Ctrl-C ends the current one, and its answer covers the
//! time simulated so far. `becalm-sim place`, `becalm-sim spots` and `becalm-sim cache` answer requests of
//! these modules, and `becalm-sim live` follows a stream line by line (`spots::live`). All end with the reader
//! of the answers.

use std::io::{self, BufRead, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use becalm_sim::request::{parse, Answer, Request};
use becalm_sim::{cache, place, spots};

static STOP: AtomicBool = AtomicBool::new(false);

extern "C" fn stop(_signal: libc::c_int) {
    STOP.store(true, Ordering::Relaxed);
}

/// The time between two lines of progress.
const PERIOD: Duration = Duration::from_millis(200);

fn main() -> ExitCode {
    // SAFETY: the handler only stores into an atomic (signal-safety(7)).
    unsafe { libc::signal(libc::SIGINT, stop as *const () as libc::sighandler_t) };
    end_with_reader();
    let family = std::env::args().nth(1).unwrap_or_default();
    let mut out = io::stdout().lock();
    if family == "--version" {
        let version = env!("CARGO_PKG_VERSION");
        return writeln!(out, "becalm-sim {version}").map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS);
    }
    if family == "live" {
        return spots::live::converse(io::stdin().lock(), out)
            .map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS);
    }
    for line in io::stdin().lock().lines() {
        let Ok(line) = line else { return ExitCode::FAILURE };
        if line.trim().is_empty() {
            continue;
        }
        let sent = match family.as_str() {
            "place" => Some(say(&mut out, &place::answer(&line))),
            "cache" => Some(say(&mut out, &cache::answer(&line))),
            "spots" => Some(say(&mut out, &spots::answer(&line))),
            _ => None,
        };
        if let Some(sent) = sent {
            if sent.is_err() {
                return ExitCode::FAILURE;
            }
            continue;
        }
        let answer = parse(&line).map_or_else(Answer::Error, |request| play(&request, &mut out));
        // A signal that arrived while the request was read still applies to it, so the flag is cleared only
        // here.
        STOP.store(false, Ordering::Relaxed);
        if say(&mut out, &answer).is_err() {
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// Have this process end when nobody reads its answers any more, also in the middle of a long calculation.
fn end_with_reader() {
    let watch = || {
        // No event: poll(2) reports only that the other end was closed.
        let mut output = libc::pollfd { fd: libc::STDOUT_FILENO, events: 0, revents: 0 };
        // SAFETY: one live pollfd.
        while unsafe { libc::poll(&mut output, 1, -1) } < 1 {}
        std::process::exit(1)
    };
    // Where no thread can be made, it ends at the next answer.
    drop(std::thread::Builder::new().spawn(watch));
}

fn play(request: &Request, out: &mut impl Write) -> Answer {
    let mut last = Instant::now();
    let found = request.play(|now_ns, ended| {
        if request.progress && last.elapsed() >= PERIOD {
            last = Instant::now();
            if say(out, &Answer::Progress { now_ns, ended }).is_err() {
                return false;
            }
        }
        !STOP.load(Ordering::Relaxed)
    });
    found.map_or_else(|why| Answer::Error(why.to_string()), |summary| Answer::Summary(Box::new(summary)))
}

fn say(out: &mut impl Write, answer: &impl serde::Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, answer)?;
    out.write_all(b"\n")?;
    out.flush()
}
