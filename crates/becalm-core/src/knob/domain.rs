//! The values of a knob, as data: the values that `--set` accepts, their description, and the bounds of a
//! search follow from it.

use serde::{Serialize, Serializer};

use super::cpus;
use super::process_list;

/// The values of a knob: those of its kind, and special ones in addition. Values are text; JSON's true and
/// false mean on and off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Domain {
    pub kind: Kind,
    /// Values with a separate meaning, which need not be of the kind: 0 for the kernel's default, max,
    /// first-core.
    pub special: &'static [Special],
}

/// The meaning of a special value that the kernel replaces by its own default.
pub const DEFAULT: &str = "the kernel's default";

/// The form of most values of a domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Kind {
    /// One of these words.
    Words { choices: &'static [&'static str] },
    /// A whole number from `low` to `high`.
    Range { low: i64, high: i64, unit: &'static str, scale: Scale },
    /// A list of CPUs such as 0,2-3.
    Cpus {},
    /// A class, for some with a level: fifo:50.
    Classes { classes: &'static [Class] },
    /// Running processes, each with a list of CPUs: 1234:0-1;1240:2.
    Processes {},
    /// The words that this file of the machine lists.
    Listed { path: &'static str },
}

/// The scale on which equal steps have effects of about equal size: a search places its levels on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    Linear,
    Log,
}

/// A value and its meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Special {
    pub value: &'static str,
    pub meaning: &'static str,
}

/// A word that may carry a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Class {
    pub word: &'static str,
    /// The lowest and the highest level; None: it has none.
    pub levels: Option<(i64, i64)>,
    /// The level of the word alone; None: it must be given.
    pub default: Option<i64>,
}

pub const ON_OFF: Domain = words(&["on", "off"]);

/// Return a domain of words.
pub const fn words(choices: &'static [&'static str]) -> Domain {
    Domain { kind: Kind::Words { choices }, special: &[] }
}

/// Return a domain of whole numbers.
pub const fn range(low: i64, high: i64, unit: &'static str, scale: Scale) -> Domain {
    Domain { kind: Kind::Range { low, high, unit, scale }, special: &[] }
}

/// Return a domain of lists of CPUs, and of these words for some.
pub const fn cpus(special: &'static [Special]) -> Domain {
    Domain { kind: Kind::Cpus {}, special }
}

/// Return the domain of running processes with their CPUs.
pub const fn processes() -> Domain {
    Domain { kind: Kind::Processes {}, special: &[] }
}

/// Return a domain of classes, some of them with a level.
pub const fn classes(classes: &'static [Class]) -> Domain {
    Domain { kind: Kind::Classes { classes }, special: &[] }
}

/// Return a domain of the words that a file of the machine lists.
pub const fn listed(path: &'static str) -> Domain {
    Domain { kind: Kind::Listed { path }, special: &[] }
}

/// Return a special value.
pub const fn special(value: &'static str, meaning: &'static str) -> Special {
    Special { value, meaning }
}

/// Return a class without levels.
pub const fn class(word: &'static str) -> Class {
    Class { word, levels: None, default: None }
}

/// Return a class with levels from `low` to `high`.
pub const fn levels(word: &'static str, low: i64, high: i64, default: Option<i64>) -> Class {
    Class { word, levels: Some((low, high)), default }
}

impl Serialize for Domain {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Whole<'a> {
            #[serde(flatten)]
            kind: Kind,
            special: &'a [Special],
            words: String,
        }
        Whole { kind: self.kind, special: self.special, words: self.words() }.serialize(serializer)
    }
}

impl Domain {
    /// Return the same domain with special values.
    pub const fn or(self, special: &'static [Special]) -> Self {
        Self { special, ..self }
    }

    /// Return whether its values are sets of CPUs.
    pub fn is_cpus(&self) -> bool {
        matches!(self.kind, Kind::Cpus {})
    }

    /// Return whether a value is in the domain, as far as that is known without the machine.
    pub fn holds(&self, value: &str) -> bool {
        self.special.iter().any(|special| special.value == value)
            || match self.kind {
                Kind::Words { choices } => choices.contains(&value),
                Kind::Range { low, high, .. } => within(value, low, high),
                Kind::Cpus {} => cpus::parse(value).is_some(),
                Kind::Processes {} => process_list::parse(value).is_some(),
                Kind::Classes { classes } => level(classes, value).is_some(),
                Kind::Listed { .. } => !value.is_empty() && !value.contains(char::is_whitespace),
            }
    }

    /// Return the class and level of a value such as fifo:50; level 0 if the class has none.
    pub fn level<'a>(&self, value: &'a str) -> Option<(&'a str, i64)> {
        match self.kind {
            Kind::Classes { classes } => level(classes, value),
            _ => None,
        }
    }

    /// Describe the values.
    pub fn words(&self) -> String {
        let own = match self.kind {
            Kind::Words { choices } if self.special.is_empty() => return either(choices),
            Kind::Words { choices } => choices.join(", "),
            Kind::Range { low, high, unit: "", .. } => format!("{low} to {high}"),
            Kind::Range { low, high, unit, .. } => format!("{low} to {high} {unit}"),
            Kind::Cpus {} => "a list of CPUs such as 0,2-3".to_owned(),
            Kind::Processes {} => {
                "processes, each with a list of CPUs, such as 1234:0-1;1240:2, or 1234@5678:0-1 with its start time".to_owned()
            }
            Kind::Classes { classes } => {
                let words: Vec<String> = classes.iter().map(Class::words).collect();
                return either(&words.iter().map(String::as_str).collect::<Vec<_>>());
            }
            Kind::Listed { path } => format!("one of the words in {path}"),
        };
        match self.special {
            [] => own,
            special => {
                let values: Vec<String> = special.iter().map(Special::words).collect();
                format!("{}, or {own}", values.join(", "))
            }
        }
    }
}

