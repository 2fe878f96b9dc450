//! Timers with known cost, noise and step, for which t_min and t_diff can be computed: an evaluation must
//! find these.
//!
//! - Noise uniform in [0, w], filter `none`: the standard deviation is w/√12 and the mean t + w/2, so the coefficient of
//!   variation falls below ε at t = w/(ε√12) − w/2, which for ε = 0.01 is 28.4 w. Of two such timed lengths, a share of
//!   1 − Δ/w of the longer lies below the largest of the shorter: below α = 5 % from Δ = 0.95 w.
//! - A step Q alone, read at a random phase: with f the fractional part of t/Q the standard deviation is Q·√(f(1−f)),
//!   which is zero at multiples of Q and Q/2 half-way. All longer times pass only from Q/(2ε) = 50 Q.

use super::meter::{Meter, Quantum, Set};
use super::random::Random;

/// A simulated timer; one unit of work takes one unit of time.
#[derive(Debug, Clone)]
pub struct Synthetic {
    /// The smallest cost.
    pub cost: f64,
    /// The width of the noise, which is uniform above the cost.
    pub noise: f64,
    /// The step of the counter; 0: it has none.
    pub step: f64,
    /// The measurements in a row that begin at one phase of the counter; 0: each at its own.
    pub locked: u64,
    /// The share of measurements to which the operating system adds something, and the largest addition.
    pub interruptions: (f64, f64),
    /// The share of sets that are measured while others use the machine, and the factor of the noise then.
    pub bursts: (f64, f64),
    /// The number of measurements before the time is used up.
    pub left: u64,
    /// The phase of this run of measurements, and how many are left of it.
    pub run: (f64, u64),
    /// The source of its noise.
    pub random: Random,
}

impl Synthetic {
    /// Create a timer without noise, step and interruptions.
    pub fn new(seed: u64) -> Synthetic {
        Synthetic {
            cost: 20.0,
            noise: 0.0,
            step: 0.0,
            locked: 0,
            interruptions: (0.0, 0.0),
            bursts: (0.0, 1.0),
            left: u64::MAX,
            run: (0.0, 0),
            random: Random::new(seed),
        }
    }

    fn measure(&mut self, length: u64) -> f64 {
        self.left = self.left.saturating_sub(1);
        let mut time = length as f64 + self.cost + self.noise * self.random.unit();
        if self.interruptions.0 > 0.0 && self.random.unit() < self.interruptions.0 {
            time += self.interruptions.1 * (0.5 + self.random.unit() / 2.0);
        }
        if self.step == 0.0 {
            return time;
        }
        if self.run.1 == 0 {
            self.run = (self.step * self.random.unit(), self.locked.max(1));
        }
        self.run.1 -= 1;
        let phase = self.run.0;
        ((time + phase) / self.step).floor() * self.step
    }
}

impl Meter for Synthetic {
    fn sets(&mut self, lengths: &[u64], many: usize) -> Vec<Set> {
        // Measurements are independent, so their order does not matter.
        let quiet = self.noise;
        if self.bursts.0 > 0.0 && self.random.unit() < self.bursts.0 {
            self.noise *= self.bursts.1;
        }
        let mut set = |length: &u64| Set {
            values: (0..many).map(|_| self.measure(*length)).collect(),
            ..Set::default()
        };
        let sets = lengths.iter().map(&mut set).collect();
        self.noise = quiet;
        sets
    }

    fn cost(&self) -> f64 {
        self.cost
    }

    fn quantum(&self) -> Option<Quantum> {
        (self.step > 0.0).then_some(Quantum { value: self.step, length: self.step })
    }

    fn exhausted(&self) -> bool {
        self.left == 0
    }
}
