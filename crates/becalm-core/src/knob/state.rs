//! The present value of every knob on a machine, or why the machine does not have it.
//!
//! `resolve` asks here first, so that what is missing is said in the same words in a list of knobs and in an error.

use super::cpus::{self, Cpus};
use super::cpuset;
use super::effect::supported;
use super::place::{start_and_state, Place, STOPPED};
use super::row::{Act, Form, Knob};
use super::swap;
use super::tree::{chosen, Tree, CPU};
use crate::facts::read::Machine;
use crate::facts::services;

/// The present value of a knob, or why this machine does not support it.
pub fn state(tree: &Tree, knob: &Knob) -> Result<String, String> {
    let absent = || knob.absent.to_owned();
    match knob.act {
        Act::Process | Act::BeforeRun => Ok(String::new()),
        Act::File(files) => {
            let (path, form) = files.iter().find(|(path, _)| tree.exists(path)).ok_or_else(absent)?;
            read(tree, path, *form)
        }
        Act::EachCpu(file, form) => {
            same(each_cpu(tree, file).iter().map(|path| read(tree, path, form)).collect::<Result<_, _>>()?)
                .ok_or_else(absent)
        }
        Act::FrequencyFloor => {
            let paths = each_cpu(tree, "cpufreq/scaling_min_freq");
            let highest = paths.iter().all(|path| tree.read(path).ok() == highest(tree, path));
            let values: Vec<String> =
                paths.iter().map(|path| read(tree, path, Form::Plain)).collect::<Result<_, _>>()?;
            same(values).map(|value| if highest { "max".to_owned() } else { value }).ok_or_else(absent)
        }
        Act::Smt => smt(tree).ok_or_else(absent),
        Act::OnlineCpus => {
            let (present, online) = tree.cpus();
            match hotplug(tree, &present).is_empty() {
                true => Err(absent()),
                false if present == online => Ok("all".to_owned()),
                false => Ok(cpus::list(&online)),
            }
        }
        Act::Swap => match swap::areas(tree) {
            Ok(areas) if !areas.is_empty() => Ok("on".to_owned()),
            _ => Err(absent()),
        },
        Act::Isolation => {
            cpuset::version(tree)?;
            let (_, online) = tree.cpus();
            if tree.first_core() == online {
                return Err("this machine has one core: there is nobody to keep away to another".to_owned());
            }
            Ok("none".to_owned())
        }
        Act::Interrupts => {
            let path = interrupt_default(knob);
            let mask = tree.read(path).map_err(|_| absent())?;
            let set =
                cpus::unmask(&mask).ok_or_else(|| format!("{path} holds {mask:?}, which is no mask"))?;
            let (present, online) = tree.cpus();
            if online.len() < 2 {
                return Err("only one CPU is online: there is no other to move to".to_owned());
            }
            let set: Cpus = set.intersection(&present).copied().collect();
            Ok(if set == present { "all".to_owned() } else { cpus::list(&set) })
        }
        Act::Latency => Place::Latency.read(tree).map_err(|_| absent()),
        Act::Services => {
            let stopped = |place: &Place| place.read(tree).is_ok_and(|state| state == STOPPED);
            match rivals(tree) {
                rivals if rivals.is_empty() => Err(absent()),
                rivals if rivals.iter().all(stopped) => Ok("pause".to_owned()),
                _ => Ok("run".to_owned()),
            }
        }
        Act::Boot(words) => {
            supported(tree, knob).map(|()| boot_value(&tree.read("/proc/cmdline").unwrap_or_default(), words))
        }
    }
}

fn read(tree: &Tree, path: &str, form: Form) -> Result<String, String> {
    match tree.read(path) {
        Ok(text) => Ok(form.read(chosen(&text))),
        Err(error) => Err(format!("{path} cannot be read: {error}")),
    }
}

/// One value, or all of them when they differ; None when there are none.
fn same(values: Vec<String>) -> Option<String> {
    let mut distinct = values;
    distinct.dedup();
    (!distinct.is_empty()).then(|| distinct.join(", "))
}

fn each_cpu(tree: &Tree, file: &str) -> Vec<String> {
    let paths = tree.numbered(CPU, "cpu").into_iter().map(|cpu| format!("{CPU}/cpu{cpu}/{file}"));
    paths.filter(|path| tree.exists(path)).collect()
}

pub fn highest(tree: &Tree, scaling_min_freq: &str) -> Option<String> {
    tree.read(&scaling_min_freq.replace("scaling_min_freq", "cpuinfo_max_freq")).ok()
}

/// Whether SMT is on or off; None where it cannot be set.
pub fn smt(tree: &Tree) -> Option<String> {
    let control = tree.read(&format!("{CPU}/smt/control")).ok()?;
    matches!(control.as_str(), "on" | "off").then_some(control)
}

/// The CPUs that can be switched.
pub fn hotplug(tree: &Tree, present: &Cpus) -> Cpus {
    present.iter().copied().filter(|cpu| tree.exists(&format!("{CPU}/cpu{cpu}/online"))).collect()
}

pub fn interrupt_default(knob: &Knob) -> &'static str {
    match knob.name {
        "workqueue_cpus" => "/sys/devices/virtual/workqueue/cpumask",
        _ => "/proc/irq/default_smp_affinity",
    }
}

pub fn interrupt_files(tree: &Tree) -> Vec<String> {
    let paths = tree.numbered("/proc/irq", "").into_iter().map(|irq| format!("/proc/irq/{irq}/smp_affinity"));
    paths.filter(|path| tree.exists(path)).collect()
}

pub fn rivals(tree: &Tree) -> Vec<Place> {
    let found = services::rivals(&Machine::new(&tree.path("/")));
    let place = |(name, pid): (String, i32)| {
        let (start, _) = start_and_state(tree, pid)?;
        Some(Place::Process { pid, start, name })
    };
    found.into_iter().filter_map(place).collect()
}

/// What the kernel's command line says of the first of these words that is on it.
fn boot_value(line: &str, words: &[&str]) -> String {
    let given: Vec<&str> = line.split_ascii_whitespace().collect();
    for word in words {
        match word.strip_suffix("{}") {
            Some(key) => {
                if let Some(value) = given.iter().find_map(|each| each.strip_prefix(key)) {
                    return value.to_owned();
                }
            }
            None if given.contains(word) => return "off".to_owned(),
            None => {}
        }
    }
    "not set".to_owned()
}
