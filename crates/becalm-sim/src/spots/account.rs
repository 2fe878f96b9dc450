//! Accounting of logical counters per program from two counters per CPU: records in, windows and other events
//! of programs out.
//!
//! `Accounting::push` takes one record after the other and `take` returns the finished events, so that the
//! memory needed grows with the number of programs and not with the length of the stream. The own counts of a
//! program are what a CPU's counters advance while the program runs there. The counts of others are what all
//! CPUs of its last-level cache advance while it does not run, minus those of other threads of its process.
//! `Closing` decides when the window of a waiting program ends. `tasks` tracks which task is where, and
//! `Trouble` counts the causes of unknown windows.

use std::collections::{BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

use super::program::{Place, Program};
use super::record::{Record, Task, What, IDLE};
use super::window::{Counts, Window};

/// The rule for when the window of a program that does not run ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Closing {
    /// The window ends on time, by the records of the other CPUs.
    #[default]
    InTime,
    /// The window ends when the program runs again (published rule).
    WhenItRuns,
}

/// An event of a program, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    Closed(Window),
    Forked { program: usize, time_ns: u64 },
    Executed { program: usize, time_ns: u64 },
    Marked { program: usize, time_ns: u64, number: u32 },
    Migrated { program: usize, time_ns: u64, from: u32, to: u32 },
}

/// The causes of unknown windows, and how often each occurred.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Trouble {
    /// The number of times that records of a CPU were lost.
    pub lost: u64,
    /// The number of switches away from a task that did not run there.
    pub inconsistent: u64,
    /// The number of times that a counter fell although its CPU was not offline.
    pub counters_fell: u64,
    /// The number of times that the clock stepped back by a window or more, or a running program had no
    /// record for `GAP_WINDOWS`.
    pub clock_steps: u64,
    /// The number of CPUs that went offline.
    pub offline: u64,
    /// The number of times that a program ran on a CPU that is not recorded.
    pub unseen: u64,
}

/// The number of windows without a record of a running program after which its CPU was suspended or the clock
/// stepped: a running program is recorded once per window.
pub const GAP_WINDOWS: u64 = 20;

/// The latest time of a record (in the year 2262); later ones are limited to it, so that the end of a window
/// does not overflow.
const LATEST_NS: u64 = u64::MAX / 2;

/// The shortest gap, ns.
const GAP_NS: u64 = 1_000_000_000;

#[derive(Debug, Clone, Default)]
pub(super) struct Cpu {
    /// The counters at the last record; None before the first one and after the CPU was offline.
    last: Option<Counts>,
    /// The time since when an unidentified task runs there.
    since_ns: u64,
    /// The counts of a task that is not identified yet.
    pending: Counts,
    pub(super) runs: Runs,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Runs {
    #[default]
    Unknown,
    Idle,
    Program(usize),
}

/// The state of the accounting.
#[derive(Debug)]
pub struct Accounting {
    window_ns: u64,
    closing: Closing,
    /// The last-level cache of each CPU; all CPUs not listed share another one.
    llc_of: HashMap<u32, usize>,
    /// The recorded CPUs; None if all are recorded.
    recorded: Option<BTreeSet<u32>>,
    pub(super) cpus: HashMap<u32, Cpu>,
    totals: HashMap<usize, Counts>,
    of_process: HashMap<(usize, Task), Counts>,
    pub(super) programs: Vec<Program>,
    pub(super) alive: HashMap<Task, usize>,
    pub(super) process_of: HashMap<Task, Task>,
    /// The times at which windows of waiting programs end, per cache.
    due: HashMap<usize, BTreeSet<(u64, usize)>>,
    now_ns: u64,
    first_ns: Option<u64>,
    pub(super) events: Vec<Event>,
    pub(super) trouble: Trouble,
    pub(super) idle: Counts,
    pub(super) unattributed: Counts,
    records: u64,
}

impl Accounting {
    /// Create an accounting without records. `llc` lists the CPUs of each last-level cache; if it is empty,
    /// all CPUs share one.
    pub fn new(window_ns: u64, closing: Closing, llc: &[Vec<u32>], recorded: Option<&[u32]>) -> Self {
        let llc_of =
            llc.iter().enumerate().flat_map(|(number, cpus)| cpus.iter().map(move |&cpu| (cpu, number)));
        Self {
            window_ns,
            closing,
            llc_of: llc_of.collect(),
            recorded: recorded.map(|cpus| cpus.iter().copied().collect()),
            cpus: HashMap::new(),
            totals: HashMap::new(),
            of_process: HashMap::new(),
            programs: Vec::new(),
            alive: HashMap::new(),
            process_of: HashMap::new(),
            due: HashMap::new(),
            now_ns: 0,
            first_ns: None,
            events: Vec::new(),
            trouble: Trouble::default(),
            idle: Counts::default(),
            unattributed: Counts::default(),
            records: 0,
        }
    }

