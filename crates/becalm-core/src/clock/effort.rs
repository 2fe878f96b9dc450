//! The amount that is measured in a cell: as much as fits the time, down to a frugal search.
//!
//! Sets are short, so that they fit between two bursts of other load: the other thread of the core, other
//! guests of the hypervisor. Slower changes of the timer show in searches that are far apart (`rounds`).

use std::time::Duration;

use super::search::{Criteria, LARGE};

/// The plan of a cell's search.
struct Effort {
    /// The sets of measurements that it needs, counted on quiet machines with a margin for those that are
    /// repeated.
    sets: u32,
    /// The smallest and the largest number of measurements of a set: fewer need another effort, more are
    /// useless.
    many: (usize, usize),
    /// See `Criteria`.
    tries: usize,
    enough: usize,
    fresh: usize,
    pairs: usize,
    places: u64,
    refine: bool,
}

/// The longest time of a set of a short search, if that leaves enough measurements: bursts of other load are
/// milliseconds apart.
const BURST: Duration = Duration::from_millis(2);

/// The largest share of the time for one look at an answer with large sets, and the number of sets of such a
/// look.
const LOOK: f64 = 0.1;
const LOOK_SETS: f64 = 6.0;

/// The smallest number of measurements of a set: fewer show nothing about a share of 5 %.
const FEWEST: usize = 20;

/// The end of a search if there is enough time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// The fewest measurements that are meaningful: mostly over before the next burst of other load.
    Short,
    /// Short sets, and more of them that must pass.
    Usual,
}

/// The efforts, the most thorough first.
const EFFORTS: [Effort; 2] = [
    Effort { sets: 600, many: (100, 200), tries: 24, enough: 2, fresh: 2, pairs: 4, places: 4, refine: true },
    Effort {
        sets: 80,
        many: (FEWEST, 100),
        tries: 3,
        enough: 1,
        fresh: 1,
        pairs: 1,
        places: 2,
        refine: false,
    },
];

/// The time of a measurement without the flush: reads, and additions of a usual length, twice.
const USUAL: Duration = Duration::from_nanos(1_200);
/// The time of a cell without a flush in an evaluation of a usual length: the unit of weights.
const PLAIN: Duration = Duration::from_secs(3);

/// Return the share of time of a flush's cells relative to others: if writing takes long, the time that a
/// frugal search needs is added.
pub fn weight(flush: Duration) -> f64 {
    1.0 + (flush * EFFORTS[1].sets * FEWEST as u32).as_secs_f64() / PLAIN.as_secs_f64()
}

/// Return the least time that a cell needs.
pub fn least(flush: Duration) -> Duration {
    (flush + USUAL) * EFFORTS[1].sets * FEWEST as u32
}

/// Return the criteria that fit the time of a cell with measurements of length `each`. `base` has those that
/// do not depend on time.
pub fn criteria(base: Criteria, depth: Depth, time: Duration, each: Duration) -> Criteria {
    let efforts = match depth {
        Depth::Usual => &EFFORTS[..],
        Depth::Short => &EFFORTS[1..],
    };
    let fits = |effort: &Effort| {
        (time.as_secs_f64() / f64::from(effort.sets) / each.as_secs_f64().max(1e-9)) as usize
    };
    let effort = efforts.iter().find(|effort| fits(effort) >= effort.many.0).unwrap_or(&EFFORTS[1]);
    let most = match depth {
        Depth::Short => (BURST.as_secs_f64() / each.as_secs_f64().max(1e-9)) as usize,
        _ => effort.many.1,
    };
    Criteria {
        many: fits(effort).min(most).clamp(effort.many.0, effort.many.1),
        large: large(time, each).max(effort.many.0),
        repetitions: 1,
        tries: effort.tries,
        enough: effort.enough,
        fresh: effort.fresh,
        pairs: effort.pairs,
        places: effort.places,
        refine: effort.refine,
        ..base
    }
}

/// Return the measurements of a set in the last step of an evaluation, which has the time for nothing else.
pub fn largest(time: Duration, each: Duration) -> usize {
    large(time * 3, each).max(FEWEST)
}

/// Return the measurements of a set that confirms an answer.
fn large(time: Duration, each: Duration) -> usize {
    ((time.as_secs_f64() * LOOK / LOOK_SETS / each.as_secs_f64().max(1e-9)) as usize).min(LARGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitting(seconds: f64, each: Duration) -> Criteria {
        criteria(Criteria::default(), Depth::Usual, Duration::from_secs_f64(seconds), each)
    }

    #[test]
    fn measurements_fit_the_time() {
        let plain = Duration::from_nanos(2_000);
        let quick = fitting(0.18, plain);
        assert_eq!((quick.tries, quick.many, quick.refine), (24, 150, true));
        // Sets stay short in any time.
        let long = fitting(60.0, plain);
        assert_eq!((long.enough, long.many, long.large), (2, 200, 10_000));
        assert_eq!(quick.large, 1_499);
        // The criteria take no more than the available time, down to the least.
        let flushed = fitting(32.0, Duration::from_millis(20));
        assert_eq!((flushed.many, flushed.refine), (FEWEST, false));
        assert_eq!(fitting(0.001, plain).many, FEWEST);
        let short = criteria(Criteria::default(), Depth::Short, Duration::from_secs(60), plain);
        assert_eq!((short.tries, short.enough, short.many, short.pairs), (3, 1, 100, 1));
        let written = Duration::from_micros(250);
        let short = criteria(Criteria::default(), Depth::Short, Duration::from_secs(60), written);
        assert_eq!(short.many, FEWEST);
    }

    #[test]
    fn a_long_flush_gets_the_time_that_it_needs() {
        assert_eq!(weight(Duration::ZERO), 1.0);
        let flush = Duration::from_millis(30);
        assert!((weight(flush) - 17.0).abs() < 1e-9);
        assert!(least(flush) > Duration::from_secs(48) && least(flush) < Duration::from_secs(49));
    }
}
