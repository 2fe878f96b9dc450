//! Our search: the smallest length of a geometric grid from which on all longer ones pass, confirmed with fresh sets there
//! and at its neighbours, then refined between the last failure and the first pass.

use super::Unmeasurable;

/// Grid points to a doubling, coarse and fine.
const COARSE: u32 = 4;
const FINE: u32 = 32;

/// Lengths from `first` to `last`, `parts` to a doubling, without repetitions.
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

/// What a look at a length says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Passed,
    Failed,
    /// The operating system took part too often: nothing is said of the timer.
    Unknown,
}

/// What a length is asked.
pub(crate) enum Ask {
    /// One look.
    Once,
    /// Fresh sets, which must all pass.
    Confirm,
    /// One look in steps so small that nothing can hide between them.
    Closely,
}

/// The smallest length from which on all longer ones pass; None: the longest one failed.
pub(crate) fn search(
    first: u64,
    longest: u64,
    mut look: impl FnMut(u64, Ask) -> Result<Answer, Unmeasurable>,
) -> Result<Option<u64>, Unmeasurable> {
    let grid = lengths(first, longest, COARSE);
    let found = lowest(&grid, |length| looks(|| look(length, Ask::Once)))?;
    let Some(mut at) = found else { return Ok(None) };
    let mut confirmed = |length: u64| Ok(look(length, Ask::Confirm)? == Answer::Passed);
    // Chance and holes: fresh sets here and above must pass, or it was too low; and below must not, or it was too high.
    let mut fell = false;
    loop {
        let above = (at + 1).min(grid.len() - 1);
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
    if at == 0 {
        return Ok(Some(grid[0]));
    }
    let mut fine = lengths(grid[at - 1], grid[at], FINE);
    fine.retain(|length| *length > grid[at - 1] && *length < grid[at]);
    fine.push(grid[at]);
    let found = lowest(&fine, |length| match length == grid[at] {
        true => Ok(Answer::Passed),
        false => looks(|| look(length, Ask::Closely)),
    })?;
    Ok(Some(found.map_or(grid[at], |index| fine[index])))
}

/// One look, or after a failure two more that both pass: one bad set, of hundreds, is not to end a search.
fn looks(mut look: impl FnMut() -> Result<Answer, Unmeasurable>) -> Result<Answer, Unmeasurable> {
    match look()? {
        Answer::Failed => {}
        known => return Ok(known),
    }
    match (look()?, look()?) {
        (Answer::Passed, Answer::Passed) => Ok(Answer::Passed),
        _ => Ok(Answer::Failed),
    }
}

/// The place from which on all pass of which anything is known, looked for from the longest down.
fn lowest(
    lengths: &[u64],
    mut look: impl FnMut(u64) -> Result<Answer, Unmeasurable>,
) -> Result<Option<usize>, Unmeasurable> {
    let mut found = None;
    for (index, length) in lengths.iter().enumerate().rev() {
        match look(*length)? {
            Answer::Passed => found = Some(index),
            Answer::Unknown => {}
            Answer::Failed => break,
        }
    }
    Ok(found)
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

    #[test]
    fn the_grid_by_hand() {
        assert_eq!(lengths(16, 64, 2), [16, 23, 32, 45, 64]);
        assert_eq!(lengths(1, 6, 4), [1, 2, 3, 4, 5, 6]);
        assert_eq!(lengths(0, 2, 1), [1, 2]);
        assert_eq!(lengths(9, 8, 4), Vec::<u64>::new());
    }

    #[test]
    fn a_hole_below_does_not_count() {
        let passes = |length: u64, _| Ok(answer((40..42).contains(&length) || length >= 90));
        let found = search(1, 1_000, passes).unwrap().unwrap();
        assert!((90..=92).contains(&found), "{found}");
    }

    #[test]
    fn luck_is_not_confirmed() {
        // Everything passes at the first look; fresh sets pass from 200 on.
        let passes = |length: u64, ask| Ok(answer(!matches!(ask, Ask::Confirm) || length >= 200));
        let found = search(1, 1_000, passes).unwrap().unwrap();
        assert!((180..=240).contains(&found), "{found}");
        assert_eq!(search(1, 1_000, |_, _| Ok(Answer::Failed)), Ok(None));
        assert_eq!(search(1, 1_000, |_, _| Ok(Answer::Passed)), Ok(Some(1)));
        assert_eq!(search(1, 8, |_, _| Err(Unmeasurable::OutOfTime)), Err(Unmeasurable::OutOfTime));
    }

    #[test]
    fn bad_luck_at_the_first_look_is_made_good() {
        // One set at 400 failed by chance; from 100 on fresh sets pass.
        let mut unlucky = true;
        let grid = lengths(1, 1_000, COARSE);
        let spoiled = *grid.iter().find(|length| **length >= 400).unwrap();
        let found = search(1, 1_000, |length, ask| {
            if length == spoiled && matches!(ask, Ask::Once) && std::mem::take(&mut unlucky) {
                return Ok(Answer::Failed);
            }
            Ok(answer(length >= 100))
        });
        assert!((100..=104).contains(&found.unwrap().unwrap()));
    }

    #[test]
    fn lengths_of_which_nothing_is_known_do_not_end_the_search() {
        let look = |length: u64, ask| match ask {
            Ask::Once if length > 500 || (200..230).contains(&length) => Ok(Answer::Unknown),
            _ => Ok(answer(length >= 100)),
        };
        let found = search(1, 1_000, look).unwrap().unwrap();
        assert!((100..=104).contains(&found), "{found}");
        assert_eq!(search(1, 1_000, |_, _| Ok(Answer::Unknown)), Ok(None));
    }
}