    /// Process one record.
    pub fn push(&mut self, record: &Record) {
        self.records += 1;
        let now = self.clock(record.time_ns);
        let cpu = record.cpu;
        let missing = match record.what {
            What::Switch { out, .. } => !self.expect(cpu, out),
            What::Lost => {
                self.lost(cpu);
                true
            }
            _ => false,
        };
        self.count(cpu, Counts::new(record.references, record.misses), now);
        if missing {
            self.give_up(cpu);
            self.set_runs(cpu, Runs::Unknown, now);
        }
        match record.what {
            What::Switch { out, to, .. } => self.switch(cpu, out, to, now),
            What::Fork { parent, child, process } => self.fork(cpu, parent, child, process, now),
            What::Exit { task } => self.exit(task, now),
            What::Exec { task } => {
                if let Some(&program) = self.alive.get(&task) {
                    self.events.push(Event::Executed { program, time_ns: now });
                }
            }
            What::Mark { task, number } => {
                if let Some(&program) = self.alive.get(&task) {
                    self.events.push(Event::Marked { program, time_ns: now, number });
                }
            }
            What::Moved { task, to, .. } => self.moved(task, to, now),
            What::Offline => self.offline(cpu),
            What::Tick | What::Lost => {}
        }
        if let Some(Runs::Program(program)) = self.cpus.get(&cpu).map(|each| each.runs) {
            self.close_if_due(program, now);
        }
        self.close_waiting(self.llc(cpu), now);
    }

    /// End all windows at the end of the stream.
    pub fn finish(&mut self) {
        for program in 0..self.programs.len() {
            if !self.programs[program].over {
                self.end(program, self.now_ns);
                self.programs[program].ended = false;
            }
        }
    }

