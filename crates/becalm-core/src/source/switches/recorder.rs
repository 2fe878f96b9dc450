//! The recorder of all CPUs: one stream of records in order of time, which reports everything that is
//! missing.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::events::{choices, Choice, EventSet};
use super::feed::{Feed, Groups};
use super::group::Refused;
use super::lane::{Lane, NamedThread, Noticed};
use super::names::Names;
use super::parse::KernelEvent;
use super::record::Record;
use super::threads::Threads;
use crate::cpus::{list, parse as parse_cpus, Cpus};
use crate::exec::now_ns;

/// The time between two checks whether CPUs came, went, or lost their counters, ns.
const LOOK_NS: i64 = 1_000_000_000;

/// The time, ns, for which a record may be under way after its time was taken: newer ones wait for the next
/// look. A virtual CPU may be held up for longer in between; such a record is passed on with the time of the
/// previous one, so that all are in order.
const UNDER_WAY_NS: u64 = 100_000;

/// The numbers of failures.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Trouble {
    /// Records for which the kernel had no room.
    pub lost: u64,
    /// Times that others used the counters between two records.
    pub shared: u64,
    /// Times that the counters of a CPU could not be read, for example while it goes offline (by BPF).
    pub unread: u64,
    /// Times that a CPU stopped counting.
    pub offline: u64,
}

impl Trouble {
    fn add(&mut self, noticed: Noticed) {
        self.lost += noticed.lost;
        self.shared += noticed.shared;
        self.unread += noticed.unread;
    }
}

/// The reason why nothing can be recorded.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    #[error("{0}")]
    Refused(String),
    #[error("{0}")]
    Unsupported(String),
    #[error("{0}")]
    Domain(String),
}

/// The recorder of some CPUs.
pub struct Recorder {
    root: PathBuf,
    choices: Vec<Choice>,
    wanted: Option<Cpus>,
    window_ns: u64,
    feed: Box<dyn Feed>,
    lanes: BTreeMap<u32, Lane>,
    /// The CPUs that are not recorded, with the reasons.
    pub absent: BTreeMap<u32, String>,
    waiting: Vec<(Record, [NamedThread; 2])>,
    threads: Threads,
    pub names: Names,
    before: Trouble,
    offline: u64,
    looked_ns: i64,
    /// The time of the last record that was passed on.
    passed_ns: u64,
    pub records: u64,
}

impl Recorder {
    /// Record a set of events on these CPUs, or on all, by the kernel's groups of counters; tasks that run
    /// long are read every `window_ns`. An error if no CPU can be recorded: a sentence with the reason and
    /// what can be done.
    pub fn open(
        set: EventSet,
        wanted: Option<Cpus>,
        window_ns: u64,
        root: &Path,
    ) -> Result<Self, RecordError> {
        Self::from(Box::new(Groups::default()), set, wanted, window_ns, root)
    }

    /// Record from another feed.
    pub fn from(
        feed: Box<dyn Feed>,
        set: EventSet,
        wanted: Option<Cpus>,
        window_ns: u64,
        root: &Path,
    ) -> Result<Self, RecordError> {
        let there = online(root);
        if let Some(missing) = wanted.as_ref().and_then(|wanted| wanted.difference(&there).next()) {
            let message = format!("CPU {missing} is not there: this machine has CPUs {}.", list(&there));
            return Err(RecordError::Domain(message));
        }
        let mut made = Self {
            root: root.to_owned(),
            choices: choices(set, root),
            wanted,
            window_ns,
            feed,
            lanes: BTreeMap::new(),
            absent: BTreeMap::new(),
            waiting: Vec::new(),
            threads: Threads::default(),
            names: Names::default(),
            before: Trouble::default(),
            offline: 0,
            looked_ns: now_ns(),
            passed_ns: 0,
            records: 0,
        };
        let mut first = None;
        for cpu in made.wished(&there) {
            match made.begin(cpu) {
                Ok(()) => {}
                Err(refused) => {
                    let why = words(&refused);
                    made.absent.insert(cpu, why);
                    first.get_or_insert(refused);
                }
            }
        }
        match first {
            Some(refused) if made.lanes.is_empty() => Err(error(&refused, set)),
            _ => Ok(made),
        }
    }

