//! What the kernel tells of a program that has ended: as much as it lets this process know, and how much that is.
//!
//! `Accounts` is told when a run begins (`begin`), goes on (`look`) and has ended but was not reaped (`ended`). From the
//! weakest to the strongest: schedstat of the leader, taskstats of the whole process, ends of all its descendants.

use std::fs;

use becalm_core::exec::account::RunQueue;
use becalm_core::exec::now_ns;
use becalm_core::load::exit::Exit;
use becalm_core::load::family::Family;
use becalm_core::load::own::{Own, Scope};
use becalm_core::source::delays::{Delays, NOT_CREDIBLE};
use becalm_core::source::perf_events::{Counters, Counts, Pair};
use becalm_core::source::taskstats::TaskStats;

/// Why waits for devices and memory are not counted.
const OFF: &str = "delay accounting is off: sysctl kernel.task_delayacct=1 switches it on";

/// A question that took longer than this is asked again, ns, and so many times at most: when the answer was made is known
/// no better.
const QUICK_NS: i64 = 50_000;
const QUESTIONS: usize = 4;

/// Asks the kernel about programs that have ended.
pub struct Accounts {
    taskstats: Option<TaskStats>,
    /// The process that starts programs, and the events that are counted of all of them.
    counted: (i32, Pair),
    counters: Option<Counters>,
    family: Family,
    delays_counted: bool,
    /// Why less is known than could be, in words, by what that is.
    pub reasons: Vec<(&'static str, String)>,
}

impl Accounts {
    /// Find out what can be asked of the kernel. Only once: what is permitted does not change. `starter`: the process
    /// that starts programs; `pair`: what is counted of them.
    pub fn open(starter: i32, pair: Pair) -> Self {
        let mut reasons = Vec::new();
        let taskstats = TaskStats::open().map_err(|error| reasons.push(("taskstats", refusal(&error)))).ok();
        Self {
            taskstats,
            counted: (starter, pair),
            counters: None,
            family: Family::new(std::process::id()),
            delays_counted: false,
            reasons,
        }
    }

    /// A block begins.
    pub fn block(&mut self) {
        self.reasons.retain(|(what, _)| !["delays", "tree", "counters"].contains(what));
        if self.counters.is_none() {
            let opened = Counters::open(self.counted.0, self.counted.1);
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

    /// A record begins: whether delays are counted can be switched while the machine runs, also by a setting of its runs.
    pub fn record(&mut self) {
        self.delays_counted = delays_counted();
        self.reasons.retain(|(_, why)| why != OFF);
        if self.taskstats.is_some() && !self.delays_counted {
            self.reasons.push(("delays", OFF.to_owned()));
        }
    }

    /// Nothing is to be observed for a while.
    pub fn hush(&mut self) {
        self.counters = None;
        if let Some(taskstats) = &mut self.taskstats {
            taskstats.hush();
        }
    }

    /// A program is about to start: what ended before is none of it.
    pub fn begin(&mut self) {
        if let Some(taskstats) = &mut self.taskstats {
            // What was dropped then is not missed either.
            taskstats.exits(drop);
        }
        self.family.begin();
        // The last: what observing starts is none of the program's.
        if let Some(counters) = &mut self.counters {
            counters.begin();
        }
    }

    /// While a program runs: fetch what has ended, so that the kernel has room for more.
    pub fn look(&mut self) {
        if let Some(taskstats) = &mut self.taskstats {
            let family = &mut self.family;
            let dropped = taskstats.exits(|task| family.ended(task));
            family.dropped(dropped);
            family.sort();
        }
    }

    /// It has ended and was not reaped yet. `queue`: what its own file says, since its time began; `early`: what it had run
    /// and waited before, which the kernel's sums have, too.
    pub fn ended(&mut self, pid: u32, queue: Option<RunQueue>, early: RunQueue) -> (Own, Option<Exit>) {
        let counts = self.counters.as_ref().map_or(Counts::default(), Counters::since);
        let (own, exit) = self.told(pid, queue, early);
        (Own { counts, ..own }, exit)
    }

    fn told(&mut self, pid: u32, queue: Option<RunQueue>, early: RunQueue) -> (Own, Option<Exit>) {
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
        let (asked, told_ns) =
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
        let exit = self.family.ending(pid).and_then(|ending| Exit::new(&ending, &process, told_ns));
        let (tasks, lost) = (Some(tasks), Some(lost));
        (Own { level, scope: Scope::Tree, delays, tasks, lost, ..Own::default() }, exit)
    }
}

/// The answer of the quickest of some questions, and when it was there, ns.
fn timed<T>(mut ask: impl FnMut() -> T) -> (T, i64) {
    let mut asked = || {
        let begun_ns = now_ns();
        let answer = ask();
        let told_ns = now_ns();
        (answer, told_ns, told_ns - begun_ns)
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

/// CPU time of a tree by what its reaping gave (rusage, ns), which is whole: ends of tasks are told before the time since
/// the last tick is counted. Descendants that nobody waited for are in the ends alone.
pub fn with_usage(mut own: Own, cpu_ns: u64) -> Own {
    if own.scope == Scope::Tree && own.tasks > Some(1) {
        own.delays.0[0] = own.delays.0[0].map(|told| told.max(cpu_ns));
    }
    own
}

/// Whether the kernel counts delays. Before Linux 5.14, which brought the switch, it did unless told otherwise at boot.
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
