//! Recordings of context switches with two counters per CPU, as a stream of events: the request `record`, and
//! recorded runs of `measure`.
//!
//! The kernel writes into its buffers; every `batch_ns` this thread reads them and sends their content as one
//! event. While nobody reads the events it does not: the buffers fill up, and the kernel counts the records
//! that it drops.

use std::io;
use std::path::{Path, PathBuf};

use becalm_core::cpus::{list, parse};
use becalm_core::exec::poll::{reading, ready_within};
use becalm_core::exec::{clock_ns, now_ns};
use becalm_core::source::pid_stat::PidStat;
use becalm_core::source::switches::events::EventSet;
use becalm_core::source::switches::names::Names;
use becalm_core::source::switches::recorder::RecordError;
use becalm_core::source::switches::turnover::Turnover;
use becalm_core::source::switches::{llc, Recorder};
use serde_json::{json, Value};

use crate::bpf;
use crate::conversation::{Attention, Conversation};
use crate::follow::{hold, Held};
use crate::protocol::{Failure, Means, Recording as Wish};

/// The range of windows that the detector accepts, ns.
const WINDOWS_NS: std::ops::RangeInclusive<u64> = 100_000..=50_000_000;

/// The range of batches, ns: the shortest leaves time for other work, and the longest fits into the buffers
/// at 10,000 switches per second.
const BATCHES_NS: std::ops::RangeInclusive<u64> = 1_000_000..=200_000_000;

/// The field of proc_pid_stat(5) with the start time of a process.
const STARTED: usize = 22;

/// The source of records.
enum Source {
    Cpus(Box<Recorder>),
    /// The source for a process that has not begun and is named later.
    Nobody,
    Pages(Turnover),
}

/// A recording in progress.
pub struct Recording {
    id: u64,
    wish: Wish,
    root: PathBuf,
    source: Source,
    batch_ns: i64,
    due_ns: i64,
    begun_ns: i64,
    rows: Vec<u8>,
    records: u64,
    /// The names of the threads whose pages are looked at.
    names: Names,
    /// The reason why the pages of a started program could not be looked at.
    refused: Option<String>,
}

impl Recording {
    /// Begin a recording of the CPUs below `root`.
    ///
    /// # Errors
    /// Returns the reason if nothing can be recorded here.
    pub fn open(id: u64, wish: &Wish, root: &Path) -> Result<Self, Failure> {
        let begun_ns = spent();
        if !WINDOWS_NS.contains(&wish.window_ns) {
            let message = format!("A window has 0.1 to 50 ms, not {} ns.", wish.window_ns);
            return Err(Failure::new("domain", message));
        }
        let batch_ns = wish.batch_ns.unwrap_or((2 * wish.window_ns).clamp(10_000_000, 100_000_000));
        if !BATCHES_NS.contains(&batch_ns) {
            let message = format!("Records are sent every 1 to 200 ms, not every {batch_ns} ns.");
            return Err(Failure::new("domain", message));
        }
        let cpus = match &wish.cpus {
            Some(text) => match parse(text) {
                Some(cpus) => Some(cpus),
                None => {
                    let message = format!("{text:?} is not a list of CPUs such as 0,2-3.");
                    return Err(Failure::new("domain", message));
                }
            },
            None => None,
        };
        let cpus_of = |opened: Result<Recorder, RecordError>| {
            opened.map(|recorder| Source::Cpus(Box::new(recorder))).map_err(failure)
        };
        let source = match (wish.events, wish.by) {
            (EventSet::WsTurnover, Means::Perf) => Source::Nobody,
            (EventSet::WsTurnover, Means::Bpf) => {
                let message =
                    "ws_turnover is read of the pages of one process, not by BPF. Leave one of both out.";
                return Err(Failure::new("usage", message));
            }
            (set, Means::Perf) => cpus_of(Recorder::open(set, cpus, wish.window_ns, root))?,
            (set, Means::Bpf) => {
                let feed = bpf::feed().map_err(failure)?;
                cpus_of(Recorder::from(feed, set, cpus, wish.window_ns, root))?
            }
        };
        Ok(Self {
            id,
            wish: wish.clone(),
            root: root.to_owned(),
            source,
            batch_ns: batch_ns as i64,
            due_ns: now_ns() + batch_ns as i64,
            begun_ns,
            rows: Vec::new(),
            records: 0,
            names: Names::default(),
            refused: None,
        })
    }

