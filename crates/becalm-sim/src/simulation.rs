//! The simulation: it plays one event after the other until all tasks have ended, a time limit is reached, or
//! nothing can proceed.
//!
//! Each CPU has one next event, at which the step of its running task ends, its tick comes, or it must choose
//! a task again (`agenda`); sleeping tasks are in a heap of alarms. The earliest event is played, which
//! changes the next events of the CPUs involved.
//!
//! - `tasks` plays the steps of a task.
//! - `switching` takes tasks off a CPU and puts them on.
//! - `waking` brings tasks to a CPU; `balance` chooses it, and moves tasks to CPUs that have less to do.
//! - `measured` advances programs that were measured as a whole.
//! - `end` builds the summary or the report of a deadlock.

mod balance;
mod end;
mod measured;
mod state;
mod switching;
mod tasks;
mod waking;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use thiserror::Error;

use crate::agenda::{Agenda, NEVER};
use crate::cpuset::CpuSet;
use crate::histogram::Histogram;
use crate::machine::Machine;
use crate::policy::{Arrival, Departure, Entry, Policy};
use crate::random::Random;
use crate::summary::{Span, Summary};
use crate::workload::measured::quantile;
use crate::workload::{Step, Workload, WorkloadError, MOST_NS};

use state::{Channel, Counts, Cpu, Doing, Progress, State, Task};

#[derive(Debug, Error, PartialEq, Eq)]
pub enum SimulationError {
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    #[error("{0}")]
    Machine(String),
    #[error("After {at_ns} ns nothing can go on: {waits}.")]
    Deadlock { at_ns: u64, waits: String },
    #[error("{task} repeats its steps for ever, and they use no time.")]
    Timeless { task: String },
}

/// The limits of a simulation: simulated time, number of events, and number of spans to keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub until_ns: u64,
    pub events: u64,
    pub spans: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { until_ns: MOST_NS, events: u64::MAX, spans: 0 }
    }
}

/// The state of a simulation: a workload on a machine under a policy.
pub struct Simulation<'a, P: Policy> {
    policy: &'a P,
    machine: &'a Machine,
    workload: &'a Workload,
    limits: Limits,
    now: u64,
    tasks: Vec<Task>,
    /// The steps of all programs in sequence, with None after the end of each program.
    steps: Vec<Option<Step>>,
    /// The repeats around the innermost one, for each task: the step after the `Repeat`, and the number of
    /// rounds left.
    outer: Vec<Vec<(u32, u64)>>,
    channels: Vec<Channel>,
    cpus: Vec<Cpu>,
    agenda: Agenda,
    /// The CPUs without tasks.
    idle: CpuSet,
    /// The CPUs with more than one task.
    crowded: CpuSet,
    /// The load weight of each CPU's queue.
    weights: Vec<u64>,
    /// The load weights once more, to find the CPU with the least while tasks remain to be created.
    least: Option<Agenda>,
    unborn: usize,
    alarms: BinaryHeap<Reverse<(u64, u32)>>,
    random: Random,
    progress: Vec<Progress>,
    /// The time that each thread of a measured program runs until it waits, ns; 0 before it begins.
    bursts: Vec<u64>,
    asleep: Vec<Entry>,
    events: u64,
    /// The CPU whose event is being played; `usize::MAX` if there is none.
    turning: usize,
    /// The time of the last yield.
    yielded_ns: u64,
    /// The number of yields at that time.
    yields: u64,
    ended: usize,
    counts: Counts,
    waits: Histogram,
    latencies: Histogram,
    spans: Vec<Span>,
    spans_dropped: u64,
}

/// The number of events between two calls of `goes_on`.
const ASKED_EVERY: u64 = 1 << 16;

/// The time within which threads of measured programs that start together begin in random order, ns.
const OUT_OF_STEP_NS: u64 = 1_000;

/// The largest number of consecutive steps that take no time.
const MOST_TIMELESS: u32 = 1_000_000;

