//! A test whether the counters of two processors are in step, after the kernel's test at boot
//! (arch/x86/kernel/tsc_sync.c): reads that are ordered by a word in memory, made in turns on both, must
//! rise.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::pin;

/// The turns with each processor, and the longest time for them: on a busy machine two threads seldom run at
/// once.
const TURNS: u64 = 2_000;
const PATIENCE: Duration = Duration::from_millis(20);
/// The smallest number of turns for a result.
const ENOUGH: u64 = 50;
/// The largest number of processors that are tried: neighbours and the far end of a large machine are among
/// them.
const MOST: usize = 8;

/// Return the largest distance, in ticks, by which a later read was below an earlier one, over pairs of this
/// processor with others; None: there is no other, or none ran at the same time.
pub fn largest(cpu: u32, others: &[u32], read: fn() -> u64) -> Option<u64> {
    over(cpu, others, read, (TURNS, PATIENCE))
}

fn over(cpu: u32, others: &[u32], read: fn() -> u64, effort: (u64, Duration)) -> Option<u64> {
    let spread = others.len().div_ceil(MOST).max(1);
    let tried = others.iter().filter(|other| **other != cpu).step_by(spread);
    tried.filter_map(|other| between(*other, read, effort)).max()
}

/// Return that distance for the processor that this thread is on and one other.
fn between(other: u32, read: fn() -> u64, (most, patience): (u64, Duration)) -> Option<u64> {
    // The number of the turn, and the last read; u64::MAX: it is over.
    let (turn, last) = (AtomicU64::new(0), AtomicU64::new(0));
    let until = Instant::now() + patience;
    let play = |mine: u64| {
        let (mut worst, mut turns) = (0, 0);
        while turns < most {
            match turn.load(Ordering::Acquire) {
                u64::MAX => break,
                now if now % 2 == mine => {
                    let value = read();
                    worst = worst.max(last.load(Ordering::Relaxed).saturating_sub(value));
                    last.store(value, Ordering::Relaxed);
                    // Only from this turn on: the other thread may have given up meanwhile.
                    if turn.compare_exchange(now, now + 1, Ordering::AcqRel, Ordering::Acquire).is_err() {
                        break;
                    }
                    turns += 1;
                }
                _ if Instant::now() >= until => turn.store(u64::MAX, Ordering::Release),
                _ => std::hint::spin_loop(),
            }
        }
        (worst, turns)
    };
    let (there, here) = thread::scope(|scope| {
        let there = scope.spawn(|| match pin::to(other) {
            Ok(()) => play(1),
            Err(_) => {
                turn.store(u64::MAX, Ordering::Release);
                (0, 0)
            }
        });
        let here = play(0);
        (there.join().unwrap_or((0, 0)), here)
    });
    (there.1.min(here.1) >= ENOUGH).then_some(there.0.max(here.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::waiting::HANG_LIMIT;
    use std::cell::Cell;

    /// Read a counter in memory: it is in step wherever it is read.
    fn steady() -> u64 {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        COUNT.fetch_add(10, Ordering::Relaxed)
    }

    /// Read the same counter, 1,000 behind on every thread except the one that asks.
    fn behind() -> u64 {
        static COUNT: AtomicU64 = AtomicU64::new(5_000);
        COUNT.fetch_add(10, Ordering::Relaxed) - if ASKS.get() { 0 } else { 1_000 }
    }

    thread_local!(static ASKS: Cell<bool> = const { Cell::new(false) });

    #[test]
    fn counters_out_of_step_are_found_and_others_are_not() {
        ASKS.set(true);
        let here = pin::last().unwrap();
        let others: Vec<u32> = pin::allowed().into_iter().filter(|cpu| *cpu != here).collect();
        // Turns go on however busy the machine is, if only each in its time slice.
        let effort = (ENOUGH, HANG_LIMIT);
        assert_eq!(over(here, &others, steady, effort), (!others.is_empty()).then_some(0));
        assert_eq!(over(here, &others, behind, effort), (!others.is_empty()).then_some(990));
        assert_eq!(largest(here, &[here], steady), None);
        assert_eq!(largest(here, &[60_000], steady), None);
    }
}
