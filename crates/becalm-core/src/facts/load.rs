//! What the machine does at this moment, as raw counters: two readings make a rate.

use serde_json::{json, Map, Value};

use super::read::{Known, Machine, Subject};

/// Load averages, running tasks, pressure, and CPU time since boot in ticks of USER_HZ (1/100 s).
pub fn collect(machine: &Machine) -> Value {
    let mut load = Subject::default();
    let line = machine.line("proc/loadavg");
    load.put("averages", line.clone().and_then(|line| averages(&line)));
    load.put("running_tasks", line.clone().and_then(|line| tasks(&line, 0)));
    load.put("tasks", line.and_then(|line| tasks(&line, 1)));
    load.put("pressure", pressure(machine));
    let stat = machine.text("proc/stat");
    load.put("cpu_ticks", stat.and_then(|text| cpu_ticks(&text)));
    load.finish()
}

/// Averages over 1, 5 and 15 minutes.
fn averages(line: &str) -> Known<Vec<f64>> {
    let numbers: Vec<f64> = line.split_whitespace().take(3).filter_map(|word| word.parse().ok()).collect();
    if numbers.len() == 3 && numbers.iter().all(|number| number.is_finite()) {
        return Ok(numbers);
    }
    Err("/proc/loadavg does not begin with three numbers".to_owned())
}

/// "2/361", the fourth word: running (this process among them) and all tasks.
fn tasks(line: &str, which: usize) -> Known<u64> {
    let word = line.split_whitespace().nth(3).and_then(|word| word.split('/').nth(which)?.parse().ok());
    word.ok_or_else(|| "/proc/loadavg names no tasks".to_owned())
}

/// Pressure stall information: share of the last 10 s (percent) and total (µs) in which some task waited.
fn pressure(machine: &Machine) -> Known<Value> {
    let mut found = Map::new();
    let mut reason = String::new();
    for resource in ["cpu", "io", "memory"] {
        match machine.text(&format!("proc/pressure/{resource}")) {
            Ok(text) => {
                let value = |key: &str| {
                    let some = text.lines().find(|line| line.starts_with("some "))?;
                    some.split_whitespace().find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
                };
                let average =
                    value("avg10").and_then(|word| word.parse::<f64>().ok()).filter(|n| n.is_finite());
                let total = value("total").and_then(|word| word.parse::<u64>().ok());
                found.insert(resource.to_owned(), json!({"some_avg10": average, "some_total_us": total}));
            }
            Err(why) => reason = why,
        }
    }
    if found.is_empty() {
        return Err(reason);
    }
    Ok(found.into())
}

/// Per "cpu…" line of /proc/stat: all ticks, those not idle, and those a hypervisor took. Guest time is part of user.
fn cpu_ticks(stat: &str) -> Known<Value> {
    let mut cpus = Map::new();
    for line in stat.lines().take_while(|line| line.starts_with("cpu")) {
        let mut words = line.split_whitespace();
        let Some(name) = words.next() else { continue };
        let ticks: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
        let [user, nice, system, idle, rest @ ..] = ticks.as_slice() else { continue };
        let later = |index: usize| rest.get(index).copied();
        let waiting = later(0).unwrap_or(0);
        let parts =
            [*user, *nice, *system, later(1).unwrap_or(0), later(2).unwrap_or(0), later(3).unwrap_or(0)];
        let busy = parts.iter().fold(0_u64, |sum, part| sum.saturating_add(*part));
        let total = busy.saturating_add(*idle).saturating_add(waiting);
        cpus.insert(name.to_owned(), json!({"total": total, "busy": busy, "steal": later(3)}));
    }
    if cpus.is_empty() {
        return Err("/proc/stat has no line that begins with cpu".to_owned());
    }
    Ok(cpus.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_kernels_without_steal_say_so() {
        let ticks = cpu_ticks("cpu  10 1 5 100 2 3 4\ncpu0 10 1 5 100 2 3 4\nintr 5\n").unwrap();
        assert_eq!(ticks["cpu"], json!({"total": 125, "busy": 23, "steal": null}));
        let ticks = cpu_ticks("cpu  10 1 5 100 2 3 4 6 0 0\n").unwrap();
        assert_eq!(ticks["cpu"], json!({"total": 131, "busy": 29, "steal": 6}));
        assert!(cpu_ticks("cpu  10 x\n").is_err());
        assert!(cpu_ticks("").is_err());
        let huge = cpu_ticks("cpu 18446744073709551615 18446744073709551615 1 1\n").unwrap();
        assert_eq!(huge["cpu"]["total"], u64::MAX);
    }

    #[test]
    fn load_lines_are_read_or_refused() {
        assert_eq!(averages("0.17 0.33 0.48 2/361 4711").unwrap(), [0.17, 0.33, 0.48]);
        assert_eq!(tasks("0.17 0.33 0.48 2/361 4711", 1).unwrap(), 361);
        for bad in ["", "a b c", "0.1 0.2", "nan 1 2 1/2 3", "0.1 0.2 0.3 x/y"] {
            assert!(averages(bad).is_err() || tasks(bad, 0).is_err(), "{bad}");
        }
    }
}
