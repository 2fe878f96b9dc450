//! The simulation itself: from event to event until all tasks have ended, a time is reached, or nothing can go on.
//!
//! Each CPU has one next moment, at which the step of its running task ends, its tick comes, or it must choose again
//! (`agenda`); sleepers have theirs in a heap. The earliest of all is played, which changes the moments of the CPUs that
//! it concerns. `tasks` goes through the steps of a task, `switching` takes them off a CPU and puts
//! them on, `waking` brings them to one; `balance` says to which, and moves tasks to CPUs that have less to do; `end` says
//! what came of it.

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
    #[error("{task} goes through its steps for ever without using any time.")]
    Timeless { task: String },
}

/// How far to go. `until_ns`: of simulated time; `events`: of work; `spans`: how many to keep of who ran where.
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

/// A workload on a machine under a policy.
pub struct Simulation<'a, P: Policy> {
    policy: &'a P,
    machine: &'a Machine,
    workload: &'a Workload,
    limits: Limits,
    now: u64,
    tasks: Vec<Task>,
    /// The steps of all programs, one after the other; none: a program is over.
    steps: Vec<Option<Step>>,
    /// Of each task the repeats around the innermost one that it is in: how often still, and the step after it.
    outer: Vec<Vec<(u32, u64)>>,
    channels: Vec<Channel>,
    cpus: Vec<Cpu>,
    agenda: Agenda,
    /// CPUs without tasks, and those with more than one.
    idle: CpuSet,
    crowded: CpuSet,
    /// Of each CPU's queue.
    weights: Vec<u64>,
    /// The same, for the CPU with the least of it, as long as tasks are to be born.
    least: Option<Agenda>,
    unborn: usize,
    alarms: BinaryHeap<Reverse<(u64, u32)>>,
    random: Random,
    progress: Vec<Progress>,
    /// Of each thread of a measured program how long it runs until it waits; 0: it has not begun.
    bursts: Vec<u64>,
    asleep: Vec<Entry>,
    events: u64,
    /// The CPU whose moment is played, if one is.
    turning: usize,
    /// When somebody yielded last, and how often that was without any time going by.
    yielded_ns: u64,
    yields: u64,
    ended: usize,
    counts: Counts,
    waits: Histogram,
    latencies: Histogram,
    spans: Vec<Span>,
    spans_dropped: u64,
}

/// Events between two questions whether to go on.
const ASKED_EVERY: u64 = 1 << 16;

/// Within so short a time threads of measured programs that start at once come in random order.
const OUT_OF_STEP_NS: u64 = 1_000;

/// So many steps in a row that need no time are one too many.
const MOST_TIMELESS: u32 = 1_000_000;

impl<'a, P: Policy> Simulation<'a, P> {
    /// Ready to run. Errors: a workload or a machine that cannot be.
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
            // Threads of measured programs come in no order: in step with each other they would share every tick.
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

    /// To the end. Errors: tasks that wait for each other, or that never use time.
    pub fn run(self) -> Result<Summary, SimulationError> {
        self.run_while(|_, _| true)
    }

    /// The same, as long as `goes_on` says so: it is asked now and then, with the simulated time, ns, and the share of the
    /// tasks that have ended. What was simulated until then is the summary.
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

    /// A task is born, or has slept enough.
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

    /// The moment of a CPU has come. Whatever happens in it, when the next one comes is set once, at the end.
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

    /// The next tick of a CPU is one that has not come yet.
    fn pass_ticks(&mut self, cpu: usize) {
        let (here, period) = (&mut self.cpus[cpu], self.machine.tick_ns());
        if here.tick_ns <= self.now {
            here.tick_ns += (self.now - here.tick_ns) / period * period + period;
        }
    }

    /// Account what the running task of a CPU has run since it was last asked. True: its slice is over.
    fn account(&mut self, cpu: usize) -> bool {
        let here = &mut self.cpus[cpu];
        let from = here.since_ns;
        if here.queue.current.is_none() || from >= self.now {
            return false;
        }
        here.since_ns = self.now;
        self.policy.account(&mut here.queue, self.now - from)
    }

    /// What waking takes is the waker's for the scheduler, as in the kernel, also where the wakee takes the CPU at once.
    fn charge(&mut self, cpu: usize, cost: u64) {
        let over = self.account(cpu);
        let here = &mut self.cpus[cpu];
        if here.queue.current.is_some() {
            here.since_ns = here.since_ns.max(self.now) + cost;
            here.choose |= over | self.policy.account(&mut here.queue, cost);
        }
    }

    /// The timer of the running task's slice, where there is one (HRTICK); the kernel sets none shorter than 10 µs.
    fn time_slice(&mut self, cpu: usize) {
        let here = &mut self.cpus[cpu];
        let left = self.policy.slice_left(&here.queue);
        here.slice_end_ns = left.map_or(NEVER, |left| self.now.max(here.free_ns) + left.max(10_000));
    }

    /// Set when a CPU is to be looked at again.
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
