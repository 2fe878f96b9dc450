//! What a task does: one step after the other.

use super::measured::Burst;
use super::{Departure, Doing, Policy, Simulation, SimulationError, State, Step, MOST_TIMELESS, NEVER};
use crate::workload::{measured::quantile, BY_THE_MESSAGE};
use std::cmp::Reverse;

/// What beginning a step comes to: it needs time, it is over at once, or the task has left its CPU.
enum Begun {
    Takes(Doing),
    Over,
    Left,
    /// No step of it will ever need time.
    Never,
}

impl<P: Policy> Simulation<'_, P> {
    /// The step of the running task of a CPU is over: what it brings about, and the steps after it until one needs time.
    #[inline]
    pub(super) fn proceed(&mut self, cpu: usize, task: usize) -> Result<(), SimulationError> {
        if let Doing::Advancing(number, _) = self.tasks[task].doing {
            self.advance(cpu);
            if let Some(ns) = self.wait_of(task, number as usize) {
                // The same step once more when it wakes.
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

    /// Who is alone, or switched to at no cost, may yield without any time going by: often, but not for ever.
    fn yields_for_ever(&mut self) -> bool {
        if self.yielded_ns != self.now {
            (self.yielded_ns, self.yields) = (self.now, 0);
        }
        self.yields += 1;
        self.yields > u64::from(MOST_TIMELESS) + 1_000 * self.tasks.len() as u64
    }

    /// Waking others took time of this CPU that is no work of the task: its own work goes on behind that.
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

    /// Wake a sleeper at a time, also one that was to wake at another.
    pub(super) fn wake_at(&mut self, task: usize, until: u64) {
        self.tasks[task].ready_ns = until;
        self.alarms.push(Reverse((until, task as u32)));
    }

    fn drawn(&mut self, length: u32) -> u64 {
        quantile(&self.workload.lengths[length as usize], self.random.share())
    }

    /// A message has been written: who waits for one is woken.
    #[inline]
    fn written(&mut self, cpu: usize, channel: u32) {
        self.counts.messages += 1;
        let held = &mut self.channels[channel as usize];
        held.put(self.now);
        if let Some(reader) = held.readers.leave(&self.tasks) {
            self.rouse(cpu, reader as usize);
        }
    }

    /// A message has been read: who waits for room is woken, first come, first served. Of a channel that says so all of
    /// them are, once so few messages are left.
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

    /// Wake a task, which takes time of the waker's CPU.
    fn rouse(&mut self, cpu: usize, task: usize) {
        let cost = self.machine.wakeup_ns;
        let here = &mut self.cpus[cpu];
        here.free_ns = here.free_ns.max(self.now) + cost;
        self.counts.overhead_ns += cost;
        self.charge(cpu, cost);
        self.wake(task, Some(cpu));
    }

    /// The time of a step, varied where the machine has jitter.
    #[inline]
    fn varied(&mut self, ns: u64) -> u64 {
        if self.machine.jitter == 0.0 {
            ns
        } else {
            self.jittered(ns)
        }
    }

    /// Log-normal, with the mean that was asked for.
    #[inline(never)]
    fn jittered(&mut self, ns: u64) -> u64 {
        let variance = (1.0 + self.machine.jitter * self.machine.jitter).ln();
        (ns as f64 * (variance.sqrt() * self.random.normal() - variance / 2.0).exp()).round().max(1.0) as u64
    }
}
