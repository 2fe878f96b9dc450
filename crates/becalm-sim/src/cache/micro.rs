//! The programs of simulated tasks: the micro-benchmarks of the thesis, `phases`, and recorded traces.
//!
//! Another program needs a variant of `Asked` and a type that implements `Program`.

use serde::{Deserialize, Serialize};

use super::lackey::Lackey;
use super::level::LINE;
use super::matrixmult::{Matrixmult, Multiplying};
use super::program::{Program, Step, BATCH};

/// A program in a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Asked {
    Cpuburner {},
    Memeater(Memeater),
    Change(Change),
    Matrixmult(Matrixmult),
    Phases(Phases),
    /// A trace file of `valgrind --tool=lackey --trace-mem=yes`.
    Trace {
        path: String,
    },
}

/// A program that increments a buffer of 4-byte integers for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memeater {
    pub bytes: u64,
}

/// A program that alternates between cpuburner and memeater, with `period_ns` for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    pub bytes: u64,
    #[serde(default = "two_seconds")]
    pub period_ns: u64,
}

/// A program that sweeps over fresh data in each phase, and sets a mark at the beginning of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Phases {
    pub bytes: u64,
    pub sweeps: u64,
    /// The number of phases; 0: without end.
    pub phases: u64,
    /// The cycles of work per line.
    #[serde(default)]
    pub work: u16,
}

fn two_seconds() -> u64 {
    2_000_000_000
}

/// The largest buffer or matrix, in bytes.
pub const MOST_BYTES: u64 = 1 << 32;

/// Check the size of a program's data.
///
/// # Errors
/// Returns a sentence if it is out of range.
pub fn sized(name: &str, bytes: u64) -> Result<(), String> {
    if (LINE..=MOST_BYTES).contains(&bytes) {
        return Ok(());
    }
    Err(format!("The data of {name} have 64 bytes to 4 GiB, not {bytes} bytes."))
}

impl Asked {
    /// Create the program at its beginning.
    ///
    /// # Errors
    /// Returns a sentence about invalid parameters.
    pub fn begin(&self, page_bytes: u64, raw: bool) -> Result<Box<dyn Program>, String> {
        Ok(match self {
            Self::Cpuburner {} => Box::new(Burning),
            Self::Memeater(Memeater { bytes }) => {
                sized("memeater", *bytes)?;
                Box::new(Eating { bytes: *bytes, at: 0 })
            }
            Self::Change(Change { bytes, period_ns }) => {
                sized("change", *bytes)?;
                if *period_ns == 0 {
                    return Err("change needs a period above 0 ns.".to_owned());
                }
                Box::new(Changing {
                    period_ns: *period_ns,
                    burns: true,
                    eats: Eating { bytes: *bytes, at: 0 },
                })
            }
            Self::Matrixmult(asked) => Box::new(Multiplying::begin(*asked, page_bytes)?),
            Self::Phases(asked) => {
                sized("phases", asked.bytes)?;
                if asked.sweeps == 0 {
                    return Err("A phase has one sweep or more.".to_owned());
                }
                Box::new(Sweeping { of: *asked, page_bytes, phase: 0, sweep: 0, at: 0 })
            }
            Self::Trace { path } => Box::new(Lackey::open(path, page_bytes, raw)?),
        })
    }

    /// Return whether the program never ends by itself.
    pub fn endless(&self) -> bool {
        match self {
            Self::Cpuburner {} | Self::Memeater(_) | Self::Change(_) => true,
            Self::Phases(asked) => asked.phases == 0,
            Self::Matrixmult(_) | Self::Trace { .. } => false,
        }
    }
}

/// The program cpuburner, which makes no memory access.
#[derive(Debug)]
struct Burning;

impl Program for Burning {
    fn fill(&mut self, steps: &mut Vec<Step>, _now_ns: u64) -> Result<bool, String> {
        steps.extend([Step::Work(1_000); 16]);
        Ok(true)
    }
}

#[derive(Debug)]
struct Eating {
    bytes: u64,
    at: u64,
}

