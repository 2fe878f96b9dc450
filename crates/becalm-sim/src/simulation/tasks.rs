//! What a task does: one step after the other.

use super::{Departure, Doing, Policy, Simulation, SimulationError, State, Step, MOST_TIMELESS, NEVER};
use crate::workload::measured::quantile;
use std::cmp::Reverse;

impl<P: Policy> Simulation<'_, P> {
    /// The step of the running task of a CPU is over: what it brings about, and the steps after it until one needs time.
    pub(super) fn proceed(&mut self, cpu: usize) -> Result<(), SimulationError> {
        let Some(task) = self.cpus[cpu].queue.running().map(|task| task as usize) else { return Ok(()) };
        match std::mem::replace(&mut self.tasks[task].doing, Doing::Next) {
            Doing::Next | Doing::Using(_) | Doing::Advancing(_) => {}
            Doing::Writing(channel, _) => self.written(cpu, channel),
            Doing::Reading(channel, _) => self.read(cpu, channel),
        }
        let mut timeless = 0;
        while let Some(needs) = self.begin(cpu, task) {
            let Some(doing) = needs else {
                timeless += 1;
                if timeless == MOST_TIMELESS {
                    return Err(SimulationError::Timeless { task: self.workload.tasks[task].name.clone() });
                }
                continue;
            };
            self.tasks[task].doing = doing;
            self.pay_overhead(cpu, task);
            let begins = self.now.max(self.cpus[cpu].free_ns);
            self.cpus[cpu].done_ns = match doing {
                Doing::Using(ns) | Doing::Writing(_, ns) | Doing::Reading(_, ns) => begins + ns,
                Doing::Advancing(_) | Doing::Next => NEVER,
            };
            self.cpus[cpu].advanced_ns = begins;
            return Ok(());
        }
        Ok(())
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

    /// Begin the next step. None: the task has left its CPU. Some(None): the step needed no time.
    fn begin(&mut self, cpu: usize, task: usize) -> Option<Option<Doing>> {
        let this = &mut self.tasks[task];
        let Some(&step) = self.workload.programs[this.program as usize].get(this.at as usize) else {
            self.leave(cpu, task, Departure::Exit, State::Ended);
            return None;
        };
        let here = this.at;
        this.at += 1;
        match step {
            Step::Compute(0) | Step::Sleep(0) => Some(None),
            Step::Compute(ns) => Some(Some(Doing::Using(self.varied(ns)))),
            Step::ComputeDrawn(length) => match self.drawn(length) {
                0 => Some(None),
                ns => Some(Some(Doing::Using(self.varied(ns)))),
            },
            Step::Sleep(ns) => self.sleep(cpu, task, ns),
            Step::SleepDrawn(length) => match self.drawn(length) {
                0 => Some(None),
                ns => self.sleep(cpu, task, ns),
            },
            Step::Advance(number) if self.progress[number as usize].through() => Some(None),
            Step::Advance(number) => Some(Some(Doing::Advancing(number))),
            Step::Send(channel) => {
                let channel = this.channel + channel;
                let held = &mut self.channels[channel as usize];
                if held.has_room() {
                    held.kept += 1;
                    return Some(Some(Doing::Writing(channel, self.varied(self.machine.write_ns))));
                }
                this.at = here;
                held.writers.join(&mut self.tasks, task as u32);
                self.leave(cpu, task, Departure::Sleep, State::Waiting(channel));
                None
            }
            Step::Receive(channel) => {
                let channel = this.channel + channel;
                let held = &mut self.channels[channel as usize];
                if let Some(sent) = held.take() {
                    // It is taken now, and its room is free when it has been read.
                    held.kept += 1;
                    self.latencies.add(self.now - sent);
                    return Some(Some(Doing::Reading(channel, self.varied(self.machine.read_ns))));
                }
                this.at = here;
                held.readers.join(&mut self.tasks, task as u32);
                self.leave(cpu, task, Departure::Sleep, State::Waiting(channel));
                None
            }
            Step::Yield => {
                self.account(cpu);
                self.policy.yielded(&mut self.cpus[cpu].queue);
                self.cpus[cpu].choose = true;
                Some(Some(Doing::Using(0)))
            }
            Step::Repeat(0) => {
                let mut depth = 1;
                while depth > 0 {
                    match self.workload.programs[this.program as usize][this.at as usize] {
                        Step::Repeat(_) => depth += 1,
                        Step::End => depth -= 1,
                        _ => {}
                    }
                    this.at += 1;
                }
                Some(None)
            }
            Step::Repeat(times) => {
                if this.left > 0 {
                    this.outer.push((this.first, this.left));
                }
                (this.first, this.left) = (this.at, times);
                Some(None)
            }
            Step::End => {
                this.left -= 1;
                if this.left > 0 {
                    this.at = this.first;
                } else if let Some((first, left)) = this.outer.pop() {
                    (this.first, this.left) = (first, left);
                }
                Some(None)
            }
        }
    }

    fn sleep(&mut self, cpu: usize, task: usize, ns: u64) -> Option<Option<Doing>> {
        let until = self.now.saturating_add(ns);
        self.alarms.push(Reverse((until, task as u32)));
        self.leave(cpu, task, Departure::Sleep, State::Sleeping);
        None
    }

    fn drawn(&mut self, length: u32) -> u64 {
        quantile(&self.workload.lengths[length as usize], self.random.share())
    }

    /// A message has been written: who waits for one is woken.
    fn written(&mut self, cpu: usize, channel: u32) {
        self.counts.messages += 1;
        let held = &mut self.channels[channel as usize];
        held.kept -= 1;
        held.put(self.now);
        if let Some(reader) = held.readers.leave(&self.tasks) {
            self.rouse(cpu, reader as usize);
        }
    }

    /// A message has been read: who waits for room is woken, first come, first served.
    fn read(&mut self, cpu: usize, channel: u32) {
        let held = &mut self.channels[channel as usize];
        held.kept -= 1;
        if let Some(writer) = held.writers.leave(&self.tasks) {
            self.rouse(cpu, writer as usize);
        }
    }

    /// Wake a task, which takes time of the waker's CPU.
    fn rouse(&mut self, cpu: usize, task: usize) {
        let cost = self.machine.wakeup_ns;
        let here = &mut self.cpus[cpu];
        here.free_ns = here.free_ns.max(self.now) + cost;
        self.counts.overhead_ns += cost;
        self.wake(task, Some(cpu));
    }

    /// The time of a step, varied where the machine has jitter: log-normal with the mean that was asked for.
    fn varied(&mut self, ns: u64) -> u64 {
        if self.machine.jitter == 0.0 {
            return ns;
        }
        let variance = (1.0 + self.machine.jitter * self.machine.jitter).ln();
        (ns as f64 * (variance.sqrt() * self.random.normal() - variance / 2.0).exp()).round().max(1.0) as u64
    }
}