    /// Return the CPUs that are recorded.
    pub fn cpus(&self) -> Cpus {
        self.lanes.keys().copied().collect()
    }

    /// Return the events that are counted, for each kind of core.
    pub fn events(&self) -> &[Choice] {
        &self.choices
    }

    /// Return the failures so far.
    pub fn trouble(&self) -> Trouble {
        let mut sum = Trouble { offline: self.offline, ..self.before };
        for lane in self.lanes.values() {
            sum.add(lane.noticed);
        }
        sum
    }

    /// Append what has happened since the last look, as JSON with commas between; return the number of
    /// records. At the `end` this is all of it, otherwise all that no earlier record can precede.
    pub fn look(&mut self, out: &mut Vec<u8>, end: bool) -> u64 {
        let now = now_ns();
        let (lanes, waiting) = (&mut self.lanes, &mut self.waiting);
        let mut named = Vec::new();
        self.feed.take(end, &mut |cpu, event| {
            if let KernelEvent::Renamed { time_ns, .. }
            | KernelEvent::Fork { time_ns, .. }
            | KernelEvent::Exit { time_ns, .. } = event
            {
                named.push((time_ns, event));
            }
            if let Some(lane) = lanes.get_mut(&cpu) {
                lane.translate(event, |record, named| waiting.push((record, named)));
            }
        });
        named.sort_by_key(|(time_ns, _)| *time_ns);
        named.iter().for_each(|(_, event)| self.names.update(event));
        if now - self.looked_ns >= LOOK_NS {
            self.looked_ns = now;
            self.come_and_go(now as u64);
        }
        // The sort is stable: the records of one CPU are in order already.
        self.waiting.sort_by_key(|(record, _)| record.time_ns);
        let until = if end { u64::MAX } else { (now as u64).saturating_sub(UNDER_WAY_NS) };
        let ready = self.waiting.partition_point(|(record, _)| record.time_ns <= until);
        let mut count = 0;
        let mut write = |record: &Record| {
            if !out.is_empty() {
                out.push(b',');
            }
            record.write(out);
            count += 1;
        };
        for (mut record, named) in self.waiting.drain(..ready) {
            record.time_ns = record.time_ns.max(self.passed_ns);
            self.passed_ns = record.time_ns;
            self.threads.introduce(record, named, &mut write);
        }
        if end {
            self.threads.end(&mut write);
        }
        self.records += count;
        count
    }

    fn wished(&self, there: &Cpus) -> Vec<u32> {
        let wanted = |cpu: &&u32| self.wanted.as_ref().is_none_or(|wanted| wanted.contains(*cpu));
        there.iter().filter(wanted).copied().collect()
    }

    fn begin(&mut self, cpu: u32) -> Result<(), Refused> {
        let choice =
            self.choices.iter().find(|each| each.cpus.as_ref().is_none_or(|cpus| cpus.contains(&cpu)));
        let Some(choice) = choice else {
            let error = io::Error::from_raw_os_error(libc::ENOENT);
            return Err(Refused { event: "cache-references".to_owned(), hardware: true, error });
        };
        let pair = choice.pair.clone();
        let leader = self.feed.begin(cpu, &pair, self.window_ns)?;
        if !self.feed.counts(cpu) {
            self.feed.end(cpu);
            let [references, _] = pair;
            let error = io::Error::from_raw_os_error(libc::EBUSY);
            return Err(Refused { event: references.name, hardware: true, error });
        }
        self.lanes.insert(cpu, Lane::new(cpu, leader));
        Ok(())
    }

