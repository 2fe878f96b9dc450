//! Numbers that programs print, found in what a run has written: by a pattern with one group, or by a path into JSON; or
//! those that are measured of them (`quantity`).
//!
//! Standard output is looked at first, then standard error. Of long outputs the middle is not kept: a number that may be in
//! it is not found, and never another one in its place. A pattern is that of the crate
//! `regex-lite`: the usual syntax without look-around and back-references, and linear in time, so that no pattern and no
//! output can keep the agent.

use regex_lite::Regex;
use serde::Deserialize;
use serde_json::Value;

use crate::number::{self, goes_on, sensible, Unusable};
use crate::quantity::{self, Quantity};

/// The match of a pattern that counts.
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
    /// The name of a quantity that the agent itself measures.
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
    #[error("The metric's pattern {0:?} found {1:?}, which is {why}. {2}", why = number::unfit(.1))]
    NoNumber(String, String, String),
    #[error(
        "The metric's pattern {0:?} found {1:?}, which can be read in two ways, for example 1,234 as 1234 or as 1.234. Have \
         the program print it without separators (LC_ALL=C). {2}"
    )]
    Ambiguous(String, String, String),
    #[error(
        "The metric's pattern {0:?} found {1:?}, which is a part of {2:?}. Write the pattern so that it matches the whole \
         number, or with the character that ends it: 'Time: ([0-9.]+) ms'. {3}"
    )]
    Part(String, String, String, String),
    #[error("The metric {0:?} is not in {1} that it printed, and the rest was not kept. {2} {3}")]
    Cut(String, String, &'static str, String),
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
                    |error: regex_lite::Error| MetricError::Syntax(brief(pattern), error.to_string());
                let regex = Regex::new(pattern).map_err(syntax)?;
                match regex.captures_len() - 1 {
                    1 => Ok(Metric::Pattern(regex, wanted.take)),
                    groups => Err(MetricError::Groups(brief(pattern), groups)),
                }
            }
            (None, Some(path), None) => Ok(Metric::Json(path.clone())),
            (None, None, Some(name)) => {
                let found = quantity::find(name).ok_or_else(|| MetricError::NoQuantity(brief(name)))?;
                Ok(Metric::Quantity(found))
            }
            _ => Err(MetricError::Neither),
        }
    }

    /// Return the quantity that is measured in place of a printed number.
    pub fn quantity(&self) -> Option<&'static Quantity> {
        match self {
            Metric::Quantity(found) => Some(found),
            _ => None,
        }
    }

    /// The number in what a run wrote; what is measured is in none. An error is a sentence with the last line of it.
    pub fn find(&self, stdout: &Printed, stderr: &Printed) -> Result<f64, MetricError> {
        let printed = [stdout, stderr];
        let line = || last_line(stdout.end(), stderr.end());
        match self {
            Metric::Quantity(found) => {
                Err(MetricError::NotMeasured(found.name, "it is not looked for in its output".to_owned()))
            }
            Metric::Pattern(regex, take) => {
                let pattern = || brief(regex.as_str());
                for text in printed {
                    match matched(regex, *take, text.searched(*take)) {
                        Some(found) => return in_match(regex, found).map_err(|why| why.with(line())),
                        None if text.lost > 0 => {
                            return Err(MetricError::Cut(pattern(), kept(*take, text), hint(*take), line()))
                        }
                        None => {}
                    }
                }
                Err(MetricError::NoMatch(pattern(), line()))
            }
            Metric::Json(path) => {
                let missing = |why| MetricError::NoPath(shown(path), why, line());
                for text in printed {
                    match document(text) {
                        Some(value) => return number_at(&value, path).map_err(missing),
                        None if text.lost > 0 => {
                            let spec = format!("json:{}", shown(path));
                            return Err(MetricError::Cut(
                                spec,
                                kept(Take::Last, text),
                                hint(Take::Last),
                                line(),
                            ));
                        }
                        None => {}
                    }
                }
                Err(missing("that is not JSON".to_owned()))
            }
        }
    }
}