#[cfg(test)]
impl Domain {
    /// Return some of its values: every word, and both ends of ranges.
    pub fn examples(&self) -> Vec<String> {
        let mut found: Vec<String> = self.special.iter().map(|special| special.value.to_owned()).collect();
        match self.kind {
            Kind::Words { choices } => found.extend(choices.iter().map(|word| (*word).to_owned())),
            Kind::Range { low, high, .. } => found.extend([low.to_string(), high.to_string()]),
            Kind::Cpus {} => found.push("0,2-3".to_owned()),
            Kind::Processes {} => found.push("1234:0-1;1240@5678:2".to_owned()),
            Kind::Classes { classes } => {
                for Class { word, levels, default } in classes {
                    let ends = levels.iter().copied().flat_map(|(low, high)| [low, high]);
                    found.extend(ends.map(|level| format!("{word}:{level}")));
                    if levels.is_none() || default.is_some() {
                        found.push((*word).to_owned());
                    }
                }
            }
            Kind::Listed { .. } => {}
        }
        found
    }
}

impl Special {
    fn words(&self) -> String {
        format!("{} ({})", self.value, self.meaning)
    }
}

impl Class {
    fn words(&self) -> String {
        match self.levels {
            None => self.word.to_owned(),
            Some((low, high)) => format!("{}:{low}-{high}", self.word),
        }
    }
}

fn within(value: &str, low: i64, high: i64) -> bool {
    value.parse::<i64>().is_ok_and(|number| (low..=high).contains(&number))
}

fn level<'a>(classes: &[Class], value: &'a str) -> Option<(&'a str, i64)> {
    let (word, given) = value.split_once(':').map_or((value, None), |(word, level)| (word, Some(level)));
    let class = classes.iter().find(|class| class.word == word)?;
    match (class.levels, given) {
        (None, None) => Some((word, 0)),
        (Some((low, high)), Some(level)) if within(level, low, high) => Some((word, level.parse().ok()?)),
        (Some(_), None) => Some((word, class.default?)),
        _ => None,
    }
}

fn either(words: &[&str]) -> String {
    match words {
        [rest @ .., last] if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => words.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::Scale::{Linear, Log};
    use super::*;

    const POLICY: Domain =
        classes(&[class("other"), levels("fifo", 1, 99, None), levels("best", 0, 7, Some(4))]);
    const SLICE: Domain = range(100_000, 100_000_000, "ns", Log).or(&[special("0", "the kernel's default")]);

    const AWAY: &[Special] = &[special("away", "all others")];

    #[test]
    fn domains_in_words() {
        assert_eq!(words(&["a", "b", "c"]).words(), "a, b or c");
        assert_eq!(range(0, 5, "s", Linear).words(), "0 to 5 s");
        assert_eq!(range(0, 2, "", Linear).words(), "0 to 2");
        assert_eq!(SLICE.words(), "0 (the kernel's default), or 100000 to 100000000 ns");
        assert_eq!(POLICY.words(), "other, fifo:1-99 or best:0-7");
        assert_eq!(cpus(AWAY).words(), "away (all others), or a list of CPUs such as 0,2-3");
        assert_eq!(listed("/x").words(), "one of the words in /x");
    }

    #[test]
    fn values_in_and_out_of_their_domain() {
        for (domain, good, bad) in [
            (ON_OFF, "off", "1"),
            (cpus(AWAY), "away", "near"),
            (cpus(&[]), "0,2-3", "away"),
            (range(1, 2, "", Linear), "2", "3"),
            (range(-20, 19, "", Linear), "-20", "1.5"),
            (SLICE, "0", "1"),
            (SLICE, "100000", "99999"),
            (POLICY, "fifo:99", "fifo:100"),
            (POLICY, "best", "fifo"),
            (POLICY, "other", "other:1"),
            (listed("/x"), "any", "two words"),
        ] {
            assert!(domain.holds(good), "{good}");
            assert!(!domain.holds(bad) && !domain.holds(""), "{bad}");
        }
        assert_eq!(POLICY.level("best"), Some(("best", 4)));
        assert_eq!(POLICY.level("fifo:7"), Some(("fifo", 7)));
    }

    #[test]
    fn a_domain_is_data() {
        let spelled = |domain: Domain| serde_json::to_value(domain).unwrap();
        assert_eq!(
            spelled(SLICE),
            serde_json::json!({
                "kind": "range", "low": 100_000, "high": 100_000_000, "unit": "ns", "scale": "log",
                "special": [{"value": "0", "meaning": "the kernel's default"}],
                "words": "0 (the kernel's default), or 100000 to 100000000 ns",
            })
        );
        assert_eq!(
            spelled(ON_OFF),
            serde_json::json!({"kind": "words", "choices": ["on", "off"], "special": [], "words": "on or off"})
        );
        assert_eq!(spelled(cpus(&[]))["kind"], "cpus");
        assert_eq!(spelled(POLICY)["classes"][1]["levels"], serde_json::json!([1, 99]));
    }
}
