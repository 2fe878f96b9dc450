//! The progress of measured programs (`crate::workload::measured`), updated at each tick of their threads and
//! when those stop running.

use super::{Doing, Policy, Simulation, State, NEVER};

/// The next action of a thread of a measured program.
pub(super) enum Burst {
    /// The program has finished.
    Through,
    /// Run for this time, ns.
    Run(u64),
    /// Wait for this time, ns.
    Wait(u64),
}

impl<P: Policy> Simulation<'_, P> {
    /// Advance the program of a CPU's running task by the time since the last call (3.2).
    pub(super) fn advance(&mut self, cpu: usize) {
        let Some(number) = self.advancing(cpu) else { return };
        let ran = self.now.saturating_sub(self.cpus[cpu].advanced_ns);
        self.cpus[cpu].advanced_ns = self.cpus[cpu].advanced_ns.max(self.now);
        if ran == 0 || self.progress[number].done() {
            return;
        }
        self.progress[number].done_ns += ran as f64 * self.speed(cpu, number);
        if self.progress[number].done() {
            self.stop(number);
        }
    }

    /// Stop a program whose work is done. Its running threads end now, its sleeping ones are woken, and those
    /// that wait for a CPU end when they get one; but none before the program's time alone has passed.
    fn stop(&mut self, number: usize) {
        for other in 0..self.cpus.len() {
            if self.advancing(other) == Some(number) {
                self.cpus[other].done_ns = self.now;
                self.schedule_next(other);
            }
        }
        let at = self.now.max(self.progress[number].earliest_ns());
        for task in std::mem::take(&mut self.progress[number].threads) {
            if self.tasks[task as usize].state == State::Sleeping {
                self.wake_at(task as usize, at);
            }
        }
    }

    /// Return how long a thread runs or waits next. A new thread begins at a random point of its cycle of
    /// running and waiting.
    pub(super) fn burst(&mut self, task: usize, number: usize) -> Burst {
        let first = self.bursts[task] == 0;
        if first {
            let progress = &mut self.progress[number];
            progress.since_ns = progress.since_ns.min(self.now);
            progress.threads.push(task as u32);
        }
        if self.progress[number].done() {
            return self.wait_of(task, number).map_or(Burst::Through, Burst::Wait);
        }
        let waits = self.workload.waits.get(self.workload.measured[number].kind as usize).copied();
        let Some(waits) = waits.filter(|waits| waits.running < 1.0) else {
            self.bursts[task] = NEVER;
            return Burst::Run(NEVER);
        };
        let burst = ((0.5 + self.random.share()) * waits.burst_ns as f64) as u64;
        self.bursts[task] = burst;
        if !first {
            return Burst::Run(burst);
        }
        let passed = (self.random.share() * burst as f64 / waits.running) as u64;
        match burst.checked_sub(passed) {
            Some(left @ 1..) => Burst::Run(left),
            _ => Burst::Wait(waits.after(burst).saturating_sub(passed - burst)),
        }
    }

    /// Return how long a thread waits after its run, ns; None if its program has finished.
    pub(super) fn wait_of(&self, task: usize, number: usize) -> Option<u64> {
        let progress = &self.progress[number];
        if progress.through(self.now) {
            return None;
        }
        if progress.done() {
            return Some(progress.earliest_ns() - self.now);
        }
        let kind = self.workload.measured[number].kind as usize;
        Some(self.workload.waits.get(kind).map_or(0, |waits| waits.after(self.bursts[task])))
    }

    /// Return the number of the measured program whose thread runs on a CPU.
    fn advancing(&self, cpu: usize) -> Option<usize> {
        match self.tasks[self.cpus[cpu].queue.running()? as usize].doing {
            Doing::Advancing(number, _) => Some(number as usize),
            _ => None,
        }
    }

    /// Return the share of a tick by which a thread advances its program, averaged over the programs on the
    /// other CPUs. A CPU that is idle or runs something not measured counts as in a run alone.
    fn speed(&self, cpu: usize, number: usize) -> f64 {
        let kind = &self.workload.kinds[self.workload.measured[number].kind as usize];
        let alongside = |other: usize| match self.advancing(other) {
            Some(neighbour) if neighbour != number => {
                kind.alongside[self.workload.measured[neighbour].kind as usize]
            }
            _ => kind.alone,
        };
        let others = (0..self.cpus.len()).filter(|&other| other != cpu).map(alongside);
        let count = self.cpus.len() - 1;
        if count == 0 {
            kind.alone
        } else {
            others.sum::<f64>() / count as f64
        }
    }
}