impl Program for Eating {
    fn fill(&mut self, steps: &mut Vec<Step>, _now_ns: u64) -> Result<bool, String> {
        for _ in 0..BATCH / 2 {
            steps.extend([Step::read(self.at, 0), Step::write(self.at, 0)]);
            self.at = if self.at + 8 > self.bytes { 0 } else { self.at + 4 };
        }
        Ok(true)
    }
}

#[derive(Debug)]
struct Changing {
    period_ns: u64,
    burns: bool,
    eats: Eating,
}

impl Program for Changing {
    fn fill(&mut self, steps: &mut Vec<Step>, now_ns: u64) -> Result<bool, String> {
        let burns = (now_ns / self.period_ns).is_multiple_of(2);
        if burns != std::mem::replace(&mut self.burns, burns) {
            steps.push(Step::Mark(1));
        }
        if burns {
            Burning.fill(steps, now_ns)
        } else {
            self.eats.fill(steps, now_ns)
        }
    }
}

#[derive(Debug)]
struct Sweeping {
    of: Phases,
    page_bytes: u64,
    phase: u64,
    sweep: u64,
    at: u64,
}

impl Sweeping {
    /// Return the beginning of a phase's data: one of two places in turn, with new pages each time.
    fn begins(&self, phase: u64) -> u64 {
        phase % 2 * self.of.bytes.next_multiple_of(self.page_bytes)
    }
}

impl Program for Sweeping {
    fn fill(&mut self, steps: &mut Vec<Step>, _now_ns: u64) -> Result<bool, String> {
        if self.of.phases > 0 && self.phase == self.of.phases {
            return Ok(false);
        }
        if (self.sweep, self.at) == (0, 0) {
            steps.push(Step::Mark(1));
        }
        let first = self.begins(self.phase);
        let until = (self.at + BATCH * LINE).min(self.of.bytes);
        while self.at < until {
            steps.push(Step::read(first + self.at, self.of.work));
            self.at += LINE;
        }
        if self.at >= self.of.bytes {
            (self.at, self.sweep) = (0, self.sweep + 1);
        }
        if self.sweep == self.of.sweeps {
            (self.sweep, self.phase) = (0, self.phase + 1);
            steps.push(Step::Free { address: self.begins(self.phase), bytes: self.of.bytes });
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(asked: &Asked) -> Vec<Step> {
        let mut program = asked.begin(4096, false).expect("sound");
        let mut steps = Vec::new();
        while program.fill(&mut steps, 0).expect("no file") {}
        steps
    }

    #[test]
    fn a_phase_reads_each_line_in_each_sweep() {
        let steps = all(&Asked::Phases(Phases { bytes: 640, sweeps: 3, phases: 2, work: 0 }));
        let reads: Vec<u64> = steps
            .iter()
            .filter_map(|each| if let Step::Access { address, .. } = each { Some(*address) } else { None })
            .collect();
        assert_eq!((reads.len(), reads[9], reads[10], reads[30]), (60, 576, 0, 4096));
        assert_eq!(steps.iter().filter(|each| matches!(each, Step::Mark(1))).count(), 2);
    }

    #[test]
    fn memeater_increments_every_integer_in_turn() {
        let mut eats = Asked::Memeater(Memeater { bytes: 64 }).begin(4096, false).expect("sound");
        let mut steps = Vec::new();
        eats.fill(&mut steps, 0).expect("endless");
        assert_eq!(
            (steps[30], steps[31], steps[32]),
            (Step::read(60, 0), Step::write(60, 0), Step::read(0, 0))
        );
    }

    #[test]
    fn change_burns_first_and_marks_each_turn() {
        let mut changes =
            Asked::Change(Change { bytes: 64, period_ns: 10 }).begin(4096, false).expect("sound");
        let mut steps = Vec::new();
        changes.fill(&mut steps, 0).expect("endless");
        assert_eq!(steps[0], Step::Work(1_000));
        steps.clear();
        changes.fill(&mut steps, 10).expect("endless");
        assert_eq!((steps[0], steps[1]), (Step::Mark(1), Step::read(0, 0)));
    }
}
