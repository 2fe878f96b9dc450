//! `becalm-agent kernel NAME` runs a built-in kernel (`becalm_core::kernel`) and prints its result as one
//! line of JSON.
//!
//! The agent starts it like any other program, as `/proc/self/exe kernel …`, so that it exists on every host.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use becalm_core::facts::read::Machine;
use becalm_core::kernel::given::Given;
use becalm_core::kernel::marks::Marks;
use becalm_core::kernel::table::{row, TABLE};
use becalm_core::kernel::{room, Row, Unit};
use serde_json::{json, Map, Value};

const USAGE: &str = "becalm-agent kernel NAME [--PARAMETER NUMBER] …";

/// The divisor of the memory that gives the limit for default sizes.
const SHARE: u64 = 4;

/// A kernel with its parameters.
#[derive(Debug)]
pub struct Asked {
    row: &'static Row,
    values: Vec<(String, u64)>,
    marks: Option<PathBuf>,
}

impl PartialEq for Asked {
    fn eq(&self, other: &Self) -> bool {
        self.row.name == other.row.name && (&self.values, &self.marks) == (&other.values, &other.marks)
    }
}

/// Parse the arguments after `kernel`.
///
/// # Errors
/// Returns a sentence about invalid arguments.
pub fn parse(mut arguments: impl Iterator<Item = OsString>) -> Result<Asked, String> {
    let name = arguments.next().and_then(|name| name.into_string().ok()).unwrap_or_default();
    let known = || TABLE.iter().map(|row| row.name).collect::<Vec<_>>().join(", ");
    let row = row(&name).ok_or_else(|| format!("there is no kernel {name:?}, but {}; {USAGE}.", known()))?;
    let (mut values, mut marks) = (Vec::new(), None);
    let marked = row.parameters.iter().any(|each| each.unit == Unit::File);
    while let Some(name) = arguments.next() {
        if marked && name == "--marks" {
            marks = Some(PathBuf::from(
                arguments.next().ok_or_else(|| format!("--marks takes a file; {USAGE}."))?,
            ));
            continue;
        }
        let value = arguments.next().and_then(|value| value.to_str()?.parse::<u64>().ok());
        let value = value.ok_or_else(|| format!("{} takes a whole number; {USAGE}.", name.display()))?;
        let parameter = name.to_str().and_then(|name| name.strip_prefix("--"));
        let parameter = parameter.ok_or_else(|| format!("{} is not an option; {USAGE}.", name.display()))?;
        values.push((parameter.to_owned(), value));
    }
    // Parameters are checked here for any machine; the sizes for this one follow when the kernel runs.
    Given::of(row, &values, room::UNKNOWN_CACHE, u64::MAX)?;
    Ok(Asked { row, values, marks })
}

/// Run the kernel and print its result.
pub fn run(asked: &Asked) -> ExitCode {
    match served(asked) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(sentence) => {
            eprintln!("becalm-agent: {sentence}");
            ExitCode::from(3)
        }
    }
}

fn served(asked: &Asked) -> Result<Value, String> {
    let machine = Machine::new(Path::new("/"));
    let available = room::available(&machine);
    let cache = room::last_level(&machine, room::here());
    let limit = available.map_or(u64::MAX, |bytes| bytes / SHARE);
    let mut given = Given::of(asked.row, &asked.values, cache.unwrap_or(room::UNKNOWN_CACHE), limit)?;
    room::refuse(asked.row.name, (asked.row.memory)(&given), available)?;
    if let Some(path) = &asked.marks {
        let opened = Marks::into_file(path);
        given.marks =
            opened.map_err(|error| format!("Marks cannot be written to {}: {error}.", path.display()))?;
    }
    let done = (asked.row.run)(&given);
    if given.marks.failed() {
        return Err("Marks could not be written; is the disk full, or standard error closed?".to_owned());
    }
    let values: Map<String, Value> =
        given.all().map(|(name, value)| (name.to_owned(), value.into())).collect();
    Ok(json!({
        "kernel": asked.row.name,
        "parameters": values,
        "last_level_cache_bytes": cache,
        "seconds": done.work_ns as f64 / 1e9,
        "checksum": format!("{:016x}", done.checksum),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &[&str]) -> Result<Asked, String> {
        parse(words.iter().map(OsString::from))
    }

    #[test]
    fn valid_arguments_are_parsed_and_others_rejected() {
        let asked = of(&["chase", "--size", "8192", "--work", "10"]).unwrap();
        assert_eq!(asked.values, [("size".to_owned(), 8192), ("work".to_owned(), 10)]);
        for (bad, words) in [
            (&["chaze"][..], "there is no kernel \"chaze\", but chase, triad"),
            (&[], "there is no kernel"),
            (&["chase", "--size"], "--size takes a whole number"),
            (&["chase", "--size", "1M"], "--size takes a whole number"),
            (&["chase", "size", "8192"], "size is not an option"),
            (&["chase", "--step", "8"], "no parameter \"step\""),
            (&["float", "--work", "0"], "cannot be 0"),
        ] {
            let message = of(bad).unwrap_err();
            assert!(message.contains(words), "{message}");
        }
    }

    #[test]
    fn the_result_is_printed_and_a_size_beyond_the_memory_rejected() {
        let answer = served(&of(&["stride", "--size", "4096", "--work", "32"]).unwrap()).unwrap();
        assert_eq!(answer["checksum"], format!("{:016x}", 2 * (0..16).map(|index| index * 32).sum::<u64>()));
        assert_eq!(answer["parameters"], json!({"size": 4096, "step": 256, "work": 32}));
        let message = served(&of(&["triad", "--size", "4503599627370496"]).unwrap()).unwrap_err();
        assert!(message.contains("Ask for a smaller size."), "{message}");
    }
}
