//! Programs that were measured and not taken apart: how long one takes alone, and how fast it is beside others.
//!
//! Anderson (2013), Operating System Scheduling Optimization, ch. 3: Deg(X, Y) = alone / combined (3.1), and in each tick a
//! thread of X brings it forward by tick / Solo(X) x Deg(X, neighbour) (3.2). X is through at Solo(X).

use serde::{Deserialize, Serialize};

/// A kind of program. `alone`: the share of a tick that a thread brings it forward while the other CPUs run threads of it or
/// idle: 1 of a program with one thread, 1/2 of one that keeps two CPUs busy. `beside`: the same while another CPU runs a
/// program of each kind, of its own kind among them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kind {
    pub alone: f64,
    pub beside: Vec<f64>,
}

/// How the threads of a kind run and wait: they run for `burst_ns` on average, and then wait so long that they have run
/// this share (`running`) of the time where nothing kept them from it. They run all the time where it is 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Waits {
    pub running: f64,
    pub burst_ns: u64,
}

impl Waits {
    /// Return the wait of a thread after a run of this length.
    pub fn after(&self, ran_ns: u64) -> u64 {
        (ran_ns as f64 * (1.0 / self.running - 1.0)).round() as u64
    }
}

/// One program: of which kind, and which of the lengths of the workload its time alone is drawn from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    pub kind: u32,
    pub solo: u32,
}

/// The value of a share of a distribution that is given by quantiles at equal distances, the smallest and the largest among
/// them: straight between two of them.
pub fn quantile(quantiles: &[u64], share: f64) -> u64 {
    let Some(last) = quantiles.len().checked_sub(1) else { return 0 };
    let at = share * last as f64;
    let low = (at as usize).min(last);
    let (from, to) = (quantiles[low] as f64, quantiles[(low + 1).min(last)] as f64);
    (from + (to - from) * (at - low as f64)).round() as u64
}

/// The longest time that a thread runs between two waits.
pub const MOST_BURST_NS: u64 = 10_000_000_000;

/// What cannot be, in words.
pub fn check(
    kinds: &[Kind],
    waits: &[Waits],
    measured: &[Measured],
    lengths: &[Vec<u64>],
) -> Result<(), String> {
    if !waits.is_empty() && waits.len() != kinds.len() {
        return Err(format!("{} kinds say how they wait, and there are {}", waits.len(), kinds.len()));
    }
    for (number, each) in waits.iter().enumerate() {
        if !(0.0001..=1.0).contains(&each.running) || !(1_000..=MOST_BURST_NS).contains(&each.burst_ns) {
            return Err(format!(
                "Kind {number} runs a share of {} in bursts of {} ns; it is 0.0001 to 1, and 1 us to 10 s",
                each.running, each.burst_ns
            ));
        }
    }
    for (number, quantiles) in lengths.iter().enumerate() {
        if quantiles.is_empty() || quantiles.windows(2).any(|pair| pair[0] > pair[1]) {
            return Err(format!("Length {number} is no list of quantiles from the smallest to the largest"));
        }
    }
    let speed = |each: f64| each > 0.0 && each <= 1000.0;
    for (number, kind) in kinds.iter().enumerate() {
        if kind.beside.len() != kinds.len() {
            return Err(format!(
                "Kind {number} says how fast it is beside {} of {}",
                kind.beside.len(),
                kinds.len()
            ));
        }
        if !speed(kind.alone) || !kind.beside.iter().all(|&each| speed(each)) {
            return Err(format!("Kind {number} has a speed that is not between 0 and 1000"));
        }
    }
    for (number, each) in measured.iter().enumerate() {
        let known = (each.kind as usize) < kinds.len() && (each.solo as usize) < lengths.len();
        if !known {
            return Err(format!("Measured program {number} is of a kind or a length that there is not"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_joined_by_straight_lines() {
        let four = [10, 20, 40, 100];
        assert_eq!([0.0, 1.0 / 3.0, 0.5, 1.0].map(|share| quantile(&four, share)), [10, 20, 30, 100]);
        assert_eq!((quantile(&[7], 0.0), quantile(&[7], 1.0), quantile(&[], 0.5)), (7, 7, 0));
    }

    #[test]
    fn what_cannot_be_is_said() {
        let kind = |alone, beside| Kind { alone, beside };
        let all = |kinds: &[Kind], lengths: &[Vec<u64>]| {
            check(kinds, &[], &[Measured { kind: 0, solo: 0 }], lengths)
        };
        assert_eq!(all(&[kind(1.0, vec![0.5])], &[vec![1, 2]]), Ok(()));
        assert!(all(&[kind(1.0, vec![0.5])], &[vec![2, 1]]).unwrap_err().contains("no list of quantiles"));
        assert!(all(&[kind(1.0, vec![])], &[vec![1]]).unwrap_err().contains("beside 0 of 1"));
        assert!(all(&[kind(0.0, vec![0.5])], &[vec![1]]).unwrap_err().contains("not between 0"));
        assert!(all(&[kind(1.0, vec![f64::NAN])], &[vec![1]]).unwrap_err().contains("not between 0"));
        assert!(all(&[], &[vec![1]]).unwrap_err().contains("that there is not"));
        let waits =
            |running, burst_ns| check(&[kind(1.0, vec![0.5])], &[Waits { running, burst_ns }], &[], &[]);
        assert_eq!(waits(0.25, 1_000_000), Ok(()));
        assert!(waits(0.0, 1_000_000).unwrap_err().contains("0.0001 to 1"));
        assert!(waits(f64::NAN, 1_000_000).unwrap_err().contains("0.0001 to 1"));
        assert!(waits(0.5, 0).unwrap_err().contains("1 us to 10 s"));
        assert!(check(&[], &[Waits { running: 1.0, burst_ns: 1_000 }], &[], &[])
            .unwrap_err()
            .contains("1 kinds"));
    }
}
