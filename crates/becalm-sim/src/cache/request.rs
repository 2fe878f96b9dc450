//! Requests to the cache simulator and its answers, as JSON.

use serde::{Deserialize, Serialize};

use super::hierarchy::{Geometry, Tally};
use super::memory::Pages;
use super::micro::Asked;
use crate::spots::wait::Why;
use crate::spots::{Found, Question, Record};

/// A request: a machine, tasks on it, and the desired results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cache {
    #[serde(default)]
    pub machine: Geometry,
    #[serde(default)]
    pub seed: u64,
    #[serde(default)]
    pub pages: Pages,
    #[serde(default = "page")]
    pub page_bytes: u64,
    pub tasks: Vec<Asks>,
    /// The moves wanted at random times.
    #[serde(default)]
    pub every: Vec<Every>,
    /// The moves wanted once.
    #[serde(default)]
    pub once: Vec<Once>,
    /// The time slice of each of several tasks on a CPU.
    #[serde(default = "slice")]
    pub slice_ns: u64,
    /// The time between two reads of the counters of a CPU without switches.
    #[serde(default = "tick")]
    pub tick_ns: u64,
    /// The direct cost of a switch, in cycles.
    #[serde(default = "switch")]
    pub switch_cycles: u64,
    #[serde(default)]
    pub until_ns: Option<u64>,
    /// Whether the answer includes the records.
    #[serde(default)]
    pub records: bool,
    /// The question for the detector, if any.
    #[serde(default)]
    pub question: Option<Question>,
}

/// A task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asks {
    pub program: Asked,
    #[serde(default)]
    pub cpu: usize,
    #[serde(default)]
    pub from_ns: u64,
    /// The time at which the task is ended, ns. The simulation waits only for tasks without it that end by
    /// themselves.
    #[serde(default)]
    pub until_ns: Option<u64>,
    /// The moves, in order.
    #[serde(default)]
    pub moves: Vec<Move>,
}

/// A move to another CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Move {
    pub when: When,
    pub to: usize,
}

/// The moment of a move, by the task's own counts or by the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    Ns(u64),
    /// The task has made this number of accesses.
    Accesses(u64),
    /// The task has set this number of marks.
    Mark(u64),
}

/// Moves of a task (its index in `tasks`) that are wanted at random times: the mean time between them, and
/// the CPUs to choose from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Every {
    pub task: usize,
    pub mean_ns: u64,
    pub cpus: Vec<usize>,
    pub how: How,
}

/// A move of a task (its index in `tasks`) that is wanted at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Once {
    pub task: usize,
    pub at_ns: u64,
    pub to: usize,
    pub how: How,
}

/// The way in which a wanted move is made: at once, or at a sweet spot as `spots::wait` decides from what the
/// detector has seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    AtOnce,
    AtSpot,
}

fn page() -> u64 {
    4_096
}

fn slice() -> u64 {
    4_000_000
}

fn tick() -> u64 {
    1_000_000
}

fn switch() -> u64 {
    3_000
}

impl Cache {
    /// Check the request.
    ///
    /// # Errors
    /// Returns a sentence about the first invalid part.
    pub fn check(&self) -> Result<(), String> {
        self.machine.check()?;
        let cpus = self.machine.cpus;
        let known = |cpu: usize| {
            if cpu < cpus {
                return Ok(());
            }
            Err(format!("There is no CPU {cpu}: the simulated machine has CPUs 0 to {}.", cpus - 1))
        };
        if self.tasks.is_empty() || self.tasks.len() > 10_000 {
            return Err(format!("1 to 10,000 tasks are simulated, not {}.", self.tasks.len()));
        }
        for each in &self.tasks {
            known(each.cpu)?;
            each.moves.iter().try_for_each(|moved| known(moved.to))?;
        }
        for each in &self.every {
            if each.task >= self.tasks.len() || each.cpus.len() < 2 || each.mean_ns == 0 {
                return Err(
                    "Moves again and again are of a task that there is, among two CPUs or more.".to_owned()
                );
            }
            each.cpus.iter().try_for_each(|&cpu| known(cpu))?;
            if each.how == How::AtSpot && self.question.is_none() {
                return Err("Moves at spots need a question for the detector.".to_owned());
            }
        }
        for each in &self.once {
            if each.task >= self.tasks.len() {
                return Err("A move is of a task that there is.".to_owned());
            }
            known(each.to)?;
            if each.how == How::AtSpot && self.question.is_none() {
                return Err("Moves at spots need a question for the detector.".to_owned());
            }
        }
        if self.tick_ns < 1_000 || self.slice_ns < 1_000 {
            return Err("A tick and a slice last 1,000 ns or more.".to_owned());
        }
        if self.until_ns.is_none()
            && self.tasks.iter().all(|each| each.program.endless() && each.until_ns.is_none())
        {
            return Err("No task ends by itself: say until when it is simulated.".to_owned());
        }
        Ok(())
    }
}

/// The totals of a task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Played {
    pub accesses: u64,
    /// The number of cycles that the task ran.
    pub cycles: u64,
    pub ended_ns: Option<u64>,
    /// The time of each mark, and the number of accesses before it.
    pub marks: Vec<(u64, u64)>,
    /// The time of each wanted move that was made, and the reason for that moment.
    pub moved: Vec<(u64, Why)>,
}

/// The result of a simulation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Simulated {
    pub until_ns: u64,
    /// Whether the simulation stopped at its time limit.
    pub cut: bool,
    pub accesses: u64,
    /// The counts of each CPU for data and for instructions.
    pub cpus: Vec<(Tally, Tally)>,
    /// The totals of tasks in the order of the request; the task id in records is the index plus 1.
    pub tasks: Vec<Played>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub records: Option<Vec<Record>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<Box<Found>>,
}
