//! Print the cost of observing as JSON. `observe samples N ROOT` reads all sources below ROOT N times and reports the
//! cost of each source; `observe share all|states PERIOD_MS SECONDS` runs a sampler and reports its share of one CPU.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use becalm_core::exec::clock_ns;
use becalm_core::source::file::Place;
use becalm_core::source::sampler::{Sampler, STATES};
use becalm_core::source::snapshot::Snapshot;
use becalm_core::source::table::TABLE;
use becalm_core::source::Reader;
use serde_json::{json, Map, Value};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let answer = match words[..] {
        ["samples", count, root] => count.parse().ok().map(|count| samples(count, Path::new(root))),
        ["share", what, period_ms, seconds] => share(what, period_ms, seconds),
        _ => None,
    };
    match answer {
        Some(answer) => {
            println!("{answer}");
            ExitCode::SUCCESS
        }
        None => {
            eprintln!("observe samples N ROOT | observe share all|states PERIOD_MS SECONDS");
            ExitCode::from(2)
        }
    }
}

/// Cost of each sample: CPU time of this thread for all together, and by source the wall time of reading.
fn samples(count: u32, root: &Path) -> Value {
    let mut reader = Reader::all(&Place::new(root));
    let mut snapshot = Snapshot::default();
    let cpu = || clock_ns(libc::CLOCK_THREAD_CPUTIME_ID);
    let begun = cpu();
    reader.sample(&mut snapshot);
    let first_ns = cpu() - begun;
    let mut all_ns = Vec::new();
    let mut each: Vec<Vec<i64>> = vec![Vec::new(); snapshot.sections.len()];
    for _ in 0..count {
        let before = cpu();
        reader.sample(&mut snapshot);
        all_ns.push(cpu() - before);
        each.iter_mut().zip(&snapshot.sections).for_each(|(times, section)| times.push(section.took_ns));
    }
    let named = snapshot.sections.iter().zip(each);
    let by_source: Map<String, Value> =
        named.map(|(section, times)| (section.name.to_owned(), json!(times))).collect();
    json!({"first_ns": first_ns, "all_ns": all_ns, "by_source_ns": by_source, "values": snapshot.values.len()})
}

/// A sampler's own account after some seconds.
fn share(what: &str, period_ms: &str, seconds: &str) -> Option<Value> {
    let all: Vec<&str> = TABLE.iter().map(|row| row.name).collect();
    let sources = match what {
        "all" => &all[..],
        "states" => &STATES[..],
        _ => return None,
    };
    let period_ns = period_ms.parse::<i64>().ok()?.checked_mul(1_000_000)?;
    let mut sampler = Sampler::start(&Place::new(Path::new("/")), sources, period_ns, 4096).ok()?;
    std::thread::sleep(Duration::from_secs_f64(seconds.parse().ok()?));
    let account = sampler.stop();
    let columns = sampler.names().len();
    Some(json!({
        "samples": account.samples, "dropped": account.dropped, "skipped": account.skipped,
        "cpu_ns": account.cpu_ns, "elapsed_ns": account.elapsed_ns, "columns": columns, "setup_ns": account.setup_ns,
    }))
}
