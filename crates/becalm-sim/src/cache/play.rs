//! The execution of tasks on simulated CPUs: time slices, migrations and clocks. Every access goes through
//! the caches, and records are produced.
//!
//! The CPU with the earliest clock runs for some microseconds, so that all CPUs use a shared cache
//! concurrently. Each CPU has a clock in cycles. Equal requests give equal streams.

use std::collections::VecDeque;

use super::hierarchy::{Found, Geometry, Hierarchy};
use super::memory::{Memory, Space};
use super::program::{Program, Step};
use super::request::{Cache, Every, How, Move, Once, Played, When};
use crate::random::Random;
use crate::spots::wait::{Wanted, Why};
use crate::spots::{Detection, Record, What, IDLE};

/// The number of cycles that one CPU runs before the next one is chosen.
const QUANTUM: u64 = 20_000;

/// Return the task id in records of a task's number; 0 is the idle task.
pub fn id(number: usize) -> u32 {
    number as u32 + 1
}

#[derive(Debug)]
struct Task {
    program: Box<dyn Program>,
    steps: Vec<Step>,
    at: usize,
    space: Space,
    cpu: usize,
    been: u64,
    until: u64,
    of: Played,
    endless: bool,
    over: bool,
    moves: VecDeque<Move>,
}

#[derive(Debug, Default)]
struct Cpu {
    now: u64,
    queue: VecDeque<usize>,
    runs: Option<usize>,
    slice_end: u64,
    tick: u64,
}

/// A source of wanted moves of one task.
#[derive(Debug)]
struct Wish {
    of: Every,
    task: usize,
    random: Random,
    at: u64,
    next: usize,
    /// Whether the move is wanted only once.
    once: bool,
}

/// The reason why a task stops running for now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stopped {
    Time,
    Ended,
    Move,
}

/// The state of a simulation.
#[derive(Debug)]
pub struct Play {
    geometry: Geometry,
    caches: Hierarchy,
    memory: Memory,
    tasks: Vec<Task>,
    cpus: Vec<Cpu>,
    /// The start time and number of each task that has not begun, the next one last.
    arriving: Vec<(u64, usize)>,
    wishes: Vec<Wish>,
    slice: u64,
    tick: u64,
    switch: u64,
    until: u64,
    pending: Vec<Record>,
    pub records: Vec<Record>,
    keep: bool,
    pub detection: Option<Detection>,
    pub accesses: u64,
    /// Whether the simulation stopped at its time limit and not because all tasks had ended.
    pub cut: bool,
}

impl Play {
    /// Create a simulation.
    ///
    /// # Errors
    /// Returns a sentence about an invalid request.
    pub fn new(asked: &Cache, detection: Option<Detection>) -> Result<Self, String> {
        asked.check()?;
        let geometry = asked.machine.clone();
        let memory = Memory::new(asked.pages, asked.page_bytes, asked.seed)?;
        let cycles = |ns: u64| (u128::from(ns) * u128::from(geometry.mhz) / 1_000) as u64;
        let raw = memory.pages() == super::memory::Pages::Virtual;
        let mut tasks = Vec::new();
        for each in &asked.tasks {
            tasks.push(Task {
                program: each.program.begin(memory.page_bytes(), raw)?,
                steps: Vec::new(),
                at: 0,
                space: Space::default(),
                cpu: each.cpu,
                been: 1 << each.cpu,
                until: each.until_ns.map_or(u64::MAX, cycles),
                of: Played::default(),
                endless: each.program.endless() || each.until_ns.is_some(),
                over: false,
                moves: each.moves.iter().copied().collect(),
            });
        }
        let mut arriving: Vec<(u64, usize)> =
            asked.tasks.iter().enumerate().map(|(number, each)| (cycles(each.from_ns), number)).collect();
        arriving.sort_by_key(|&(at, number)| std::cmp::Reverse((at, number)));
        let mut wishes: Vec<Wish> = Vec::new();
        for (number, each) in asked.every.iter().enumerate() {
            let random =
                Random::new(asked.seed.wrapping_add(number as u64 + 1).wrapping_mul(0x5851_f42d_4c95_7f2d));
            let mut wish = Wish { of: each.clone(), task: each.task, random, at: 0, next: 0, once: false };
            wish.again(0, geometry.mhz);
            wishes.push(wish);
        }
        for &Once { task, at_ns, to, how } in &asked.once {
            let of = Every { task, mean_ns: 1, cpus: vec![to], how };
            wishes.push(Wish { of, task, random: Random::new(0), at: cycles(at_ns), next: 0, once: true });
        }
        Ok(Self {
            caches: Hierarchy::new(&geometry, asked.seed),
            memory,
            tasks,
            cpus: (0..geometry.cpus).map(|_| Cpu::default()).collect(),
            arriving,
            wishes,
            slice: cycles(asked.slice_ns).max(1),
            tick: cycles(asked.tick_ns).max(1),
            switch: asked.switch_cycles,
            until: asked.until_ns.map_or(u64::MAX, cycles),
            pending: Vec::new(),
            records: Vec::new(),
            keep: asked.records,
            detection,
            accesses: 0,
            cut: false,
            geometry,
        })
    }