/// The number of a match. Errors lack the last line of the output.
fn in_match(regex: &Regex, (text, group, whole): Found<'_>) -> Result<f64, MetricError> {
    let pattern = || brief(regex.as_str());
    let shown = |part: &str| part.chars().take(MOST_SHOWN).collect::<String>();
    if goes_on(text, group.range(), whole.range()) {
        let from = text[..group.start()].rfind(char::is_whitespace).map_or(0, |at| at + 1);
        let from = (from..=group.start()).find(|at| text.is_char_boundary(*at)).unwrap_or(group.start());
        let to = text[group.end()..].find(char::is_whitespace).map_or(text.len(), |at| group.end() + at);
        return Err(MetricError::Part(
            pattern(),
            shown(group.as_str()),
            shown(&text[from..to]),
            String::new(),
        ));
    }
    number::printed(group.as_str()).map_err(|why| match why {
        Unusable::Ambiguous => MetricError::Ambiguous(pattern(), shown(group.as_str()), String::new()),
        Unusable::NoNumber => MetricError::NoNumber(pattern(), shown(group.as_str()), String::new()),
    })
}

impl MetricError {
    /// The same with the last line of what was printed.
    fn with(self, line: String) -> Self {
        match self {
            Self::Part(pattern, found, number, _) => Self::Part(pattern, found, number, line),
            Self::Ambiguous(pattern, found, _) => Self::Ambiguous(pattern, found, line),
            Self::NoNumber(pattern, found, _) => Self::NoNumber(pattern, found, line),
            other => other,
        }
    }
}

/// Return a note on the stored part of an output that is cut.
fn kept(take: Take, text: &Printed) -> String {
    let (which, length) = match take {
        Take::First => ("first", text.first.len()),
        Take::Last => ("last", text.last.len()),
    };
    let total = text.first.len() as u64 + text.lost + text.last.len() as u64;
    format!("the {which} {length} of {total} bytes")
}

/// Return the advice on it.
fn hint(take: Take) -> &'static str {
    match take {
        Take::First => "Have it print less, or the number early.",
        Take::Last => "Have it print less, or the number in one of its last lines.",
    }
}

const MOST_SHOWN: usize = 200;

/// A text as a sentence quotes it: of a long one the beginning.
fn brief(text: &str) -> String {
    match text.char_indices().nth(MOST_SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The text printed through one stream: its beginning, and its end where what lies between was not kept.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Printed {
    /// All of it, or the first whole lines.
    pub first: String,
    /// The last whole lines.
    pub last: String,
    /// Bytes between the two.
    pub lost: u64,
}

impl Printed {
    /// All of what was printed.
    pub fn whole(text: &str) -> Self {
        Self { first: text.to_owned(), last: String::new(), lost: 0 }
    }

    /// The end of what was printed.
    pub fn end(&self) -> &str {
        if self.lost > 0 {
            &self.last
        } else {
            &self.first
        }
    }

    /// Where a match counts; elsewhere another one may have been lost.
    fn searched(&self, take: Take) -> &str {
        match take {
            Take::First => &self.first,
            Take::Last => self.end(),
        }
    }
}

/// The group and the whole of a match.
type Found<'a> = (&'a str, regex_lite::Match<'a>, regex_lite::Match<'a>);

fn matched<'a>(regex: &Regex, take: Take, text: &'a str) -> Option<Found<'a>> {
    let mut all = regex.captures_iter(text).filter_map(|found| Some((text, found.get(1)?, found.get(0)?)));
    match take {
        Take::First => all.next(),
        Take::Last => all.last(),
    }
}

