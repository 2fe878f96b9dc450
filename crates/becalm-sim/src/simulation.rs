//! The simulation itself: from event to event until all tasks have ended, a time is reached, or nothing can go on.
//!
//! Each CPU has one next moment, at which the step of its running task ends, its tick comes, or it must choose again
//! (`agenda`); sleepers have theirs in a heap. The earliest of all is played, which changes the moments of the CPUs that
//! it concerns. `tasks` goes through the steps of a task, `balance` says where a task that wakes runs and moves tasks to CPUs
//! that have less to do, `end` says what came of it.

mod balance;
mod end;
mod state;
mod tasks;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use thiserror::Error;

use crate::agenda::{Agenda, NEVER};
use crate::histogram::Histogram;
use crate::machine::Machine;
use crate::policy::{Arrival, Departure, Entry, Policy, Queue};
use crate::random::Random;
use crate::summary::{Span, Summary};
use crate::weight;
use crate::workload::{Class, Step, Workload, WorkloadError};

use state::{Channel, Counts, Cpu, Doing, State, Task};

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
        Self { until_ns: u64::MAX - 1, events: u64::MAX, spans: 0 }
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
    channels: Vec<Channel>,
    cpus: Vec<Cpu>,
    agenda: Agenda,
    alarms: BinaryHeap<Reverse<(u64, u32)>>,
    random: Random,
    asleep: Vec<Entry>,
    events: u64,
    ended: usize,
    counts: Counts,
    waits: Histogram,
    latencies: Histogram,
    spans: Vec<Span>,
    spans_dropped: u64,
}

