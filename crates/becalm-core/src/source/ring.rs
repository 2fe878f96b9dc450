//! A ring of rows of numbers from one thread to another, with a fixed number of rows: a full ring drops new
//! rows and counts them.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// A ring of rows of the same width; one thread pushes, one pops.
pub struct Ring {
    cells: Vec<AtomicU64>,
    width: usize,
    rows: usize,
    /// The number of rows ever pushed; written by the thread that pushes.
    pushed: AtomicUsize,
    /// The number of rows ever popped; written by the thread that pops.
    popped: AtomicUsize,
    dropped: AtomicU64,
}

impl Ring {
    /// Create a ring for `rows` rows of `width` numbers.
    pub fn new(rows: usize, width: usize) -> Self {
        let rows = rows.max(1);
        let cells = (0..rows * width).map(|_| AtomicU64::new(0)).collect();
        let zero = || AtomicUsize::new(0);
        Self { cells, width, rows, pushed: zero(), popped: zero(), dropped: AtomicU64::new(0) }
    }

    /// Return the number of numbers in a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Add a row. Return false, and count one more as dropped, when the ring is full. Only one thread may
    /// push.
    pub fn push(&self, row: &[u64]) -> bool {
        let pushed = self.pushed.load(Ordering::Relaxed);
        // Acquire: the popping thread has read the content of the cells.
        if pushed.wrapping_sub(self.popped.load(Ordering::Acquire)) >= self.rows || row.len() != self.width {
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return false;
        }
        for (cell, value) in self.row(pushed).iter().zip(row) {
            cell.store(*value, Ordering::Relaxed);
        }
        // Release: the cells are written before the row counts as pushed.
        self.pushed.store(pushed.wrapping_add(1), Ordering::Release);
        true
    }

    /// Move the oldest row into `row`. Return false when there is none. Only one thread may pop.
    pub fn pop(&self, row: &mut Vec<u64>) -> bool {
        let popped = self.popped.load(Ordering::Relaxed);
        if popped == self.pushed.load(Ordering::Acquire) {
            return false;
        }
        row.clear();
        row.extend(self.row(popped).iter().map(|cell| cell.load(Ordering::Relaxed)));
        self.popped.store(popped.wrapping_add(1), Ordering::Release);
        true
    }

    /// Return the number of rows for which there was no room.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    fn row(&self, number: usize) -> &[AtomicU64] {
        let start = number % self.rows * self.width;
        &self.cells[start..start + self.width]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::samples;

    #[test]
    fn a_full_ring_drops_and_counts_new_records() {
        let ring = Ring::new(2, 2);
        let mut row = Vec::new();
        assert!(!ring.pop(&mut row));
        assert!(ring.push(&[1, 2]) && ring.push(&[3, 4]));
        assert!(!ring.push(&[5, 6]));
        assert!(ring.pop(&mut row));
        assert_eq!(row, [1, 2]);
        assert!(ring.push(&[7, 8]));
        assert!(!ring.push(&[9]), "another width");
        assert!(ring.pop(&mut row) && ring.pop(&mut row));
        assert_eq!(row, [7, 8]);
        assert_eq!(ring.dropped(), 2);
    }

    #[test]
    fn rows_arrive_whole_and_in_order() {
        let ring = Ring::new(8, 3);
        let sent = samples(2_000_u64, 200_000);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for number in 0..sent {
                    while !ring.push(&[number, number + 1, number + 2]) {
                        std::thread::yield_now();
                    }
                }
            });
            let (mut row, mut expected) = (Vec::new(), 0);
            while expected < sent {
                if ring.pop(&mut row) {
                    assert_eq!(row, [expected, expected + 1, expected + 2]);
                    expected += 1;
                } else {
                    std::thread::yield_now();
                }
            }
        });
    }
}
