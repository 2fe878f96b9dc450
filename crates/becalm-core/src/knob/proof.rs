//! The evidence in a running kernel for the settings that it was started with, one function for each kind. A
//! parameter on the command line proves nothing: kernels ignore those of features that they were built
//! without.

use std::io::Read;

use super::cpus::{self, Cpus};
use super::tree::{Tree, CPU};

/// Whether the kernel has a setting, None if it does not show that; and the evidence, or what was found
/// instead.
pub type Finding = (Option<bool>, String);

/// The requested value, and the places to examine.
pub struct Evidence<'a> {
    pub tree: &'a Tree,
    pub log: &'a Log,
    pub value: &'a str,
    /// The CPUs of the value, if it is one of CPUs.
    pub cpus: &'a Cpus,
}

/// Return Ok: any machine could have it.
pub fn anywhere(_tree: &Tree) -> Result<(), String> {
    Ok(())
}

/// Return that nothing shows it.
pub fn unproven(_: &Evidence) -> Finding {
    (None, "nothing in this kernel shows it".to_owned())
}

/// Check that a kernel could have CPUs without the tick.
pub fn can_be_tickless(tree: &Tree) -> Result<(), String> {
    has(tree, &format!("{CPU}/nohz_full"), "this kernel was built without NO_HZ_FULL")
}

/// Check that a kernel has watchdogs.
pub fn has_watchdogs(tree: &Tree) -> Result<(), String> {
    has(tree, "/proc/sys/kernel/watchdog", "this kernel has no watchdogs")
}

/// Check that a kernel has mitigations to choose.
pub fn has_mitigations(tree: &Tree) -> Result<(), String> {
    has(tree, &format!("{CPU}/vulnerabilities"), "this kernel has no mitigations to choose")
}

/// Check that the processor's own frequency control is in use, or was switched off at boot.
pub fn has_pstate(tree: &Tree) -> Result<(), String> {
    let line = tree.read("/proc/cmdline").unwrap_or_default();
    let off = line.split_ascii_whitespace().any(|word| word == "intel_pstate=disable");
    match pstate(tree) || off {
        true => Ok(()),
        false => Err("the processor's own frequency control is not in use here".to_owned()),
    }
}

fn has(tree: &Tree, path: &str, without: &str) -> Result<(), String> {
    if tree.exists(path) {
        Ok(())
    } else {
        Err(without.to_owned())
    }
}

/// Examine the CPUs that the scheduler leaves alone.
pub fn isolated(seen: &Evidence) -> Finding {
    listed(seen.tree, "isolated", seen.cpus, "isolated")
}

/// Examine the CPUs without the tick.
pub fn tickless(seen: &Evidence) -> Finding {
    if can_be_tickless(seen.tree).is_err() {
        return (Some(false), "this kernel has no NO_HZ_FULL".to_owned());
    }
    let (taken, how) = listed(seen.tree, "nohz_full", seen.cpus, "without the tick");
    let boots = taken == Some(false) && seen.cpus.contains(&0) && how.contains("CPU 0");
    (
        taken,
        if boots { format!("{how}: the CPU that boots keeps the time, so it keeps its tick") } else { how },
    )
}

/// Examine a file of CPUs.
fn listed(tree: &Tree, name: &str, wanted: &Cpus, what: &str) -> Finding {
    let path = format!("{CPU}/{name}");
    let Ok(text) = tree.read(&path) else { return (None, format!("there is no {path} to see it by")) };
    let found = cpus::parse(&text).unwrap_or_default();
    let missing: Cpus = wanted.difference(&found).copied().collect();
    if missing.is_empty() {
        return (Some(true), format!("{path} is {text}"));
    }
    let shown = if found.is_empty() { "none".to_owned() } else { text };
    (Some(false), format!("{path} shows {shown}: CPU {} is not {what}", cpus::list(&missing)))
}

/// Examine which CPUs are offloaded, which RCU reports at boot (kernel/rcu/tree_plugin.h); since 5.17 every
/// CPU has a thread for it as soon as one is, so threads alone show only that some are.
pub fn callbacks(seen: &Evidence) -> Finding {
    const SAYS: &str = "Offload RCU callbacks from CPUs: ";
    if let Some(list) = seen.log.after(SAYS) {
        let found = cpus::parse(list.trim_end_matches('.')).unwrap_or_default();
        return (Some(seen.cpus.is_subset(&found)), format!("the kernel's log says: {SAYS}{list}"));
    }
    let names: Vec<String> = seen
        .tree
        .numbered("/proc", "")
        .into_iter()
        .filter_map(|pid| seen.tree.read(&format!("/proc/{pid}/comm")).ok())
        .filter(|name| name.starts_with("rcuo"))
        .collect();
    let served = |cpu: &u32| names.iter().any(|name| name.ends_with(&format!("/{cpu}")));
    match seen.cpus.iter().all(served) {
        true => (None, "its threads (rcuo) run; the kernel's log does not reach back to the boot".to_owned()),
        false => (Some(false), format!("no thread rcuo serves CPU {}", cpus::list(seen.cpus))),
    }
}

