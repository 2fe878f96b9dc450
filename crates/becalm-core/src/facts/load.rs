//! The present load of the machine, from the sources of load.

use serde_json::{json, Map, Value};

use super::read::{Known, Machine, Subject};
use crate::source::file::Place;
use crate::source::snapshot::Snapshot;
use crate::source::table::find;
use crate::source::Reader;

/// Collect load averages, running tasks and pressure.
pub fn collect(machine: &Machine) -> Value {
    // Values that take longer (accounts of control groups) are not needed for facts.
    let place = Place::new(&machine.path("")).brief(|_| Vec::new());
    let sources = ["loadavg", "psi"];
    let seen = Reader::new(&place, sources.iter().filter_map(|name| find(name))).snapshot();
    let mut load = Subject::default();
    let averages = ["load1_hundredths", "load5_hundredths", "load15_hundredths"];
    let averages: Known<Vec<u64>> = averages.iter().map(|name| value(&seen, "loadavg", name)).collect();
    load.put(
        "averages",
        averages.map(|of| of.into_iter().map(|each| each as f64 / 100.0).collect::<Vec<_>>()),
    );
    load.put("running_tasks", value(&seen, "loadavg", "running"));
    load.put("tasks", value(&seen, "loadavg", "tasks"));
    load.put("pressure", pressure(&seen));
    load.finish()
}

fn value(seen: &Snapshot, source: &str, name: &str) -> Known<u64> {
    seen.value(source, name).ok_or_else(|| absent(seen, source, &format!("its {name} could not be read")))
}

/// Return why a source has no data, or `otherwise` if it has some.
fn absent(seen: &Snapshot, source: &str, otherwise: &str) -> String {
    let section = seen.section(source).filter(|section| section.absent().is_some());
    let first = section.and_then(|section| section.missing.first()).map(|reason| reason.to_string());
    first.unwrap_or_else(|| format!("{}: {otherwise}", find(source).map_or(source, |row| row.files[0])))
}

/// Return pressure stall information: the share of the last 10 s (percent) and the total (µs) in which some
/// task waited.
fn pressure(seen: &Snapshot) -> Known<Value> {
    let resource = |name: &&str| {
        let number = |what: &str| seen.value("psi", &format!("{name}.some.{what}"));
        let (average, total) = (number("avg10_hundredths"), number("total_us"));
        let shown = json!({"some_avg10": average.map(|share| share as f64 / 100.0), "some_total_us": total});
        (average.is_some() || total.is_some()).then(|| ((*name).to_owned(), shown))
    };
    let found: Map<String, Value> = ["cpu", "io", "memory"].iter().filter_map(resource).collect();
    if found.is_empty() {
        return Err(absent(seen, "psi", "nothing could be read"));
    }
    Ok(found.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// Return the load facts of a machine with these files.
    fn facts(name: &str, files: &[(&str, &str)]) -> Value {
        let root = std::env::temp_dir().join(format!("becalm-facts-load-{name}-{}", std::process::id()));
        fs::create_dir_all(root.join("proc/pressure")).unwrap();
        for (file, text) in files {
            fs::write(root.join("proc").join(file), text).unwrap();
        }
        let found = collect(&Machine::new(&root));
        fs::remove_dir_all(root).unwrap();
        found
    }

    #[test]
    fn load_lines_are_read_or_refused() {
        let good = facts("good", &[("loadavg", "0.17 0.33 0.48 2/361 4711\n")]);
        assert_eq!(good["averages"], json!([0.17, 0.33, 0.48]));
        assert_eq!((&good["running_tasks"], &good["tasks"]), (&json!(2), &json!(361)));
        assert_eq!(good["missing"]["pressure"], "/proc/pressure/cpu does not exist");
        for (index, bad) in ["", "a b c", "0.1 0.2", "nan 1 2 1/2 3", "0.1 0.2 0.3 x/y"].iter().enumerate() {
            let bad = facts(&format!("bad{index}"), &[("loadavg", bad)]);
            assert!(bad["averages"].is_null() || bad["tasks"].is_null(), "{bad}");
        }
    }

    #[test]
    fn pressure_is_reported_for_existing_files() {
        let text = "some avg10=6.41 avg60=6.49 avg300=11.20 total=2173\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n";
        let found = facts("psi", &[("pressure/io", text)]);
        assert_eq!(found["pressure"], json!({"io": {"some_avg10": 6.41, "some_total_us": 2173}}));
    }
}
