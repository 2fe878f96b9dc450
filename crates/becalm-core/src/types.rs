//! The data of the protocol: strings that may not be UTF-8, workloads, steps, outcomes and the row of a run.
//!
//! `docs/reference/protocol.md` describes them; the agent reads and writes them, `exec` works with them.

use std::collections::BTreeMap;
use std::ffi::CString;

use serde::Deserialize;

use crate::metric::Wanted;

/// A string of the operating system: plain when it is UTF-8, `{"hex": "…"}` when it is not.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Text {
    Plain(String),
    Hex(HexText),
}

/// The bytes of a string in hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HexText {
    hex: String,
}

/// The reason why a string cannot be passed to the kernel.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum TextError {
    #[error("{0:?} holds a zero byte, which no argument, path or environment value can hold")]
    Zero(String),
    #[error("{0:?} is not a string of hexadecimal digit pairs")]
    Hex(String),
    #[error("{0:?} cannot name an environment variable: a name has at least one character, and no '='")]
    Name(String),
}

impl Text {
    /// Return the bytes of the string.
    pub fn bytes(&self) -> Result<Vec<u8>, TextError> {
        match self {
            Text::Plain(text) => Ok(text.clone().into_bytes()),
            Text::Hex(HexText { hex }) => unhex(hex).ok_or_else(|| TextError::Hex(hex.clone())),
        }
    }

    /// Return the string in the kernel's form.
    pub fn c_string(&self) -> Result<CString, TextError> {
        CString::new(self.bytes()?).map_err(|_| TextError::Zero(self.shown()))
    }

    /// Return the string for a message.
    pub fn shown(&self) -> String {
        match self.bytes() {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(_) => "?".to_owned(),
        }
    }
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    let digit = |byte: u8| (byte as char).to_digit(16);
    digits.chunks_exact(2).map(|pair| Some((digit(pair[0])? * 16 + digit(pair[1])?) as u8)).collect()
}

/// The destination of a workload's standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Output {
    #[default]
    Discard,
    Inherit,
    Keep,
}

/// A workload to run. `expect` has the exit codes that count as success, None: any.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    #[serde(default)]
    pub argv: Vec<Text>,
    #[serde(default)]
    pub directory: Option<Text>,
    #[serde(default)]
    pub environment: BTreeMap<String, Text>,
    #[serde(default)]
    pub input: Option<Text>,
    #[serde(default)]
    pub prepare: Option<Vec<Text>>,
    /// The command that runs once, before the first run.
    #[serde(default)]
    pub setup: Option<Vec<Text>>,
    #[serde(default)]
    pub cleanup: Option<Vec<Text>>,
    #[serde(default)]
    pub timeout_ns: Option<u64>,
    #[serde(default = "only_zero")]
    pub expect: Option<Vec<i32>>,
    #[serde(default)]
    pub output: Output,
    #[serde(default)]
    pub cold: bool,
    #[serde(default)]
    pub kernel: Option<Kernel>,
    #[serde(default)]
    pub iterations: u64,
    /// The number of copies that are started at once and count as one run.
    #[serde(default = "one")]
    pub copies: u32,
    /// The numbers that it prints; a run that does not print all of them has failed.
    #[serde(default)]
    pub metrics: Vec<Wanted>,
    /// The neighbours that run from before its start to after its end.
    #[serde(default)]
    pub alongside: Vec<Neighbour>,
}

/// A program that is kept running next to another one.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Neighbour {
    pub workload: Workload,
    /// The CPUs that it may run on, as a list: `1`, `2-3`. None: all that any program may use.
    #[serde(default)]
    pub cpus: Option<String>,
}

fn one() -> u32 {
    1
}

fn only_zero() -> Option<Vec<i32>> {
    Some(vec![0])
}

/// A program built into the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kernel {
    /// Dependent additions, one cycle each, without memory.
    Add,
    /// The sum of a table that no cache holds, read from beginning to end, which depends on the bandwidth of
    /// the memory.
    Read,
}

/// One requested execution: workload, settings (both by index), bytes of padding, round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Step(pub u32, pub u32, pub u32, pub i64);

/// The start of a step: the only CPU that it may run on (-1: its settings decide), and whether it starts at
/// the same time as the next step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Start(pub i32, pub bool);

impl Start {
    /// Return the only CPU.
    pub fn cpu(self) -> Option<u32> {
        u32::try_from(self.0).ok()
    }
}

/// The end of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Ok,
    Failed,
    Timeout,
    Aborted,
    Refused,
}

impl Outcome {
    /// Return this outcome, or that of another program if this one is ok.
    pub fn or(self, other: Self) -> Self {
        if self == Outcome::Ok {
            other
        } else {
            self
        }
    }

    /// Return the word in the row.
    pub fn word(self) -> &'static str {
        match self {
            Outcome::Ok => "ok",
            Outcome::Failed => "failed",
            Outcome::Timeout => "timeout",
            Outcome::Aborted => "aborted",
            Outcome::Refused => "refused",
        }
    }
}

