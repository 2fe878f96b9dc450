//! The two events that are counted: the sets that can be requested, and the events that they are on this
//! processor.
//!
//! The kernel's generic cache events mean the last-level cache on Intel's processors only: on AMD's they are
//! of L2 (arch/x86/events/amd/core.c, amd_zen_perfmon_event_map), on Arm's of L1 (drivers/perf/arm_pmuv3.c).
//! So each processor has a row, and every result states the raw event and its cache level: numbers of
//! different events are not comparable.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::cpus::{parse, Cpus};

/// A set of events, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventSet {
    /// References and misses of the last-level cache, or of the nearest cache that this processor can count.
    Llc,
    /// Page faults in place of references, minor ones in place of misses: they exist on every machine, and
    /// are not a miss ratio.
    Faults,
    /// The pages of one process that were referenced for the first time, among those referenced: a proxy, not
    /// a miss ratio.
    WsTurnover,
}

/// One event that is counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Counted {
    pub name: String,
    /// `type` and `config` of struct perf_event_attr.
    #[serde(rename = "type")]
    pub kind: u32,
    pub config: u64,
    /// The name of the cache that they count.
    pub level: &'static str,
}

const HARDWARE: u32 = 0;
const SOFTWARE: u32 = 1;
const RAW: u32 = 4;

impl Counted {
    pub(crate) fn new(name: &str, kind: u32, config: u64, level: &'static str) -> Self {
        Self { name: name.to_owned(), kind, config, level }
    }

    /// Return whether the processor counts it.
    pub fn is_hardware(&self) -> bool {
        self.kind != SOFTWARE
    }
}

/// The events of references and of misses.
pub type Pair = [Counted; 2];

/// The choice for a processor: the CPUs of one core type, and the pair that is counted on them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The CPUs; None: all.
    pub cpus: Option<Cpus>,
    pub pair: Pair,
}

/// Return the pairs of a set below a root that looks like `/`: one, or one for each core type.
pub fn choices(set: EventSet, root: &Path) -> Vec<Choice> {
    let all = |pair| vec![Choice { cpus: None, pair }];
    match set {
        EventSet::WsTurnover => Vec::new(),
        EventSet::Faults => all([
            Counted::new("page-faults", SOFTWARE, 2, "no cache: page faults, no miss ratio"),
            Counted::new("minor-faults", SOFTWARE, 5, "no cache: page faults, no miss ratio"),
        ]),
        EventSet::Llc => {
            let info = fs::read_to_string(root.join("proc/cpuinfo")).unwrap_or_default();
            let field = |name: &str| {
                let line = info.lines().find(|line| line.split(':').next().map(str::trim) == Some(name))?;
                line.split_once(':').map(|(_, value)| value.trim().to_owned())
            };
            let hybrid = core_types(root);
            if !hybrid.is_empty() {
                return hybrid;
            }
            let family = field("cpu family").and_then(|text| text.parse::<u32>().ok()).unwrap_or(0);
            match field("vendor_id").as_deref() {
                // Core events of Zen 3 and later: ls_dmnd_fills_from_sys, by the source of the line.
                Some("AuthenticAMD" | "HygonGenuine") if family >= 0x19 => all([
                    Counted::new(
                        "ls_dmnd_fills_from_sys.5e",
                        RAW,
                        0x5e43,
                        "demand data fills from L3 or beyond",
                    ),
                    Counted::new(
                        "ls_dmnd_fills_from_sys.5c",
                        RAW,
                        0x5c43,
                        "demand data fills from beyond this L3",
                    ),
                ]),
                Some("AuthenticAMD" | "HygonGenuine") => all(generic(
                    0,
                    "L2: on this processor the kernel's cache events are not of the last level",
                )),
                Some(_) => all(generic(0, "last-level cache")),
                None if arm_has_llc(root) => all([
                    Counted::new("ll_cache_rd", RAW, 0x36, "last-level cache, reads"),
                    Counted::new("ll_cache_miss_rd", RAW, 0x37, "last-level cache, reads"),
                ]),
                None => all(generic(0, "as this processor's driver defines it, on Arm L1 data")),
            }
        }
    }
}

