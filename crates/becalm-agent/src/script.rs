//! A script of figures for tests: a clock, and the figures that replace what the kernel counted for each run
//! (`serve --script FILE`).
//!
//! Programs really run. When one has ended, `measure` passes the readings to `Script::replace`, and reports
//! the result instead. The format is in docs/reference/protocol.md, "Scripted figures".

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use becalm_core::exec::account::{RunQueue, Status};
use becalm_core::exec::late::End;
use becalm_core::load::own::{Own, Scope};
use becalm_core::source::delays::{Delays, DELAYS};
use becalm_core::source::perf_events::{Counts, COUNTS};
use becalm_core::time::{AnyClock, Clock, ScriptedClock};
use becalm_core::types::Usage;
use serde::Deserialize;

/// The Unix time at which a script begins by default, ns: 2023-11-14 22:13:20.
const UNIX_NS: i64 = 1_700_000_000_000_000_000;

/// The reason why a script cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    #[error("The script {path} cannot be read: {error}")]
    Unreadable { path: PathBuf, error: io::Error },
    #[error("The script {path} cannot be understood: {error}")]
    Malformed { path: PathBuf, error: serde_json::Error },
    #[error("The script {path} needs a list of runs for each workload, and a run in each list")]
    Empty { path: PathBuf },
    #[error("The script {path} has a count of {name:?}, which is none of {known}")]
    Count { path: PathBuf, name: String, known: String },
}

/// The content of the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptFile {
    #[serde(default)]
    start_ns: i64,
    #[serde(default)]
    step_ns: i64,
    #[serde(default = "unix_ns")]
    unix_ns: i64,
    runs: Vec<Vec<ScriptedRun>>,
}

fn unix_ns() -> i64 {
    UNIX_NS
}

/// The figures of one run; times are in ns.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScriptedRun {
    /// The time from its begin until its end is seen.
    lasts_ns: i64,
    late_ns: i64,
    /// The leader's time on CPUs and run queues; None: the kernel keeps no account.
    queue: Option<ScriptedQueue>,
    early_exec_ns: i64,
    early_wait_ns: i64,
    user_ns: i64,
    system_ns: i64,
    max_rss_bytes: i64,
    minor_faults: i64,
    major_faults: i64,
    voluntary: i64,
    involuntary: i64,
    /// The exit status; None: that of the program itself.
    status: Option<Status>,
    /// The exit record; None: the kernel reports only the run queue.
    exit: Option<ScriptedExit>,
    /// The memory over time: ns since the begin, and bytes.
    resident: Vec<(i64, u64)>,
    /// Whether a stop arrives when this program, the first of two that run at the same time, has ended and
    /// before that is noticed.
    stops: bool,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptedQueue {
    exec_ns: i64,
    wait_ns: i64,
}

/// The kernel's exit records and counters. Omitted values are unknown.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptedExit {
    level: u64,
    scope: ScopeWord,
    #[serde(default)]
    tasks: Option<u64>,
    #[serde(default)]
    lost: Option<u64>,
    /// The values by the names in `DELAYS` and `COUNTS`.
    #[serde(default)]
    counts: BTreeMap<String, u64>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ScopeWord {
    Leader,
    Group,
    Tree,
}

/// The readings of a run that has ended.
pub struct Finished {
    pub begun_ns: i64,
    pub end: End,
    /// The run queue's account since the time of the run began.
    pub queue: Option<RunQueue>,
    pub own: Option<Own>,
    pub status: Status,
    pub usage: Usage,
}

/// The script of a conversation.
pub struct Script {
    clock: Arc<ScriptedClock>,
    runs: Vec<Vec<ScriptedRun>>,
    /// The number of runs used of each list.
    given: Vec<usize>,
}

