//! Numbers that programs print, found in the output of a run by a pattern with one group, or by a path into
//! JSON; or numbers that are measured (`quantity`).
//!
//! Standard output is searched first, then standard error. The middle of long outputs is not stored: a number
//! that may be in it is not found, and never another one in its place. A pattern is one of the crate
//! `regex-lite`: the usual syntax without look-around and back-references, and linear in time, so that no
//! pattern and no output can delay the agent for long.

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
    /// The sum of all matches.
    Sum,
}

/// The only stream that is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stream {
    Stdout,
    Stderr,
}

/// A request for a number: exactly one of `pattern`, `json` and `quantity`.
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
    /// The stream, for a pattern; without it standard output is searched first, then standard error.
    #[serde(default)]
    pub stream: Option<Stream>,
}

/// A step into JSON: a member by its name, or an element by its place, from the end if negative.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Key {
    Element(i64),
    Member(String),
}

/// The reason why a number cannot be searched for, or was not found.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum MetricError {
    #[error("A metric has a pattern, a path into JSON, or the name of a quantity, and only one of them.")]
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
    #[error("The metric {0:?} is not in {1} that it printed, and the rest was not stored. {2} {3}")]
    Cut(String, String, &'static str, String),
    #[error("The metric json:{0} is not in what it printed: {1}. {2}")]
    NoPath(String, String, String),
    #[error("There is no quantity {0:?}.")]
    NoQuantity(String),
    #[error("The metric {0} is not known of this run: {1}.")]
    NotMeasured(&'static str, String),
}

/// A number that is ready to be searched for.
#[derive(Debug)]
pub enum Metric {
    Pattern(Regex, Take, Option<Stream>),
    Json(Vec<Key>),
    Quantity(&'static Quantity),
}

impl Metric {
    /// Parse a request.
    pub fn new(wanted: &Wanted) -> Result<Self, MetricError> {
        match (&wanted.pattern, &wanted.json, &wanted.quantity) {
            (Some(pattern), None, None) => {
                let syntax =
                    |error: regex_lite::Error| MetricError::Syntax(brief(pattern), error.to_string());
                let regex = Regex::new(pattern).map_err(syntax)?;
                match regex.captures_len() - 1 {
                    1 => Ok(Metric::Pattern(regex, wanted.take, wanted.stream)),
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

    /// Return the number in the output of a run, unless it is measured. An error is a sentence with the last
    /// line of the output.
    pub fn find(&self, stdout: &Printed, stderr: &Printed) -> Result<f64, MetricError> {
        let printed = [stdout, stderr];
        let line = || last_line(stdout.end(), stderr.end());
        match self {
            Metric::Quantity(found) => {
                Err(MetricError::NotMeasured(found.name, "it is not looked for in its output".to_owned()))
            }
            Metric::Pattern(regex, take, stream) => {
                let pattern = || brief(regex.as_str());
                let searched = match stream {
                    None => &printed[..],
                    Some(Stream::Stdout) => &printed[..1],
                    Some(Stream::Stderr) => &printed[1..],
                };
                for text in searched {
                    let found = match take {
                        Take::Sum if text.lost == 0 => sum(regex, &text.first).transpose(),
                        Take::Sum => None,
                        _ => matched(regex, *take, text.searched(*take)).map(|found| in_match(regex, found)),
                    };
                    match found {
                        Some(number) => return number.map_err(|why| why.with(line())),
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

/// Return the sum of the numbers of all matches; None without a match. Errors lack the last line of the
/// output.
fn sum(regex: &Regex, text: &str) -> Result<Option<f64>, MetricError> {
    let matches = regex.captures_iter(text).filter_map(|found| Some((text, found.get(1)?, found.get(0)?)));
    matches
        .map(|found| in_match(regex, found))
        .try_fold(None, |total, number| Ok(Some(total.unwrap_or(0.0) + number?)))
}

/// Return the number of a match. Errors lack the last line of the output.
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
    /// Add the last line of the output.
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
        Take::Sum => ("first and last", text.first.len() + text.last.len()),
        Take::Last => ("last", text.last.len()),
    };
    let total = text.first.len() as u64 + text.lost + text.last.len() as u64;
    format!("the {which} {length} of {total} bytes")
}

/// Return the advice for such an output.
fn hint(take: Take) -> &'static str {
    match take {
        Take::First => "Have it print less, or the number early.",
        Take::Sum => "Have it print less: a part of the sum may be missing.",
        Take::Last => "Have it print less, or the number in one of its last lines.",
    }
}

const MOST_SHOWN: usize = 200;

/// Return a text as a sentence quotes it: if it is long only the beginning.
fn brief(text: &str) -> String {
    match text.char_indices().nth(MOST_SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The text printed through one stream: its beginning, and its end if the middle was not stored.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Printed {
    /// All of it, or the first whole lines.
    pub first: String,
    /// The last whole lines.
    pub last: String,
    /// The number of bytes between the two.
    pub lost: u64,
}

impl Printed {
    /// Return all of a text that was printed.
    pub fn whole(text: &str) -> Self {
        Self { first: text.to_owned(), last: String::new(), lost: 0 }
    }

    /// Return the end of the text that was printed.
    pub fn end(&self) -> &str {
        if self.lost > 0 {
            &self.last
        } else {
            &self.first
        }
    }

    /// Return the part in which a match counts; before it another match may have been lost.
    fn searched(&self, take: Take) -> &str {
        match take {
            Take::First => &self.first,
            Take::Last | Take::Sum => self.end(),
        }
    }
}

/// The group and the whole of a match.
type Found<'a> = (&'a str, regex_lite::Match<'a>, regex_lite::Match<'a>);

fn matched<'a>(regex: &Regex, take: Take, text: &'a str) -> Option<Found<'a>> {
    let mut all = regex.captures_iter(text).filter_map(|found| Some((text, found.get(1)?, found.get(0)?)));
    match take {
        Take::First => all.next(),
        Take::Last | Take::Sum => all.last(),
    }
}

/// Return the whole output as one JSON value, else its last line that is an object or a list.
///
/// In an output that is cut, an indented line counts as a part of a larger value.
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

/// Return the last line of the output, for the user.
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
#[path = "metric_tests.rs"]
mod tests;
