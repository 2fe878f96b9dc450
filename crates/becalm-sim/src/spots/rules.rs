//! The thresholds of the detector: the published ones, and those of becalm. The answer repeats them as JSON.

use serde::{Deserialize, Serialize};

use super::account::Closing;

/// The length of a window in the thesis: 5 ms.
pub const WINDOW_NS: u64 = 5_000_000;

/// The smallest number of references for a decision: 3·√(p(1 − p)/r) is 0.1 at p = ½ for r = 225, so that
/// with fewer ones chance alone explains a ratio of a tenth.
pub const LEAST_REFERENCES: u64 = 225;

/// The rules by which a window is high and a sweet spot is detected.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rules {
    /// The window length T, ns: a window ends with the first switch or tick that is this long after the
    /// previous end.
    pub window_ns: u64,
    pub closing: Closing,
    /// The method that detects a change of the working set in a program's own windows (type 1).
    pub change: Change,
    /// The factor 1/S2: others' misses are high if this factor times their number exceeds their references
    /// (type 2).
    pub others_factor: f64,
    /// The number of references below which own windows and times of waiting are joined with the next;
    /// published: 0.
    pub least_references: u64,
    /// Whether only the beginning of an eviction is a sweet spot; published: each of its windows.
    pub onset: bool,
    /// Whether misses right after an eviction count as a change of the working set; published: they do.
    pub refill_is_change: bool,
}

/// A method that detects changes of the working set (type 1).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Change {
    /// The published rule: factor · misses > references, which did not hold in the previous, known window.
    Jump { factor: f64 },
    /// The ratio rises above median + `deviations` · 1.4826 · MAD of the last `history` ratios, limited to
    /// `low` to `high`.
    Adaptive { deviations: f64, history: usize, low: f64, high: f64 },
    /// The sum g = max(0, g + ratio − mean − drift) is above `threshold`; the mean is that of the last
    /// `history` ratios of the phase.
    Cusum { drift: f64, threshold: f64, history: usize },
    /// The ratio exceeds that of the windows before by more than chance (`sigmas`, with the spread between
    /// windows) and by at least `least`, so that programs that always miss have their own level.
    Rise { sigmas: f64, least: f64, history: usize },
}

impl Default for Rules {
    /// Return the rules of becalm.
    fn default() -> Self {
        Self {
            window_ns: WINDOW_NS,
            closing: Closing::InTime,
            change: Change::Rise { sigmas: 5.0, least: 0.05, history: 40 },
            others_factor: 10.0,
            least_references: LEAST_REFERENCES,
            onset: true,
            refill_is_change: false,
        }
    }
}

impl Rules {
    /// Return the rules of the thesis.
    pub fn published() -> Self {
        Self {
            window_ns: WINDOW_NS,
            closing: Closing::WhenItRuns,
            change: Change::Jump { factor: 10.0 },
            others_factor: 10.0,
            least_references: 0,
            onset: false,
            refill_is_change: true,
        }
    }

    /// Check the rules.
    ///
    /// # Errors
    /// Returns a sentence about the first invalid value.
    pub fn check(&self) -> Result<(), String> {
        if !(10_000..=50_000_000).contains(&self.window_ns) {
            return Err(format!("A window has 0.01 to 50 ms, not {} ms.", self.window_ns as f64 / 1e6));
        }
        if !(self.others_factor >= 1.0 && self.others_factor.is_finite()) {
            return Err("The factor of others' misses is 1 or more: 10 is a threshold of 0.1.".to_owned());
        }
        let sound = |name: &str, value: f64| {
            if value.is_finite() && value >= 0.0 {
                Ok(())
            } else {
                Err(format!("The {name} of a rule is a number that is not negative, not {value}."))
            }
        };
        let length = |history: usize| match history {
            2..=10_000 => Ok(()),
            other => Err(format!("The history of a rule has 2 to 10,000 windows, not {other}.")),
        };
        match self.change {
            Change::Jump { factor } if !(factor >= 1.0 && factor.is_finite()) => {
                Err("The factor of own misses is 1 or more: 10 is a threshold of 0.1.".to_owned())
            }
            Change::Jump { .. } => Ok(()),
            Change::Adaptive { deviations, history, low, high } => {
                for (name, value) in [("deviations", deviations), ("low", low), ("high", high)] {
                    sound(name, value)?;
                }
                if low > high {
                    return Err(format!("The lowest threshold, {low}, is above the highest, {high}."));
                }
                length(history)
            }
            Change::Cusum { drift, threshold, history } => {
                sound("drift", drift)?;
                sound("threshold", threshold)?;
                length(history)
            }
            Change::Rise { sigmas, least, history } => {
                sound("sigmas", sigmas)?;
                sound("least", least)?;
                length(history)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn omitted_rules_are_the_defaults_and_invalid_ones_are_rejected() {
        let read = |text: &str| serde_json::from_str::<Rules>(text).map_err(|error| error.to_string());
        assert_eq!(read("{}").expect("all defaults"), Rules::default());
        assert!(read(r#"{"windows": 5}"#).expect_err("unknown").contains("unknown field `windows`"));
        for (text, why) in [
            (r#"{"window_ns": 0}"#, "0.01 to 50 ms, not 0 ms"),
            (r#"{"others_factor": 0}"#, "is 1 or more"),
            (r#"{"change": {"jump": {"factor": 0}}}"#, "is 1 or more"),
            (
                r#"{"change": {"adaptive": {"deviations": 3, "history": 200, "low": 0.5, "high": 0.1}}}"#,
                "above the highest",
            ),
            (r#"{"change": {"cusum": {"drift": -1, "threshold": 0.1, "history": 200}}}"#, "drift of a rule"),
            (
                r#"{"change": {"rise": {"sigmas": 5, "least": 0.05, "history": 1}}}"#,
                "2 to 10,000 windows, not 1",
            ),
        ] {
            let message = read(text).expect("a form that is known").check().expect_err("refused");
            assert!(message.contains(why), "{message}");
        }
        assert_eq!((Rules::default().check(), Rules::published().check()), (Ok(()), Ok(())));
    }
}