    /// Send which events are counted, and on which CPUs.
    pub fn send_setup(&self, talk: &mut Conversation) -> io::Result<()> {
        let mut event = json!({
            "id": self.id, "event": "recording", "events": self.wish.events, "by": self.wish.by,
            "miss_ratio": self.wish.events == EventSet::Llc, "window_ns": self.wish.window_ns,
            "batch_ns": self.batch_ns, "clock": "CLOCK_MONOTONIC_RAW", "counted": [], "cpus": null, "absent": {}, "llc": [],
        });
        if let Source::Cpus(recorder) = &self.source {
            let choices = recorder.events().iter().map(
                |choice| json!({"cpus": choice.cpus.as_ref().map(list), "references": choice.pair[0], "misses": choice.pair[1]}),
            );
            event["counted"] = choices.collect();
            event["cpus"] = list(&recorder.cpus()).into();
            event["absent"] = json!(recorder.absent);
            event["llc"] = json!(llc::of(&recorder.cpus(), &self.root));
        }
        talk.output.send(&event)
    }

    /// Register the start of the measured program.
    pub fn started(&mut self, seq: u64, pid: i32, talk: &mut Conversation) -> io::Result<()> {
        talk.output.send(&json!({"id": self.id, "event": "started", "seq": seq, "pid": pid}))?;
        if self.wish.events == EventSet::WsTurnover {
            let directory = PathBuf::from(format!("/proc/{pid}"));
            match Turnover::begin(&directory, pid as u32, self.wish.window_ns) {
                Ok(pages) => self.pages(pages),
                Err(error) => self.refused = Some(unreadable(pid, &error).message),
            }
        }
        Ok(())
    }

    /// Look up the names of a process that runs already, which the kernel does not report.
    fn runs(&mut self, directory: &Path) {
        match &mut self.source {
            Source::Cpus(recorder) => recorder.names.look_up(directory),
            _ => self.names.look_up(directory),
        }
    }

    fn pages(&mut self, pages: Turnover) {
        self.records += pages.first(&mut self.rows);
        self.due_ns = pages.due_ns();
        self.source = Source::Pages(pages);
    }

    /// Return the time of the next look, ns.
    pub fn due_ns(&self) -> i64 {
        self.due_ns
    }

    /// Take the new records if it is time and there is a reader.
    pub fn look(&mut self, talk: &mut Conversation) -> io::Result<()> {
        let now = now_ns();
        if now < self.due_ns {
            return Ok(());
        }
        self.due_ns = now + self.batch_ns;
        if talk.output.outlet.is_full() {
            return Ok(());
        }
        self.take(false);
        self.send(talk)
    }

    fn take(&mut self, end: bool) {
        match &mut self.source {
            Source::Cpus(recorder) => self.records += recorder.look(&mut self.rows, end),
            Source::Pages(pages) => {
                match pages.look(&mut self.rows) {
                    Ok(count) => {
                        self.records += count;
                        self.names.look_up(pages.directory());
                    }
                    // The process has ended, or executes another program that this process may not look at.
                    Err(_) => {
                        self.records += pages.end(&mut self.rows);
                        self.source = Source::Nobody;
                        return;
                    }
                }
                self.due_ns = pages.due_ns();
            }
            Source::Nobody => {}
        }
    }

    fn send(&mut self, talk: &mut Conversation) -> io::Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let head = format!(
            "{{\"id\":{},\"event\":\"records\",\"at_ns\":{},\"cost_ns\":{},\"rows\":[",
            self.id,
            now_ns(),
            spent() - self.begun_ns
        );
        let mut line = head.into_bytes();
        line.append(&mut self.rows);
        line.extend_from_slice(b"]}\n");
        talk.output.outlet.put(&line)
    }

    /// Send the remaining records, and return the summary.
    pub fn end(&mut self, talk: &mut Conversation) -> io::Result<Value> {
        self.due_ns = 0;
        self.take(true);
        if let Source::Pages(pages) = &self.source {
            self.records += pages.end(&mut self.rows);
            self.source = Source::Nobody;
        }
        self.send(talk)?;
        let (trouble, absent, names) = match &self.source {
            Source::Cpus(recorder) => {
                (json!(recorder.trouble()), json!(recorder.absent), recorder.names.all())
            }
            _ => (
                json!({}),
                self.refused.as_ref().map_or(json!({}), |why| json!({"pages": why})),
                self.names.all(),
            ),
        };
        let cost_ns = spent() - self.begun_ns;
        Ok(
            json!({"records": self.records, "trouble": trouble, "absent": absent, "names": names, "cost_ns": cost_ns}),
        )
    }
}