/// All that was written as one JSON value, else the last line that is an object or a list.
///
/// Of an output that is cut an indented line is taken for a part of a larger value.
fn document(text: &Printed) -> Option<Value> {
    let holds = |value: &Value| value.is_object() || value.is_array();
    if text.lost == 0 {
        let marked = text.first.trim_start_matches('\u{feff}');
        if let Some(whole) = serde_json::from_str::<Value>(marked).ok().filter(holds) {
            return Some(whole);
        }
    }
    let lines = text.end().lines().rev().filter(|line| text.lost == 0 || line.starts_with(['{', '[']));
    lines.filter_map(|line| serde_json::from_str(line).ok()).find(holds)
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
        Value::String(text) => match number::printed(text) {
            Ok(number) => Some(number),
            Err(Unusable::Ambiguous) => {
                return Err(format!("there is {text:?}, which can be read in two ways"))
            }
            Err(Unusable::NoNumber) => None,
        },
        _ => None,
    };
    number.ok_or_else(|| {
        let mut found = at.to_string();
        found.truncate(found.char_indices().nth(MOST_SHOWN).map_or(found.len(), |(end, _)| end));
        let why = number::unfit(at.as_str().unwrap_or(&found));
        format!("there is {found}, which is {why}")
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

/// Return the last line of the output, for a person to read.
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

    fn whole(text: &str) -> Printed {
        Printed::whole(text)
    }

    fn find(metric: &Metric, stdout: &str, stderr: &str) -> Result<f64, MetricError> {
        metric.find(&whole(stdout), &whole(stderr))
    }

    fn json(path: &str) -> Metric {
        Metric::new(&serde_json::from_str(&format!("{{\"json\":{path}}}")).unwrap()).unwrap()
    }

    #[test]
    fn the_last_match_unless_the_first_is_asked_for() {
        let out = "10 % done, Time: 1.5\nTime: 2.25\n";
        assert_eq!(find(&pattern("Time: ([0-9.]+)", Take::Last), out, ""), Ok(2.25));
        assert_eq!(find(&pattern("Time: ([0-9.]+)", Take::First), out, ""), Ok(1.5));
    }

    #[test]
    fn standard_error_where_standard_output_has_none() {
        let time = pattern("Time: ([0-9.]+)", Take::Last);
        assert_eq!(find(&time, "hello", "Time: 3"), Ok(3.0));
        assert_eq!(find(&time, "Time: 4", "Time: 3"), Ok(4.0));
        assert_eq!(find(&json("[\"p99\"]"), "", "{\"p99\":7}"), Ok(7.0));
    }

    #[test]
    fn numbers_with_separators_are_read_in_one_way_or_refused() {
        let any = pattern("n=(.*)", Take::Last);
        assert_eq!(find(&any, "n=1,234,567.5", ""), Ok(1_234_567.5));
        for bad in ["1,234", "1.234,5", "1_000", "1.234.567"] {
            let error = find(&any, &format!("n={bad}"), "").unwrap_err();
            assert!(matches!(error, MetricError::Ambiguous(..)), "{bad}: {error}");
        }
        for bad in ["0", "-1", "1e99", "3 s", ""] {
            let error = find(&any, &format!("n={bad}"), "").unwrap_err();
            assert!(matches!(error, MetricError::NoNumber(..)), "{bad}: {error}");
        }
        let error = find(&json("[\"a\"]"), "{\"a\": \"1,234\"}", "").unwrap_err().to_string();
        assert!(error.contains("two ways"), "{error}");
    }

    #[test]
    fn a_part_of_a_number_is_never_taken_for_it() {
        for (text, take) in
            [("Time: 1,234 ms", Take::First), ("Time: 1,234.5 ms", Take::Last), ("Time: 1.5e+06", Take::Last)]
        {
            for form in ["([0-9.]+)", "Time: ([0-9.]+)", "([0-9.]+) ms"] {
                let found = find(&pattern(form, take), text, "");
                assert!(!matches!(found, Ok(number) if number != 1234.5), "{form} of {text}: {found:?}");
            }
        }
        let error = find(&pattern("Time: ([0-9.]+)", Take::Last), "\u{b5} Time: 1,234 ms", "").unwrap_err();
        assert!(error.to_string().contains("found \"1\", which is a part of \"1,234\""), "{error}");
        assert_eq!(
            find(&pattern("^a,([0-9]+),", Take::Last), "a,12,345", ""),
            Ok(12.0),
            "a column of a table"
        );
    }

    #[test]
    fn what_was_cut_is_never_taken_for_the_whole() {
        let cut = Printed { first: "n=1\n".into(), last: "n=3\n{\"a\":4}\n  {\"a\":5}\n".into(), lost: 99 };
        let none = whole("");
        assert_eq!(pattern("n=(.)", Take::First).find(&cut, &none), Ok(1.0));
        assert_eq!(pattern("n=(.)", Take::Last).find(&cut, &none), Ok(3.0));
        assert_eq!(
            json("[\"a\"]").find(&cut, &none),
            Ok(4.0),
            "the indented line is a part of another value"
        );
        for metric in [pattern("m=(.)", Take::First), pattern("m=(.)", Take::Last)] {
            // Neither nothing, nor what standard error says.
            let error = metric.find(&cut, &whole("m=7")).unwrap_err();
            assert!(matches!(error, MetricError::Cut(..)), "{error}");
        }
        let error =
            json("[\"a\"]").find(&Printed { last: "  1\n]\n".into(), ..cut }, &none).unwrap_err().to_string();
        assert!(error.contains("the last 6 of 109 bytes") && error.contains("was not kept"), "{error}");
    }

    #[test]
    fn a_long_pattern_is_quoted_by_its_beginning() {
        let wanted = Wanted {
            pattern: Some(format!("({}", "a".repeat(6000))),
            json: None,
            quantity: None,
            take: Take::Last,
        };
        let error = Metric::new(&wanted).unwrap_err().to_string();
        assert!(error.len() < 400 && error.contains("aaa…"), "{error}");
    }

    #[test]
    fn a_path_into_json_by_names_and_places() {
        let out = "{\"jobs\":[{\"lat\":{\"99.0\":5}},{\"lat\":{\"99.0\":\"6.5\"}}]}";
        assert_eq!(find(&json("[\"jobs\",0,\"lat\",\"99.0\"]"), out, ""), Ok(5.0));
        assert_eq!(find(&json("[\"jobs\",-1,\"lat\",\"99.0\"]"), out, ""), Ok(6.5));
        let error = find(&json("[\"jobs\",2,\"lat\"]"), out, "").unwrap_err().to_string();
        assert!(error.contains("there is no jobs[2]"), "{error}");
        let error = find(&json("[\"jobs\"]"), out, "").unwrap_err().to_string();
        assert!(error.contains("not a number above zero"), "{error}");
        assert!(find(&json("[\"jobs\",-9]"), out, "").is_err());
    }

    #[test]
    fn json_after_other_lines_is_the_last_line_of_it() {
        let out = "starting\n{\"p99\":1}\n{\"p99\":2}\n3\ndone\n";
        assert_eq!(find(&json("[\"p99\"]"), out, ""), Ok(2.0));
    }

    #[test]
    fn what_is_missing_is_said_with_the_last_line() {
        let time = pattern("Time: ([0-9.]+)", Take::Last);
        let said = |out, err| find(&time, out, err).unwrap_err().to_string();
        assert!(said("one\ntwo\n\n", "err").ends_with("Last line of its standard output: \"two\"."));
        assert!(said("", "no luck\n").ends_with("Last line of its standard error: \"no luck\"."));
        assert!(said("", "").ends_with("It printed nothing."));
        assert!(find(&json("[\"a\"]"), "x", "").unwrap_err().to_string().contains("not JSON"));
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
        assert!(find(&found, "memory:peak 5", "").is_err());
        let missing = of(r#"{"quantity":"memory:heat"}"#).unwrap_err();
        assert_eq!(missing, MetricError::NoQuantity("memory:heat".to_owned()));
    }
}