/// Events between two questions whether to go on.
const ASKED_EVERY: u64 = 1 << 16;

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
        let tick = machine.tick_ns();
        let cpu = |number: usize| Cpu {
            queue: Queue::default(),
            free_ns: 0,
            since_ns: 0,
            done_ns: NEVER,
            // Ticks of CPUs are spread over a period, as the kernel's may be (skew_tick), so that they do not coincide.
            tick_ns: tick + tick * number as u64 / machine.cpus as u64,
            choose: false,
            idle_since_ns: 0,
            previous: None,
            span_ns: 0,
            balance_ns: 0,
            failures: 0,
        };
        let task = |number: usize| {
            let made = &workload.tasks[number];
            let weight = if made.class == Class::Idle { weight::IDLE } else { weight::of_nice(made.nice) };
            let entry = Entry {
                task: number as u32,
                weight,
                slice_ns: made.slice_ns,
                class: made.class,
                ..Entry::default()
            };
            Task {
                state: State::Unborn,
                doing: Doing::Next,
                program: made.program,
                channel: made.channel,
                at: 0,
                repeats: Vec::new(),
                cpu: 0,
                entry: Some(entry),
                delayed: false,
                moved: false,
                ready_ns: 0,
                run_ns: 0,
                wait_ns: 0,
                switches: 0,
                migrations: 0,
                ended_ns: 0,
            }
        };
        let tasks: Vec<Task> = (0..workload.tasks.len()).map(task).collect();
        let mut alarms = BinaryHeap::with_capacity(tasks.len());
        for (number, made) in workload.tasks.iter().enumerate() {
            alarms.push(Reverse((made.start_ns, number as u32)));
        }
        let channel = |&room: &u32| Channel { room: room as usize, ..Channel::default() };
        Ok(Self {
            policy,
            machine,
            workload,
            limits,
            now: 0,
            channels: workload.room.iter().map(channel).collect(),
            cpus: (0..machine.cpus).map(cpu).collect(),
            agenda: Agenda::new(machine.cpus),
            alarms,
            random: Random::new(seed),
            asleep: Vec::new(),
            events: 0,
            ended: 0,
            counts: Counts::default(),
            waits: Histogram::default(),
            latencies: Histogram::default(),
            spans: Vec::new(),
            spans_dropped: 0,
            tasks,
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
            let cpu = self.emptiest(0..self.cpus.len());
            self.tasks[task].cpu = cpu;
            self.come(task, cpu, Arrival::New);
        } else {
            self.wake(task, None);
        }
    }

    /// The moment of a CPU has come.
    fn turn(&mut self, cpu: usize) -> Result<(), SimulationError> {
        if self.cpus[cpu].choose && self.cpus[cpu].queue.current.is_none() {
            self.choose(cpu);
            return Ok(());
        }
        let here = &self.cpus[cpu];
        if here.done_ns <= self.now {
            self.proceed(cpu)?;
        }
        if self.cpus[cpu].queue.current.is_some() && self.cpus[cpu].tick_ns <= self.now {
            self.tick(cpu);
        }
        if self.cpus[cpu].choose {
            self.choose(cpu);
        } else {
            self.schedule_next(cpu);
        }
        Ok(())
    }

    fn tick(&mut self, cpu: usize) {
        let slice_over = self.account(cpu);
        let period = self.machine.tick_ns();
        let here = &mut self.cpus[cpu];
        while here.tick_ns <= self.now {
            here.tick_ns += period;
        }
        if self.policy.tick(&mut here.queue) || slice_over {
            here.choose = true;
        }
        self.balance_at_tick(cpu);
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

    /// Set when a CPU is to be looked at again.
    fn schedule_next(&mut self, cpu: usize) {
        let here = &self.cpus[cpu];
        let next = match (&here.queue.current, here.choose) {
            (_, true) => self.now.max(if here.queue.current.is_some() { 0 } else { here.free_ns }),
            (Some(_), false) => here.done_ns.min(here.tick_ns.max(self.now)),
            (None, false) => NEVER,
        };
        self.agenda.set(cpu, next);
    }

    /// Choose who runs on a CPU, and switch to it.
    fn choose(&mut self, cpu: usize) {
        self.account(cpu);
        let before = self.cpus[cpu].queue.current.as_ref().map(|each| each.task);
        if let Some(task) = before {
            self.pause(cpu, task as usize);
        }
        self.cpus[cpu].choose = false;
        self.pick(cpu);
        if self.cpus[cpu].queue.current.is_none() && self.pull(cpu) {
            self.pick(cpu);
        }
        let Some(task) = self.cpus[cpu].queue.current.as_ref().map(|each| each.task) else {
            self.cpus[cpu].idle_since_ns = self.now.max(self.cpus[cpu].free_ns);
            self.agenda.set(cpu, NEVER);
            return;
        };
        if before.is_some_and(|before| before != task) {
            self.counts.preemptions += 1;
        }
        self.resume(cpu, task as usize, before == Some(task));
        self.schedule_next(cpu);
    }

    fn pick(&mut self, cpu: usize) {
        let mut asleep = std::mem::take(&mut self.asleep);
        self.policy.pick(&mut self.cpus[cpu].queue, &mut asleep);
        for entry in asleep.drain(..) {
            let task = &mut self.tasks[entry.task as usize];
            task.delayed = false;
            task.entry = Some(entry);
        }
        self.asleep = asleep;
    }

    /// The running task is interrupted: what its step still needs is kept.
    fn pause(&mut self, cpu: usize, task: usize) {
        let here = &mut self.cpus[cpu];
        let left = here.done_ns.saturating_sub(self.now.max(here.span_ns));
        let used = self.now.saturating_sub(here.span_ns);
        here.done_ns = NEVER;
        if let Some(entry) = &mut here.queue.current {
            entry.ran_until_ns = self.now;
        }
        let this = &mut self.tasks[task];
        this.doing = match this.doing {
            Doing::Next => Doing::Next,
            Doing::Using(_) => Doing::Using(left),
            Doing::Writing(channel, _) => Doing::Writing(channel, left),
            Doing::Reading(channel, _) => Doing::Reading(channel, left),
        };
        this.run_ns += used;
        self.counts.run_ns += used;
        this.state = State::Ready;
        this.ready_ns = self.now;
        self.span(cpu, task, used);
    }

    fn span(&mut self, cpu: usize, task: usize, used: u64) {
        if self.limits.spans == 0 || used == 0 {
            return;
        }
        if self.spans.len() >= self.limits.spans {
            self.spans_dropped += 1;
            return;
        }
        let (cpu, task) = (cpu as u32, task as u32);
        self.spans.push(Span { cpu, task, from_ns: self.now - used, to_ns: self.now });
    }

    /// A task begins to run, or goes on, perhaps without having been taken off (`same`).
    fn resume(&mut self, cpu: usize, task: usize, same: bool) {
        let here = &mut self.cpus[cpu];
        let this = &mut self.tasks[task];
        let mut begins = self.now.max(here.free_ns);
        if here.previous != Some(task as u32) {
            let mut cost = self.machine.switch_ns;
            if this.moved {
                cost += self.machine.migration_ns;
            }
            self.counts.switches += 1;
            this.switches += 1;
            self.counts.overhead_ns += cost;
            begins += cost;
        }
        this.moved = false;
        here.previous = Some(task as u32);
        here.free_ns = begins;
        // What switching takes counts as the task's own for the scheduler: the kernel's clock runs on.
        here.since_ns = self.now;
        here.span_ns = begins;
        if !same {
            let waited = self.now - this.ready_ns;
            this.wait_ns += waited;
            self.waits.add(waited);
        }
        this.state = State::Running;
        here.done_ns = match this.doing {
            Doing::Next => begins,
            Doing::Using(left) | Doing::Writing(_, left) | Doing::Reading(_, left) => begins + left,
        };
    }

    /// The running task leaves its CPU, to sleep or for good.
    fn leave(&mut self, cpu: usize, task: usize, how: Departure, state: State) {
        self.account(cpu);
        self.pause(cpu, task);
        self.tasks[task].state = state;
        let here = &mut self.cpus[cpu];
        match self.policy.detach(&mut here.queue, task as u32, how) {
            Some(entry) => self.tasks[task].entry = Some(entry),
            None => self.tasks[task].delayed = true,
        }
        here.choose = true;
        if state == State::Ended {
            self.tasks[task].ended_ns = self.now;
            self.ended += 1;
        }
    }

    /// A task can run on a CPU: it is queued there, and may take it.
    fn come(&mut self, task: usize, cpu: usize, how: Arrival) {
        self.end_idle(cpu);
        self.account(cpu);
        let this = &mut self.tasks[task];
        this.state = State::Ready;
        this.ready_ns = self.now;
        if let Some(entry) = this.entry.take() {
            self.policy.attach(&mut self.cpus[cpu].queue, entry, how);
        }
        self.challenge(task, cpu);
    }

    /// A task that has just come to a CPU may take it.
    fn challenge(&mut self, task: usize, cpu: usize) {
        let here = &mut self.cpus[cpu];
        let idle = here.queue.current.is_none();
        if idle || self.policy.preempts(&mut here.queue, task as u32) {
            here.choose = true;
        }
        self.schedule_next(cpu);
    }

    fn end_idle(&mut self, cpu: usize) {
        let here = &mut self.cpus[cpu];
        if here.queue.current.is_none() && here.idle_since_ns < self.now && !here.choose {
            self.counts.idle_ns += self.now - here.idle_since_ns;
            here.idle_since_ns = NEVER;
            // Ticks that nobody needed did not come.
            let period = self.machine.tick_ns();
            if here.tick_ns <= self.now {
                here.tick_ns += (self.now - here.tick_ns) / period * period + period;
            }
        }
    }

    /// A task wakes; `waker` is the CPU on which that was caused.
    fn wake(&mut self, task: usize, waker: Option<usize>) {
        self.counts.wakeups += 1;
        let former = self.tasks[task].cpu;
        if self.tasks[task].delayed {
            self.end_idle(former);
            self.account(former);
            self.tasks[task].delayed = false;
            self.tasks[task].state = State::Ready;
            self.tasks[task].ready_ns = self.now;
            self.policy.revive(&mut self.cpus[former].queue, task as u32);
            self.challenge(task, former);
            return;
        }
        let cpu = self.place(task, former, waker);
        if cpu != former {
            let (from, to) = pair(&mut self.cpus, former, cpu);
            if let Some(entry) = &mut self.tasks[task].entry {
                self.policy.moved_asleep(entry, &from.queue, &to.queue);
            }
            self.migrated(task, cpu);
        }
        self.come(task, cpu, Arrival::Woken);
    }

    fn migrated(&mut self, task: usize, cpu: usize) {
        let this = &mut self.tasks[task];
        this.cpu = cpu;
        this.moved = true;
        this.migrations += 1;
        self.counts.migrations += 1;
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