    /// Return the events since the last call.
    pub fn take(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    pub fn trouble(&self) -> Trouble {
        self.trouble
    }

    pub fn programs(&self) -> &[Program] {
        &self.programs
    }

    /// Return the counts of idle CPUs, and those of unidentified tasks. Together with the programs' own
    /// counts they are all counts.
    pub fn of_nobody(&self) -> (Counts, Counts) {
        let pending = self.cpus.values().fold(Counts::default(), |sum, cpu| sum + cpu.pending);
        (self.idle, self.unattributed + pending)
    }

    /// Return the number of records, and the times of the first and the last one.
    pub fn span(&self) -> (u64, u64, u64) {
        (self.records, self.first_ns.unwrap_or(0), self.now_ns)
    }

    /// Return the CPUs with records, in ascending order.
    pub fn seen(&self) -> Vec<u32> {
        let mut found: Vec<u32> = self.cpus.keys().copied().collect();
        found.sort_unstable();
        found
    }

    pub(super) fn llc(&self, cpu: u32) -> usize {
        self.llc_of.get(&cpu).copied().unwrap_or(usize::MAX)
    }

    pub(super) fn is_recorded(&self, cpu: u32) -> bool {
        self.recorded.as_ref().is_none_or(|cpus| cpus.contains(&cpu))
    }

    /// Return the time of a record, which never decreases unless the clock steps back by a window or more;
    /// such a step makes open windows unknown.
    fn clock(&mut self, time_ns: u64) -> u64 {
        let time_ns = time_ns.min(LATEST_NS);
        self.first_ns.get_or_insert(time_ns);
        if time_ns.saturating_add(self.window_ns) < self.now_ns {
            self.trouble.clock_steps += 1;
            for program in 0..self.programs.len() {
                self.restart(program, time_ns);
            }
            self.now_ns = time_ns;
            self.cpus.values_mut().for_each(|cpu| cpu.since_ns = cpu.since_ns.min(time_ns));
        }
        self.now_ns = self.now_ns.max(time_ns);
        self.now_ns
    }

    /// End an open window as unknown, and begin another one at a time of a different clock.
    fn restart(&mut self, program: usize, time_ns: u64) {
        if self.programs[program].over {
            return;
        }
        self.unwait(program);
        self.programs[program].open.known = false;
        self.close(program, self.now_ns, false);
        self.programs[program].open.start_ns = time_ns;
        self.programs[program].open.known = false;
        self.programs[program].seen_ns = time_ns;
        self.wait(program);
    }

    /// Add the advance of a CPU's counters to the program that it belongs to.
    fn count(&mut self, cpu: u32, counts: Counts, now: u64) {
        let llc = self.llc(cpu);
        let each = self.cpus.entry(cpu).or_insert_with(|| Cpu { since_ns: now, ..Cpu::default() });
        let Some(last) = each.last.replace(counts) else {
            each.since_ns = now;
            return;
        };
        let runs = each.runs;
        let Some(advanced) = counts.since(last) else {
            self.trouble.counters_fell += 1;
            self.unknown_within(llc);
            return;
        };
        if runs == Runs::Unknown {
            each.pending += advanced;
        }
        *self.totals.entry(llc).or_default() += advanced;
        match runs {
            Runs::Unknown => {}
            Runs::Idle => self.idle += advanced,
            Runs::Program(number) => {
                let gap = GAP_NS.max(GAP_WINDOWS * self.window_ns);
                let program = &mut self.programs[number];
                if now.saturating_sub(program.seen_ns) > gap {
                    program.open.known = false;
                    self.trouble.clock_steps += 1;
                }
                program.seen_ns = now;
                program.own += advanced;
                program.open.own += advanced;
                *self.of_process.entry((llc, program.process)).or_default() += advanced;
            }
        }
    }

    /// Credit the counts of the unidentified task on a CPU to this program.
    pub(super) fn claim(&mut self, cpu: u32, number: usize) {
        let llc = self.llc(cpu);
        let Some(each) = self.cpus.get_mut(&cpu) else { return };
        let pending = std::mem::take(&mut each.pending);
        let program = &mut self.programs[number];
        program.own += pending;
        program.open.own += pending;
        *self.of_process.entry((llc, program.process)).or_default() += pending;
    }

    pub(super) fn claim_idle(&mut self, cpu: u32) {
        if let Some(each) = self.cpus.get_mut(&cpu) {
            self.idle += std::mem::take(&mut each.pending);
        }
    }

    /// Give up identifying the task to which pending counts of a CPU belong.
    pub(super) fn give_up(&mut self, cpu: u32) {
        if let Some(each) = self.cpus.get_mut(&cpu) {
            self.unattributed += std::mem::take(&mut each.pending);
        }
    }

    pub(super) fn since_ns(&self, cpu: u32) -> u64 {
        self.cpus.get(&cpu).map_or(self.now_ns, |each| each.since_ns)
    }

    pub(super) fn set_runs(&mut self, cpu: u32, runs: Runs, now: u64) {
        let each = self.cpus.entry(cpu).or_default();
        each.runs = runs;
        each.since_ns = now;
    }

    pub(super) fn forget_counters(&mut self, cpu: u32) {
        self.cpus.entry(cpu).or_default().last = None;
    }

    /// Return the counts of all other processes on a cache so far.
    fn of_others(&self, llc: usize, process: Task) -> Counts {
        let total = self.totals.get(&llc).copied().unwrap_or_default();
        total - self.of_process.get(&(llc, process)).copied().unwrap_or_default()
    }

    /// Begin the wait of a program near the cache at its place.
    pub(super) fn wait(&mut self, number: usize) {
        let Place::Waits { llc } = self.programs[number].place else { return };
        let process = self.programs[number].process;
        self.programs[number].saved = self.of_others(llc, process);
        if self.closing == Closing::InTime {
            let due = self.programs[number].open.start_ns.saturating_add(self.window_ns);
            self.due.entry(llc).or_default().insert((due, number));
        }
    }

    /// End or update the wait of a program, and add the counts of others since then.
    pub(super) fn unwait(&mut self, number: usize) {
        let Place::Waits { llc } = self.programs[number].place else { return };
        let counted = self.of_others(llc, self.programs[number].process) - self.programs[number].saved;
        let program = &mut self.programs[number];
        program.others += counted;
        program.open.others += counted;
        if let Some(due) = self.due.get_mut(&llc) {
            due.remove(&(program.open.start_ns.saturating_add(self.window_ns), number));
        }
    }

    /// End the windows of programs that wait near this cache and are due.
    fn close_waiting(&mut self, llc: usize, now: u64) {
        while let Some(&(due, number)) = self.due.get(&llc).and_then(BTreeSet::first) {
            if due > now {
                return;
            }
            self.unwait(number);
            self.close(number, now, false);
            self.wait(number);
        }
    }

    /// End the window of a running program if it is due.
    pub(super) fn close_if_due(&mut self, number: usize, now: u64) {
        if now >= self.programs[number].open.start_ns.saturating_add(self.window_ns) {
            self.close(number, now, false);
        }
    }

    pub(super) fn close(&mut self, number: usize, end_ns: u64, last: bool) {
        let open = &mut self.programs[number].open;
        let next = Window {
            start_ns: end_ns,
            own: Counts::default(),
            others: Counts::default(),
            known: true,
            ..*open
        };
        let mut closed = std::mem::replace(open, next);
        closed.end_ns = end_ns.max(closed.start_ns);
        closed.last = last;
        self.events.push(Event::Closed(closed));
    }

    /// Mark open windows of programs that run or wait near a cache as unknown.
    fn unknown_within(&mut self, llc: usize) {
        for number in 0..self.programs.len() {
            let near = match self.programs[number].place {
                Place::Runs { cpu } => self.llc(cpu) == llc,
                Place::Waits { llc: where_ } => where_ == llc,
                Place::Away => true,
            };
            if near {
                self.programs[number].open.known = false;
            }
        }
    }

    /// Return whether a task is the idle task.
    pub(super) fn is_idle(task: Task) -> bool {
        task == IDLE
    }
}
