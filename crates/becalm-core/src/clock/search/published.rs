//! The published search: upwards from zero in large steps, from the last failure on in smaller ones.
//!
//! The paper calls it a bisection; it is a scan. Its pseudo-code returns the last length that failed; this returns the
//! one that was confirmed.

use super::Unmeasurable;

/// Scan upwards: return the first length that passes, refined by each smaller step.
///
/// `passes` returns whether a length passes, confirmation included. `longest` is the longest length that is
/// tried.
pub(crate) fn scan(
    steps: &[u64],
    longest: u64,
    mut passes: impl FnMut(u64) -> Result<bool, Unmeasurable>,
) -> Result<Option<u64>, Unmeasurable> {
    let mut failed = 0;
    let mut confirmed = None;
    for step in steps {
        let mut length = failed;
        loop {
            length += step;
            if length > longest {
                // A smaller step cannot find a longer length; an earlier one may have confirmed something.
                break;
            }
            if passes(length)? {
                confirmed = Some(length);
                break;
            }
            failed = length;
        }
        if confirmed.is_none() {
            return Ok(None);
        }
    }
    Ok(confirmed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_lengths_by_hand() {
        let mut tried = Vec::new();
        let found = scan(&[100, 10, 1], 1_000, |length| {
            tried.push(length);
            Ok(length >= 123)
        });
        assert_eq!(found, Ok(Some(123)));
        assert_eq!(tried, [100, 200, 110, 120, 130, 121, 122, 123]);
    }

    #[test]
    fn a_scan_that_never_passes_ends_without_a_result() {
        assert_eq!(scan(&[100, 10, 1], 1_000, |_| Ok(false)), Ok(None));
        let late = Unmeasurable::OutOfTime { sets: 3 };
        assert_eq!(scan(&[100], 1_000, |_| Err(late)), Err(late));
    }

    #[test]
    fn it_can_stop_in_a_hole() {
        // Only 40 and 41 pass, and all from 90 on: the scan ends in the hole. So the grid is the default.
        let passes = |length| Ok((40..42).contains(&length) || length >= 90);
        assert_eq!(scan(&[10, 1], 1_000, passes), Ok(Some(40)));
    }
}
