//! Numbers that programs print, found in what a run has written: by a pattern with one group, or by a path into JSON; or
//! those that are measured of them (`quantity`).
//!
//! Standard output is looked at first, then standard error, of both the end that was kept. A pattern is that of the crate
//! `regex-lite`: the usual syntax without look-around and back-references, and linear in time, so that no pattern and no
//! output can keep the agent.

use regex_lite::Regex;
use serde::Deserialize;
use serde_json::Value;

use crate::quantity::{self, Quantity};

/// Which match of a pattern counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Take {
    First,
    #[default]
    Last,
}

/// A number to be found, as it travels: exactly one of `pattern`, `json` and `quantity`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    #[serde(default)]
    pub pattern: Option<String>,
    #[serde(default)]
    pub json: Option<Vec<Key>>,
    /// What the agent itself measures, by its name.
    #[serde(default)]
    pub quantity: Option<String>,
    #[serde(default)]
    pub take: Take,
}

/// A step into JSON: a member by its name, or an element by its place, from the end below 0.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Key {
    Element(i64),
    Member(String),
}

/// Why a number cannot be looked for, or was not found.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum MetricError {
    #[error("A metric has a pattern, a path into JSON, or the name of a quantity, and one of them alone.")]
    Neither,
    #[error("The metric's pattern {0:?} is not valid: {1}.")]
    Syntax(String, String),
    #[error(
        "The metric's pattern {0:?} has {1} groups; it needs one, around the number: 'Time: ([0-9.]+)'."
    )]
    Groups(String, usize),
    #[error("The metric's pattern {0:?} matches nothing that it printed. {1}")]
    NoMatch(String, String),
    #[error("The metric's pattern {0:?} found {1:?}, which is not a number above zero. {2}")]
    NoNumber(String, String, String),
    #[error("The metric json:{0} is not in what it printed: {1}. {2}")]
    NoPath(String, String, String),
    #[error("There is no quantity {0:?}.")]
    NoQuantity(String),
    #[error("The metric {0} is not known of this run: {1}.")]
    NotMeasured(&'static str, String),
}

/// A number to be found, ready to be looked for.
#[derive(Debug)]
pub enum Metric {
    Pattern(Regex, Take),
    Json(Vec<Key>),
    Quantity(&'static Quantity),
}

impl Metric {
    /// Read what is wanted.
    pub fn new(wanted: &Wanted) -> Result<Self, MetricError> {
        match (&wanted.pattern, &wanted.json, &wanted.quantity) {
            (Some(pattern), None, None) => {
                let syntax =
                    |error: regex_lite::Error| MetricError::Syntax(pattern.clone(), error.to_string());
                let regex = Regex::new(pattern).map_err(syntax)?;
                match regex.captures_len() - 1 {
                    1 => Ok(Metric::Pattern(regex, wanted.take)),
                    groups => Err(MetricError::Groups(pattern.clone(), groups)),
                }
            }
            (None, Some(path), None) => Ok(Metric::Json(path.clone())),
            (None, None, Some(name)) => {
                let found = quantity::find(name).ok_or_else(|| MetricError::NoQuantity(name.clone()))?;
                Ok(Metric::Quantity(found))
            }
            _ => Err(MetricError::Neither),
        }
    }

    /// What is measured of the program in place of what it prints.
    pub fn quantity(&self) -> Option<&'static Quantity> {
        match self {
            Metric::Quantity(found) => Some(found),
            _ => None,
        }
    }

    /// The number in what a run wrote; what is measured is in none. An error is a sentence with the last line of it.
    pub fn find(&self, stdout: &str, stderr: &str) -> Result<f64, MetricError> {
        match self {
            Metric::Quantity(found) => {
                Err(MetricError::NotMeasured(found.name, "it is not looked for in its output".to_owned()))
            }
            Metric::Pattern(regex, take) => {
                let text = [stdout, stderr].into_iter().find_map(|text| matched(regex, *take, text));
                let text = text.ok_or_else(|| {
                    MetricError::NoMatch(regex.as_str().to_owned(), last_line(stdout, stderr))
                })?;
                usable(text).ok_or_else(|| {
                    let found = text.chars().take(MOST_SHOWN).collect();
                    MetricError::NoNumber(regex.as_str().to_owned(), found, last_line(stdout, stderr))
                })
            }
            Metric::Json(path) => {
                let missing = |why| MetricError::NoPath(shown(path), why, last_line(stdout, stderr));
                let value = [stdout, stderr].into_iter().find_map(document);
                let value = value.ok_or_else(|| missing("that is not JSON".to_owned()))?;
                number_at(&value, path).map_err(missing)
            }
        }
    }
}