    /// Run until all tasks have ended or the time is over.
    ///
    /// # Errors
    /// Returns a sentence if a trace cannot be read or memory runs out of pages.
    pub fn run(&mut self) -> Result<(), String> {
        loop {
            let next = (0..self.cpus.len())
                .filter(|&cpu| self.cpus[cpu].busy())
                .min_by_key(|&cpu| self.cpus[cpu].now);
            let now = next.map_or(u64::MAX, |cpu| self.cpus[cpu].now);
            if let Some(&(at, number)) = self.arriving.last() {
                if at <= now {
                    self.arriving.pop();
                    self.arrive(number, at);
                    continue;
                }
            }
            let Some(cpu) = next else { break };
            let finished =
                self.arriving.is_empty() && self.tasks.iter().all(|each| each.over || each.endless);
            let only_endless = self.tasks.iter().all(|each| each.endless);
            if now >= self.until || finished && !only_endless {
                self.cut = now >= self.until;
                break;
            }
            self.flush(now);
            self.go_on(cpu)?;
        }
        self.close();
        Ok(())
    }

    /// Return the totals of each task.
    pub fn played(&self) -> Vec<Played> {
        self.tasks.iter().map(|each| each.of.clone()).collect()
    }

    pub fn now_ns(&self) -> u64 {
        self.ns(self.cpus.iter().map(|each| each.now).max().unwrap_or(0))
    }

    pub fn caches(&self) -> &Hierarchy {
        &self.caches
    }

    fn ns(&self, cycles: u64) -> u64 {
        (u128::from(cycles) * 1_000 / u128::from(self.geometry.mhz)) as u64
    }

    fn record(&mut self, cpu: usize, what: What) {
        let time_ns = self.ns(self.cpus[cpu].now);
        self.pending.push(Record::new(time_ns, cpu as u32, what, self.caches.counts(cpu)));
    }

    fn arrive(&mut self, number: usize, at: u64) {
        let cpu = self.tasks[number].cpu;
        if !self.cpus[cpu].busy() {
            self.cpus[cpu].now = self.cpus[cpu].now.max(at);
        }
        let task = id(number);
        self.record(cpu, What::Fork { parent: IDLE, child: task, process: task });
        self.enqueue(cpu, number, at);
    }

    fn enqueue(&mut self, cpu: usize, number: usize, at: u64) {
        if !self.cpus[cpu].busy() {
            self.cpus[cpu].now = self.cpus[cpu].now.max(at);
        }
        self.tasks[number].cpu = cpu;
        self.tasks[number].been |= 1 << cpu;
        self.cpus[cpu].queue.push_back(number);
        if self.cpus[cpu].runs.is_none() {
            self.switch(cpu, IDLE, false);
        }
    }

