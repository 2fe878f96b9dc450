//! The abilities that a machine gives becalm, one row each: whether it has it, the reason if not, and the
//! remedy.
//!
//! Later features read this list instead of trying; `doctor` prints it. A new ability is one row and its
//! probe.

mod evidence;
mod kernel;
mod processor;

use serde_json::{json, Value};

use super::read::Machine;
use evidence::{Evidence, Found};

/// One ability.
struct Row {
    name: &'static str,
    /// The name in a table.
    title: &'static str,
    matters: &'static str,
    way_out: &'static str,
    probe: fn(&Evidence) -> Found,
}

#[rustfmt::skip]
const TABLE: &[Row] = &[
    Row { name: "hardware_counters", title: "hardware counters", probe: processor::hardware_counters,
        matters: "cycles and instructions distinguish a slower processor from more work",
        way_out: "sysctl -w kernel.perf_event_paranoid=2 (root), or run becalm as root" },
    Row { name: "cache_counters", title: "cache-miss counters", probe: processor::cache_counters,
        matters: "shows when neighbours take the shared cache",
        way_out: "sysctl -w kernel.perf_event_paranoid=2 (root), or run becalm as root" },
    Row { name: "frequency_control", title: "frequency control", probe: processor::frequency_control,
        matters: "a frequency that follows the load makes equal runs differ",
        way_out: "run becalm with --sudo" },
    Row { name: "turbo_control", title: "turbo control", probe: processor::turbo_control,
        matters: "turbo depends on temperature and on what other cores do",
        way_out: "run becalm with --sudo" },
    Row { name: "smt_control", title: "SMT control", probe: processor::smt_control,
        matters: "a busy sibling thread takes up to half of a core",
        way_out: "run becalm with --sudo" },
    Row { name: "idle_state_control", title: "idle state control", probe: processor::idle_state_control,
        matters: "waking from a deep idle state takes up to a millisecond",
        way_out: "run becalm with --sudo" },
    Row { name: "cpu_hotplug", title: "CPUs on and off", probe: processor::cpu_hotplug,
        matters: "taking a CPU offline ends all disturbance between it and the others",
        way_out: "run becalm with --sudo" },
    Row { name: "spare_cpu", title: "a second CPU", probe: processor::spare_cpu,
        matters: "with one CPU, becalm and the system run on the same one as the program",
        way_out: "widen the affinity (taskset), or use a machine with more CPUs" },
    Row { name: "invariant_tsc", title: "steady TSC", probe: processor::invariant_tsc,
        matters: "cheap, exact clock readings on every CPU",
        way_out: "" },
    Row { name: "tsc_clocksource", title: "fast clock", probe: processor::tsc_clocksource,
        matters: "another clocksource takes microseconds to read instead of 20 to 30 ns",
        way_out: "boot with tsc=reliable if you know that the counter is steady" },
    Row { name: "virtual_machines", title: "virtual machines", probe: processor::virtual_machines,
        matters: "other kernels and boot parameters can be tried at full speed in a guest",
        way_out: "switch virtualisation on in the firmware, and load the module kvm_intel or kvm_amd" },
    Row { name: "run_queue_wait", title: "run-queue wait", probe: kernel::run_queue_wait,
        matters: "shows how long a run waited for a CPU, exactly and without privilege",
        way_out: "a kernel with CONFIG_SCHED_INFO" },
    Row { name: "scheduler_statistics", title: "scheduler statistics", probe: kernel::scheduler_statistics,
        matters: "the exact mean length of each run queue",
        way_out: "a kernel with CONFIG_SCHEDSTATS" },
    Row { name: "pressure", title: "stall information (PSI)", probe: kernel::pressure,
        matters: "how much of the time something waited for CPU, memory or disk",
        way_out: "boot with psi=1, on a kernel with CONFIG_PSI" },
    Row { name: "delay_accounting", title: "delay accounting", probe: kernel::delay_accounting,
        matters: "how long a run waited for disk, swap and memory",
        way_out: "sysctl -w kernel.task_delayacct=1 (root), on a kernel with CONFIG_TASK_DELAY_ACCT" },
    Row { name: "task_slice", title: "time slice per task", probe: kernel::task_slice,
        matters: "the one scheduler setting that needs no privilege",
        way_out: "Linux 6.12 or later" },
    Row { name: "scheduler_knobs", title: "scheduler knobs", probe: kernel::scheduler_knobs,
        matters: "base slice, migration cost, preemption and features of the scheduler",
        way_out: "" },
    Row { name: "system_settings", title: "system settings", probe: kernel::system_settings,
        matters: "address randomisation, watchdogs and swappiness for the whole machine",
        way_out: "run becalm with --sudo" },
    Row { name: "negative_nice", title: "negative nice", probe: kernel::negative_nice,
        matters: "a larger share of the CPU than the rest of the system",
        way_out: "run becalm with --sudo, or raise the limit \"nice\" in /etc/security/limits.conf" },
    Row { name: "realtime_priority", title: "real-time priority", probe: kernel::realtime_priority,
        matters: "no ordinary program interrupts the measured one",
        way_out: "run becalm with --sudo, or raise the limit \"rtprio\" in /etc/security/limits.conf" },
    Row { name: "cpu_isolation", title: "CPU isolation", probe: kernel::cpu_isolation,
        matters: "keeps all other programs off the measured CPUs",
        way_out: "run becalm with --sudo" },
    Row { name: "own_cgroup", title: "own control group", probe: kernel::own_cgroup,
        matters: "exact accounts of a program with all its descendants",
        way_out: "run becalm as root, or start it with systemd-run --user --scope -p Delegate=yes" },
    Row { name: "drop_caches", title: "dropping file caches", probe: kernel::drop_caches,
        matters: "`--cold` measures a program that has to read its files",
        way_out: "run becalm with --sudo" },
    Row { name: "fixed_addresses", title: "fixed addresses", probe: kernel::fixed_addresses,
        matters: "shows whether memory layout makes runs differ (--set aslr=off)",
        way_out: "allow personality(2) in the sandbox; for Docker: --security-opt seccomp=unconfined" },
    Row { name: "tracing", title: "kernel trace points", probe: kernel::tracing,
        matters: "names what interrupted a slow run",
        way_out: "run becalm as root" },
];