const MOST_SHOWN: usize = 200;

/// Numbers whose fourth powers, which statistics take, are numbers too; zero has no ratio to another.
pub fn sensible(number: f64) -> bool {
    (1e-60..=1e60).contains(&number)
}

fn matched<'a>(regex: &Regex, take: Take, text: &'a str) -> Option<&'a str> {
    let mut all = regex.captures_iter(text).filter_map(|found| found.get(1));
    let found = match take {
        Take::First => all.next(),
        Take::Last => all.last(),
    };
    found.map(|found| found.as_str())
}

/// A number as programs print them, thousands set off by commas too; above zero, since only such have ratios.
fn usable(text: &str) -> Option<f64> {
    let text = text.trim();
    let number = text.parse::<f64>().ok().or_else(|| grouped(text)?.parse().ok())?;
    sensible(number).then_some(number)
}

/// "1,234,567.8" without its commas; None where they do not set off thousands.
fn grouped(text: &str) -> Option<String> {
    let whole = text.split('.').next()?;
    let mut parts = whole.split(',');
    let first = parts.next()?;
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let right =
        (1..=3).contains(&first.len()) && digits(first) && parts.all(|part| part.len() == 3 && digits(part));
    right.then(|| text.replace(',', ""))
}

/// All that was written as one JSON value, else the last line that is an object or a list.
fn document(text: &str) -> Option<Value> {
    let holds = |value: &Value| value.is_object() || value.is_array();
    let whole = serde_json::from_str::<Value>(text).ok().filter(holds);
    whole.or_else(|| text.lines().rev().filter_map(|line| serde_json::from_str(line).ok()).find(holds))
}

fn number_at(value: &Value, path: &[Key]) -> Result<f64, String> {
    let mut at = value;
    for (index, key) in path.iter().enumerate() {
        let next = match key {
            Key::Member(name) => at.get(name),
            Key::Element(place) => at.as_array().and_then(|list| {
                let from_end = usize::try_from(place.unsigned_abs()).ok();
                if *place < 0 {
                    list.get(list.len().checked_sub(from_end?)?)
                } else {
                    list.get(from_end?)
                }
            }),
        };
        at = next.ok_or_else(|| format!("there is no {}", shown(&path[..=index])))?;
    }
    let number = match at {
        Value::Number(number) => number.as_f64().filter(|number| sensible(*number)),
        Value::String(text) => usable(text),
        _ => None,
    };
    number.ok_or_else(|| {
        let mut found = at.to_string();
        found.truncate(found.char_indices().nth(MOST_SHOWN).map_or(found.len(), |(end, _)| end));
        format!("there is {found}, which is not a number above zero")
    })
}

fn shown(path: &[Key]) -> String {
    let mut text = String::new();
    for key in path {
        match key {
            Key::Element(place) => text.push_str(&format!("[{place}]")),
            Key::Member(name) if text.is_empty() => text.push_str(name),
            Key::Member(name) => text.push_str(&format!(".{name}")),
        }
    }
    text
}