    /// Let the next task in the queue of a CPU run, after `out`.
    fn switch(&mut self, cpu: usize, out: u32, preempted: bool) {
        let next = self.cpus[cpu].queue.pop_front();
        self.cpus[cpu].runs = next;
        let to = next.map_or(IDLE, id);
        self.record(cpu, What::Switch { out, to, preempted });
        let each = &mut self.cpus[cpu];
        if next.is_some() {
            each.now += self.switch;
            each.slice_end = each.now + self.slice;
            each.tick = each.tick.max(each.now + 1);
        }
    }

    fn go_on(&mut self, cpu: usize) -> Result<(), String> {
        let Some(number) = self.cpus[cpu].runs else { return Ok(()) };
        self.wish(cpu, number);
        if self.cpus[cpu].runs != Some(number) {
            return Ok(());
        }
        let (now, until) = (self.cpus[cpu].now, self.tasks[number].until);
        if now >= until {
            self.end(cpu, number);
            return Ok(());
        }
        let each = &self.cpus[cpu];
        let end = if each.queue.is_empty() { u64::MAX } else { each.slice_end };
        let limit = (now + QUANTUM).min(end).min(each.tick).min(until).min(self.until);
        match self.play(cpu, number, limit)? {
            Stopped::Ended => self.end(cpu, number),
            Stopped::Move => {
                if let Some(moved) = self.tasks[number].moves.pop_front() {
                    self.migrate(cpu, number, moved.to);
                }
            }
            Stopped::Time => {
                let now = self.cpus[cpu].now;
                if now >= end {
                    self.cpus[cpu].queue.push_back(number);
                    self.switch(cpu, id(number), true);
                } else if now >= self.cpus[cpu].tick {
                    self.record(cpu, What::Tick);
                    self.cpus[cpu].tick = now + self.tick;
                }
            }
        }
        Ok(())
    }

    /// Play the steps of a task until a limit in cycles.
    fn play(&mut self, cpu: usize, number: usize, limit: u64) -> Result<Stopped, String> {
        let cycles = self.geometry.cycles;
        let mhz = self.geometry.mhz;
        let task = &mut self.tasks[number];
        let elsewhere = task.been & !(1 << cpu);
        let begun = self.cpus[cpu].now;
        let mut now = begun;
        let mut accesses = task.of.accesses;
        let mut stopped = Stopped::Time;
        let due = |task: &Task, accesses: u64, now: u64| match task.moves.front().map(|each| each.when) {
            Some(When::Accesses(many)) => accesses >= many,
            Some(When::Ns(ns)) => u128::from(now) * 1_000 >= u128::from(ns) * u128::from(mhz),
            Some(When::Mark(many)) => task.of.marks.len() as u64 >= many,
            None => false,
        };
        let has_moves = !task.moves.is_empty();
        while now < limit {
            if has_moves && due(task, accesses, now) {
                stopped = Stopped::Move;
                break;
            }
            let Some(&step) = task.steps.get(task.at) else {
                (task.at, task.steps) = (0, std::mem::take(&mut task.steps));
                task.steps.clear();
                let now_ns = (u128::from(now) * 1_000 / u128::from(mhz)) as u64;
                if !task.program.fill(&mut task.steps, now_ns)? {
                    stopped = Stopped::Ended;
                    break;
                }
                continue;
            };
            task.at += 1;
            match step {
                Step::Access { address, size, kind, work } => {
                    let physical = self.memory.physical(&mut task.space, address)?;
                    let found = self.caches.access(cpu, physical, size, kind, elsewhere);
                    accesses += 1;
                    now += u64::from(work)
                        + u64::from(match found {
                            Found::L1 => cycles.l1,
                            Found::L2 => cycles.l2,
                            Found::Llc => cycles.llc,
                            Found::Memory => cycles.memory,
                        });
                }
                Step::Work(many) => now += u64::from(many),
                Step::Mark(mark) => {
                    let time_ns = (u128::from(now) * 1_000 / u128::from(mhz)) as u64;
                    task.of.marks.push((time_ns, accesses));
                    let what = What::Mark { task: id(number), number: mark };
                    self.pending.push(Record::new(time_ns, cpu as u32, what, self.caches.counts(cpu)));
                }
                Step::Free { address, bytes } => self.memory.release(&mut task.space, address, bytes),
            }
        }
        self.accesses += accesses - task.of.accesses;
        task.of.accesses = accesses;
        task.of.cycles += now - begun;
        self.cpus[cpu].now = now;
        Ok(stopped)
    }

