//! Programs measured as a whole: their time alone, and their speed next to others.
//!
//! Anderson (2013), Operating System Scheduling Optimization, ch. 3: Deg(X, Y) = alone / combined (3.1), and
//! in each tick a thread of X advances its program by tick / Solo(X) x Deg(X, neighbour) (3.2). X has
//! finished at Solo(X).

use serde::{Deserialize, Serialize};

/// A kind of program.
///
/// `alone` is the share of a tick by which a thread advances its program while the other CPUs run threads of
/// the same program or idle: 1 for a program with one thread, 1/2 for one that keeps two CPUs busy. `alongside`
/// is the same share while another CPU runs a program of each kind, including its own kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kind {
    pub alone: f64,
    pub alongside: Vec<f64>,
}

/// The waiting behaviour of a kind's threads: they run for `burst_ns` on average, and then wait so long that
/// they would run the share `running` of the time if nothing kept them from it. At 1 they never wait.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Waits {
    pub running: f64,
    pub burst_ns: u64,
}

impl Waits {
    /// Return how long a thread waits after a run of this length, ns.
    pub fn after(&self, ran_ns: u64) -> u64 {
        (ran_ns as f64 * (1.0 / self.running - 1.0)).round() as u64
    }
}

/// A program: the number of its kind, and the number of the length in the workload that its solo time is
/// drawn from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    pub kind: u32,
    pub solo: u32,
}

/// Return a quantile of a distribution given by equally spaced quantiles from the smallest to the largest
/// value, with linear interpolation.
pub fn quantile(quantiles: &[u64], share: f64) -> u64 {
    let Some(last) = quantiles.len().checked_sub(1) else { return 0 };
    let at = share * last as f64;
    let low = (at as usize).min(last);
    let (from, to) = (quantiles[low] as f64, quantiles[(low + 1).min(last)] as f64);
    (from + (to - from) * (at - low as f64)).round() as u64
}

/// The longest time that a thread runs between two waits, ns.
pub const MOST_BURST_NS: u64 = 10_000_000_000;

/// Check the measured programs of a workload.
///
/// # Errors
/// Returns the first reason why they are invalid.
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
            return Err(format!(
                "Length {number} is not a list of quantiles from the smallest to the largest"
            ));
        }
    }
    let speed = |each: f64| each > 0.0 && each <= 1000.0;
    for (number, kind) in kinds.iter().enumerate() {
        if kind.alongside.len() != kinds.len() {
            return Err(format!(
                "Kind {number} says how fast it is next to {} of {}",
                kind.alongside.len(),
                kinds.len()
            ));
        }
        if !speed(kind.alone) || !kind.alongside.iter().all(|&each| speed(each)) {
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
    fn invalid_measured_programs_are_rejected() {
        let kind = |alone, alongside| Kind { alone, alongside };
        let all = |kinds: &[Kind], lengths: &[Vec<u64>]| {
            check(kinds, &[], &[Measured { kind: 0, solo: 0 }], lengths)
        };
        assert_eq!(all(&[kind(1.0, vec![0.5])], &[vec![1, 2]]), Ok(()));
        assert!(all(&[kind(1.0, vec![0.5])], &[vec![2, 1]]).unwrap_err().contains("not a list of quantiles"));
        assert!(all(&[kind(1.0, vec![])], &[vec![1]]).unwrap_err().contains("next to 0 of 1"));
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