/// Return the kernel's own cache events, of one PMU on processors with several (extended hardware type, Linux
/// 5.13).
fn generic(pmu: u32, level: &'static str) -> Pair {
    let config = |number: u64| u64::from(pmu) << 32 | number;
    [
        Counted::new("cache-references", HARDWARE, config(2), level),
        Counted::new("cache-misses", HARDWARE, config(3), level),
    ]
}

/// Return a choice for each PMU of a hybrid processor.
fn core_types(root: &Path) -> Vec<Choice> {
    let devices = root.join("sys/bus/event_source/devices");
    let read = |pmu: &str, file: &str| fs::read_to_string(devices.join(pmu).join(file)).ok();
    let choice = |(pmu, level): (&str, &'static str)| {
        let cpus = parse(&read(pmu, "cpus")?)?;
        let number = read(pmu, "type")?.trim().parse().ok()?;
        Some(Choice { cpus: Some(cpus), pair: generic(number, level) })
    };
    [
        ("cpu_core", "last-level cache, counted by performance cores"),
        ("cpu_atom", "last-level cache, counted by efficiency cores"),
    ]
    .into_iter()
    .filter_map(choice)
    .collect()
}

fn arm_has_llc(root: &Path) -> bool {
    let Ok(devices) = fs::read_dir(root.join("sys/bus/event_source/devices")) else { return false };
    devices.flatten().any(|device| device.path().join("events/ll_cache_rd").exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(name: &str, files: &[(&str, &str)]) -> std::path::PathBuf {
        let root = std::env::temp_dir().join(format!("becalm-events-{name}-{}", std::process::id()));
        for (path, text) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    #[test]
    fn each_processor_has_its_events_with_their_level() {
        let cpuinfo = |vendor: &str, family: u32| {
            format!("processor\t: 0\nvendor_id\t: {vendor}\ncpu family\t: {family}\n")
        };
        for (name, text, first, config, level) in [
            ("intel", cpuinfo("GenuineIntel", 6), "cache-references", 2, "last-level"),
            ("zen2", cpuinfo("AuthenticAMD", 0x17), "cache-references", 2, "L2"),
            ("zen5", cpuinfo("AuthenticAMD", 0x1a), "ls_dmnd_fills_from_sys.5e", 0x5e43, "L3"),
            ("arm", "processor\t: 0\n".to_owned(), "cache-references", 2, "L1"),
        ] {
            let root = tree(name, &[("proc/cpuinfo", &text)]);
            let found = choices(EventSet::Llc, &root);
            fs::remove_dir_all(&root).unwrap();
            assert_eq!(found.len(), 1, "{name}");
            let [references, _] = &found[0].pair;
            assert_eq!((references.name.as_str(), references.config), (first, config), "{name}");
            assert!(references.level.contains(level), "{name}: {}", references.level);
            assert!(references.is_hardware());
        }
    }

    #[test]
    fn hybrid_processors_have_a_pair_for_each_core_type() {
        let devices = "sys/bus/event_source/devices";
        let root = tree(
            "hybrid",
            &[
                ("proc/cpuinfo", "vendor_id\t: GenuineIntel\ncpu family\t: 6\n"),
                (&format!("{devices}/cpu_core/cpus"), "0-3\n"),
                (&format!("{devices}/cpu_core/type"), "4\n"),
                (&format!("{devices}/cpu_atom/cpus"), "4-7\n"),
                (&format!("{devices}/cpu_atom/type"), "10\n"),
            ],
        );
        let found = choices(EventSet::Llc, &root);
        fs::remove_dir_all(&root).unwrap();
        assert_eq!(found.len(), 2);
        assert_eq!(found[1].cpus, parse("4-7"));
        assert_eq!(found[1].pair[1].config, 10 << 32 | 3);
    }

    #[test]
    fn arm_has_its_last_level_where_the_driver_names_it() {
        let root = tree(
            "ll",
            &[
                ("proc/cpuinfo", "processor\t: 0\n"),
                ("sys/bus/event_source/devices/armv8_pmuv3_0/events/ll_cache_rd", "event=0x36\n"),
            ],
        );
        let found = choices(EventSet::Llc, &root);
        fs::remove_dir_all(&root).unwrap();
        assert_eq!(found[0].pair[1].config, 0x37);
        assert!(choices(EventSet::Faults, &root)[0].pair[0].level.contains("no miss ratio"));
    }
}