    /// Move the task if one of its moves is wanted and due.
    fn wish(&mut self, cpu: usize, number: usize) {
        let now = self.cpus[cpu].now;
        let Some(at) = self.wishes.iter().position(|each| each.task == number && each.at <= now) else {
            return;
        };
        let due = match self.wishes[at].of.how {
            How::AtOnce => Some(Why::NotWorthWaiting),
            How::AtSpot => {
                let wanted = Wanted { task: id(number), at_ns: self.ns(self.wishes[at].at) };
                let decision = self.detection.as_ref().and_then(|each| each.decision(wanted));
                decision.map_or(Some(Why::Unknown), |each| (each.why != Why::Ended).then_some(each.why))
            }
        };
        let Some(why) = due else { return };
        let mhz = self.geometry.mhz;
        let wish = &mut self.wishes[at];
        let count = wish.of.cpus.len();
        let to = wish.of.cpus.iter().cycle().skip(wish.next).take(count).find(|&&to| to != cpu).copied();
        let to = to.unwrap_or(cpu);
        wish.next =
            wish.of.cpus.iter().position(|&each| each == to).map_or(0, |each| each + 1) % wish.of.cpus.len();
        if wish.once {
            self.wishes.remove(at);
        } else {
            wish.again(now, mhz);
        }
        let at_ns = self.ns(now);
        self.tasks[number].of.moved.push((at_ns, why));
        self.migrate(cpu, number, to);
    }

    fn migrate(&mut self, cpu: usize, number: usize, to: usize) {
        if to == cpu {
            return;
        }
        self.switch(cpu, id(number), true);
        let (now, from, task) = (self.cpus[cpu].now, cpu as u32, id(number));
        self.record(cpu, What::Moved { task, from, to: to as u32 });
        self.enqueue(to, number, now);
    }

    fn end(&mut self, cpu: usize, number: usize) {
        let at_ns = self.ns(self.cpus[cpu].now);
        self.tasks[number].over = true;
        self.tasks[number].of.ended_ns = Some(at_ns);
        self.switch(cpu, id(number), false);
        self.record(cpu, What::Exit { task: id(number) });
    }

    /// Pass records up to a time, in order of time, to the detector and to the answer.
    fn flush(&mut self, until: u64) {
        if self.pending.is_empty() {
            return;
        }
        let until_ns = self.ns(until);
        self.pending.sort_by_key(|each| each.time_ns);
        let count = self.pending.partition_point(|each| each.time_ns < until_ns);
        if let Some(detection) = &mut self.detection {
            detection.feed(&self.pending[..count]);
        }
        let ready = self.pending.drain(..count);
        if self.keep {
            self.records.extend(ready);
        }
    }

    fn close(&mut self) {
        for cpu in 0..self.cpus.len() {
            if let Some(number) = self.cpus[cpu].runs {
                self.cpus[cpu].queue.clear();
                self.switch(cpu, id(number), true);
            }
        }
        self.flush(u64::MAX);
    }
}

impl Cpu {
    fn busy(&self) -> bool {
        self.runs.is_some()
    }
}

impl Wish {
    /// Draw the next time of the move, an exponential time from now.
    fn again(&mut self, now: u64, mhz: u64) {
        let ns = -self.random.share().ln() * self.of.mean_ns as f64;
        self.at = now + (ns * mhz as f64 / 1e3) as u64 + 1;
    }
}
