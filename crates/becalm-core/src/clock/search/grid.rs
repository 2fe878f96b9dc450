//! The default search: the smallest length of a geometric grid from which on all longer ones pass, confirmed
//! with fresh sets there and at its neighbours, then refined between the last failure and the first pass.

use super::{Answer, Bracket, Unmeasurable};

/// The grid points per doubling, coarse and fine.
const COARSE: u32 = 4;
const FINE: u32 = 32;

/// Return lengths from `first` to `last`, `parts` per doubling, without repetitions.
pub fn lengths(first: u64, last: u64, parts: u32) -> Vec<u64> {
    let mut lengths = Vec::new();
    for index in 0_u32.. {
        let length = (first.max(1) as f64 * (f64::from(index) / f64::from(parts)).exp2()).round() as u64;
        if length > last {
            break;
        }
        if lengths.last() != Some(&length) {
            lengths.push(length);
        }
    }
    lengths
}

/// The kind of look at a length.
pub(crate) enum Ask {
    /// One look.
    Once,
    /// Fresh sets, which must all pass.
    Confirm,
    /// One look in steps so small that nothing can hide between them.
    Closely,
}

/// The lengths to search: from `first` to `longest`, beginning near `start`; `refine`: also between two of
/// the grid.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Range {
    pub first: u64,
    pub longest: u64,
    pub start: u64,
    pub refine: bool,
}

/// The places above a length that passed, in grid points, which must pass, too: half a doubling, two, eight.
const ABOVE: [usize; 3] = [2, 8, 32];

/// Return the smallest length from which on all longer ones pass; None: the longest one failed.
///
/// From the start the search goes up in growing strides until a length passes, down in the same way until one
/// fails, and then step by step from the last that passed. A confirmed length counts if time ends before it
/// could be refined.
pub(crate) fn search(
    range: Range,
    mut look: impl FnMut(u64, Ask) -> Result<Answer, Unmeasurable>,
) -> Result<Option<Bracket>, Unmeasurable> {
    let grid = lengths(range.first, range.longest, COARSE);
    let mut known = vec![None; grid.len()];
    let mut once = |index: usize| -> Result<Answer, Unmeasurable> {
        if known[index].is_none() {
            known[index] = Some(look(grid[index], Ask::Once)?);
        }
        Ok(known[index].unwrap_or(Answer::Unknown))
    };
    let last = grid.len().saturating_sub(1);
    let start = grid.partition_point(|length| *length < range.start).min(last);
    let Some(found) = (if grid.is_empty() { None } else { passing(last, start, &mut once)? }) else {
        return Ok(None);
    };
    let Some(mut at) = holds_above(last, lowest(found, &mut once)?, &mut once)? else { return Ok(None) };
    let mut confirmed = |length: u64| Ok(look(length, Ask::Confirm)? == Answer::Passed);
    // Chance and holes: fresh sets here and above must pass, or the length was too low; and below they must
    // not, or it was too high.
    let mut fell = false;
    loop {
        let above = (at + 1).min(last);
        if !(confirmed(grid[at])? && (above == at || confirmed(grid[above])?)) {
            at += 1;
            if at == grid.len() {
                return Ok(None);
            }
            fell = true;
        } else if !fell && at > 0 && confirmed(grid[at - 1])? {
            at -= 1;
        } else {
            break;
        }
    }
    let coarse = Bracket { length: grid[at], below: if at == 0 { 0 } else { grid[at - 1] } };
    if at == 0 || !range.refine {
        return Ok(Some(coarse));
    }
    match refined(coarse, &mut look) {
        Err(Unmeasurable::OutOfTime { .. }) => Ok(Some(coarse)),
        other => other.map(Some),
    }
}

/// Return a place that passes: the start, or further up.
fn passing(
    last: usize,
    start: usize,
    once: &mut dyn FnMut(usize) -> Result<Answer, Unmeasurable>,
) -> Result<Option<usize>, Unmeasurable> {
    let (mut at, mut stride) = (start, 1);
    loop {
        if once(at)? == Answer::Passed {
            return Ok(Some(at));
        }
        if at == last {
            break;
        }
        at = (at + stride).min(last);
        stride *= 2;
    }
    // Nothing may be known of the longest lengths: then the longest with an answer counts.
    for at in (0..=last).rev() {
        match once(at)? {
            Answer::Passed => return Ok(Some(at)),
            Answer::Failed => break,
            Answer::Unknown => {}
        }
    }
    Ok(None)
}

/// Return the lowest place, going down from one that passes, before one fails: in growing strides, then step
/// by step.
fn lowest(
    from: usize,
    once: &mut dyn FnMut(usize) -> Result<Answer, Unmeasurable>,
) -> Result<usize, Unmeasurable> {
    let (mut found, mut at, mut stride) = (from, from, 1);
    while at > 0 {
        at = at.saturating_sub(stride);
        stride *= 2;
        match once(at)? {
            Answer::Passed => found = at,
            Answer::Unknown => {}
            Answer::Failed => break,
        }
    }
    for at in (at..found).rev() {
        match once(at)? {
            Answer::Passed => found = at,
            Answer::Unknown => {}
            Answer::Failed => break,
        }
    }
    Ok(found)
}

