//! The kernel's accounts of a program that has ended, as far as this process may read them, and which level
//! that is.
//!
//! `Accounts` is called when a run begins (`begin`), goes on (`look`) and has ended but was not reaped
//! (`ended`). The levels, from the weakest to the strongest, are schedstat of the leader, taskstats of the
//! whole process, and exit records of all its descendants.

use std::fs;

use becalm_core::exec::account::RunQueue;
use becalm_core::exec::now_ns;
use becalm_core::load::exit::Exit;
use becalm_core::load::family::Family;
use becalm_core::load::own::{Own, Scope};
use becalm_core::source::delays::{Delays, NOT_CREDIBLE};
use becalm_core::source::perf_events::{Counters, Counts, Pair};
use becalm_core::source::taskstats::{Task, TaskStats};

/// The reason why waits for devices and memory are not counted.
const OFF: &str = "delay accounting is off: sysctl kernel.task_delayacct=1 switches it on";

/// The number of ended tasks of others that are stored until they are fetched; further ones are dropped.
const STRANGERS: usize = 1 << 14;

/// The time above which a query is repeated, ns, since the moment of its answer is not known precisely.
const QUICK_NS: i64 = 50_000;
/// The largest number of queries.
const QUESTIONS: usize = 4;

/// The kernel's interfaces for accounts of programs.
pub struct Accounts {
    taskstats: Option<TaskStats>,
    /// The processes that start programs, and the events that are counted for all of them.
    counted: ([i32; 2], Pair),
    counters: Option<Counters>,
    /// The counters of the second of two programs that run at the same time.
    second: Option<Counters>,
    family: Family,
    /// Ended tasks that belong to none of the programs, until they are fetched.
    strangers: Vec<Task>,
    delays_counted: bool,
    /// The reasons why data are missing, each with the name of what is missing.
    pub reasons: Vec<(&'static str, String)>,
}

impl Accounts {
    /// Find out which interfaces this process may use, which does not change later. `starters` are the
    /// processes that start programs, and `pair` the events counted for them.
    pub fn open(starters: [i32; 2], pair: Pair) -> Self {
        let mut reasons = Vec::new();
        let taskstats = TaskStats::open().map_err(|error| reasons.push(("taskstats", refusal(&error)))).ok();
        Self {
            taskstats,
            counted: (starters, pair),
            counters: None,
            second: None,
            family: Family::new(std::process::id()),
            strangers: Vec::new(),
            delays_counted: false,
            reasons,
        }
    }

    /// Prepare for a block.
    pub fn block(&mut self) {
        self.reasons.retain(|(what, _)| !["delays", "tree", "counters"].contains(what));
        if self.counters.is_none() {
            let opened = Counters::open(self.counted.0[0], self.counted.1);
            self.counters = opened.map_err(|why| self.reasons.push(("counters", why))).ok();
        }
        if let Some(taskstats) = self.taskstats.as_mut().filter(|taskstats| !taskstats.listens()) {
            let cpus =
                fs::read_to_string("/sys/devices/system/cpu/possible").unwrap_or_else(|_| "0".to_owned());
            if let Err(error) = taskstats.listen(&cpus) {
                self.reasons
                    .push(("tree", format!("the ends of descendants cannot be followed here: {error}")));
            }
        }
    }

    /// Prepare for a record: delay accounting may have been switched meanwhile, for example by a setting of
    /// its runs.
    pub fn record(&mut self) {
        self.delays_counted = delays_counted();
        self.reasons.retain(|(_, why)| why != OFF);
        if self.taskstats.is_some() && !self.delays_counted {
            self.reasons.push(("delays", OFF.to_owned()));
        }
    }

    /// Stop observing for a while.
    pub fn hush(&mut self) {
        (self.counters, self.second) = (None, None);
        if let Some(taskstats) = &mut self.taskstats {
            taskstats.hush();
        }
    }

    /// Discard the records of what ended before a program starts.
    pub fn begin(&mut self) {
        self.keep_strangers();
        if let Some(taskstats) = &mut self.taskstats {
            let (strangers, starters) = (&mut self.strangers, self.counted.0.map(|pid| pid as u32));
            // Dropped records of earlier programs do not count as missing. The children of the starters are
            // not others' tasks.
            taskstats.exits(|task| {
                if strangers.len() < STRANGERS && !starters.contains(&task.parent) {
                    strangers.push(task);
                }
            });
        }
        self.family.begin();
        // The counters are last, so that they exclude the cost of observing.
        if let Some(counters) = &mut self.counters {
            counters.begin();
        }
    }

    /// Hand over the tasks that have ended since the last call and belong to none of the programs.
    pub fn strangers(&mut self) -> impl Iterator<Item = Task> + '_ {
        self.keep_strangers();
        self.strangers.drain(..)
    }

    fn keep_strangers(&mut self) {
        let room = STRANGERS - self.strangers.len();
        self.strangers.extend(self.family.strangers().take(room));
    }

    /// Prepare for a second program that runs at the same time.
    pub fn begin_second(&mut self) {
        if self.counters.is_some() {
            if self.second.is_none() {
                self.second = Counters::open(self.counted.0[1], self.counted.1).ok();
            }
            self.second.as_mut().map(Counters::begin);
        }
    }

    /// Fetch exit records while a program runs, so that the kernel has room for more.
    pub fn look(&mut self) {
        if let Some(taskstats) = &mut self.taskstats {
            let family = &mut self.family;
            let dropped = taskstats.exits(|task| family.ended(task));
            family.dropped(dropped);
            family.sort();
        }
    }

