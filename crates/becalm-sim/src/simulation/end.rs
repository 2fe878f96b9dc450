//! The end of a simulation: the summary, or the report of a deadlock.

use super::{Policy, Simulation, SimulationError, State, Step};
use crate::summary::{jain, Summary, TaskSummary};
use crate::weight;

impl<P: Policy> Simulation<'_, P> {
    /// Return the error that names the waiting tasks, and what and whom they wait for.
    pub(super) fn deadlock(&self) -> SimulationError {
        let left = (0..self.tasks.len()).filter(|&task| self.tasks[task].state != State::Ended);
        let count = left.clone().count();
        let waits: Vec<String> = left.take(3).map(|task| self.wait(task)).collect();
        let rest = match count - waits.len() {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        SimulationError::Deadlock { at_ns: self.now, waits: waits.join("; ") + &rest }
    }

    /// Return a sentence about what a task waits for, and which remaining tasks could provide it.
    fn wait(&self, task: usize) -> String {
        let name = &self.workload.tasks[task].name;
        let State::Waiting(channel) = self.tasks[task].state else { return format!("{name} never runs") };
        let reads = self.channels[channel as usize].empty();
        let held = match self.workload.channels.get(channel as usize) {
            Some(name) => name.clone(),
            None => format!("channel {channel}"),
        };
        let (what, other) =
            if reads { ("a message in", "writes into it") } else { ("room in", "reads from it") };
        let mut whom: Vec<&str> = self.partners(task, channel, reads).take(3).collect();
        whom.dedup();
        let whom = if whom.is_empty() {
            format!("and nobody who is left {other}")
        } else {
            format!("from {}", whom.join(", "))
        };
        format!("{name} waits for {what} {held} {whom}")
    }

    /// Return the names of other remaining tasks that have a step for the other end of a channel.
    fn partners(&self, task: usize, channel: u32, writers: bool) -> impl Iterator<Item = &str> {
        let others = (0..self.tasks.len()).filter(move |&other| other != task);
        let partner = move |&other: &usize| {
            let this = &self.tasks[other];
            let steps = &self.workload.programs[self.workload.tasks[other].program as usize];
            this.state != State::Ended
                && steps.iter().any(|step| match *step {
                    Step::Send(each) => writers && this.channel + each == channel,
                    Step::Receive(each) => !writers && this.channel + each == channel,
                    _ => false,
                })
        };
        others.filter(partner).map(|other| self.workload.tasks[other].name.as_str())
    }

    /// Return the summary of the time simulated so far.
    pub(super) fn summary(mut self) -> Summary {
        let end = self.now;
        for cpu in 0..self.cpus.len() {
            match self.cpus[cpu].queue.running() {
                Some(task) => self.pause(cpu, task as usize),
                None => self.counts.idle_ns += end.saturating_sub(self.cpus[cpu].idle_since_ns),
            }
            // Switching that was still in progress when the last task ended is not part of the time.
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
                    migrations: u64::from(task.migrations),
                    ended_ns: (task.state == State::Ended).then_some(task.ended_ns),
                })
                .collect(),
        }
    }
}