/// Examine whether the watchdogs are off.
pub fn watchdogs(seen: &Evidence) -> Finding {
    if seen.value != "off" {
        return (None, "the machine's default".to_owned());
    }
    let read = |name: &'static str| Some((name, seen.tree.read(&format!("/proc/sys/kernel/{name}")).ok()?));
    let names = ["watchdog", "soft_watchdog", "nmi_watchdog"];
    let found: Vec<(&str, String)> = names.into_iter().filter_map(read).collect();
    let on: Vec<&str> = found.iter().filter(|(_, value)| value != "0").map(|(name, _)| *name).collect();
    match (found.is_empty(), on.is_empty()) {
        (true, _) => (None, "there is no /proc/sys/kernel/watchdog to see it by".to_owned()),
        (_, true) => (Some(true), "the watchdogs in /proc/sys/kernel are 0".to_owned()),
        _ => (Some(false), format!("/proc/sys/kernel/{} is still on", on.join(", "))),
    }
}

/// Examine the idle driver. With any idle=, intel_idle does not load (drivers/idle/intel_idle.c); polling is
/// announced (arch/x86 process.c).
pub fn idle(seen: &Evidence) -> Finding {
    let driver = seen.tree.read(&format!("{CPU}/cpuidle/current_driver")).unwrap_or("none".to_owned());
    if driver == "intel_idle" {
        return (Some(false), "the idle driver is still intel_idle".to_owned());
    }
    if seen.value == "poll" {
        let announced = seen.log.has("using polling idle threads");
        let how = if announced {
            "the kernel's log says: using polling idle threads"
        } else {
            "its log does not show it"
        };
        return (announced.then_some(true), how.to_owned());
    }
    (Some(true), format!("the idle driver is {driver}"))
}

/// Examine the mitigations in effect, by a vulnerability that every processor has (spectre_v1 first).
pub fn mitigations(seen: &Evidence) -> Finding {
    let directory = format!("{CPU}/vulnerabilities");
    let names = seen.tree.names(&directory);
    let first = ["spectre_v1", "spectre_v2"].into_iter().chain(names.iter().map(String::as_str));
    for name in first {
        let Ok(text) = seen.tree.read(&format!("{directory}/{name}")) else { continue };
        let off = text.starts_with("Vulnerable");
        if off || text.starts_with("Mitigation") {
            return (Some(off == (seen.value == "off")), format!("{name} is {text:?}"));
        }
    }
    (None, "this processor needs no mitigations".to_owned())
}

/// Examine the driver that controls the frequency.
pub fn frequency_driver(seen: &Evidence) -> Finding {
    let driver = driver(seen.tree).unwrap_or("none".to_owned());
    (Some(pstate(seen.tree) == (seen.value == "on")), format!("the frequency driver is {driver}"))
}

fn driver(tree: &Tree) -> Option<String> {
    tree.read(&format!("{CPU}/cpu0/cpufreq/scaling_driver")).ok()
}

/// Return whether the processor's own frequency control is in use.
fn pstate(tree: &Tree) -> bool {
    let own = |name: &str| {
        name.starts_with("intel_pstate") || name == "intel_cpufreq" || name.starts_with("amd-pstate")
    };
    driver(tree).map_or_else(|| tree.exists(&format!("{CPU}/intel_pstate/no_turbo")), |name| own(&name))
}

/// The kernel's log, as far as it reaches back and may be read (dev-kmsg in Documentation/ABI/testing).
pub struct Log(String);

impl Log {
    const PATH: &'static str = "/dev/kmsg";

    /// Read the log.
    pub fn read(tree: &Tree) -> Self {
        let mut text = String::new();
        let opened = tree.open(Self::PATH, libc::O_RDONLY | libc::O_NONBLOCK, 0);
        let Ok(mut file) = opened else { return Self(text) };
        let mut record = [0; 8192];
        loop {
            match file.read(&mut record) {
                Ok(0) => break,
                Ok(length) => text.push_str(&String::from_utf8_lossy(&record[..length])),
                // A record was overwritten meanwhile: the next one follows.
                Err(error) if error.raw_os_error() == Some(libc::EPIPE) => {}
                Err(_) => break,
            }
        }
        Self(text)
    }

    /// Return whether it contains these words.
    pub fn has(&self, words: &str) -> bool {
        self.0.contains(words)
    }

    /// Return the rest of the line after these words.
    pub fn after(&self, words: &str) -> Option<&str> {
        self.0.lines().find_map(|line| Some(line.split_once(words)?.1.trim()))
    }

    /// Return whether a parameter is among those that no part of the kernel used, which are named at boot
    /// (init/main.c, since 5.14).
    pub fn ignored(&self, parameter: &str) -> bool {
        let line = self.after("Unknown kernel command line parameters ").unwrap_or_default();
        let list = line.split('"').nth(1).unwrap_or_default();
        list.split_ascii_whitespace().any(|word| word == parameter)
    }
}
