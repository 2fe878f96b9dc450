//! The governors of the processor's frequency and idle states, or the reason why they cannot be read here.

use std::collections::BTreeSet;

use serde_json::Value;

use super::read::{Known, Machine, Subject};

const CPUFREQ: &str = "sys/devices/system/cpu/cpufreq";
const INTEL_TURBO: &str = "sys/devices/system/cpu/intel_pstate/no_turbo";
const BOOST: &str = "sys/devices/system/cpu/cpufreq/boost";
const CPUIDLE: &str = "sys/devices/system/cpu/cpuidle";

/// Collect driver, governors in use, limits in kHz and turbo.
pub fn collect(machine: &Machine) -> Value {
    let mut frequency = Subject::default();
    let policies = policies(machine);
    let all = |name: &str| values(machine, &policies, name);
    let number = |name: &str, pick: fn(&[u64]) -> Option<u64>| {
        let numbers: Vec<u64> = all(name)?.iter().filter_map(|text| text.parse().ok()).collect();
        pick(&numbers).ok_or_else(|| format!("/{CPUFREQ}/policy*/{name} holds no number"))
    };
    frequency.put("driver", all("scaling_driver").map(joined));
    frequency.put("governor", all("scaling_governor").map(joined));
    frequency.put("governors", all("scaling_available_governors").map(joined));
    frequency.put("preference", all("energy_performance_preference").map(joined));
    frequency.put("min_khz", number("scaling_min_freq", |n| n.iter().min().copied()));
    frequency.put("max_khz", number("scaling_max_freq", |n| n.iter().max().copied()));
    frequency.put("hardware_min_khz", number("cpuinfo_min_freq", |n| n.iter().min().copied()));
    frequency.put("hardware_max_khz", number("cpuinfo_max_freq", |n| n.iter().max().copied()));
    let (path, on) = turbo(machine);
    frequency.put("turbo", on);
    frequency.put("turbo_file", path.map(|path| format!("/{path}")));
    frequency.finish()
}

/// Collect driver, governor and states of cpuidle: leaving a deep state takes time, and delays wake-ups.
pub fn idle(machine: &Machine) -> Value {
    let mut idle = Subject::default();
    idle.put("driver", machine.line(&format!("{CPUIDLE}/current_driver")));
    idle.put("governor", machine.line(&format!("{CPUIDLE}/current_governor")));
    let states = machine.numbered("sys/devices/system/cpu/cpu0/cpuidle", "state").map(|numbers| {
        let name = |n: &u32| machine.line(&format!("sys/devices/system/cpu/cpu0/cpuidle/state{n}/name")).ok();
        numbers.iter().filter_map(name).collect::<Vec<_>>()
    });
    idle.put("states", states);
    idle.finish()
}

/// Return the file that switches turbo, and whether turbo is on. Intel's file is "no_turbo", the other one
/// "boost".
pub fn turbo(machine: &Machine) -> (Known<&'static str>, Known<bool>) {
    for (path, on) in [(INTEL_TURBO, "0"), (BOOST, "1")] {
        match machine.line(path) {
            Ok(value) if value == "0" || value == "1" => return (Ok(path), Ok(value == on)),
            Ok(value) => return (Ok(path), Err(format!("/{path} holds {value:?}, neither 0 nor 1"))),
            Err(_) => {}
        }
    }
    let reason = format!("neither /{INTEL_TURBO} nor /{BOOST} exists");
    (Err(reason.clone()), Err(reason))
}

/// Return the frequency policies, one for each set of CPUs that change together.
pub fn policies(machine: &Machine) -> Known<Vec<u32>> {
    match machine.numbered(CPUFREQ, "policy") {
        Ok(numbers) if !numbers.is_empty() => Ok(numbers),
        Ok(_) => Err(format!("/{CPUFREQ} is empty: no frequency driver is at work")),
        Err(reason) => Err(reason),
    }
}

/// Return the path of one policy's file.
pub fn policy_file(policy: u32, name: &str) -> String {
    format!("{CPUFREQ}/policy{policy}/{name}")
}

fn values(machine: &Machine, policies: &Known<Vec<u32>>, name: &str) -> Known<BTreeSet<String>> {
    let policies = policies.as_ref().map_err(Clone::clone)?;
    let mut found = BTreeSet::new();
    let mut reason = String::new();
    for policy in policies {
        match machine.line(&policy_file(*policy, name)) {
            Ok(value) => {
                found.insert(value);
            }
            Err(why) => reason = why,
        }
    }
    if found.is_empty() {
        return Err(reason);
    }
    Ok(found)
}

fn joined(values: BTreeSet<String>) -> String {
    values.into_iter().collect::<Vec<_>>().join(", ")
}
