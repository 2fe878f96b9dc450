//! Programs that change the same settings as becalm, or that load the machine while it measures.

use std::collections::BTreeMap;

use becalm_settings::table::is_script;
use serde_json::{json, Value};

use super::read::{Machine, Subject};

/// A program known to interfere.
struct Service {
    /// The name of its process; the kernel stores the first 15 bytes (proc(5), comm).
    process: &'static str,
    /// Whether it `governs` settings or `loads` the machine.
    role: &'static str,
    matters: &'static str,
    way_out: &'static str,
}

const STOP: &str = "stop it while you measure: systemctl stop";
const WAIT: &str = "wait until it is done";

/// The known programs. The unit of tuned itself names cpupower, auto-cpufreq, tlp and power-profiles-daemon
/// as its rivals (Conflicts=).
const TABLE: &[Service] = &[
    governs("tuned", "rewrites frequency, scheduler, disk and memory settings when it changes profile"),
    governs("power-profiles-daemon", "changes frequency driver and turbo with the power profile"),
    governs("auto-cpufreq", "changes governor and turbo every few seconds, by load and battery"),
    governs("tlp", "changes governor, turbo and disk settings when the power supply changes"),
    governs("tlp-pd", "changes governor and turbo with the power profile"),
    governs("laptop_mode", "changes governor and disk settings when the power supply changes"),
    governs("system76-power", "changes governor and turbo with the power profile"),
    governs("cpupower", "is setting the frequency governor"),
    governs("cpufreqd", "changes the frequency governor by rules"),
    governs("thermald", "lowers the frequency limits when the machine is warm"),
    governs("irqbalance", "moves interrupts between CPUs every ten seconds, onto the measured one too"),
    governs("numad", "moves processes and their memory between NUMA nodes"),
    governs("ksmtuned", "switches the merging of equal pages on and off"),
    governs("gamemoded", "changes governor and priorities when a game starts"),
    governs("ananicy", "changes nice and I/O priority of programs by their name"),
    governs("ananicy-cpp", "changes nice and I/O priority of programs by their name"),
    governs("scx_loader", "replaces the scheduler"),
    loads("hyperfine"),
    loads("poop"),
    loads("multitime"),
    loads("perflock"),
    loads("rebench"),
    loads("pyperf"),
    loads("phoronix-test-suite"),
    loads("becalm-agent"),
    loads("sysbench"),
    loads("stress-ng"),
    loads("stress"),
    loads("fio"),
    loads("hackbench"),
    loads("cyclictest"),
    loads("perf"),
];

const fn governs(process: &'static str, matters: &'static str) -> Service {
    Service { process, role: "governs", matters, way_out: STOP }
}

const fn loads(process: &'static str) -> Service {
    Service {
        process,
        role: "loads",
        matters: "measures or loads this machine at the same time: each disturbs the other",
        way_out: WAIT,
    }
}

/// Collect the services that run now, one entry per name, with their process ids.
pub fn collect(machine: &Machine) -> Value {
    let mut services = Subject::default();
    let all = machine.names("proc").map(|names| names.iter().filter_map(|name| name.parse().ok()).collect());
    let complete = all.clone().and_then(|pids: Vec<u32>| {
        if pids.contains(&1) {
            return Ok(true);
        }
        Err("/proc does not show process 1: processes of others are hidden, so services may run unseen"
            .to_owned())
    });
    services.put("running", all.map(|pids| running(machine, &pids)));
    services.put("complete", complete);
    services.finish()
}

/// Return the running services that rewrite settings: name and process id.
pub fn rivals(machine: &Machine) -> Vec<(String, i32)> {
    let pids: Vec<u32> =
        machine.names("proc").unwrap_or_default().iter().filter_map(|name| name.parse().ok()).collect();
    let governing = known(machine, &pids).into_iter().filter(|(row, _)| TABLE[*row].role == "governs");
    governing.map(|(row, pid)| (TABLE[row].process.to_owned(), pid as i32)).collect()
}

fn running(machine: &Machine, pids: &[u32]) -> Vec<Value> {
    let mut found: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
    for (row, pid) in known(machine, pids) {
        found.entry(row).or_default().push(pid);
    }
    let entry = |(row, pids): (usize, Vec<u32>)| {
        let service = &TABLE[row];
        let way_out = match service.way_out {
            STOP => format!("{STOP} {}", service.process),
            other => other.to_owned(),
        };
        json!({"name": service.process, "role": service.role, "pids": pids, "matters": service.matters, "way_out": way_out})
    };
    found.into_iter().map(entry).collect()
}