impl Script {
    /// Read a script.
    ///
    /// # Errors
    /// Returns an error that names the file.
    pub fn read(path: &Path) -> Result<Self, ScriptError> {
        let at = || path.to_owned();
        let text = fs::read(path).map_err(|error| ScriptError::Unreadable { path: at(), error })?;
        let file: ScriptFile =
            serde_json::from_slice(&text).map_err(|error| ScriptError::Malformed { path: at(), error })?;
        if file.runs.is_empty() || file.runs.iter().any(Vec::is_empty) {
            return Err(ScriptError::Empty { path: at() });
        }
        let counts = file.runs.iter().flatten().filter_map(|run| run.exit.as_ref());
        let known = || DELAYS.iter().chain(&COUNTS);
        if let Some(name) =
            counts.flat_map(|exit| exit.counts.keys()).find(|name| known().all(|each| each != name))
        {
            let known = known().copied().collect::<Vec<_>>().join(", ");
            return Err(ScriptError::Count { path: at(), name: name.clone(), known });
        }
        let clock = Arc::new(ScriptedClock::new(file.start_ns, file.step_ns, file.unix_ns));
        Ok(Self { clock, given: vec![0; file.runs.len()], runs: file.runs })
    }

    /// Return the clock of all figures.
    pub fn clock(&self) -> AnyClock {
        AnyClock::Scripted(Arc::clone(&self.clock))
    }

    /// Return whether a stop arrives at the end of the workload's next run, before that end is noticed.
    pub fn stops(&self, workload: u32) -> bool {
        let list = workload as usize % self.runs.len();
        self.runs[list][self.given[list] % self.runs[list].len()].stops
    }

    /// Return the figures of the workload's next run in place of the readings, and the run's memory over
    /// time. The clock advances to the run's end. A list begins again after its last run; workloads without a
    /// list share the existing ones.
    pub fn replace(&mut self, workload: u32, read: &Finished) -> (Finished, &[(i64, u64)]) {
        let list = workload as usize % self.runs.len();
        let run = &self.runs[list][self.given[list] % self.runs[list].len()];
        self.given[list] += 1;
        let begun_ns = self.clock.now_ns();
        self.clock.advance(run.lasts_ns);
        let early = RunQueue { exec_ns: run.early_exec_ns, wait_ns: run.early_wait_ns };
        let queue = run.queue.map(|queue| RunQueue { exec_ns: queue.exec_ns, wait_ns: queue.wait_ns });
        let queue = queue.map(|queue| queue.since(early));
        let finished = Finished {
            begun_ns,
            end: End { seen_ns: begun_ns + run.lasts_ns, late_ns: run.late_ns },
            queue,
            own: Some(run.exit.as_ref().map_or_else(|| of_queue(queue), |exit| exit.own(early))),
            status: run.status.unwrap_or(read.status),
            usage: Usage {
                user_ns: run.user_ns,
                system_ns: run.system_ns,
                max_rss_bytes: run.max_rss_bytes,
                minor_faults: run.minor_faults,
                major_faults: run.major_faults,
                voluntary: run.voluntary,
                involuntary: run.involuntary,
            },
        };
        (finished, &run.resident)
    }
}

impl ScriptedExit {
    fn own(&self, early: RunQueue) -> Own {
        let delays = Delays(DELAYS.map(|name| self.counts.get(name).copied())).since(early);
        let values = COUNTS.map(|name| self.counts.get(name).copied());
        let counts = Counts { values, kernel: values.iter().any(Option::is_some).then_some(true) };
        let scope = match self.scope {
            ScopeWord::Leader => Scope::Leader,
            ScopeWord::Group => Scope::Group,
            ScopeWord::Tree => Scope::Tree,
        };
        let (level, tasks, lost) = (self.level, self.tasks, self.lost);
        Own { level, scope, delays, counts, tasks, lost, ..Own::default() }
    }
}

