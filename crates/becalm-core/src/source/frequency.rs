//! The frequencies of the CPUs, and how often heat slowed them down
//! (Documentation/admin-guide/pm/cpufreq.rst, arch/x86/kernel/cpu/mce/therm_throt.c).

use std::fs;
use std::path::Path;
use std::sync::Arc;

use super::bytes::{lines, number};
use super::file::{Buffer, Kept, Place, Reason};
use super::interface::Source;
use super::layout::{counter, state, Column, Columns, Record, UNKNOWN};

static FREQUENCY: [Column; 5] = [
    state("frequency_khz"),
    counter("core_throttles"),
    counter("core_throttled_ms"),
    counter("package_throttles"),
    counter("package_throttled_ms"),
];

const FILES: [&str; 5] = [
    "cpufreq/scaling_cur_freq",
    "thermal_throttle/core_throttle_count",
    "thermal_throttle/core_throttle_total_time_ms",
    "thermal_throttle/package_throttle_count",
    "thermal_throttle/package_throttle_total_time_ms",
];

/// The largest number of files that stay open; more are opened for each sample. Descriptors are limited,
/// often to 1,024.
const MOST_OPEN: usize = 256;

struct Cpu {
    name: String,
    files: [Option<Kept>; 5],
}

struct Frequency {
    place: Place,
    online: Kept,
    /// The content of `online` when the files were looked for.
    found_for: Option<Vec<u8>>,
    cpus: Vec<Cpu>,
    reasons: [Reason; 2],
}

/// Create the source, without opening anything yet.
pub fn open(place: &Place) -> Box<dyn Source> {
    let reasons = ["no CPU has cpufreq/scaling_cur_freq", "no CPU has thermal_throttle"];
    Box::new(Frequency {
        place: place.clone(),
        online: Kept::new(place, "sys/devices/system/cpu/online"),
        found_for: None,
        cpus: Vec::new(),
        reasons: reasons.map(Arc::from),
    })
}

impl Source for Frequency {
    fn read(&mut self, buffer: &mut Buffer, record: &mut Record<'_>) {
        let Some(text) = record.text(&mut self.online, buffer) else { return };
        if self.found_for.as_deref() != Some(text) {
            self.found_for = Some(text.to_owned());
            self.find();
        }
        for cpu in &mut self.cpus {
            let row = record.row(&[cpu.name.as_bytes()], Columns::Fixed(&FREQUENCY));
            for (place, file) in row.iter_mut().zip(&mut cpu.files) {
                let text = file.as_mut().and_then(|file| file.read(buffer).ok());
                let line = text.and_then(|text| lines(text).next());
                *place = line.and_then(number).unwrap_or(UNKNOWN);
            }
        }
        let has = |file: std::ops::Range<usize>| {
            self.cpus.iter().any(|cpu| cpu.files[file.clone()].iter().any(Option::is_some))
        };
        for (there, reason) in [has(0..1), has(1..5)].into_iter().zip(&self.reasons) {
            if !there {
                record.missing(Arc::clone(reason));
            }
        }
    }
}

impl Frequency {
    /// Find the files, once for each set of online CPUs: looking for missing files costs as much as reading.
    fn find(&mut self) {
        let root = self.place.root();
        let cpus = cpus(&root.join("sys/devices/system/cpu"));
        let many = cpus.len() * FILES.len() > MOST_OPEN;
        let found = cpus.iter().map(|cpu| {
            let files = FILES.map(|file| {
                let path = format!("sys/devices/system/cpu/cpu{cpu}/{file}");
                let kept = root.join(&path).exists().then(|| Kept::new(&self.place, &path))?;
                Some(if many { kept.opened_each_time() } else { kept })
            });
            Cpu { name: format!("cpu{cpu}"), files }
        });
        self.cpus = found.filter(|cpu| cpu.files.iter().any(Option::is_some)).collect();
    }
}

/// Return the numbers of the CPUs that have a directory, ascending.
fn cpus(directory: &Path) -> Vec<u32> {
    let names = fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.file_name());
    let mut found: Vec<u32> =
        names.filter_map(|name| name.to_str()?.strip_prefix("cpu")?.parse().ok()).collect();
    found.sort_unstable();
    found
}
