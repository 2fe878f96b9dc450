//! Settings of the boot: the words of the kernel's command line that they are on this machine, and whether the kernel
//! that runs now has taken them. A parameter on the command line proves nothing: kernels ignore what they were built
//! without.

use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;

use serde::Serialize;

use super::cpus::{self, Cpus};
use super::row::{Act, Domain, Knob};
use super::tree::{Tree, CPU};

/// A setting of the boot on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Effect {
    pub knob: &'static str,
    pub value: String,
    /// Words for the kernel's command line.
    pub parameters: Vec<String>,
    /// The CPUs that it is about, where it is about CPUs.
    pub cpus: Option<String>,
    /// Whether this boot has it; None: the kernel does not tell.
    pub taken: Option<bool>,
    /// What that is known from, or what was seen instead.
    pub how: String,
}

/// Whether a setting of the boot could be one here; Err says why not.
pub fn supported(tree: &Tree, knob: &Knob) -> Result<(), String> {
    let has = |path: &str, without: &str| if tree.exists(path) { Ok(()) } else { Err(without.to_owned()) };
    if matches!(knob.domain, Domain::Cpus(_)) && tree.first_core() == tree.cpus().1 {
        return Err("this machine has one core: nobody else would have a CPU".to_owned());
    }
    match knob.name {
        "nohz_full" => has(&format!("{CPU}/nohz_full"), "this kernel was built without NO_HZ_FULL"),
        "watchdogs_boot" => has("/proc/sys/kernel/watchdog", "this kernel has no watchdogs"),
        "mitigations" => has(&format!("{CPU}/vulnerabilities"), "this kernel has no mitigations to choose"),
        "pstate_driver" if !pstate(tree) && !given(tree, &["intel_pstate=disable".to_owned()]) => {
            Err("the processor's own frequency control is not in use here".to_owned())
        }
        _ => Ok(()),
    }
}

/// What a value means here, and whether this boot has it.
pub fn effect(tree: &Tree, knob: &'static Knob, value: &str) -> Effect {
    let set = matches!(knob.domain, Domain::Cpus(_)).then(|| tree.core(value));
    let spelled = set.as_ref().map_or(value.to_owned(), cpus::list);
    let words = match knob.act {
        // Fixed words switch off what is on without them.
        Act::Boot(words) if value != "on" => words,
        _ => &[],
    };
    let parameters: Vec<String> = words.iter().map(|word| word.replace("{}", &spelled)).collect();
    let (taken, how) = taken(tree, knob, value, &parameters, set.as_ref());
    Effect { knob: knob.name, value: value.to_owned(), parameters, cpus: set.map(|_| spelled), taken, how }
}

fn given(tree: &Tree, parameters: &[String]) -> bool {
    let line = tree.read("/proc/cmdline").unwrap_or_default();
    parameters.iter().all(|wanted| line.split_ascii_whitespace().any(|word| word == wanted))
}

type Taken = (Option<bool>, String);

fn taken(tree: &Tree, knob: &Knob, value: &str, parameters: &[String], set: Option<&Cpus>) -> Taken {
    if !given(tree, parameters) {
        let line = tree.read("/proc/cmdline").unwrap_or_default();
        return (Some(false), format!("the kernel's command line is {line:?}"));
    }
    let log = Log::read(tree);
    if let Some(unknown) = parameters.iter().find(|word| log.ignored(word)) {
        return (Some(false), format!("the kernel says that it does not know {unknown}"));
    }
    let empty = Cpus::new();
    let wanted = set.unwrap_or(&empty);
    match (knob.name, value) {
        ("isolcpus", _) => listed(tree, &format!("{CPU}/isolated"), wanted, "isolated"),
        ("nohz_full", _) if !tree.exists(&format!("{CPU}/nohz_full")) => {
            (Some(false), "this kernel has no NO_HZ_FULL".to_owned())
        }
        ("nohz_full", _) => listed(tree, &format!("{CPU}/nohz_full"), wanted, "without the tick"),
        ("rcu_nocbs", _) => callbacks(tree, &log, wanted),
        ("watchdogs_boot", "off") => watchdogs(tree),
        ("watchdogs_boot", _) => (None, "the machine's default".to_owned()),
        ("idle", _) => idle(tree, &log, value),
        ("mitigations", _) => mitigations(tree, value),
        ("pstate_driver", _) => {
            let driver = driver(tree).unwrap_or("none".to_owned());
            (Some(pstate(tree) == (value == "on")), format!("the frequency driver is {driver}"))
        }
        _ => (None, "nothing in this kernel tells".to_owned()),
    }
}

