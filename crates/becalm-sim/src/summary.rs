//! The result of a simulation.

use serde::Serialize;

use crate::histogram::Distribution;

/// A summary, with times in ns. `run + overhead + idle` is `cpus` times `end`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// The time at which the last task ended or the simulation was stopped.
    pub end_ns: u64,
    /// All tasks ended by themselves.
    pub finished: bool,
    pub tasks: usize,
    pub tasks_ended: usize,
    pub cpus: usize,
    pub events: u64,
    pub run_ns: u64,
    pub overhead_ns: u64,
    pub idle_ns: u64,
    pub switches: u64,
    pub preemptions: u64,
    pub wakeups: u64,
    pub migrations: u64,
    pub messages: u64,
    /// The time from being runnable to running.
    pub wait: Distribution,
    /// The time from when a message is sent until it is read.
    pub message_latency: Distribution,
    /// Jain's fairness index of CPU time over weight, of the tasks that existed from the start: 1 is fair
    /// (Jain 1984).
    pub fairness: f64,
    /// The spans in which tasks ran on CPUs, if the request asked for a trace.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub spans: Vec<Span>,
    /// The number of spans left out because the request asked for fewer.
    pub spans_dropped: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub per_task: Vec<TaskSummary>,
}

/// A span of time in which a task ran on a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Span {
    pub cpu: u32,
    pub task: u32,
    pub from_ns: u64,
    pub to_ns: u64,
}

/// The totals of one task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TaskSummary {
    pub name: String,
    pub run_ns: u64,
    pub wait_ns: u64,
    pub switches: u64,
    pub migrations: u64,
    /// The time at which the task ended; None if it had not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_ns: Option<u64>,
}

/// Return Jain's index of fairness: 1 if all values are equal, 1/n if one of n has everything, 1 without
/// values.
pub fn jain(values: impl Iterator<Item = f64>) -> f64 {
    let (mut count, mut sum, mut squares) = (0u64, 0.0, 0.0);
    for value in values {
        count += 1;
        sum += value;
        squares += value * value;
    }
    if squares > 0.0 {
        sum * sum / (count as f64 * squares)
    } else {
        1.0
    }
}

#[cfg(test)]
mod tests {
    use super::jain;

    #[test]
    fn jains_index_is_one_for_equals_and_one_nth_for_one_of_n() {
        assert_eq!(jain([3.0, 3.0, 3.0].into_iter()), 1.0);
        assert_eq!(jain([5.0, 0.0, 0.0, 0.0].into_iter()), 0.25);
        assert_eq!(jain(std::iter::empty()), 1.0);
    }
}