impl<'a, P: Policy> Simulation<'a, P> {
    /// Create a simulation that is ready to run.
    ///
    /// # Errors
    /// Fails if the workload or the machine is invalid.
    pub fn new(
        workload: &'a Workload,
        machine: &'a Machine,
        policy: &'a P,
        seed: u64,
        limits: Limits,
    ) -> Result<Self, SimulationError> {
        workload.check()?;
        machine.check().map_err(SimulationError::Machine)?;
        let mut steps = Vec::new();
        let mut starts = Vec::with_capacity(workload.programs.len());
        for program in &workload.programs {
            starts.push(steps.len() as u32);
            steps.extend(program.iter().copied().map(Some));
            steps.push(None);
        }
        let made = workload.tasks.iter().zip(0..);
        let tasks: Vec<Task> =
            made.map(|(made, number)| Task::new(number, made, starts[made.program as usize])).collect();
        let mut random = Random::new(seed);
        let progress = workload
            .measured
            .iter()
            .map(|each| Progress::new(quantile(&workload.lengths[each.solo as usize], random.share())));
        let progress: Vec<_> = progress.collect();
        let mut alarms = BinaryHeap::with_capacity(tasks.len());
        for (number, made) in workload.tasks.iter().enumerate() {
            // Threads of measured programs start in random order; in lockstep they would share every tick.
            let measured =
                workload.programs[made.program as usize].iter().any(|step| matches!(step, Step::Advance(_)));
            let late = if measured { random.draw() % OUT_OF_STEP_NS } else { 0 };
            alarms.push(Reverse((made.start_ns + late, number as u32)));
        }
        let mut idle = CpuSet::new(machine.cpus);
        (0..machine.cpus).for_each(|cpu| idle.set(cpu, true));
        let mut weightless = Agenda::new(machine.cpus);
        (0..machine.cpus).for_each(|cpu| weightless.set(cpu, 0));
        Ok(Self {
            policy,
            machine,
            workload,
            limits,
            now: 0,
            channels: workload.room.iter().map(|&room| Channel::new(room)).collect(),
            cpus: (0..machine.cpus).map(|number| Cpu::new(number, machine)).collect(),
            agenda: Agenda::new(machine.cpus),
            idle,
            crowded: CpuSet::new(machine.cpus),
            weights: vec![0; machine.cpus],
            least: Some(weightless),
            unborn: tasks.len(),
            alarms,
            random,
            bursts: if progress.is_empty() { Vec::new() } else { vec![0; tasks.len()] },
            progress,
            asleep: Vec::new(),
            events: 0,
            turning: usize::MAX,
            yielded_ns: 0,
            yields: 0,
            ended: 0,
            counts: Counts::default(),
            waits: Histogram::default(),
            latencies: Histogram::default(),
            spans: Vec::new(),
            spans_dropped: 0,
            outer: vec![Vec::new(); tasks.len()],
            tasks,
            steps,
        })
    }

    /// Run to the end.
    ///
    /// # Errors
    /// Fails if tasks wait for each other or never use time.
    pub fn run(self) -> Result<Summary, SimulationError> {
        self.run_while(|_, _| true)
    }

    /// Run until the end or until `goes_on` returns false. It is called now and then with the simulated time,
    /// ns, and the share of tasks that have ended. The summary covers the time simulated so far.
    ///
    /// # Errors
    /// Fails if tasks wait for each other or never use time.
    pub fn run_while(
        mut self,
        mut goes_on: impl FnMut(u64, f64) -> bool,
    ) -> Result<Summary, SimulationError> {
        while self.ended < self.tasks.len() && self.events < self.limits.events {
            if self.events % ASKED_EVERY == ASKED_EVERY - 1
                && !goes_on(self.now, self.ended as f64 / self.tasks.len() as f64)
            {
                break;
            }
            let (at, cpu) = self.agenda.first();
            let alarm = self.alarms.peek().map_or(NEVER, |Reverse((time, _))| *time);
            if at.min(alarm) > self.limits.until_ns {
                if at == NEVER && alarm == NEVER {
                    return Err(self.deadlock());
                }
                self.now = self.limits.until_ns;
                break;
            }
            self.events += 1;
            if alarm <= at {
                self.now = alarm;
                if let Some(Reverse((_, task))) = self.alarms.pop() {
                    self.alarm(task as usize);
                }
            } else {
                self.now = at;
                self.turn(cpu)?;
            }
        }
        Ok(self.summary())
    }

