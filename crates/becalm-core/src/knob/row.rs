//! What one row of the table of knobs says: scope, group, domain, way of acting.

use serde::Serialize;

/// Where a knob acts: on one process, on the running machine, or at its next boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    Process,
    Live,
    Boot,
}

/// How a search treats a knob; `Dangerous` ones are set only with consent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Group {
    Essential,
    Isolation,
    Normal,
    Dangerous,
}

/// The values that a knob takes. Values are text; JSON's true and false mean on and off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Domain {
    OnOff,
    Words(&'static [&'static str]),
    Whole {
        low: i64,
        high: i64,
        unit: &'static str,
    },
    /// A list of CPUs such as 0,2-3, or one of these words.
    Cpus(&'static [&'static str]),
    /// One of these words, or a whole number.
    WordOrWhole {
        words: &'static [&'static str],
        low: i64,
        high: i64,
        unit: &'static str,
    },
    /// The words that this file of the machine lists.
    Listed(&'static str),
    /// Checked by who acts; described in words.
    Described(&'static str),
}

/// How a file spells a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// As it is.
    Plain,
    /// `on` and `off` are written so.
    Switch { on: &'static str, off: &'static str },
}

/// How a knob acts. Paths are those of the running machine; they begin at the root the agent was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// By system calls in the child, between fork and exec (`knob::process`).
    Process,
    /// By the agent before each run.
    BeforeRun,
    /// The first of these files that exists.
    File(&'static [(&'static str, Form)]),
    /// This file below `/sys/devices/system/cpu/cpuN`, for every CPU.
    EachCpu(&'static str, Form),
    /// Each CPU's `scaling_min_freq`, in kHz, or its own highest frequency.
    FrequencyFloor,
    Smt,
    OnlineCpus,
    Swap,
    Isolation,
    Interrupts,
    Latency,
    Services,
    /// Words of the kernel's command line, at the next boot.
    Boot(&'static [&'static str]),
}

/// One system parameter as plain data.
#[derive(Debug, Clone, Copy)]
pub struct Knob {
    pub name: &'static str,
    pub scope: Scope,
    pub group: Group,
    pub domain: Domain,
    pub act: Act,
    /// The value that a search for a small spread tries; None: it is not a candidate.
    pub steady: Option<&'static str>,
    /// Settings are put on in this order and taken off in the opposite one.
    pub order: u8,
    /// Knobs without which this one has no meaning.
    pub needs: &'static [&'static str],
    /// Knobs that take this one's place: a search leaves it out beside them.
    pub against: &'static [&'static str],
    /// It keeps programs on fewer CPUs than the machine has.
    pub confines: bool,
    /// Why it matters for run times.
    pub matters: &'static str,
    /// What it costs while it is on.
    pub costs: &'static str,
    /// What it needs beyond the rights of an ordinary user.
    pub privilege: &'static str,
    /// What it means when the machine has no such parameter.
    pub absent: &'static str,
    /// Where it is documented.
    pub source: &'static str,
}

impl Domain {
    /// The values in words.
    pub fn words(&self) -> String {
        let number = |low: i64, high: i64, unit: &str| {
            let space = if unit.is_empty() { "" } else { " " };
            match high {
                i64::MAX => format!("a whole number from {low} on{space}{unit}"),
                _ => format!("{low} to {high}{space}{unit}"),
            }
        };
        match *self {
            Domain::OnOff => "on or off".to_owned(),
            Domain::Words(words) => either(words),
            Domain::Whole { low, high, unit } => number(low, high, unit),
            Domain::Cpus([]) => "a list of CPUs such as 0,2-3".to_owned(),
            Domain::Cpus(words) => format!("{}, or a list of CPUs such as 0,2-3", words.join(", ")),
            Domain::WordOrWhole { words, low, high, unit } => {
                format!("{}, or {}", words.join(", "), number(low, high, unit))
            }
            Domain::Listed(path) => format!("one of the words in {path}"),
            Domain::Described(words) => words.to_owned(),
        }
    }

    /// Whether a value is in the domain, as far as that can be said without the machine.
    pub fn holds(&self, value: &str) -> bool {
        let number = |low: i64, high: i64| value.parse::<i64>().is_ok_and(|n| (low..=high).contains(&n));
        match *self {
            Domain::OnOff => matches!(value, "on" | "off"),
            Domain::Words(words) => words.contains(&value),
            Domain::Whole { low, high, .. } => number(low, high),
            Domain::Cpus(words) => words.contains(&value) || super::cpus::parse(value).is_some(),
            Domain::WordOrWhole { words, low, high, .. } => words.contains(&value) || number(low, high),
            Domain::Listed(_) => !value.is_empty() && !value.contains(char::is_whitespace),
            Domain::Described(_) => true,
        }
    }
}

fn either(words: &[&str]) -> String {
    match words {
        [rest @ .., last] if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => words.concat(),
    }
}

impl Form {
    /// The value as the file takes it.
    pub fn spelled(&self, value: &str) -> String {
        match (self, value) {
            (Form::Switch { on, .. }, "on") => (*on).to_owned(),
            (Form::Switch { off, .. }, "off") => (*off).to_owned(),
            _ => value.to_owned(),
        }
    }

    /// What the file holds, as a value of the knob.
    pub fn read(&self, held: &str) -> String {
        match self {
            Form::Switch { on, .. } if held == *on => "on".to_owned(),
            Form::Switch { off, .. } if held == *off => "off".to_owned(),
            _ => held.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains_in_words_and_their_values() {
        assert_eq!(Domain::Words(&["a", "b", "c"]).words(), "a, b or c");
        assert_eq!(Domain::Whole { low: 0, high: 5, unit: "s" }.words(), "0 to 5 s");
        assert!(Domain::OnOff.holds("off") && !Domain::OnOff.holds("1"));
        assert!(Domain::Cpus(&["away"]).holds("away") && Domain::Cpus(&[]).holds("0,2-3"));
        assert!(!Domain::Cpus(&[]).holds("away") && !Domain::Whole { low: 1, high: 2, unit: "" }.holds("3"));
    }

    #[test]
    fn a_switch_is_read_as_it_is_written() {
        let form = Form::Switch { on: "0", off: "1" };
        for value in ["on", "off"] {
            assert_eq!(form.read(&form.spelled(value)), value);
        }
        assert_eq!(form.read("7"), "7", "what is neither is shown as it is");
    }
}
