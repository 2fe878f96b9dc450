//! The program `matrixmult`: repeats A · B = C with 4-byte integers and a new result matrix each time.

use serde::{Deserialize, Serialize};

use super::program::{Program, Step, BATCH};

/// The parameters of the multiplication.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Matrixmult {
    pub n: u64,
    pub repeats: u64,
    #[serde(default)]
    pub result: Outcome,
    /// The distance of two rows in bytes; 4·n by default.
    #[serde(default)]
    pub row_bytes: Option<u64>,
    /// Whether all matrices are written before the first multiplication, and each result is cleared.
    #[serde(default = "yes")]
    pub prepared: bool,
    /// The cycles of other work between preparation and the first multiplication.
    #[serde(default)]
    pub pause: u32,
    /// The cycles of work per multiplication of two numbers.
    #[serde(default)]
    pub work: u16,
}

/// The place of a result matrix.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The result lies in the pages of the previous one, which was freed.
    #[default]
    Freed,
    /// The result lies in pages that were never used.
    Fresh,
}

fn yes() -> bool {
    true
}

/// The largest number of rows.
const MOST: u64 = 16_384;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Prepare,
    Clear,
    Multiply,
}

/// The state of the program: `at` counts the integers of a stage or the elements of C, and `inner` is the
/// summation index.
#[derive(Debug)]
pub struct Multiplying {
    of: Matrixmult,
    row: u64,
    /// The distance of two matrices in bytes, in whole pages.
    apart: u64,
    stage: Stage,
    done: u64,
    at: u64,
    inner: u64,
}

impl Multiplying {
    /// Create the program at its beginning.
    ///
    /// # Errors
    /// Returns a sentence about an invalid size.
    pub fn begin(of: Matrixmult, page_bytes: u64) -> Result<Self, String> {
        if !(1..=MOST).contains(&of.n) {
            return Err(format!("A matrix has 1 to {MOST} rows, not {}.", of.n));
        }
        let row = of.row_bytes.unwrap_or(of.n * 4);
        if row < of.n * 4 || row > 1 << 20 {
            return Err(format!("A row of {} integers has {} bytes to 1 MiB, not {row}.", of.n, of.n * 4));
        }
        let stage = if of.prepared { Stage::Prepare } else { Stage::Multiply };
        let apart = (row * of.n).next_multiple_of(page_bytes);
        Ok(Self { of, row, apart, stage, done: 0, at: 0, inner: 0 })
    }

    fn element(&self, matrix: u64, number: u64) -> u64 {
        matrix * self.apart + number / self.of.n * self.row + number % self.of.n * 4
    }

    /// Return the number of the result matrix; A is 0 and B is 1.
    fn result(&self) -> u64 {
        if self.of.result == Outcome::Fresh {
            2 + self.done % 2
        } else {
            2
        }
    }

    fn multiply(&mut self, steps: &mut Vec<Step>) {
        let (n, c) = (self.of.n, self.result());
        if (self.at, self.inner) == (0, 0) && !self.of.prepared {
            steps.push(Step::Mark(1));
        }
        let (row, column) = (self.at / n, self.at % n);
        let until = (self.inner + BATCH / 2).min(n);
        for k in self.inner..until {
            steps.push(Step::read(row * self.row + k * 4, self.of.work));
            steps.push(Step::read(self.apart + k * self.row + column * 4, 0));
        }
        self.inner = until;
        if self.inner == n {
            steps.push(Step::write(self.element(c, self.at), 0));
            (self.inner, self.at) = (0, self.at + 1);
        }
        if self.at == n * n {
            self.done += 1;
            if self.of.result == Outcome::Fresh {
                steps.push(Step::Free { address: self.result() * self.apart, bytes: self.apart });
            }
            (self.at, self.stage) = (0, if self.of.prepared { Stage::Clear } else { Stage::Multiply });
        }
    }
}

impl Program for Multiplying {
    fn fill(&mut self, steps: &mut Vec<Step>, _now_ns: u64) -> Result<bool, String> {
        if self.done == self.of.repeats {
            return Ok(false);
        }
        let all = self.of.n * self.of.n;
        let until = (self.at + BATCH).min(all);
        match self.stage {
            Stage::Prepare => {
                let matrices = if self.of.result == Outcome::Freed { 3 } else { 2 };
                let until = (self.at + BATCH).min(matrices * all);
                for number in self.at..until {
                    steps.push(Step::write(self.element(number / all, number % all), 0));
                }
                self.at = until;
                if until == matrices * all {
                    (self.at, self.stage) = (0, Stage::Clear);
                    steps.extend((0..self.of.pause / 1_000).map(|_| Step::Work(1_000)));
                }
            }
            Stage::Clear => {
                if self.at == 0 {
                    steps.push(Step::Mark(1));
                }
                let c = self.result();
                steps.extend((self.at..until).map(|number| Step::write(self.element(c, number), 0)));
                self.at = until;
                if until == all {
                    (self.at, self.stage) = (0, Stage::Multiply);
                }
            }
            Stage::Multiply => self.multiply(steps),
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(n: u64, result: Outcome) -> Vec<Step> {
        let of = Matrixmult { n, repeats: 2, result, row_bytes: None, prepared: true, pause: 0, work: 0 };
        let mut program = Multiplying::begin(of, 4096).expect("sound");
        let mut steps = Vec::new();
        while program.fill(&mut steps, 0).expect("no file") {}
        steps
    }

    #[test]
    fn matrixmult_writes_all_clears_each_result_and_multiplies() {
        let found = steps(20, Outcome::Freed);
        assert_eq!(found.len(), 3 * 400 + 2 * (1 + 400 + 400 * 41));
        assert_eq!(found[1200..1202], [Step::Mark(1), Step::write(8192, 0)]);
        assert_eq!(found[1603..1605], [Step::read(4, 0), Step::read(4096 + 80, 0)]);
    }

    #[test]
    fn a_fresh_result_lies_in_unused_pages() {
        let found = steps(20, Outcome::Fresh);
        assert!(found.contains(&Step::Free { address: 3 * 4096, bytes: 4096 }));
        let marks: Vec<usize> = (0..found.len()).filter(|&at| found[at] == Step::Mark(1)).collect();
        assert_eq!(
            [found[marks[0] + 1], found[marks[1] + 1]],
            [Step::write(8192, 0), Step::write(3 * 4096, 0)]
        );
        assert!(Multiplying::begin(Matrixmult { n: 0, ..of() }, 4096).is_err());
    }

    fn of() -> Matrixmult {
        Matrixmult {
            n: 3,
            repeats: 1,
            result: Outcome::Freed,
            row_bytes: None,
            prepared: false,
            pause: 0,
            work: 0,
        }
    }
}
