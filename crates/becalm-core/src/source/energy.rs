//! The energy that the packages of the processor used, by the counters of RAPL
//! (Documentation/power/powercap/powercap.rst).
//!
//! The counters include everything that runs on the machine. Since Linux 5.10 only root can read the files
//! (they leaked secrets: CVE-2020-8694). Each counts µJ up to a largest value and begins again at zero.

use std::fs;
use std::path::{Path, PathBuf};

const DIRECTORY: &str = "sys/class/powercap";

/// One counter.
struct Zone {
    counter: PathBuf,
    range: u64,
    begun: Option<u64>,
}

/// All counters of one domain of RAPL, by its name: "package", "core", "dram".
pub struct Energy(Vec<Zone>);

impl Energy {
    /// Find the counters below a root. An error is the reason why there are none, as the end of a sentence.
    pub fn open(root: &Path, domain: &str) -> Result<Self, String> {
        let directory = root.join(DIRECTORY);
        let entries = fs::read_dir(&directory).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => format!("/{DIRECTORY} does not exist: {LACKING}"),
            _ => format!("/{DIRECTORY} cannot be read: {error}"),
        })?;
        let mut zones = Vec::new();
        for zone in entries.flatten().map(|entry| entry.path()) {
            // Other drivers (intel-rapl-mmio) show the same packages again.
            let name = zone.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let read = |file: &str| fs::read_to_string(zone.join(file)).ok();
            let called = read("name").unwrap_or_default();
            if !name.starts_with("intel-rapl:") || called.trim().split('-').next() != Some(domain) {
                continue;
            }
            let counter = zone.join("energy_uj");
            let range = read("max_energy_range_uj").and_then(|text| text.trim().parse().ok()).unwrap_or(0);
            if let Err(error) = fs::read_to_string(&counter) {
                let shown = counter.strip_prefix(root).unwrap_or(&counter).display().to_string();
                return Err(match error.kind() {
                    std::io::ErrorKind::PermissionDenied => {
                        format!("/{shown} is only for root. Run becalm as root")
                    }
                    _ => format!("/{shown} cannot be read: {error}"),
                });
            }
            zones.push(Zone { counter, range, begun: None });
        }
        match zones.is_empty() {
            true => Err(format!("/{DIRECTORY} has no domain {domain:?}: {LACKING}")),
            false => Ok(Self(zones)),
        }
    }

    /// Register the start of a run.
    pub fn begin(&mut self) {
        for zone in &mut self.0 {
            zone.begun = zone.read();
        }
    }

    /// Return the joules since the start of the run; None if a counter could not be read.
    pub fn since(&self) -> Option<f64> {
        let all: Option<Vec<u64>> =
            self.0.iter().map(|zone| moved(zone.begun?, zone.read()?, zone.range)).collect();
        Some(all?.into_iter().sum::<u64>() as f64 / 1e6)
    }
}

const LACKING: &str =
    "the processor reports no energy (RAPL), or its driver is not loaded (modprobe intel_rapl_msr); hosts \
                       of virtual machines pass it on to none";

impl Zone {
    fn read(&self) -> Option<u64> {
        fs::read_to_string(&self.counter).ok()?.trim().parse().ok()
    }
}

/// Return the increase of a counter that begins again after `range`.
fn moved(begun: u64, now: u64, range: u64) -> Option<u64> {
    match now >= begun {
        true => Some(now - begun),
        false => Some(range.checked_sub(begun)? + now),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_all_packages_are_added_and_begin_again() {
        let root = std::env::temp_dir().join(format!("becalm-energy-{}", std::process::id()));
        let write = |zone: &str, file: &str, text: &str| {
            let directory = root.join(DIRECTORY).join(zone);
            fs::create_dir_all(&directory).unwrap();
            fs::write(directory.join(file), text).unwrap();
        };
        assert!(Energy::open(&root, "package").err().unwrap().contains("does not exist"));
        for (zone, name) in [
            ("intel-rapl:0", "package-0"),
            ("intel-rapl:1", "package-1"),
            ("intel-rapl:0:0", "core"),
            ("intel-rapl-mmio:0", "package-0"),
        ] {
            write(zone, "name", &format!("{name}\n"));
            write(zone, "max_energy_range_uj", "1000000\n");
            write(zone, "energy_uj", "400000\n");
        }
        let mut both = Energy::open(&root, "package").ok().unwrap();
        both.begin();
        write("intel-rapl:0", "energy_uj", "900000\n");
        write("intel-rapl:1", "energy_uj", "100000\n");
        assert_eq!(both.since(), Some(0.5 + 0.7), "the second one began again");
        assert_eq!(Energy::open(&root, "core").ok().unwrap().0.len(), 1);
        assert!(Energy::open(&root, "dram").err().unwrap().contains("no domain"));
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn without_a_range_a_counter_that_went_back_is_unknown() {
        assert_eq!((moved(5, 9, 0), moved(9, 5, 0), moved(9, 5, 10)), (Some(4), None, Some(6)));
    }
}