/// A file of CPUs that the kernel shows.
fn listed(tree: &Tree, path: &str, wanted: &Cpus, what: &str) -> Taken {
    let Ok(text) = tree.read(path) else { return (None, format!("there is no {path} to see it by")) };
    let found = cpus::parse(&text).unwrap_or_default();
    let missing: Cpus = wanted.difference(&found).copied().collect();
    if missing.is_empty() {
        return (Some(true), format!("{path} is {text}"));
    }
    let shown = if found.is_empty() { "none".to_owned() } else { text };
    let why = match what == "without the tick" && missing.contains(&0) {
        true => ": the CPU that boots keeps the time, so it keeps its tick",
        false => "",
    };
    (Some(false), format!("{path} shows {shown}: CPU {} is not {what}{why}", cpus::list(&missing)))
}

/// RCU says at boot which CPUs are offloaded (kernel/rcu/tree_plugin.h); since 5.17 every CPU has a thread for it as
/// soon as one is, so threads alone tell only that some are.
fn callbacks(tree: &Tree, log: &Log, wanted: &Cpus) -> Taken {
    const SAYS: &str = "Offload RCU callbacks from CPUs: ";
    if let Some(list) = log.after(SAYS) {
        let found = cpus::parse(list.trim_end_matches('.')).unwrap_or_default();
        return (Some(wanted.is_subset(&found)), format!("the kernel's log says: {SAYS}{list}"));
    }
    let names: Vec<String> = tree
        .numbered("/proc", "")
        .into_iter()
        .filter_map(|pid| tree.read(&format!("/proc/{pid}/comm")).ok())
        .filter(|name| name.starts_with("rcuo"))
        .collect();
    let served = |cpu: &u32| names.iter().any(|name| name.ends_with(&format!("/{cpu}")));
    match wanted.iter().all(served) {
        true => (None, "its threads (rcuo) run; the kernel's log does not reach back to the boot".to_owned()),
        false => (Some(false), format!("no thread rcuo serves CPU {}", cpus::list(wanted))),
    }
}

fn watchdogs(tree: &Tree) -> Taken {
    let read = |name: &'static str| Some((name, tree.read(&format!("/proc/sys/kernel/{name}")).ok()?));
    let names = ["watchdog", "soft_watchdog", "nmi_watchdog"];
    let found: Vec<(&str, String)> = names.into_iter().filter_map(read).collect();
    let on: Vec<&str> = found.iter().filter(|(_, value)| value != "0").map(|(name, _)| *name).collect();
    match (found.is_empty(), on.is_empty()) {
        (true, _) => (None, "there is no /proc/sys/kernel/watchdog to see it by".to_owned()),
        (_, true) => (Some(true), "the watchdogs in /proc/sys/kernel are 0".to_owned()),
        _ => (Some(false), format!("/proc/sys/kernel/{} is still on", on.join(", "))),
    }
}

/// With any idle=, intel_idle does not load (drivers/idle/intel_idle.c); polling is announced (arch/x86 process.c).
fn idle(tree: &Tree, log: &Log, value: &str) -> Taken {
    let driver = tree.read(&format!("{CPU}/cpuidle/current_driver")).unwrap_or("none".to_owned());
    if driver == "intel_idle" {
        return (Some(false), "the idle driver is still intel_idle".to_owned());
    }
    if value == "poll" {
        let said = log.has("using polling idle threads");
        let how =
            if said { "the kernel's log says: using polling idle threads" } else { "its log does not tell" };
        return (said.then_some(true), how.to_owned());
    }
    (Some(true), format!("the idle driver is {driver}"))
}

/// What every processor needs something against shows what the kernel does (spectre_v1 first).
fn mitigations(tree: &Tree, value: &str) -> Taken {
    let directory = format!("{CPU}/vulnerabilities");
    let names = tree.names(&directory);
    let first = ["spectre_v1", "spectre_v2"].into_iter().chain(names.iter().map(String::as_str));
    for name in first {
        let Ok(text) = tree.read(&format!("{directory}/{name}")) else { continue };
        let off = text.starts_with("Vulnerable");
        if off || text.starts_with("Mitigation") {
            return (Some(off == (value == "off")), format!("{name} is {text:?}"));
        }
    }
    (None, "this processor needs no mitigations".to_owned())
}

fn driver(tree: &Tree) -> Option<String> {
    tree.read(&format!("{CPU}/cpu0/cpufreq/scaling_driver")).ok()
}

/// Whether the processor's own frequency control is in use.
fn pstate(tree: &Tree) -> bool {
    let own = |name: &str| {
        name.starts_with("intel_pstate") || name == "intel_cpufreq" || name.starts_with("amd-pstate")
    };
    driver(tree).map_or_else(|| tree.exists(&format!("{CPU}/intel_pstate/no_turbo")), |name| own(&name))
}

/// The kernel's log as far as it reaches back and may be read (dev-kmsg in Documentation/ABI/testing).
struct Log(String);

impl Log {
    const PATH: &'static str = "/dev/kmsg";

    fn read(tree: &Tree) -> Self {
        let mut text = String::new();
        let opened = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(tree.path(Self::PATH));
        let Ok(mut file) = opened else { return Self(text) };
        let mut record = [0; 8192];
        loop {
            match file.read(&mut record) {
                Ok(0) => break,
                Ok(length) => text.push_str(&String::from_utf8_lossy(&record[..length])),
                // A record was overwritten while we read: the next one follows.
                Err(error) if error.raw_os_error() == Some(libc::EPIPE) => {}
                Err(_) => break,
            }
        }
        Self(text)
    }