/// Return the accounts that follow from the run queue only.
fn of_queue(queue: Option<RunQueue>) -> Own {
    let of = |part: fn(RunQueue) -> i64| queue.and_then(|queue| u64::try_from(part(queue)).ok());
    Own {
        level: u64::from(queue.is_some()),
        delays: Delays::of_schedstat(of(|queue| queue.exec_ns), of(|queue| queue.wait_ns)),
        tasks: queue.map(|_| 1),
        ..Own::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(name: &str, text: &str) -> Result<Script, ScriptError> {
        let path = std::env::temp_dir().join(format!("becalm-script-{name}-{}", std::process::id()));
        fs::write(&path, text).unwrap();
        let read = Script::read(&path);
        fs::remove_file(&path).unwrap();
        read
    }

    fn read_of_a_program() -> Finished {
        let usage = Usage {
            user_ns: -1,
            system_ns: -1,
            max_rss_bytes: -1,
            minor_faults: -1,
            major_faults: -1,
            voluntary: -1,
            involuntary: -1,
        };
        let end = End { seen_ns: -1, late_ns: -1 };
        Finished { begun_ns: -1, end, queue: None, own: None, status: 3, usage }
    }

    #[test]
    fn each_workload_has_its_runs_in_turn_and_the_clock_moves_with_them() {
        let text = r#"{"start_ns":100,"unix_ns":5000,"runs":[
            [{"lasts_ns":10,"user_ns":7},{"lasts_ns":20,"status":-9,"resident":[[1,2]]}],
            [{"lasts_ns":30,"late_ns":4,"queue":{"exec_ns":9,"wait_ns":5},"early_exec_ns":2,"early_wait_ns":1}]]}"#;
        let mut script = script("turns", text).unwrap();
        let read = read_of_a_program();
        let mut next = |workload| {
            let (run, resident) = script.replace(workload, &read);
            let figures = (run.begun_ns, run.end.seen_ns, run.usage.user_ns, run.status, resident.len());
            (figures, run.end.late_ns, run.queue)
        };
        assert_eq!(next(0), ((100, 110, 7, 3, 0), 0, None));
        assert_eq!(next(1), ((110, 140, 0, 3, 0), 4, Some(RunQueue { exec_ns: 7, wait_ns: 4 })));
        assert_eq!(next(0), ((140, 160, 0, -9, 1), 0, None));
        assert_eq!(next(2), ((160, 170, 7, 3, 0), 0, None));
        assert_eq!(script.clock().unix_ns(), 5070);
    }

    #[test]
    fn omitted_values_of_an_exit_record_are_unknown() {
        let text = r#"{"runs":[[{"early_wait_ns":1,"exit":{"level":3,"scope":"tree","tasks":2,
            "counts":{"exec_ns":8,"wait_ns":5,"cycles":11}}}],[{"queue":{"exec_ns":6,"wait_ns":2}}],[{}]]}"#;
        let mut script = script("exit", text).unwrap();
        let mut own = |workload| script.replace(workload, &read_of_a_program()).0.own.unwrap();
        let whole = own(0);
        assert_eq!((whole.level, whole.scope, whole.tasks, whole.lost), (3, Scope::Tree, Some(2), None));
        assert_eq!(whole.delays.0[..3], [Some(8), Some(4), None]);
        assert_eq!((whole.counts.value("cycles"), whole.counts.value("instructions")), (Some(11), None));
        let leader = own(1);
        assert_eq!((leader.level, leader.tasks, leader.delays.0[0]), (1, Some(1), Some(6)));
        assert_eq!(own(2), Own::default());
    }

    #[test]
    fn unusable_scripts_are_rejected_by_name() {
        for (text, part) in [
            ("{", "cannot be understood"),
            (r#"{"runs":[[{"wall_ns":1}]]}"#, "wall_ns"),
            (r#"{"runs":[]}"#, "list of runs"),
            (r#"{"runs":[[]]}"#, "list of runs"),
            (r#"{"runs":[[{"exit":{"level":1,"scope":"tree","counts":{"heat":1}}}]]}"#, "heat"),
        ] {
            let error = script("bad", text).err().unwrap().to_string();
            assert!(error.contains(part) && error.contains("becalm-script-bad"), "{error}");
        }
        let error = Script::read(Path::new("/nowhere/script")).err().unwrap().to_string();
        assert!(error.contains("/nowhere/script cannot be read"), "{error}");
    }
}
