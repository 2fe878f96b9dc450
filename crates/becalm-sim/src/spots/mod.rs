//! Sweet spots: moments at which a running program migrates cheaply, derived from records of context switches
//! with two counters per CPU.
//!
//! - `record` is the input, which the cache simulator, synthetic streams and readers of real machines
//!   produce.
//! - `account` and `tasks` turn records into logical counters per `program`; `window` is one such count.
//! - `rules` has all thresholds; `change` and `judge` apply them, and `detect` combines everything.
//! - `cost` estimates the cost of a migration, and `wait` how long to wait for a sweet spot.
//! - `watch` and `live` make the same decisions for a process while its stream is still growing.
//! - `synthetic` generates streams with a known truth.
//!
//! `answer` answers one line of `becalm-sim spots`. Source: K. Tabere, Migration Sweetspots, diploma thesis,
//! TU Dresden 2013.

pub mod account;
pub mod change;
pub mod cost;
pub mod detect;
pub mod judge;
pub mod live;
pub mod program;
pub mod record;
pub mod rules;
pub mod synthetic;
pub mod tasks;
pub mod wait;
pub mod watch;
pub mod window;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use becalm_core::source::switches::{self, perf_data};
use serde::{Deserialize, Serialize};

pub use detect::{Detection, Found, Question};
pub use record::{Record, Task, What, IDLE};
pub use rules::Rules;

use detect::Mark;
use synthetic::{Synthetic, Truth};
use window::Window;

/// A request: the source of a stream, and a question about it, as in `{"from": {"synthetic": {"seed": 1}},
/// "question": {}}`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    pub from: From,
    #[serde(default)]
    pub question: Question,
}

/// The source of a stream.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum From {
    Records(Vec<Record>),
    Counted(Counted),
    Synthetic(Synthetic),
    PerfData(InFile),
    /// A file with a list of records on each line, which is read line by line.
    Batches(InFile),
}

/// Windows counted elsewhere: `[start, end, own references, own misses, others' references, others' misses,
/// known]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counted {
    pub task: Task,
    pub windows: Vec<(u64, u64, u64, u64, u64, u64, bool)>,
    /// The times of marks.
    #[serde(default)]
    pub marks: Vec<u64>,
    /// Whether the program ended with the last window.
    #[serde(default)]
    pub ended: bool,
}

/// A file, which may be larger than memory.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InFile {
    pub path: PathBuf,
}

/// An answer: the detected sweet spots, with the truth if it is known.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    Spots {
        #[serde(flatten)]
        found: Box<Found>,
        #[serde(skip_serializing_if = "Option::is_none")]
        truth: Option<Vec<Truth>>,
        /// The summary of a perf file: the counted events, and missing parts.
        #[serde(skip_serializing_if = "Option::is_none")]
        file: Option<Box<perf_data::Summary>>,
    },
    Error(String),
}

/// Answer a line.
pub fn answer(line: &str) -> Answer {
    match serde_json::from_str::<Request>(line) {
        Err(error) => Answer::Error(format!("This is not a request: {error}.")),
        Ok(request) => answered(request).unwrap_or_else(Answer::Error),
    }
}

fn answered(request: Request) -> Result<Answer, String> {
    let mut detection = Detection::new(request.question)?;
    let mut file = None;
    let (found, truth) = match request.from {
        From::Batches(InFile { path }) => {
            of_batches(&mut detection, &path)?;
            (detection.finish(), None)
        }
        From::PerfData(InFile { path }) => {
            let mut summary = of_file(&mut detection, &path)?;
            let found = detection.finish();
            let seen: BTreeSet<Task> = found.programs.iter().map(|each| each.task).collect();
            summary.names.retain(|task, _| seen.contains(task));
            file = Some(Box::new(summary));
            (found, None)
        }
        From::Records(records) => {
            detection.feed(&records);
            (detection.finish(), None)
        }
        From::Counted(counted) => (of_windows(detection, &counted)?, None),
        From::Synthetic(asked) => {
            asked.check()?;
            let (records, truth) = asked.stream();
            detection.feed(&records);
            (detection.finish(), Some(truth))
        }
    };
    Ok(Answer::Spots { found: Box::new(found), truth, file })
}

/// The longest line of a file, in bytes. A line is an event of the agent, which covers at most a second.
const LONGEST_LINE: u64 = 256 << 20;

fn of_batches(detection: &mut Detection, path: &Path) -> Result<(), String> {
    let unreadable = |error: std::io::Error| format!("{} cannot be read: {error}.", path.display());
    let mut lines = BufReader::with_capacity(1 << 16, File::open(path).map_err(unreadable)?);
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        if lines.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line).map_err(unreadable)? == 0 {
            break;
        }
        let records: Vec<Record> = serde_json::from_slice(&line).map_err(|error| {
            format!("Line {number} of {} is not a list of records: {error}.", path.display())
        })?;
        detection.feed(&records);
    }
    Ok(())
}

fn of_file(detection: &mut Detection, path: &Path) -> Result<perf_data::Summary, String> {
    let message = |error: perf_data::PerfError| format!("{} {error}.", path.display());
    let file = File::open(path).map_err(|error| message(error.into()))?;
    let feed = |each: &switches::Record| detection.feed([&of_core(each)]);
    perf_data::read(BufReader::with_capacity(1 << 16, file), feed).map_err(message)
}

/// Convert a record of becalm-core to the detector's type.
fn of_core(record: &switches::Record) -> Record {
    let switches::Record { time_ns, cpu, what, references, misses } = *record;
    let what = match what {
        switches::What::Switch { out, to, preempted } => What::Switch { out, to, preempted },
        switches::What::Tick => What::Tick,
        switches::What::Fork { parent, child, process } => What::Fork { parent, child, process },
        switches::What::Exec(task) => What::Exec { task },
        switches::What::Exit(task) => What::Exit { task },
        switches::What::Lost => What::Lost,
        switches::What::Offline => What::Offline,
    };
    Record { time_ns, cpu, what, references, misses }
}

fn of_windows(detection: Detection, counted: &Counted) -> Result<Found, String> {
    let count = counted.windows.len();
    let mut windows = Vec::with_capacity(count);
    let mut before = 0;
    for (number, &(start_ns, end_ns, references, misses, of_others, missed, known)) in
        counted.windows.iter().enumerate()
    {
        if end_ns < start_ns || start_ns < before {
            return Err(format!(
                "Window {} ends before it begins, or begins before the one before it ends.",
                number + 1
            ));
        }
        before = end_ns;
        let last = counted.ended && number + 1 == count;
        let (own, others) = ((references, misses).into(), (of_others, missed).into());
        windows.push(Window { program: 0, start_ns, end_ns, own, others, known, last });
    }
    let marks: Vec<Mark> =
        counted.marks.iter().map(|&time_ns| Mark { program: 0, time_ns, number: 1 }).collect();
    Ok(detection.of_windows(counted.task, &windows, &marks))
}
