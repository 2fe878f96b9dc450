//! The step by which a counter really advances, which may be many of its ticks and need not be an integer.
//!
//! It is not the greatest common divisor of differences: a scaled counter (a 100 MHz clock presented as 2.6
//! GHz, say) advances by 26 ticks, but rounding mixes 25, 26 and 27, whose divisor is 1. It is not the
//! smallest difference either, since two consecutive reads are at least the cost of a read apart.

/// The largest multiple that is used: beyond it, a small error of the step has grown too large.
const MOST_MULTIPLES: f64 = 64.0;
/// The smallest number of distinct multiples: fewer of them fit too many steps.
const FEWEST_MULTIPLES: usize = 3;
/// The step, in ticks, from which on differences may be off by a whole tick.
const EXACT: f64 = 8.0;

/// Return the largest step for which all differences lie within min(1, step / 8) ticks of its multiples,
/// refined by least squares; None where the differences are too few or too similar.
///
/// `differences` are taken between reads after delays of various lengths, in ticks. They are sorted in place,
/// and zeros are ignored. A step of one tick is returned wherever no larger one fits.
pub fn quantum(differences: &mut [u64]) -> Option<f64> {
    differences.sort_unstable();
    // Two reads within one long step may differ by a tick where the counter is scaled. This difference is not
    // a multiple of the step, so steps long enough to allow it are tried first.
    let longer =
        |than: u64| differences.iter().position(|difference| *difference > than).unwrap_or(differences.len());
    let (beyond_one, all) = (&differences[longer(1)..], &differences[longer(0)..]);
    fitting(beyond_one, EXACT).or_else(|| fitting(all, 0.0))
}

/// Return the largest step of at least `least` ticks that fits all differences.
fn fitting(sorted: &[u64], least: f64) -> Option<f64> {
    let smallest = *sorted.first()?;
    let guesses = (1..=smallest).map(|parts| smallest as f64 / parts as f64);
    guesses.take_while(|guess| *guess >= least).find_map(|guess| fitted(sorted, guess))
}

/// Return the step near a guess of which all differences are multiples, or None.
///
/// Each difference limits the range of possible steps. They come in ascending order, so that the shorter ones
/// have fixed the step well enough to give the multiple of the longer ones.
fn fitted(sorted: &[u64], guess: f64) -> Option<f64> {
    let allowed = |step: f64| if step < EXACT { step / EXACT } else { 1.0 };
    // f64::round needs the standard library.
    let multiple_of = |difference: f64, step: f64| ((difference / step + 0.5) as u64) as f64;
    let (mut low, mut high) = (0.0_f64, f64::INFINITY);
    let (mut products, mut squares) = (0.0, 0.0);
    let (mut last, mut multiples) = (0.0, 0);
    for difference in sorted.iter().map(|difference| *difference as f64) {
        let step = if high.is_finite() { (low + high) / 2.0 } else { guess };
        let multiple = multiple_of(difference, step);
        if multiple > MOST_MULTIPLES && multiples >= FEWEST_MULTIPLES {
            break;
        }
        low = low.max((difference - allowed(step)) / multiple);
        high = high.min((difference + allowed(step)) / multiple);
        if low > high {
            return None;
        }
        products += multiple * difference;
        squares += multiple * multiple;
        multiples += usize::from(multiple != last);
        last = multiple;
    }
    (multiples >= FEWEST_MULTIPLES).then_some(products / squares).map(|step| step.max(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Return differences between reads of a counter that advances by `step`, in whole ticks, at least `cost`
    /// ticks apart.
    fn read(step: f64, cost: f64, many: usize) -> Vec<u64> {
        let shown = |time: f64| ((time / step).floor() * step).floor() as u64;
        let mut time = 1e6;
        (0..many)
            .map(|turn| {
                // A delay that is not a multiple of anything.
                let delay = cost + (turn % 397) as f64 * 1.618_033_988;
                let before = shown(time);
                time += delay;
                let after = shown(time);
                time += 0.37;
                after - before
            })
            .collect()
    }

    #[test]
    fn steps_of_real_counters_are_found() {
        for (step, cost) in
            [(26.0, 20.0), (25.96, 52.0), (2.0, 54.0), (1.0, 30.0), (41.667, 3.0), (100.0, 30.0)]
        {
            let found = quantum(&mut read(step, cost, 4_000)).expect("a step");
            assert!((found - step).abs() < 0.02 * step, "{found} for {step}");
        }
    }

    #[test]
    fn the_greatest_common_divisor_is_not_the_step() {
        // A scaled counter: 25, 26 and 27 are all one step.
        let found = quantum(&mut [25, 26, 27, 52, 51, 78, 0, 26]).expect("a step");
        assert!((25.5..26.5).contains(&found), "{found}");
        // Reads within one step that differ by the rounding alone.
        let found = quantum(&mut [1, 25, 26, 1, 27, 52, 51, 78, 0, 1, 26]).expect("a step");
        assert!((25.5..26.5).contains(&found), "{found}");
    }

    #[test]
    fn differences_that_are_all_alike_give_no_step() {
        assert_eq!(quantum(&mut []), None);
        assert_eq!(quantum(&mut [0, 0, 0]), None);
        assert_eq!(quantum(&mut [52, 52, 104, 52]), None);
    }
}
