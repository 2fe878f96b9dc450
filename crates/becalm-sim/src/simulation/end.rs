//! How a simulation ends: with what it comes to, or with why it cannot go on.

use super::{Policy, Simulation, SimulationError, State};
use crate::summary::{jain, Summary, TaskSummary};
use crate::weight;

impl<P: Policy> Simulation<'_, P> {
    /// Who waits for what, when nothing can go on.
    pub(super) fn deadlock(&self) -> SimulationError {
        let mut waits = Vec::new();
        let waiting =
            self.tasks.iter().zip(&self.workload.tasks).filter(|(task, _)| task.state != State::Ended);
        let count = waiting.clone().count();
        for (task, made) in waiting.take(3) {
            let what = match task.state {
                State::Waiting(channel) => {
                    let held = &self.channels[channel as usize];
                    if held.messages.is_empty() {
                        format!("{} waits for a message in channel {channel}", made.name)
                    } else {
                        format!("{} waits for room in channel {channel}", made.name)
                    }
                }
                _ => format!("{} never runs", made.name),
            };
            waits.push(what);
        }
        let rest =
            if count > waits.len() { format!(", and {} more", count - waits.len()) } else { String::new() };
        SimulationError::Deadlock { at_ns: self.now, waits: waits.join(", ") + &rest }
    }

    /// What was simulated until now.
    pub(super) fn summary(mut self) -> Summary {
        let end = self.now;
        for cpu in 0..self.cpus.len() {
            match self.cpus[cpu].queue.running() {
                Some(task) => self.pause(cpu, task as usize),
                None => self.counts.idle_ns += end.saturating_sub(self.cpus[cpu].idle_since_ns),
            }
            // Switching that was still to be done when the last task ended is no part of the time.
            self.counts.overhead_ns -= self.cpus[cpu].free_ns.saturating_sub(end);
        }
        let whole = self.tasks.iter().zip(&self.workload.tasks).filter(|(_, made)| made.start_ns == 0);
        let shares = whole.map(|(task, made)| task.run_ns as f64 / weight::of(made.class, made.nice) as f64);
        Summary {
            end_ns: end,
            finished: self.ended == self.tasks.len(),
            tasks: self.tasks.len(),
            tasks_ended: self.ended,
            cpus: self.cpus.len(),
            events: self.events,
            run_ns: self.counts.run_ns,
            overhead_ns: self.counts.overhead_ns,
            idle_ns: self.counts.idle_ns,
            switches: self.counts.switches,
            preemptions: self.counts.preemptions,
            wakeups: self.counts.wakeups,
            migrations: self.counts.migrations,
            messages: self.counts.messages,
            wait: self.waits.distribution(),
            message_latency: self.latencies.distribution(),
            fairness: jain(shares),
            spans: self.spans,
            spans_dropped: self.spans_dropped,
            per_task: self
                .tasks
                .iter()
                .zip(&self.workload.tasks)
                .map(|(task, made)| TaskSummary {
                    name: made.name.clone(),
                    run_ns: task.run_ns,
                    wait_ns: task.wait_ns,
                    switches: task.switches,
                    migrations: task.migrations,
                    ended_ns: (task.state == State::Ended).then_some(task.ended_ns),
                })
                .collect(),
        }
    }
}
