//! The processors: model, topology, SMT, and which of them this process may use.

use std::collections::BTreeSet;

use serde_json::Value;

use super::frequency;
use super::read::{cpu_count, field, Known, Machine, Subject};

const CPUS: &str = "sys/devices/system/cpu";

/// Collect the model, the kernel's lists of CPUs, and their topology.
pub fn collect(machine: &Machine) -> Value {
    let mut cpu = Subject::default();
    let info = machine.text("proc/cpuinfo");
    cpu.put("model", model(&info));
    cpu.put("vendor", first_field(&info, &["vendor_id", "CPU implementer"]));
    cpu.put("microcode", first_field(&info, &["microcode"]));
    for name in ["online", "possible", "isolated", "nohz_full"] {
        cpu.put(name, list(machine, name));
    }
    let allowed = machine.field("proc/self/status", "Cpus_allowed_list");
    cpu.put("allowed", allowed.clone());
    cpu.put("count", count(machine, &info));
    cpu.put("allowed_count", allowed.and_then(|text| counted(&text)));
    cpu.put("threads_per_core", siblings(machine));
    cpu.put("cores", distinct(machine, &["thread_siblings_list", "core_cpus_list"]));
    cpu.put("packages", distinct(machine, &["physical_package_id"]));
    cpu.put(
        "numa_nodes",
        machine.numbered("sys/devices/system/node", "node").and_then(some).map(|n| n.len()),
    );
    cpu.put("performance_cpus", machine.line("sys/devices/cpu_core/cpus"));
    cpu.put("efficiency_cpus", machine.line("sys/devices/cpu_atom/cpus"));
    cpu.put("smt_control", machine.line(&format!("{CPUS}/smt/control")));
    cpu.put("smt_active", machine.number::<u8>(&format!("{CPUS}/smt/active")).map(|active| active == 1));
    cpu.put("frequency", Ok(frequency::collect(machine)));
    cpu.put("idle", Ok(frequency::idle(machine)));
    cpu.finish()
}

/// Return the processor's name; its key depends on the architecture: x86, POWER, RISC-V. Arm's kernels print
/// only numbers.
fn model(info: &Known<String>) -> Known<String> {
    let part = |reason| match (first_field(info, &["CPU implementer"]), first_field(info, &["CPU part"])) {
        (Ok(implementer), Ok(part)) => Ok(format!("Arm part {part} of implementer {implementer}")),
        _ => Err(reason),
    };
    first_field(info, &["model name", "cpu", "uarch"]).or_else(part)
}

fn first_field(info: &Known<String>, keys: &[&str]) -> Known<String> {
    let text = info.as_ref().map_err(Clone::clone)?;
    let found = keys.iter().find_map(|key| field(text, key)).filter(|value| !value.is_empty());
    found.map(str::to_owned).ok_or_else(|| format!("/proc/cpuinfo has no line {:?}", keys[0]))
}

/// Return a list of CPUs; an empty one is a fact ("no CPU is isolated").
fn list(machine: &Machine, name: &str) -> Known<String> {
    let path = format!("{CPUS}/{name}");
    let text = machine.text(&path)?;
    match text.trim() {
        // Kernels write this for an empty mask in nohz_full.
        "(null)" => Ok(String::new()),
        text if text.is_empty() || cpu_count(text).is_some() => Ok(text.to_owned()),
        _ => Err(format!("/{path} holds no list of CPUs")),
    }
}

fn counted(list: &str) -> Known<u64> {
    cpu_count(list).ok_or_else(|| "the list of CPUs cannot be read".to_owned())
}

fn count(machine: &Machine, info: &Known<String>) -> Known<u64> {
    if let Ok(count) = machine.line(&format!("{CPUS}/online")).and_then(|text| counted(&text)) {
        return Ok(count);
    }
    let text = info.as_ref().map_err(Clone::clone)?;
    match text.lines().filter(|line| line.starts_with("processor")).count() {
        0 => Err("neither /sys/devices/system/cpu/online nor /proc/cpuinfo shows it".to_owned()),
        count => Ok(count as u64),
    }
}

fn siblings(machine: &Machine) -> Known<u64> {
    let path = |cpu: u32| format!("{CPUS}/cpu{cpu}/topology/thread_siblings_list");
    let cpus = machine.numbered(CPUS, "cpu")?;
    let lists = cpus.iter().filter_map(|&cpu| cpu_count(&machine.line(&path(cpu)).ok()?));
    lists.max().ok_or_else(|| format!("/{} does not exist", path(0)))
}

/// Count the different values of a topology file over all CPUs.
fn distinct(machine: &Machine, names: &[&str]) -> Known<usize> {
    let cpus = machine.numbered(CPUS, "cpu")?;
    let value = |cpu: &u32| {
        names.iter().find_map(|name| machine.line(&format!("{CPUS}/cpu{cpu}/topology/{name}")).ok())
    };
    let values: BTreeSet<String> = cpus.iter().filter_map(value).collect();
    if values.is_empty() {
        return Err(format!("/{CPUS}/cpu*/topology/{} does not exist", names[0]));
    }
    Ok(values.len())
}

fn some(numbers: Vec<u32>) -> Known<Vec<u32>> {
    if numbers.is_empty() {
        return Err("/sys/devices/system/node names no node".to_owned());
    }
    Ok(numbers)
}