/// Return the processes of the table, by row and process id, except this process, its ancestors and its
/// descendants.
fn known(machine: &Machine, pids: &[u32]) -> Vec<(usize, u32)> {
    let own = own_line(machine);
    let row = |pid: u32| {
        // A process may end between listing and reading; then it is left out.
        let comm = machine.line(&format!("proc/{pid}/comm")).ok()?;
        let row = TABLE.iter().position(|service| is(machine, pid, &comm, service.process))?;
        (!is_own(machine, &own, pid)).then_some((row, pid))
    };
    pids.iter().filter_map(|pid| row(*pid)).collect()
}

fn is(machine: &Machine, pid: u32, comm: &str, name: &str) -> bool {
    const COMM_LENGTH: usize = 15;
    if comm == name.get(..COMM_LENGTH).unwrap_or(name) {
        return true;
    }
    // Scripts have the name of their interpreter, so their command line is checked.
    comm.starts_with("python")
        && machine.bytes(&format!("proc/{pid}/cmdline")).is_ok_and(|line| is_script(&line, name))
}

/// Return this process and its ancestors, nearest first; nothing if /proc does not list them. The number is
/// the one in this /proc, which in a container may differ from the one that this process sees itself.
fn own_line(machine: &Machine) -> Vec<u32> {
    let own = machine.field("proc/self/status", "Pid").ok().and_then(|pid| pid.parse().ok());
    own.map(|pid| line(machine, pid)).unwrap_or_default()
}

/// Return a process and its ancestors, nearest first.
fn line(machine: &Machine, pid: u32) -> Vec<u32> {
    let mut line = vec![pid];
    while let Some(parent) = line.last().and_then(|pid| parent(machine, *pid)) {
        // When they are read one by one while processes come and go, the numbers need not form a tree.
        if line.contains(&parent) {
            break;
        }
        line.push(parent);
    }
    line
}

fn parent(machine: &Machine, pid: u32) -> Option<u32> {
    let parent = machine.field(&format!("proc/{pid}/status"), "PPid").ok()?.parse().ok()?;
    (parent != 0).then_some(parent)
}

/// Return whether a process is an ancestor of this one, or descends from it.
fn is_own(machine: &Machine, own: &[u32], pid: u32) -> bool {
    own.contains(&pid) || own.first().is_some_and(|own| line(machine, pid).contains(own))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn scripts_are_known_by_file_and_module() {
        assert!(is_script(b"/usr/bin/python3\0-Es\0/usr/sbin/tuned\0-l\0-P\0", "tuned"));
        assert!(is_script(b"python3\0-m\0pyperf\0timeit\0", "pyperf"));
        assert!(is_script(b"python3\0-m\0pyperf.__main__\0", "pyperf"));
        assert!(!is_script(b"python3\0edit.py\0tuned\0", "tuned"));
        assert!(!is_script(b"python3\0", "tuned"));
        assert!(!is_script(b"", "tuned"));
    }

    #[test]
    fn the_own_line_is_not_reported_and_all_others_are() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/processes");
        let machine = Machine::new(&root);
        assert_eq!(own_line(&machine), [40, 30, 20, 1], "agent, sudo, rebench, init");
        let found = collect(&machine);
        let pids: Vec<_> = found["running"]
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| (entry["name"].as_str().unwrap(), entry["pids"].clone()))
            .collect();
        // Left out are 20, which started sudo; 40, which asks; 41 and 42, its child and grandchild.
        let wanted = [
            ("irqbalance", json!([60])),
            ("hyperfine", json!([50])),
            ("becalm-agent", json!([51])),
            ("perf", json!([52])),
        ];
        assert_eq!(pids, wanted);
        assert_eq!(rivals(&machine), [("irqbalance".to_owned(), 60)]);
    }

    #[test]
    fn parents_that_make_no_tree_end_the_line() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/processes");
        let machine = Machine::new(&root);
        assert_eq!(line(&machine, 71), [71, 72], "each is the other's parent");
        assert_eq!(line(&machine, 4711), [4711], "nobody has this number");
        let nobody = Machine::new(Path::new("/nonexistent"));
        assert!(own_line(&nobody).is_empty());
        assert!(!is_own(&nobody, &[], 1));
    }

    #[test]
    fn every_row_has_a_reason_and_a_remedy() {
        for (i, row) in TABLE.iter().enumerate() {
            assert!(TABLE[..i].iter().all(|other| other.process != row.process), "{}", row.process);
            assert!(!row.matters.is_empty() && !row.way_out.is_empty());
        }
    }
}
