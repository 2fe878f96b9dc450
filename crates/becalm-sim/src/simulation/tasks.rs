//! The execution of a task's steps.

use super::measured::Burst;
use super::{Departure, Doing, Policy, Simulation, SimulationError, State, Step, MOST_TIMELESS, NEVER};
use crate::workload::{measured::quantile, BY_THE_MESSAGE};
use std::cmp::Reverse;

/// The result of beginning a step: it takes time, it is over at once, or the task has left its CPU.
enum Begun {
    Takes(Doing),
    Over,
    Left,
    /// The task takes no time in any number of steps.
    Never,
}

impl<P: Policy> Simulation<'_, P> {
    /// Finish the step of a CPU's running task with its effects, and play further steps until one takes time.
    #[inline]
    pub(super) fn proceed(&mut self, cpu: usize, task: usize) -> Result<(), SimulationError> {
        if let Doing::Advancing(number, _) = self.tasks[task].doing {
            self.advance(cpu);
            if let Some(ns) = self.wait_of(task, number as usize) {
                // The step is repeated when the thread wakes.
                self.tasks[task].doing = Doing::Next;
                self.tasks[task].at -= 1;
                self.sleep(cpu, task, ns);
                return Ok(());
            }
        }
        match std::mem::replace(&mut self.tasks[task].doing, Doing::Next) {
            Doing::Next | Doing::Using(_) | Doing::Advancing(..) => {}
            Doing::Writing(channel, _) => self.written(cpu, channel),
            Doing::Reading(channel, _) => self.read(cpu, channel),
        }
        let mut timeless = 0;
        loop {
            let doing = match self.begin(cpu, task) {
                Begun::Left => return Ok(()),
                Begun::Takes(doing) => doing,
                Begun::Over if timeless < MOST_TIMELESS => {
                    timeless += 1;
                    continue;
                }
                Begun::Over | Begun::Never => return Err(self.timeless(task)),
            };
            self.tasks[task].doing = doing;
            self.pay_overhead(cpu, task);
            let here = &mut self.cpus[cpu];
            let begins = self.now.max(here.free_ns);
            here.done_ns = match doing {
                Doing::Using(ns) | Doing::Writing(_, ns) | Doing::Reading(_, ns) => begins + ns,
                Doing::Advancing(_, ns) => {
                    here.advanced_ns = begins;
                    begins.saturating_add(ns)
                }
                Doing::Next => NEVER,
            };
            return Ok(());
        }
    }

    #[cold]
    fn timeless(&self, task: usize) -> SimulationError {
        SimulationError::Timeless { task: self.workload.tasks[task].name.clone() }
    }

    /// Count a yield, and return whether there were too many without any time passing. A task that is alone
    /// or switches at no cost may yield often, but not for ever.
    fn yields_for_ever(&mut self) -> bool {
        if self.yielded_ns != self.now {
            (self.yielded_ns, self.yields) = (self.now, 0);
        }
        self.yields += 1;
        self.yields > u64::from(MOST_TIMELESS) + 1_000 * self.tasks.len() as u64
    }

    /// Delay the task's own work by the time that waking others took, which is not part of it.
    fn pay_overhead(&mut self, cpu: usize, task: usize) {
        let here = &mut self.cpus[cpu];
        if here.free_ns > self.now && here.span_ns < self.now {
            let used = self.now - here.span_ns;
            self.tasks[task].run_ns += used;
            self.counts.run_ns += used;
            here.span_ns = here.free_ns;
            self.span(cpu, task, used);
        }
    }

    /// Begin the next step.
    #[inline]
    fn begin(&mut self, cpu: usize, task: usize) -> Begun {
        let this = &mut self.tasks[task];
        let here = this.at;
        let Some(step) = self.steps[here as usize] else {
            self.leave(cpu, task, Departure::Exit, State::Ended);
            return Begun::Left;
        };
        this.at += 1;
        match step {
            Step::Compute(0) | Step::Sleep(0) => Begun::Over,
            Step::Compute(ns) => Begun::Takes(Doing::Using(self.varied(ns))),
            Step::ComputeDrawn(length) => match self.drawn(length) {
                0 => Begun::Over,
                ns => Begun::Takes(Doing::Using(self.varied(ns))),
            },
            Step::Sleep(ns) => self.sleep(cpu, task, ns),
            Step::SleepDrawn(length) => match self.drawn(length) {
                0 => Begun::Over,
                ns => self.sleep(cpu, task, ns),
            },
            Step::Advance(number) => match self.burst(task, number as usize) {
                Burst::Through => Begun::Over,
                Burst::Run(ns) => Begun::Takes(Doing::Advancing(number, ns)),
                Burst::Wait(ns) => {
                    self.tasks[task].at = here;
                    self.sleep(cpu, task, ns)
                }
            },
            Step::Send(channel) => {
                let channel = this.channel + channel;
                let held = &mut self.channels[channel as usize];
                if held.keep() {
                    return Begun::Takes(Doing::Writing(channel, self.varied(self.machine.write_ns)));
                }
                this.at = here;
                held.writers.join(&mut self.tasks, task as u32);
                self.leave(cpu, task, Departure::Sleep, State::Waiting(channel));
                Begun::Left
            }
            Step::Receive(channel) => {
                let channel = this.channel + channel;
                let held = &mut self.channels[channel as usize];
                if let Some(sent) = held.take() {
                    self.latencies.add(self.now - sent);
                    return Begun::Takes(Doing::Reading(channel, self.varied(self.machine.read_ns)));
                }
                this.at = here;
                held.readers.join(&mut self.tasks, task as u32);
                self.leave(cpu, task, Departure::Sleep, State::Waiting(channel));
                Begun::Left
            }
            Step::Yield => {
                if self.yields_for_ever() {
                    return Begun::Never;
                }
                self.account(cpu);
                self.policy.yielded(&mut self.cpus[cpu].queue);
                self.cpus[cpu].choose = true;
                Begun::Takes(Doing::Using(0))
            }
            Step::Repeat(0) => {
                let mut depth = 1;
                while depth > 0 {
                    match self.steps[this.at as usize] {
                        Some(Step::Repeat(_)) => depth += 1,
                        Some(Step::End) => depth -= 1,
                        _ => {}
                    }
                    this.at += 1;
                }
                Begun::Over
            }
            Step::Repeat(times) => {
                if this.left > 0 {
                    self.outer[task].push((this.first, this.left));
                }
                (this.first, this.left) = (this.at, times);
                Begun::Over
            }
            Step::End => {
                this.left -= 1;
                if this.left > 0 {
                    this.at = this.first;
                } else if let Some((first, left)) = self.outer[task].pop() {
                    (this.first, this.left) = (first, left);
                }
                Begun::Over
            }
        }
    }

    fn sleep(&mut self, cpu: usize, task: usize, ns: u64) -> Begun {
        let until = self.now.saturating_add(ns);
        self.leave(cpu, task, Departure::Sleep, State::Sleeping);
        self.wake_at(task, until);
        Begun::Left
    }

    /// Wake a sleeping task at a time, replacing an earlier alarm.
    pub(super) fn wake_at(&mut self, task: usize, until: u64) {
        self.tasks[task].ready_ns = until;
        self.alarms.push(Reverse((until, task as u32)));
    }

    fn drawn(&mut self, length: u32) -> u64 {
        quantile(&self.workload.lengths[length as usize], self.random.share())
    }

    /// Finish writing a message, and wake a task that waits for one.
    #[inline]
    fn written(&mut self, cpu: usize, channel: u32) {
        self.counts.messages += 1;
        let held = &mut self.channels[channel as usize];
        held.put(self.now);
        if let Some(reader) = held.readers.leave(&self.tasks) {
            self.rouse(cpu, reader as usize);
        }
    }

    /// Finish reading a message, and wake the first writer that waits for room. A channel with a `drained`
    /// value wakes all of them once that number of messages is left.
    #[inline]
    fn read(&mut self, cpu: usize, channel: u32) {
        let held = &mut self.channels[channel as usize];
        held.free();
        if held.writers.empty() {
            return;
        }
        let left = self.workload.drained.get(channel as usize).copied().unwrap_or(BY_THE_MESSAGE);
        let all = left != BY_THE_MESSAGE;
        if all && held.taken > left {
            return;
        }
        while let Some(writer) = self.channels[channel as usize].writers.leave(&self.tasks) {
            self.rouse(cpu, writer as usize);
            if !all {
                return;
            }
        }
    }

    /// Wake a task at the expense of the waker's CPU.
    fn rouse(&mut self, cpu: usize, task: usize) {
        let cost = self.machine.wakeup_ns;
        let here = &mut self.cpus[cpu];
        here.free_ns = here.free_ns.max(self.now) + cost;
        self.counts.overhead_ns += cost;
        self.charge(cpu, cost);
        self.wake(task, Some(cpu));
    }

    /// Return the time of a step, with jitter if the machine has any.
    #[inline]
    fn varied(&mut self, ns: u64) -> u64 {
        if self.machine.jitter == 0.0 {
            ns
        } else {
            self.jittered(ns)
        }
    }

    /// Draw a log-normal time with this mean.
    #[inline(never)]
    fn jittered(&mut self, ns: u64) -> u64 {
        let variance = (1.0 + self.machine.jitter * self.machine.jitter).ln();
        (ns as f64 * (variance.sqrt() * self.random.normal() - variance / 2.0).exp()).round().max(1.0) as u64
    }
}