/// The kernel's counts for one finished process and the descendants it waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    pub user_ns: i64,
    pub system_ns: i64,
    pub max_rss_bytes: i64,
    pub minor_faults: i64,
    pub major_faults: i64,
    pub voluntary: i64,
    pub involuntary: i64,
}

/// One measured execution. `usage`, `wait_ns` and `metrics` are None if unknown, never zero.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub seq: u64,
    pub step: Step,
    pub started_ns: i64,
    pub wall_ns: i64,
    pub usage: Option<Usage>,
    pub wait_ns: Option<i64>,
    pub outcome: Outcome,
    pub status: Option<i32>,
    pub left_behind: u32,
    pub metrics: Option<Vec<f64>>,
    pub cpu: Option<u32>,
    pub apart_ns: Option<i64>,
}

impl Row {
    /// Append the row as a JSON array in the order of `run_columns`.
    pub fn write(&self, out: &mut Vec<u8>) {
        let Step(workload, settings, padding, round) = self.step;
        let head = [
            self.seq as i64,
            i64::from(workload),
            i64::from(settings),
            round,
            i64::from(padding),
            self.started_ns,
            self.wall_ns,
        ];
        out.push(b'[');
        for value in head {
            number(out, Some(value));
            out.push(b',');
        }
        let usage = self.usage.as_ref();
        let tail = [
            usage.map(|u| u.user_ns),
            usage.map(|u| u.system_ns),
            self.wait_ns,
            usage.map(|u| u.max_rss_bytes),
            usage.map(|u| u.minor_faults),
            usage.map(|u| u.major_faults),
            usage.map(|u| u.voluntary),
            usage.map(|u| u.involuntary),
        ];
        for value in tail {
            number(out, value);
            out.push(b',');
        }
        out.push(b'"');
        out.extend_from_slice(self.outcome.word().as_bytes());
        out.extend_from_slice(b"\",");
        number(out, self.status.map(i64::from));
        out.push(b',');
        number(out, Some(i64::from(self.left_behind)));
        out.push(b',');
        match &self.metrics {
            // The number is finite, so it can be written.
            Some(found) => drop(serde_json::to_writer(&mut *out, found)),
            None => out.extend_from_slice(b"null"),
        }
        for value in [self.cpu.map(i64::from), self.apart_ns] {
            out.push(b',');
            number(out, value);
        }
        out.push(b']');
    }
}

fn number(out: &mut Vec<u8>, value: Option<i64>) {
    use std::io::Write;
    match value {
        // Writing to a Vec cannot fail.
        Some(value) => drop(write!(out, "{value}")),
        None => out.extend_from_slice(b"null"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run_columns;

    #[test]
    fn text_in_both_forms() {
        let plain: Text = serde_json::from_str("\"a b\"").unwrap();
        assert_eq!(plain.bytes().unwrap(), b"a b");
        let hex: Text = serde_json::from_str("{\"hex\":\"66fF6f\"}").unwrap();
        assert_eq!(hex.bytes().unwrap(), [0x66, 0xff, 0x6f]);
    }

    #[test]
    fn text_that_no_kernel_takes() {
        assert!(Text::Plain("a\0b".into()).c_string().is_err());
        for bad in ["6", "zz", "é6"] {
            assert!(Text::Hex(HexText { hex: bad.into() }).bytes().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_row_is_json_in_the_order_of_the_columns() {
        let row = Row {
            seq: 7,
            step: Step(1, 0, 16, -1),
            started_ns: 5,
            wall_ns: 6,
            usage: None,
            wait_ns: Some(9),
            outcome: Outcome::Timeout,
            status: Some(-9),
            left_behind: 2,
            metrics: Some(vec![0.1, 3.0]),
            cpu: Some(1),
            apart_ns: None,
        };
        let mut out = Vec::new();
        row.write(&mut out);
        let value: serde_json::Value = serde_json::from_slice(&out).unwrap();
        let list = value.as_array().unwrap();
        assert_eq!(list.len(), run_columns::WIDTH);
        let at = |name: &str| &list[run_columns::NAMES.iter().position(|c| *c == name).unwrap()];
        assert_eq!(at("round"), -1);
        assert_eq!(at("wait_ns"), 9);
        assert!(at("user_ns").is_null());
        assert_eq!(at("outcome"), "timeout");
        assert_eq!(at("left_behind"), 2);
        assert_eq!(*at("metrics"), serde_json::json!([0.1, 3.0]));
        assert_eq!(at("cpu"), 1);
        assert!(at("apart_ns").is_null());
    }

    #[test]
    fn a_misspelt_field_is_refused() {
        assert!(serde_json::from_str::<Workload>("{\"argv\":[\"x\"],\"tiemout_ns\":3}").is_err());
    }

    #[test]
    fn the_default_expected_exit_code_is_zero() {
        let of = |text: &str| serde_json::from_str::<Workload>(text).unwrap().expect;
        assert_eq!(of("{}"), Some(vec![0]));
        assert_eq!(of("{\"expect\":null}"), None);
    }
}