/// Return the lowest place from there on above which no place that is looked at fails.
fn holds_above(
    last: usize,
    mut at: usize,
    once: &mut dyn FnMut(usize) -> Result<Answer, Unmeasurable>,
) -> Result<Option<usize>, Unmeasurable> {
    'again: loop {
        for above in ABOVE.map(|stride| at + stride).into_iter().filter(|above| *above <= last) {
            if once(above)? == Answer::Failed {
                // The search goes up from there to the next that passes.
                at = above;
                while once(at)? != Answer::Passed {
                    at += 1;
                    if at > last {
                        return Ok(None);
                    }
                }
                continue 'again;
            }
        }
        return Ok(Some(at));
    }
}

/// Go in small steps from a length that passes down to one that does not.
fn refined(
    coarse: Bracket,
    look: &mut dyn FnMut(u64, Ask) -> Result<Answer, Unmeasurable>,
) -> Result<Bracket, Unmeasurable> {
    let mut found = coarse.length;
    let mut fine = lengths(coarse.below, coarse.length, FINE);
    fine.retain(|length| *length > coarse.below && *length < coarse.length);
    for length in fine.into_iter().rev() {
        match look(length, Ask::Closely)? {
            Answer::Passed => found = length,
            Answer::Unknown => {}
            Answer::Failed => return Ok(Bracket { length: found, below: length }),
        }
    }
    Ok(Bracket { length: found, below: coarse.below })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(passed: bool) -> Answer {
        if passed {
            Answer::Passed
        } else {
            Answer::Failed
        }
    }

    /// Search from several starts; `passes` is asked about each length.
    fn found(
        longest: u64,
        start: u64,
        look: impl FnMut(u64, Ask) -> Result<Answer, Unmeasurable>,
    ) -> Result<Option<u64>, Unmeasurable> {
        let range = Range { first: 1, longest, start, refine: true };
        Ok(search(range, look)?.map(|bracket| bracket.length))
    }

    /// The starts: the bottom, in a hole or below the answer, near it, the top and beyond.
    const STARTS: [u64; 6] = [1, 41, 80, 120, 1_000, 9_999];

    #[test]
    fn the_grid_by_hand() {
        assert_eq!(lengths(16, 64, 2), [16, 23, 32, 45, 64]);
        assert_eq!(lengths(1, 6, 4), [1, 2, 3, 4, 5, 6]);
        assert_eq!(lengths(0, 2, 1), [1, 2]);
        assert_eq!(lengths(9, 8, 4), Vec::<u64>::new());
    }

    #[test]
    fn a_hole_below_does_not_count() {
        for start in STARTS {
            let passes = |length: u64, _| Ok(answer((40..42).contains(&length) || length >= 90));
            let found = found(1_000, start, passes).unwrap().unwrap();
            assert!((90..=92).contains(&found), "from {start}: {found}");
        }
    }

    #[test]
    fn luck_is_not_confirmed() {
        for start in STARTS {
            // Everything passes at the first look; fresh sets pass from 200 on.
            let passes = |length: u64, ask| Ok(answer(!matches!(ask, Ask::Confirm) || length >= 200));
            let found = found(1_000, start, passes).unwrap().unwrap();
            assert!((180..=240).contains(&found), "from {start}: {found}");
        }
        assert_eq!(found(1_000, 100, |_, _| Ok(Answer::Failed)), Ok(None));
        assert_eq!(found(1_000, 100, |_, _| Ok(Answer::Passed)), Ok(Some(1)));
        let late = Unmeasurable::OutOfTime { sets: 0 };
        assert_eq!(found(8, 1, |_, _| Err(late)), Err(late));
        assert_eq!(found(0, 1, |_, _| Ok(Answer::Passed)), Ok(None));
    }

    #[test]
    fn lengths_of_which_nothing_is_known_do_not_end_the_search() {
        for start in STARTS {
            let look = |length: u64, ask| match ask {
                Ask::Once if length > 500 || (200..230).contains(&length) => Ok(Answer::Unknown),
                _ => Ok(answer(length >= 100)),
            };
            let found = found(1_000, start, look).unwrap().unwrap();
            assert!((100..=104).contains(&found), "from {start}: {found}");
        }
        assert_eq!(found(1_000, 80, |_, _| Ok(Answer::Unknown)), Ok(None));
    }

    #[test]
    fn a_good_start_saves_looks_and_time_that_ends_leaves_the_bracket() {
        let looks = |start, refine| {
            let mut many = 0;
            let range = Range { first: 1, longest: 1_000, start, refine };
            let found = search(range, |length, _| {
                many += 1;
                Ok(answer(length >= 100))
            });
            (many, found.unwrap().unwrap())
        };
        let (near, coarse) = looks(107, false);
        assert!(near <= 15 && near < looks(1_000, false).0, "{near}");
        // These are neighbours of the grid, of which the longer passes.
        assert_eq!(coarse, Bracket { length: 108, below: 91 });
        let range = Range { first: 1, longest: 1_000, start: 100, refine: true };
        let found = search(range, |length, ask| match ask {
            Ask::Closely => Err(Unmeasurable::OutOfTime { sets: 9 }),
            _ => Ok(answer(length >= 100)),
        });
        assert_eq!(found, Ok(Some(coarse)));
    }
}
