//! What the machine does at this moment, as raw counters: two readings make a rate. The sources of load read them.

use std::collections::BTreeMap;

use serde_json::{json, Map, Value};

use super::read::{Known, Machine, Subject};
use crate::source::file::Place;
use crate::source::snapshot::Snapshot;
use crate::source::table::find;
use crate::source::Reader;

/// Load averages, running tasks, pressure, and CPU time since boot in ticks of USER_HZ (1/100 s).
pub fn collect(machine: &Machine) -> Value {
    // What takes longer (accounts of control groups) is no matter of facts.
    let place = Place::new(&machine.path("")).brief(|_| Vec::new());
    let sources = ["loadavg", "psi", "stat"];
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
    load.put("cpu_ticks", cpu_ticks(&seen));
    load.finish()
}

fn value(seen: &Snapshot, source: &str, name: &str) -> Known<u64> {
    seen.value(source, name).ok_or_else(|| absent(seen, source, &format!("its {name} could not be read")))
}

/// Why a source says nothing, or `otherwise` when it says something.
fn absent(seen: &Snapshot, source: &str, otherwise: &str) -> String {
    let section = seen.section(source).filter(|section| section.absent().is_some());
    let first = section.and_then(|section| section.missing.first()).map(|reason| reason.to_string());
    first.unwrap_or_else(|| format!("{}: {otherwise}", find(source).map_or(source, |row| row.files[0])))
}

/// Pressure stall information: share of the last 10 s (percent) and total (µs) in which some task waited.
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

/// Per CPU, and "cpu" for all: all ticks, those not idle, and those a hypervisor took. Guest time is part of user.
fn cpu_ticks(seen: &Snapshot) -> Known<Value> {
    let section = seen.section("stat").ok_or_else(|| absent(seen, "stat", ""))?;
    // In one pass: a large machine has tens of thousands of numbers.
    let mut rows: Vec<(String, BTreeMap<String, u64>)> = Vec::new();
    for (name, _, value) in seen.named(section) {
        let Some(((cpu, what), value)) = name.rsplit_once('.').zip(value) else { continue };
        match rows.last_mut().filter(|(row, _)| row == cpu) {
            Some((_, ticks)) => drop(ticks.insert(what.to_owned(), value)),
            None => rows.push((cpu.to_owned(), BTreeMap::from([(what.to_owned(), value)]))),
        }
    }
    let whole = rows.into_iter().filter_map(|(cpu, ticks)| Some((cpu, total_busy_steal(&ticks)?)));
    let cpus: Map<String, Value> = whole.collect();
    if cpus.is_empty() {
        return Err(absent(seen, "stat", "it has no line that begins with cpu"));
    }
    Ok(cpus.into())
}

/// Of one CPU, where the first four times are known: older kernels lack some of the others.
fn total_busy_steal(ticks: &BTreeMap<String, u64>) -> Option<Value> {
    let known = |what: &str| ticks.get(what).copied();
    let sum = |parts: &[&str]| {
        parts.iter().fold(0_u64, |sum, part| sum.saturating_add(known(part).unwrap_or_default()))
    };
    ["user", "nice", "system", "idle"].map(known).into_iter().collect::<Option<Vec<_>>>()?;
    let busy = sum(&["user", "nice", "system", "irq", "softirq", "steal"]);
    let total = busy.saturating_add(sum(&["idle", "iowait"]));
    Some(json!({"total": total, "busy": busy, "steal": known("steal")}))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// What is said of these files of a machine.
    fn said(name: &str, files: &[(&str, &str)]) -> Value {
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
    fn old_kernels_without_steal_say_so() {
        let old = said("old", &[("stat", "cpu  10 1 5 100 2 3 4\ncpu0 10 1 5 100 2 3 4\nintr 5\n")]);
        assert_eq!(old["cpu_ticks"]["cpu0"], json!({"total": 125, "busy": 23, "steal": null}));
        let new = said("new", &[("stat", "cpu  10 1 5 100 2 3 4 6 0 0\n")]);
        assert_eq!(new["cpu_ticks"]["cpu"], json!({"total": 131, "busy": 29, "steal": 6}));
        for (name, text) in [("garbage", "cpu  10 x\n"), ("empty", "")] {
            let bad = said(name, &[("stat", text)]);
            assert!(bad["cpu_ticks"].is_null() && bad["missing"]["cpu_ticks"].is_string(), "{bad}");
        }
    }

    #[test]
    fn load_lines_are_read_or_refused() {
        let good = said("good", &[("loadavg", "0.17 0.33 0.48 2/361 4711\n")]);
        assert_eq!(good["averages"], json!([0.17, 0.33, 0.48]));
        assert_eq!((&good["running_tasks"], &good["tasks"]), (&json!(2), &json!(361)));
        assert_eq!(good["missing"]["pressure"], "/proc/pressure/cpu does not exist");
        for (index, bad) in ["", "a b c", "0.1 0.2", "nan 1 2 1/2 3", "0.1 0.2 0.3 x/y"].iter().enumerate() {
            let bad = said(&format!("bad{index}"), &[("loadavg", bad)]);
            assert!(bad["averages"].is_null() || bad["tasks"].is_null(), "{bad}");
        }
    }

    #[test]
    fn pressure_is_told_of_what_there_is() {
        let text = "some avg10=6.41 avg60=6.49 avg300=11.20 total=2173\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n";
        let found = said("psi", &[("pressure/io", text)]);
        assert_eq!(found["pressure"], json!({"io": {"some_avg10": 6.41, "some_total_us": 2173}}));
    }
}
