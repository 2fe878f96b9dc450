//! The arrival of tasks on a CPU: new, woken, or moved.

use super::{pair, Arrival, Policy, Simulation, State, NEVER};

impl<P: Policy> Simulation<'_, P> {
    /// Queue a runnable task on a CPU, where it may preempt the running one.
    pub(super) fn come(&mut self, task: usize, cpu: usize, how: Arrival) {
        self.end_idle(cpu);
        self.account(cpu);
        let this = &mut self.tasks[task];
        this.state = State::Ready;
        this.ready_ns = self.now;
        if let Some(entry) = this.entry.take() {
            self.policy.attach(&mut self.cpus[cpu].queue, entry, how);
            self.counted(cpu);
        }
        self.challenge(task, cpu);
    }

    /// Let a newly queued task preempt the running one if the policy decides so.
    fn challenge(&mut self, task: usize, cpu: usize) {
        let here = &mut self.cpus[cpu];
        let idle = here.queue.current.is_none();
        if idle || self.policy.preempts(&mut here.queue, task as u32) {
            here.choose = true;
        } else {
            self.time_slice(cpu);
        }
        self.schedule_next(cpu);
    }

    pub(super) fn end_idle(&mut self, cpu: usize) {
        let here = &mut self.cpus[cpu];
        if here.queue.current.is_none() && here.idle_since_ns < self.now && !here.choose {
            let idle = self.now - here.idle_since_ns;
            self.counts.idle_ns += idle;
            let mean = here.mean_idle_ns as i64;
            let moved = mean + (idle.min(i64::MAX as u64) as i64 - mean) / 8;
            here.mean_idle_ns = (moved as u64).min(2 * self.machine.migration_cost_ns);
            here.idle_since_ns = NEVER;
            // Ticks of an idle CPU are skipped.
            self.pass_ticks(cpu);
        }
    }

    /// Wake a task; `waker` is the CPU that caused it.
    pub(super) fn wake(&mut self, task: usize, waker: Option<usize>) {
        self.counts.wakeups += 1;
        let former = self.tasks[task].cpu as usize;
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
        if let Some(waker) = waker {
            self.record_wakee(waker, task);
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

    pub(super) fn migrated(&mut self, task: usize, cpu: usize) {
        let this = &mut self.tasks[task];
        this.cpu = cpu as u32;
        this.moved = true;
        this.migrations += 1;
        self.counts.migrations += 1;
    }
}
