//! The measuring loop, compiled once for each timer so that its reads are inline around the work.

use super::Timer;
use crate::clock::caches::Buffer;
use crate::clock::chain;

/// The times of work of several lengths by a timer, in its own unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Measured {
    /// The values for each length, in the order of measurement.
    pub values: Vec<Vec<i64>>,
    /// For each length, the measurements during which this thread was switched out or changed its processor.
    pub disturbed: Vec<Vec<usize>>,
}

/// A timer as the evaluation uses it.
pub trait Measure {
    /// Time an empty region `many` times.
    fn empty(&self, many: usize, buffer: &mut Buffer) -> Vec<i64>;
    /// Time work of these lengths, in an order of indices. A measurement that is longer than the shortest of
    /// its length by `slow` ticks is checked for a context switch.
    fn work(&self, lengths: &[u64], order: &[usize], buffer: &mut Buffer, slow: i64) -> Measured;
}

impl<T: Timer> Measure for T {
    fn empty(&self, many: usize, buffer: &mut Buffer) -> Vec<i64> {
        let mut values = Vec::with_capacity(many);
        for _ in 0..many {
            if !buffer.is_empty() {
                buffer.away(&[<T as Measure>::empty as *const () as usize]);
            }
            let from = self.begin();
            let to = self.end();
            values.push(from.until(to).ticks);
        }
        values
    }

    fn work(&self, lengths: &[u64], order: &[usize], buffer: &mut Buffer, slow: i64) -> Measured {
        let many = order.len() / lengths.len().max(1);
        let mut values: Vec<Vec<i64>> = lengths.iter().map(|_| Vec::with_capacity(many)).collect();
        let mut disturbed = vec![Vec::new(); lengths.len()];
        let mut shortest = vec![i64::MAX; lengths.len()];
        let mut switches = context_switches();
        for index in order {
            let length = lengths[*index];
            // The work is rehearsed, so that the branches of this length are predicted as they are in a loop
            // of one length: lengths come in random order.
            chain::additions(length);
            if !buffer.is_empty() {
                buffer.away(&[<T as Measure>::work as *const () as usize]);
            }
            let from = self.begin();
            chain::additions(length);
            let to = self.end();
            let region = from.until(to);
            shortest[*index] = shortest[*index].min(region.ticks);
            let mut has_cause = region.migrated;
            if region.ticks - shortest[*index] > slow {
                let now = context_switches();
                has_cause |= now != switches;
                switches = now;
            }
            if has_cause {
                disturbed[*index].push(values[*index].len());
            }
            values[*index].push(region.ticks);
        }
        Measured { values, disturbed }
    }
}

/// Return the context switches of this thread so far.
pub fn context_switches() -> i64 {
    // SAFETY: the call fills the structure that it is given; all zeros are a value of it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &mut usage);
        usage
    };
    usage.ru_nvcsw + usage.ru_nivcsw
}

#[cfg(test)]
mod tests {
    use super::*;
    use becalm_clock::Stamp;
    use std::cell::Cell;

    /// A timer that counts its reads and changes its processor at one of them.
    struct Counting(Cell<u64>);

    impl Timer for Counting {
        fn begin(&self) -> Stamp {
            self.0.set(self.0.get() + 1);
            Stamp { ticks: self.0.get(), processor: u32::from(self.0.get() > 7) }
        }

        fn end(&self) -> Stamp {
            self.begin()
        }
    }

    #[test]
    fn each_length_gets_its_measurements_and_a_migration_is_a_cause() {
        let timer = Counting(Cell::new(0));
        let measured = timer.work(&[1, 2], &[0, 1, 0, 1, 1, 0], &mut Buffer::new(100), i64::MAX);
        assert_eq!(measured.values, [vec![1; 3], vec![1; 3]]);
        // The 7th read is of one processor and the 8th of another: the fourth region, the second of the second length.
        assert_eq!(measured.disturbed, [vec![], vec![1]]);
        assert_eq!(timer.empty(5, &mut Buffer::new(0)), [1; 5]);
    }
}