/// Record until a process ends or `stop` arrives; without a process until `stop`.
pub fn record(
    id: u64,
    wish: &Wish,
    (pid, started): (Option<i32>, Option<u64>),
    root: &Path,
    talk: &mut Conversation,
) -> io::Result<Result<Value, Failure>> {
    let opened = || -> Result<(Option<Held>, Recording), Failure> {
        let held = pid.map(|pid| checked(pid, started)).transpose()?;
        let mut recording = Recording::open(id, wish, root)?;
        if let Some(held) = &held {
            recording.runs(&held.path());
        }
        match (&held, pid, wish.events) {
            (Some(held), Some(pid), EventSet::WsTurnover) => {
                let pages = Turnover::begin(&held.path(), pid as u32, wish.window_ns);
                recording.pages(pages.map_err(|error| unreadable(pid, &error))?);
            }
            (None, _, EventSet::WsTurnover) => {
                let message = "ws_turnover is of one process. Name it: --pid, or a command.";
                return Err(Failure::new("usage", message));
            }
            _ => {}
        }
        Ok((held, recording))
    };
    let (held, mut recording) = match opened() {
        Ok(opened) => opened,
        Err(failure) => return Ok(Err(failure)),
    };
    recording.send_setup(talk)?;
    let mut ended = false;
    // A stop may have arrived in the same read as the request, which polling would not report again.
    let mut over = talk.attend()? != Attention::Nothing;
    while !over {
        let [input, signals, output] = talk.interests();
        let process = held.as_ref().map_or(becalm_core::exec::poll::NOTHING, |held| reading(held.fd()));
        if ready_within(&[input, signals, output, process], recording.due_ns() - now_ns())? {
            over = talk.attend()? != Attention::Nothing;
            ended = held.as_ref().map_or(Ok(false), Held::ended)?;
            over |= ended;
        }
        recording.look(talk)?;
    }
    let mut summary = recording.end(talk)?;
    summary["ended"] = ended.into();
    Ok(Ok(summary))
}

/// Hold a process, after checking that it exists and has this start time.
fn checked(pid: i32, started: Option<u64>) -> Result<Held, Failure> {
    let held = hold(pid)?;
    let stat = std::fs::read(held.path().join("stat")).ok().and_then(|text| PidStat::parse(&text));
    match (stat, started) {
        (Some(stat), Some(started)) if stat.at(STARTED) != Some(started) => Err(Failure::new(
            "not_found",
            format!(
                "Process {pid} is another one now: it began at tick {} of this boot, not at {started}. The one that was \
                 meant has ended.",
                stat.at(STARTED).unwrap_or(0)
            ),
        )),
        (Some(stat), _) if stat.state != "Z" => Ok(held),
        _ => Err(Failure::new("not_found", format!("Process {pid} has ended already."))),
    }
}

fn unreadable(pid: i32, error: &io::Error) -> Failure {
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => Failure::new(
            "permission",
            format!("The pages of process {pid} may not be looked at by this user. Run becalm as root."),
        ),
        Some(libc::ESRCH) => {
            Failure::new("not_found", format!("Process {pid} has ended, or does not have its own memory."))
        }
        Some(libc::ENOENT) => Failure::new(
            "unsupported",
            "This kernel does not report which pages are referenced (CONFIG_PROC_PAGE_MONITOR), so ws_turnover is not known.",
        ),
        _ => Failure::new("system", format!("The pages of process {pid} cannot be read: {error}.")),
    }
}

/// Return the failure of a request for an error.
pub fn failure(error: RecordError) -> Failure {
    let kind = match error {
        RecordError::Refused(_) => "permission",
        RecordError::Unsupported(_) => "unsupported",
        RecordError::Domain(_) => "domain",
    };
    Failure::new(kind, error.to_string())
}

/// Return the CPU time of this thread, ns.
fn spent() -> i64 {
    clock_ns(libc::CLOCK_THREAD_CPUTIME_ID)
}