/// What a person sees of what was printed.
fn last_line(stdout: &str, stderr: &str) -> String {
    for (text, whose) in [(stdout, "output"), (stderr, "error")] {
        if let Some(line) = text.lines().rev().find(|line| !line.trim().is_empty()) {
            let line: String = line.chars().take(MOST_SHOWN).collect();
            return format!("Last line of its standard {whose}: {line:?}.");
        }
    }
    "It printed nothing.".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str, take: Take) -> Metric {
        Metric::new(&Wanted { pattern: Some(text.into()), json: None, quantity: None, take }).unwrap()
    }

    fn json(path: &str) -> Metric {
        Metric::new(&serde_json::from_str(&format!("{{\"json\":{path}}}")).unwrap()).unwrap()
    }

    #[test]
    fn the_last_match_unless_the_first_is_asked_for() {
        let out = "10 % done, Time: 1.5\nTime: 2.25\n";
        assert_eq!(pattern("Time: ([0-9.]+)", Take::Last).find(out, ""), Ok(2.25));
        assert_eq!(pattern("Time: ([0-9.]+)", Take::First).find(out, ""), Ok(1.5));
    }

    #[test]
    fn standard_error_where_standard_output_has_none() {
        let time = pattern("Time: ([0-9.]+)", Take::Last);
        assert_eq!(time.find("hello", "Time: 3"), Ok(3.0));
        assert_eq!(time.find("Time: 4", "Time: 3"), Ok(4.0));
        assert_eq!(json("[\"p99\"]").find("", "{\"p99\":7}"), Ok(7.0));
    }

    #[test]
    fn numbers_as_programs_print_them() {
        let any = pattern("n=(.*)", Take::Last);
        for (text, number) in [("1e3", 1000.0), (" 2 ", 2.0), ("1,234,567.5", 1_234_567.5), ("+3", 3.0)] {
            assert_eq!(any.find(&format!("n={text}"), ""), Ok(number), "{text}");
        }
        for bad in ["0", "-1", "1e99", "nan", "inf", "1,23", "3 s", "", "1,2345", "0x10"] {
            assert!(matches!(any.find(&format!("n={bad}"), ""), Err(MetricError::NoNumber(..))), "{bad}");
        }
    }

    #[test]
    fn a_path_into_json_by_names_and_places() {
        let out = "{\"jobs\":[{\"lat\":{\"99.0\":5}},{\"lat\":{\"99.0\":\"6.5\"}}]}";
        assert_eq!(json("[\"jobs\",0,\"lat\",\"99.0\"]").find(out, ""), Ok(5.0));
        assert_eq!(json("[\"jobs\",-1,\"lat\",\"99.0\"]").find(out, ""), Ok(6.5));
        let error = json("[\"jobs\",2,\"lat\"]").find(out, "").unwrap_err().to_string();
        assert!(error.contains("there is no jobs[2]"), "{error}");
        let error = json("[\"jobs\"]").find(out, "").unwrap_err().to_string();
        assert!(error.contains("not a number above zero"), "{error}");
        assert!(json("[\"jobs\",-9]").find(out, "").is_err());
    }

    #[test]
    fn json_after_other_lines_is_the_last_line_of_it() {
        let out = "starting\n{\"p99\":1}\n{\"p99\":2}\n3\ndone\n";
        assert_eq!(json("[\"p99\"]").find(out, ""), Ok(2.0));
    }

    #[test]
    fn what_is_missing_is_said_with_the_last_line() {
        let time = pattern("Time: ([0-9.]+)", Take::Last);
        let said = |out, err| time.find(out, err).unwrap_err().to_string();
        assert!(said("one\ntwo\n\n", "err").ends_with("Last line of its standard output: \"two\"."));
        assert!(said("", "no luck\n").ends_with("Last line of its standard error: \"no luck\"."));
        assert!(said("", "").ends_with("It printed nothing."));
        assert!(json("[\"a\"]").find("x", "").unwrap_err().to_string().contains("not JSON"));
    }

    #[test]
    fn a_pattern_has_one_group() {
        let of =
            |text: &str| Metric::new(&serde_json::from_value(serde_json::json!({"pattern": text})).unwrap());
        assert!(matches!(of("Time: [0-9]+"), Err(MetricError::Groups(_, 0))));
        assert!(matches!(of("(a)(b)"), Err(MetricError::Groups(_, 2))));
        assert!(of("(?:a|b)([0-9]+)").is_ok());
        assert!(matches!(of("(["), Err(MetricError::Syntax(..))));
    }

    #[test]
    fn a_metric_is_one_thing() {
        let of = |text: &str| Metric::new(&serde_json::from_str(text).unwrap());
        for bad in ["{}", r#"{"pattern":"(a)","json":["b"]}"#, r#"{"json":["b"],"quantity":"memory:peak"}"#] {
            assert_eq!(of(bad).unwrap_err(), MetricError::Neither, "{bad}");
        }
        let found = of(r#"{"quantity":"memory:peak"}"#).unwrap();
        assert_eq!(found.quantity().map(|row| row.unit), Some("bytes"));
        assert!(found.find("memory:peak 5", "").is_err());
        let missing = of(r#"{"quantity":"memory:heat"}"#).unwrap_err();
        assert_eq!(missing, MetricError::NoQuantity("memory:heat".to_owned()));
    }
}
