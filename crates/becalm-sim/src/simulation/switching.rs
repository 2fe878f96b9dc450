//! Context switches: choosing the next task of a CPU, and the cost of a switch.

use super::{Departure, Doing, Policy, Simulation, Span, State, NEVER};

impl<P: Policy> Simulation<'_, P> {
    /// Choose the task that runs on a CPU, and switch to it.
    pub(super) fn choose(&mut self, cpu: usize) {
        self.account(cpu);
        let before = self.cpus[cpu].queue.running();
        if let Some(task) = before {
            self.pause(cpu, task as usize);
        }
        self.cpus[cpu].choose = false;
        self.pick(cpu);
        if self.cpus[cpu].queue.current.is_none() && self.pull(cpu) {
            self.pick(cpu);
        }
        let Some(task) = self.cpus[cpu].queue.running() else {
            self.cpus[cpu].idle_since_ns = self.now.max(self.cpus[cpu].free_ns);
            self.counted(cpu);
            return;
        };
        if before.is_some_and(|before| before != task) {
            self.counts.preemptions += 1;
        }
        self.counted(cpu);
        self.resume(cpu, task as usize, before == Some(task));
        self.time_slice(cpu);
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

    /// Interrupt the running task and save what is left of its step.
    pub(super) fn pause(&mut self, cpu: usize, task: usize) {
        self.advance(cpu);
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
            Doing::Advancing(program, NEVER) => Doing::Advancing(program, NEVER),
            Doing::Advancing(program, _) => Doing::Advancing(program, left),
        };
        this.run_ns += used;
        self.counts.run_ns += used;
        this.state = State::Ready;
        this.ready_ns = self.now;
        self.span(cpu, task, used);
    }

    pub(super) fn span(&mut self, cpu: usize, task: usize, used: u64) {
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

    /// Start or continue a task. `same` means that it was running on this CPU already.
    fn resume(&mut self, cpu: usize, task: usize, same: bool) {
        let here = &mut self.cpus[cpu];
        let this = &mut self.tasks[task];
        let mut begins = self.now.max(here.free_ns);
        if here.previous != task as u32 {
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
        here.previous = task as u32;
        here.free_ns = begins;
        // The time of the switch counts as the task's own for the scheduler, since the kernel's clock keeps
        // running.
        here.since_ns = here.since_ns.max(self.now);
        here.span_ns = begins;
        here.advanced_ns = begins;
        if !same {
            let waited = self.now - this.ready_ns;
            this.wait_ns += waited;
            self.waits.add(waited);
        }
        this.state = State::Running;
        here.done_ns = match this.doing {
            Doing::Next => begins,
            Doing::Using(left) | Doing::Writing(_, left) | Doing::Reading(_, left) => begins + left,
            Doing::Advancing(number, _) if self.progress[number as usize].done() => begins,
            Doing::Advancing(_, left) => begins.saturating_add(left),
        };
    }

    /// Take the running task off its CPU, to sleep or for good.
    pub(super) fn leave(&mut self, cpu: usize, task: usize, how: Departure, state: State) {
        self.account(cpu);
        self.pause(cpu, task);
        self.tasks[task].state = state;
        let here = &mut self.cpus[cpu];
        match self.policy.detach(&mut here.queue, task as u32, how) {
            Some(entry) => self.tasks[task].entry = Some(entry),
            None => self.tasks[task].delayed = true,
        }
        self.counted(cpu);
        let here = &mut self.cpus[cpu];
        here.choose = true;
        if state == State::Ended {
            self.tasks[task].ended_ns = self.now;
            self.ended += 1;
        }
    }
}