    /// Create a task, or wake one whose sleep is over.
    fn alarm(&mut self, task: usize) {
        if self.tasks[task].state == State::Unborn {
            let cpu = self.least.as_ref().map_or(0, |least| least.first().1);
            self.unborn -= 1;
            if self.unborn == 0 {
                self.least = None;
            }
            self.tasks[task].cpu = cpu as u32;
            self.come(task, cpu, Arrival::New);
        } else if self.tasks[task].state == State::Sleeping && self.tasks[task].ready_ns == self.now {
            self.wake(task, None);
        }
    }

    /// Play the event of a CPU. Its next event is set only once, at the end, whatever happens in between.
    fn turn(&mut self, cpu: usize) -> Result<(), SimulationError> {
        self.turning = cpu;
        let now = self.now;
        let here = &self.cpus[cpu];
        if let Some(task) = here.queue.running() {
            if here.done_ns <= now {
                self.proceed(cpu, task as usize)?;
            }
            let here = &mut self.cpus[cpu];
            if here.tick_ns <= now && here.queue.current.is_some() {
                self.tick(cpu);
            }
            let here = &mut self.cpus[cpu];
            if here.slice_end_ns <= now {
                here.slice_end_ns = NEVER;
                here.choose |= here.queue.current.is_some();
            }
        }
        if self.cpus[cpu].choose {
            self.choose(cpu);
        }
        self.turning = usize::MAX;
        self.schedule_next(cpu);
        Ok(())
    }

    fn tick(&mut self, cpu: usize) {
        let slice_over = self.account(cpu);
        self.advance(cpu);
        self.pass_ticks(cpu);
        let here = &mut self.cpus[cpu];
        if self.policy.tick(&mut here.queue) || slice_over {
            here.choose = true;
        }
        self.balance_at_tick(cpu);
    }

    /// Advance the next tick of a CPU to one that lies in the future.
    fn pass_ticks(&mut self, cpu: usize) {
        let (here, period) = (&mut self.cpus[cpu], self.machine.tick_ns());
        if here.tick_ns <= self.now {
            here.tick_ns += (self.now - here.tick_ns) / period * period + period;
        }
    }

    /// Account the time that the running task of a CPU has run since the last call. Return whether its slice
    /// is over.
    fn account(&mut self, cpu: usize) -> bool {
        let here = &mut self.cpus[cpu];
        let from = here.since_ns;
        if here.queue.current.is_none() || from >= self.now {
            return false;
        }
        here.since_ns = self.now;
        self.policy.account(&mut here.queue, self.now - from)
    }

    /// Charge the cost of a wake-up to the waker, as the kernel does, even if the wakee takes the CPU at
    /// once.
    fn charge(&mut self, cpu: usize, cost: u64) {
        let over = self.account(cpu);
        let here = &mut self.cpus[cpu];
        if here.queue.current.is_some() {
            here.since_ns = here.since_ns.max(self.now) + cost;
            here.choose |= over | self.policy.account(&mut here.queue, cost);
        }
    }

    /// Set the timer of the running task's slice, if the policy uses one (HRTICK). The kernel sets none below
    /// 10 µs.
    fn time_slice(&mut self, cpu: usize) {
        let here = &mut self.cpus[cpu];
        let left = self.policy.slice_left(&here.queue);
        here.slice_end_ns = left.map_or(NEVER, |left| self.now.max(here.free_ns) + left.max(10_000));
    }

    /// Set the next event of a CPU, unless its event is being played.
    fn schedule_next(&mut self, cpu: usize) {
        if cpu == self.turning {
            return;
        }
        let (here, now) = (&self.cpus[cpu], self.now);
        let next = match (here.queue.current.is_some(), here.choose) {
            (true, false) => here.done_ns.min(here.tick_ns.max(now)).min(here.slice_end_ns.max(now)),
            (true, true) => now,
            (false, true) => now.max(here.free_ns),
            (false, false) => NEVER,
        };
        self.agenda.set(cpu, next);
    }
}

fn pair<T>(values: &mut [T], one: usize, other: usize) -> (&mut T, &mut T) {
    if one < other {
        let (low, high) = values.split_at_mut(other);
        (&mut low[one], &mut high[0])
    } else {
        let (low, high) = values.split_at_mut(one);
        (&mut high[0], &mut low[other])
    }
}
