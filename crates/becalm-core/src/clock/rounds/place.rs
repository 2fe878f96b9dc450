//! A cell that is to be measured, and the buffer that its flush writes.

use std::time::Duration;

use crate::clock::caches::{Buffer, Flush};
use crate::clock::cell::Cell;

/// A cell that is to be measured: its places in the lists of flushes and of timers, and what is known of it.
pub struct Place {
    pub flush: usize,
    pub timer: usize,
    pub known: Option<Cell>,
    /// The time of its last search.
    pub takes: Duration,
}

impl Place {
    pub fn answered(&self) -> bool {
        self.known.as_ref().is_some_and(Cell::answered)
    }
}

/// The buffer that is written, for one flush at a time: it may be as large as the memory allows.
pub struct Written {
    flush: usize,
    buffer: Buffer,
}

impl Default for Written {
    fn default() -> Written {
        Written { flush: usize::MAX, buffer: Buffer::new(0) }
    }
}

impl Written {
    pub fn of(&mut self, flush: usize, flushes: &[(Flush, Duration)]) -> &mut Buffer {
        if self.flush != flush {
            *self = Written { flush, buffer: flushes[flush].0.buffer() };
        }
        &mut self.buffer
    }
}

/// Return where the search for a cell's t_min begins: where the cell's own search or that of its timer at
/// another flush ended; 0: nothing is known.
pub fn near(places: &[Place], at: usize) -> u64 {
    let found =
        |place: &Place| place.known.as_ref().and_then(|known| known.t_min).map(|found| found.additions);
    let others = places[..at].iter().rev().filter(|place| place.timer == places[at].timer);
    std::iter::once(&places[at]).chain(others).find_map(found).unwrap_or(0)
}
