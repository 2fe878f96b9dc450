//! The kernel `change`: memeater and cpuburner in turns of a fixed time; a timer's signal ends each turn. So
//! its ratio of misses jumps at known moments, which are marked.

use std::io;
use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use super::cpuburner::burn;
use super::memeater::{buffer, eat};
use super::{measured, Done, Given};

/// The work between two checks of the signal: some ten microseconds.
const PIECE: u64 = 8192;

static RUNG: AtomicBool = AtomicBool::new(false);

extern "C" fn ring(_: libc::c_int) {
    RUNG.store(true, Ordering::Relaxed);
}

/// Request SIGALRM every `period_ns`.
fn timer(period_ns: u64) -> io::Result<()> {
    let time = libc::timeval {
        tv_sec: (period_ns / 1_000_000_000) as libc::time_t,
        tv_usec: ((period_ns % 1_000_000_000) / 1000).max(u64::from(period_ns < 1_000_000_000))
            as libc::suseconds_t,
    };
    let every = libc::itimerval { it_interval: time, it_value: time };
    let handler: extern "C" fn(libc::c_int) = ring;
    // SAFETY: an all-zero sigaction is a valid one; the handler only stores into an atomic; pointers are live.
    unsafe {
        let mut action: libc::sigaction = mem::zeroed();
        action.sa_sigaction = handler as libc::sighandler_t;
        action.sa_flags = libc::SA_RESTART;
        if libc::sigaction(libc::SIGALRM, &action, ptr::null_mut()) != 0
            || libc::setitimer(libc::ITIMER_REAL, &every, ptr::null_mut()) != 0
        {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Alternate; the first turn uses memory, and `over` returns whether the present turn has ended. Return the
/// numbers of increments and steps.
fn alternate(turns: u64, words: &mut [u64], mut over: impl FnMut() -> bool, begin: impl Fn()) -> (u64, u64) {
    let (mut eaten, mut burnt, mut value) = (0_u64, 0_u64, 1_u64);
    for turn in 0..turns {
        begin();
        loop {
            if turn % 2 == 0 {
                // Each part begins where the last one ended: a turn covers the whole buffer.
                let at = (eaten % words.len() as u64) as usize;
                let now = PIECE.min((words.len() - at) as u64);
                eat(&mut words[at..], now);
                eaten += now;
            } else {
                value = burn(value, PIECE);
                burnt += PIECE;
            }
            if over() {
                break;
            }
        }
    }
    std::hint::black_box(value);
    (eaten, burnt)
}

pub fn run(given: &Given) -> Done {
    let mut words = buffer(given.number("size"));
    let turns = given.amount("turns");
    let rings = timer(given.number("period")).is_ok();
    measured(turns, || {
        let over = || RUNG.swap(false, Ordering::Relaxed) || !rings;
        let (eaten, _) = alternate(turns, &mut words, over, || given.marks.mark());
        let sum = words.iter().fold(0, |sum: u64, word| sum.wrapping_add(*word));
        sum.wrapping_sub(eaten)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_alternate_and_begin_with_memory() {
        let (mut words, mut looks) = (buffer(PIECE * 8 * 3), 0);
        let begun = std::cell::Cell::new(0);
        let over = || {
            looks += 1;
            looks % 4 == 0
        };
        let (eaten, burnt) = alternate(3, &mut words, over, || begun.set(begun.get() + 1));
        assert_eq!((eaten, burnt, begun.get()), (8 * PIECE, 4 * PIECE, 3));
        assert_eq!(words.iter().sum::<u64>(), 8 * PIECE + words.len() as u64);
        assert_eq!((words[0], words[words.len() - 1]), (4, 3), "two whole rounds, and two thirds of one");
    }
}