    /// Find out which CPUs have come, gone, or lost their counters.
    fn come_and_go(&mut self, now: u64) {
        let there = online(&self.root);
        let gone: Vec<u32> = self
            .lanes
            .keys()
            .filter(|cpu| !there.contains(cpu) || !self.feed.counts(**cpu))
            .copied()
            .collect();
        for cpu in gone {
            let Some(lane) = self.lanes.remove(&cpu) else { continue };
            self.feed.end(cpu);
            self.before.add(lane.noticed);
            self.offline += 1;
            self.waiting.push((lane.end(now), [None; 2]));
            let why = match there.contains(&cpu) {
                true => "its counters were taken by others (perf, the NMI watchdog)",
                false => "it was taken offline",
            };
            self.absent.insert(cpu, why.to_owned());
        }
        for cpu in self.wished(&there) {
            if !self.lanes.contains_key(&cpu) && self.begin(cpu).is_ok() {
                self.absent.remove(&cpu);
            }
        }
    }
}

/// Return the CPUs that are online below a root; one CPU if the file does not exist.
fn online(root: &Path) -> Cpus {
    let text = fs::read_to_string(root.join("sys/devices/system/cpu/online")).ok();
    text.and_then(|text| parse_cpus(&text)).unwrap_or_else(|| Cpus::from([0]))
}

/// Explain why one CPU is not recorded.
fn words(refused: &Refused) -> String {
    let Refused { event, error, .. } = refused;
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::EOPNOTSUPP) => format!("the kernel sees no counter for {event} on it"),
        Some(libc::ENODEV) => "it was taken offline".to_owned(),
        Some(libc::EACCES | libc::EPERM) => "the kernel refuses it to this user".to_owned(),
        Some(libc::EBUSY) => "its counters are taken by others (perf, the NMI watchdog)".to_owned(),
        Some(libc::EINVAL) => format!("the processor cannot count {event} next to the others"),
        _ => format!("{event} cannot be counted: {error}"),
    }
}

const INSTEAD: &str =
    "What can be seen here: page faults (--events faults), and how far the pages that one process uses \
                       change (--events ws_turnover); neither is a miss ratio";

/// Explain why nothing is recorded, and what can be done.
fn error(refused: &Refused, set: EventSet) -> RecordError {
    let Refused { event, hardware, error } = refused;
    let paranoid = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV) if *hardware => RecordError::Unsupported(format!(
            "Miss ratios cannot be seen on this machine: the kernel sees no counter for {event}, as on most rented virtual \
             machines. They can be seen on hardware of one's own, on rented machines without a hypervisor, and on those \
             virtual ones whose host lends its counters (vPMU). {INSTEAD}."
        )),
        Some(libc::EBUSY) => RecordError::Unsupported(format!(
            "The processor has no counter free for {event}: others count already (perf, or the NMI watchdog, which \
             `sysctl kernel.nmi_watchdog=0` ends). {}",
            if set == EventSet::Llc { format!("{INSTEAD}.") } else { String::new() }
        )),
        Some(libc::EACCES | libc::EPERM) => RecordError::Refused(format!(
            "The kernel does not let this user count what a whole CPU does: kernel.perf_event_paranoid is {}. Run becalm as root, or as \
             root: sysctl kernel.perf_event_paranoid=0",
            paranoid.trim()
        )),
        Some(libc::ENOSYS) => RecordError::Unsupported(
            "This kernel was built without performance events (CONFIG_PERF_EVENTS), so switches cannot be recorded. What can \
             be seen: --events ws_turnover."
                .to_owned(),
        ),
        Some(libc::EMFILE | libc::ENFILE) => RecordError::Refused(
            "There are too many open files: a recording needs four for each CPU. Raise the limit (ulimit -n), or record \
             fewer CPUs (--cpus)."
                .to_owned(),
        ),
        _ => RecordError::Unsupported(format!("Switches of tasks cannot be recorded here: {}.", words(refused))),
    }
}

#[cfg(test)]
#[path = "recorder_tests.rs"]
mod tests;