/// The beginning of each remedy that is not needed where `becalm-helper` changes settings as root.
const WITH_SUDO: &str = "run becalm with --sudo";

/// Change the entries to what is available if another process changes settings as root.
pub fn lend_root(entries: &mut Value) {
    for entry in entries.as_array_mut().into_iter().flatten() {
        let rest = entry["way_out"].as_str().and_then(|way_out| way_out.strip_prefix(WITH_SUDO));
        if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(", or ")) {
            (entry["have"], entry["reason"], entry["way_out"]) = (true.into(), Value::Null, Value::Null);
        }
    }
}

/// Return one entry per row: name, title, have (null if that cannot be found out), reason, way_out, matters.
pub fn collect(machine: &Machine, facts: &Value) -> Value {
    let evidence = Evidence { machine, facts };
    let entry = |row: &Row| {
        let (have, reason, way_out) = match (row.probe)(&evidence) {
            Found::Have => (Some(true), None, None),
            Found::Lacks(reason) => (Some(false), Some(reason), Some(row.way_out)),
            Found::Barred(reason, way_out) => (Some(false), Some(reason), Some(way_out)),
            Found::Unknown(reason) => (None, Some(reason), None),
        };
        let way_out = way_out.filter(|text| !text.is_empty());
        json!({
            "name": row.name, "title": row.title, "have": have, "reason": reason, "way_out": way_out,
            "matters": row.matters,
        })
    };
    TABLE.iter().map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_helper_provides_abilities_that_lacked_only_rights() {
        let mut entries = json!([
            {"name": "smt_control", "have": false, "reason": "r", "way_out": "run becalm with --sudo"},
            {"name": "tracing", "have": false, "reason": "r", "way_out": "run becalm as root"},
            {"name": "spare_cpu", "have": null, "reason": "r", "way_out": null},
        ]);
        lend_root(&mut entries);
        assert_eq!(entries[0], json!({"name": "smt_control", "have": true, "reason": null, "way_out": null}));
        assert_eq!((&entries[1]["have"], &entries[2]["have"]), (&json!(false), &Value::Null));
    }

    #[test]
    fn names_are_distinct_and_every_row_has_a_reason() {
        for (i, row) in TABLE.iter().enumerate() {
            assert!(TABLE[..i].iter().all(|other| other.name != row.name), "{}", row.name);
            assert!(!row.title.is_empty() && !row.matters.is_empty(), "{}", row.name);
        }
    }
}
