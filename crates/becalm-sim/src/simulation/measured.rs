//! How far measured programs have got (`crate::workload::measured`): asked at each tick of their threads, and when those
//! stop running.

use super::{Doing, Policy, Simulation};

impl<P: Policy> Simulation<'_, P> {
    /// The running task of a CPU brings its program forward by what it has run since it was last asked (3.2).
    pub(super) fn advance(&mut self, cpu: usize) {
        let Some(number) = self.advancing(cpu) else { return };
        let ran = self.now.saturating_sub(self.cpus[cpu].advanced_ns);
        self.cpus[cpu].advanced_ns = self.cpus[cpu].advanced_ns.max(self.now);
        if ran == 0 || self.progress[number].through() {
            return;
        }
        self.progress[number].done_ns += ran as f64 * self.speed(cpu, number);
        if self.progress[number].through() {
            // All its threads end, here and elsewhere; those that wait for a CPU when they get one.
            for other in 0..self.cpus.len() {
                if self.advancing(other) == Some(number) {
                    self.cpus[other].done_ns = self.now;
                    self.schedule_next(other);
                }
            }
        }
    }

    /// The measured program of which a thread runs on a CPU.
    fn advancing(&self, cpu: usize) -> Option<usize> {
        match self.tasks[self.cpus[cpu].queue.running()? as usize].doing {
            Doing::Advancing(number) => Some(number as usize),
            _ => None,
        }
    }

    /// By which share of a tick the program is brought forward: on average over what the other CPUs run. Where they run
    /// nothing, or what was never measured beside it, it is as alone.
    fn speed(&self, cpu: usize, number: usize) -> f64 {
        let kind = &self.workload.kinds[self.workload.measured[number].kind as usize];
        let beside = |other: usize| match self.advancing(other) {
            Some(neighbour) if neighbour != number => {
                kind.beside[self.workload.measured[neighbour].kind as usize]
            }
            _ => kind.alone,
        };
        let others = (0..self.cpus.len()).filter(|&other| other != cpu).map(beside);
        let count = self.cpus.len() - 1;
        if count == 0 {
            kind.alone
        } else {
            others.sum::<f64>() / count as f64
        }
    }
}