    fn has(&self, words: &str) -> bool {
        self.0.contains(words)
    }

    /// The rest of the line after these words.
    fn after(&self, words: &str) -> Option<&str> {
        self.0.lines().find_map(|line| Some(line.split_once(words)?.1.trim()))
    }

    /// Parameters that no part of the kernel took are named at boot (init/main.c, since 5.14).
    fn ignored(&self, parameter: &str) -> bool {
        let line = self.after("Unknown kernel command line parameters ").unwrap_or_default();
        let list = line.split('"').nth(1).unwrap_or_default();
        list.split_ascii_whitespace().any(|word| word == parameter)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::super::catalogue::find;
    use super::*;

    struct Played(PathBuf);

    impl Played {
        fn new(name: &str, files: &[(&str, &str)]) -> Self {
            let root = std::env::temp_dir().join(format!("becalm-effect-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&root);
            let cpus = ["0", "1"].map(|cpu| (format!("{CPU}/cpu{cpu}/topology/core_cpus_list"), cpu));
            let all = cpus.iter().map(|(path, text)| (path.as_str(), *text)).chain(files.iter().copied());
            for (path, text) in all {
                let path = root.join(path.trim_start_matches('/'));
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            Self(root)
        }

        fn effect(&self, name: &str, value: &str) -> Effect {
            effect(&Tree::new(&self.0), find(name).unwrap(), value)
        }
    }

    impl Drop for Played {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn words_of_the_command_line_have_this_machines_cpus() {
        let here = Played::new("words", &[("/proc/cmdline", "quiet")]);
        let found = here.effect("isolcpus", "last-core");
        assert_eq!(found.parameters, ["isolcpus=1"]);
        assert_eq!(found.cpus.as_deref(), Some("1"));
        assert_eq!(found.taken, Some(false), "{}", found.how);
        assert_eq!(here.effect("isolcpus", "first-core").parameters, ["isolcpus=0"]);
        assert_eq!(here.effect("watchdogs_boot", "off").parameters.len(), 3);
        assert!(here.effect("watchdogs_boot", "on").parameters.is_empty());
    }

    #[test]
    fn what_was_given_and_not_taken_is_told() {
        let here = Played::new(
            "ignored",
            &[
                ("/proc/cmdline", "isolcpus=1 nohz_full=1 rcu_nocbs=1 idle=poll mitigations=off nosoftlockup nowatchdog nmi_watchdog=0"),
                ("/sys/devices/system/cpu/isolated", ""),
                ("/proc/sys/kernel/watchdog", "1"),
                ("/sys/devices/system/cpu/cpuidle/current_driver", "intel_idle"),
                ("/sys/devices/system/cpu/vulnerabilities/spectre_v1", "Mitigation: barriers"),
                ("/dev/kmsg", "5,1,0,-;Unknown kernel command line parameters \"foo rcu_nocbs=1\", will be passed\n"),
            ],
        );
        for (knob, value) in [
            ("isolcpus", "1"),
            ("nohz_full", "1"),
            ("rcu_nocbs", "1"),
            ("idle", "poll"),
            ("mitigations", "off"),
            ("watchdogs_boot", "off"),
        ] {
            let found = here.effect(knob, value);
            assert_eq!(found.taken, Some(false), "{knob}: {}", found.how);
        }
        assert_eq!(here.effect("nohz_full", "1").how, "this kernel has no NO_HZ_FULL");
    }

    #[test]
    fn what_was_taken_is_known_from_what_the_kernel_shows() {
        let here = Played::new(
            "taken",
            &[
                ("/proc/cmdline", "isolcpus=1 nohz_full=1 rcu_nocbs=1 idle=poll mitigations=off nosoftlockup nowatchdog nmi_watchdog=0"),
                ("/sys/devices/system/cpu/isolated", "1"),
                ("/sys/devices/system/cpu/nohz_full", "1"),
                ("/proc/sys/kernel/watchdog", "0"),
                ("/proc/sys/kernel/soft_watchdog", "0"),
                ("/sys/devices/system/cpu/vulnerabilities/spectre_v1", "Vulnerable: none"),
                ("/dev/kmsg", "6,1,0,-;rcu: \tOffload RCU callbacks from CPUs: 1.\n6,2,0,-;process: using polling idle threads\n"),
            ],
        );
        for (knob, value) in [
            ("isolcpus", "last-core"),
            ("nohz_full", "1"),
            ("rcu_nocbs", "1"),
            ("idle", "poll"),
            ("mitigations", "off"),
            ("watchdogs_boot", "off"),
        ] {
            let found = here.effect(knob, value);
            assert_eq!(found.taken, Some(true), "{knob}: {}", found.how);
        }
        assert_eq!(here.effect("rcu_nocbs", "0-1").taken, Some(false));
    }
}