    /// Return the accounts of a program that has ended but was not reaped, and its exit record. `queue` is
    /// its own schedstat since its time began; `early` is what it had run and waited before, which the
    /// kernel's sums include.
    pub fn ended(&mut self, pid: u32, queue: Option<RunQueue>, early: RunQueue) -> (Own, Option<Exit>) {
        let counts = self.counters.as_ref().map_or(Counts::default(), Counters::since);
        let (own, exit) = self.read_accounts(pid, queue, early);
        (Own { counts, ..own }, exit)
    }

    /// Return the accounts of two programs that ran at the same time and have ended; None for one that was
    /// not started. The descendants of both count with the first one.
    pub fn ended_together(
        &mut self,
        pids: [Option<u32>; 2],
        queues: [Option<RunQueue>; 2],
        early: [RunQueue; 2],
    ) -> [(Option<Own>, Option<Exit>); 2] {
        let counters = [&self.counters, &self.second].map(Option::as_ref);
        let counts = counters.map(|counters| counters.map_or(Counts::default(), Counters::since));
        self.look();
        if let Some(pid) = pids[1] {
            self.family.alongside(pid);
        }
        let mut accounts = [(None, None), (None, None)];
        for side in 0..2 {
            if let Some(pid) = pids[side] {
                let (own, exit) = self.read_accounts(pid, queues[side], early[side]);
                accounts[side] = (Some(Own { counts: counts[side], ..own }), exit);
                self.family.next();
            }
        }
        accounts
    }

    fn read_accounts(&mut self, pid: u32, queue: Option<RunQueue>, early: RunQueue) -> (Own, Option<Exit>) {
        let leader = Delays::of_schedstat(
            queue.and_then(|queue| u64::try_from(queue.exec_ns).ok()),
            queue.and_then(|queue| u64::try_from(queue.wait_ns).ok()),
        );
        let weakest = Own {
            level: u64::from(queue.is_some()),
            delays: leader,
            tasks: queue.map(|_| 1),
            ..Own::default()
        };
        self.look();
        let Some(taskstats) = &mut self.taskstats else { return (weakest, None) };
        let follows = taskstats.listens();
        let (asked, answered_ns) =
            timed(|| if follows { taskstats.of_leader(pid) } else { taskstats.of_process(pid) });
        let counted = |delays: Delays| if self.delays_counted { delays } else { delays.without_accounting() };
        // A kernel without delay accounting (CONFIG_TASK_DELAY_ACCT) sends zeros.
        let Some(process) = asked.ok().filter(|process| process.runs > 0) else {
            return (weakest, None);
        };
        let level = 2 + u64::from(self.delays_counted);
        let mut delays = counted(process.delays).since(early);
        if !follows {
            return (Own { level, scope: Scope::Group, delays, ..Own::default() }, None);
        }
        let (others, tasks, lost) = self.family.finish(pid);
        delays.add(&others);
        if self.delays_counted && delays.value("block_ns").is_none() {
            let known = self.reasons.iter().any(|(what, _)| *what == "delays");
            (!known).then(|| self.reasons.push(("delays", NOT_CREDIBLE.to_owned())));
        }
        let exit = self.family.ending(pid).and_then(|ending| Exit::new(&ending, &process, answered_ns));
        let (tasks, lost) = (Some(tasks), Some(lost));
        (Own { level, scope: Scope::Tree, delays, tasks, lost, ..Own::default() }, exit)
    }
}

/// Return the answer of the quickest of some queries, and its time, ns.
fn timed<T>(mut ask: impl FnMut() -> T) -> (T, i64) {
    let mut asked = || {
        let begun_ns = now_ns();
        let answer = ask();
        let answered_ns = now_ns();
        (answer, answered_ns, answered_ns - begun_ns)
    };
    let mut best = asked();
    for _ in 1..QUESTIONS {
        if best.2 <= QUICK_NS {
            break;
        }
        let again = asked();
        if again.2 < best.2 {
            best = again;
        }
    }
    (best.0, best.1)
}

/// Raise the CPU time of a tree to the one reported when it was reaped (rusage, ns), which is complete: exit
/// records are sent before the time since the last tick is added. Descendants that nobody waited for are in
/// the exit records only.
pub fn with_usage(mut own: Own, cpu_ns: u64) -> Own {
    if own.scope == Scope::Tree && own.tasks > Some(1) {
        own.delays.0[0] = own.delays.0[0].map(|reported| reported.max(cpu_ns));
    }
    own
}

/// Return whether the kernel counts delays. Before Linux 5.14, which introduced the switch, it did unless
/// disabled at boot.
fn delays_counted() -> bool {
    match fs::read_to_string("/proc/sys/kernel/task_delayacct") {
        Ok(text) => text.trim() == "1",
        Err(_) => {
            let line = fs::read_to_string("/proc/cmdline").unwrap_or_default();
            !line.split_ascii_whitespace().any(|word| word == "nodelayacct")
        }
    }
}

fn refusal(error: &std::io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => {
            "the kernel's taskstats are not permitted: they need CAP_NET_ADMIN; run becalm as root".to_owned()
        }
        Some(libc::ENOENT) => "this kernel has no taskstats (CONFIG_TASKSTATS)".to_owned(),
        Some(libc::EPROTONOSUPPORT) => {
            "this kernel's taskstats are of a version whose order is not known (15, Linux 6.14)".to_owned()
        }
        _ => format!("the kernel's taskstats cannot be asked: {error}"),
    }
}
