//! The CPU time that each other process took between two readings, in ns, the bytes that it moved from and to storage,
//! and the memory by which it grew.
//!
//! A reading lists `/proc` (getdents64(2)) and reads the CPU clock of each process (clock_getcpuclockid(3)),
//! which includes all threads that the process ever had and needs no rights: about 1 us per process, a tenth
//! of reading `/proc/PID/stat`, and exact. Files are read only of processes that are new or are reported, and
//! `/proc/PID/io` of those whose CPU clock has moved, since nobody moves bytes without CPU time, and
//! `/proc/PID/status` of those that ran for a millisecond or longer.
//!
//! A process that began and ended between two readings is not seen here; `ended` adds those that the kernel
//! reports.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::activity::{Consumer, Interval, MemoryChange, Mover, NAMED};
use super::affinity::{allowed, Cpus};
use super::directory_entries::{entries, entry, rewind};
use super::held_memory::held_bytes;
use super::pid_stat::PidStat;
use super::process::thread_ids;
use super::process_sums::process_cpu_ns;
use super::taskstats::Task;
use super::traffic::Traffic;

/// The inverse of the share of an interval below which a process is part of the rest.
const SHARE: u64 = 1000;

/// The CPU time after which a process's memory is read again, ns: in less, it grows by 4,000 pages at most (a page fault
/// takes a quarter of a microsecond or more).
const GROWS_NS: u64 = 1_000_000;

/// A process as of the last reading.
#[derive(Debug, Clone, Copy)]
struct Seen {
    /// Its CPU time at the beginning of the interval.
    base_ns: u64,
    clock_ns: u64,
    /// Its traffic at the beginning of the interval and at the last reading; None if it may not be read.
    traffic: Option<(Traffic, Traffic)>,
    /// Its CPU time when its traffic was read.
    traffic_clock_ns: u64,
    /// The memory that it held at the beginning of the interval and at the last reading, bytes.
    held: (u64, u64),
    /// Its CPU time when its memory was read.
    held_clock_ns: u64,
    /// Whether it is one of the programs that are measured, or was started by one.
    own: bool,
    /// The number of the last reading that found it.
    reading: u32,
}

/// The processes of the machine, from reading to reading.
pub struct Others {
    directory: File,
    buffer: Vec<u8>,
    seen: HashMap<u32, Seen>,
    reading: u32,
    /// The processes of becalm that start programs: their children are programs, they themselves are not.
    starters: [u32; 3],
    /// The control groups of reported processes: few change theirs.
    groups: HashMap<u32, String>,
    /// The CPU time of ended threads by process, with the name of its last one.
    ended: HashMap<u32, ([u8; 16], u64)>,
}

impl Others {
    /// Open `/proc`, where CPU clocks must be readable; the first of `starters` is this process.
    pub fn open(starters: [u32; 3]) -> io::Result<Self> {
        process_cpu_ns(1)?;
        let directory = File::open("/proc")?;
        let (seen, groups, ended) = (HashMap::new(), HashMap::new(), HashMap::new());
        Ok(Self { directory, buffer: vec![0; 1 << 15], seen, reading: 0, starters, groups, ended })
    }

    /// Name the processes of becalm that start programs from now on.
    pub fn starters(&mut self, starters: [u32; 3]) {
        self.starters = starters;
    }

    /// Begin an interval.
    pub fn begin(&mut self) {
        self.read();
        self.read_traffic();
        self.read_memory();
        self.ended.clear();
        for seen in self.seen.values_mut() {
            seen.base_ns = seen.clock_ns;
            seen.traffic = seen.traffic.map(|(_, now)| (now, now));
            seen.held.0 = seen.held.1;
        }
    }

    /// Add a thread that has ended and belongs to none of the programs.
    pub fn ended(&mut self, task: &Task) {
        let Some(exec_ns) = task.delays.value("exec_ns") else { return };
        let ended = self.ended.entry(task.process.unwrap_or(task.pid)).or_insert((task.name, 0));
        *ended = (task.name, ended.1 + exec_ns);
    }

    /// Return what others did since the beginning of the interval, and begin another. Processes that may use
    /// none of the CPUs `shared` are left out, and those that took less than a thousandth of `interval_ns`
    /// are part of the rest.
    pub fn interval(&mut self, interval_ns: u64, shared: Option<&Cpus>) -> Interval {
        let gone = self.read();
        self.read_traffic();
        self.read_memory();
        let mut interval = self.moved();
        interval.memory_changes = self.memory_changes();
        let mut taken: Vec<(u32, u64)> = Vec::new();
        for (pid, seen) in &mut self.seen {
            let cpu_ns = seen.clock_ns.saturating_sub(seen.base_ns);
            seen.base_ns = seen.clock_ns;
            if !seen.own && cpu_ns > 0 {
                taken.push((*pid, cpu_ns));
            }
        }
        taken.sort_unstable_by_key(|(pid, cpu_ns)| (std::cmp::Reverse(*cpu_ns), *pid));
        for (pid, cpu_ns) in taken {
            if interval.consumers.len() >= NAMED || cpu_ns < interval_ns / SHARE {
                interval.rest_ns += cpu_ns;
                continue;
            }
            // An unreadable set of CPUs (the process has just ended) counts as all.
            let elsewhere =
                shared.zip(allowed(pid as i32)).is_some_and(|(shared, its)| disjoint(shared, &its));
            if elsewhere {
                interval.elsewhere_ns += cpu_ns;
                continue;
            }
            let name = name(pid);
            let group = self.groups.entry(pid).or_insert_with(|| group(pid)).clone();
            interval.consumers.push(Consumer { pid: Some(pid), name, group, cpu_ns, count: 1 });
        }
        self.add_ended(&gone, &mut interval);
        interval
    }

    /// Read the traffic of all others that have run since it was last read.
    fn read_traffic(&mut self) {
        for (pid, seen) in &mut self.seen {
            if seen.own || seen.traffic_clock_ns == seen.clock_ns {
                continue;
            }
            let traffic = match Traffic::of(Path::new("/"), *pid) {
                Ok(traffic) => Some(traffic),
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => None,
                // The process has just ended.
                Err(_) => Some(seen.traffic.map(|(_, now)| now).unwrap_or_default()),
            };
            // A new process has moved all of its bytes in this interval.
            let base = if seen.traffic_clock_ns == 0 {
                Some(Traffic::default())
            } else {
                seen.traffic.map(|(base, _)| base)
            };
            seen.traffic = base.zip(traffic);
            seen.traffic_clock_ns = seen.clock_ns;
        }
    }

    /// Read the memory of all others that have run for long enough to grow since it was last read.
    fn read_memory(&mut self) {
        for (pid, seen) in &mut self.seen {
            let ran_ns = seen.clock_ns.saturating_sub(seen.held_clock_ns);
            if seen.own || ran_ns < GROWS_NS && seen.held_clock_ns > 0 || ran_ns == 0 {
                continue;
            }
            // One that has just ended holds what it held.
            seen.held.1 = held_bytes(Path::new("/"), *pid).unwrap_or(seen.held.1);
            seen.held_clock_ns = seen.clock_ns;
        }
    }

    /// Return by how much the memory of others has changed since the beginning of the interval, and begin
    /// another.
    fn memory_changes(&mut self) -> Vec<MemoryChange> {
        let starters = self.starters;
        let mut changes: Vec<(u32, i64)> = Vec::new();
        for (pid, seen) in &mut self.seen {
            let bytes = seen.held.1.cast_signed() - seen.held.0.cast_signed();
            seen.held.0 = seen.held.1;
            if !seen.own && bytes != 0 && !starters.contains(pid) {
                changes.push((*pid, bytes));
            }
        }
        changes.sort_unstable_by_key(|(pid, bytes)| (std::cmp::Reverse(bytes.unsigned_abs()), *pid));
        changes.truncate(NAMED);
        let named = |(pid, bytes)| {
            let group = self.groups.entry(pid).or_insert_with(|| group(pid)).clone();
            MemoryChange { pid, name: name(pid), group, bytes }
        };
        changes.into_iter().map(named).collect()
    }

    /// Return the traffic since the beginning of the interval, and begin another.
    fn moved(&mut self) -> Interval {
        let mut interval = Interval::default();
        let mut moved: Vec<(u32, Traffic)> = Vec::new();
        let starters = self.starters;
        for (pid, seen) in &mut self.seen {
            match &mut seen.traffic {
                _ if seen.own => {}
                Some((base, now)) => {
                    let traffic = now.since(*base);
                    *base = *now;
                    // The starting processes get the programs' bytes when they wait for them.
                    if traffic.bytes() > 0 && !starters.contains(pid) {
                        moved.push((*pid, traffic));
                    }
                }
                None => interval.unread += u64::from(seen.clock_ns > seen.base_ns),
            }
        }
        moved.sort_unstable_by_key(|(pid, traffic)| (std::cmp::Reverse(traffic.bytes()), *pid));
        moved.truncate(NAMED);
        for (pid, traffic) in moved {
            let group = self.groups.entry(pid).or_insert_with(|| group(pid)).clone();
            interval.movers.push(Mover { pid, name: name(pid), group, traffic });
        }
        interval
    }

    /// Return the CPU time and the run-queue wait of the programs' live processes, summed over their threads,
    /// since they began; None if there is none.
    pub fn own_times(&self) -> Option<(u64, u64)> {
        let own = self.seen.iter().filter(|(_, seen)| seen.own && seen.reading == self.reading);
        own.map(|(pid, _)| waited(*pid)).fold(None, |sum: Option<(u64, u64)>, (exec, wait)| {
            let (execs, waits) = sum.unwrap_or_default();
            Some((execs + exec, waits + wait))
        })
    }

    fn add_ended(&mut self, gone: &HashMap<u32, Seen>, interval: &mut Interval) {
        let mut by_name: HashMap<[u8; 16], (u64, u64)> = HashMap::new();
        for (process, (name, exec_ns)) in self.ended.drain() {
            if self.seen.contains_key(&process) {
                // This is one of the process's threads, which its own clock includes.
                continue;
            }
            let before = gone.get(&process);
            if before.is_some_and(|seen| seen.own) {
                continue;
            }
            let cpu_ns = exec_ns.saturating_sub(before.map_or(0, |seen| seen.base_ns));
            let sum = by_name.entry(name).or_default();
            *sum = (sum.0 + cpu_ns, sum.1 + 1);
        }
        for (name, (cpu_ns, count)) in by_name {
            let name = String::from_utf8_lossy(name.split(|byte| *byte == 0).next().unwrap_or_default());
            interval.consumers.push(Consumer {
                pid: None,
                name: name.into_owned(),
                group: String::new(),
                cpu_ns,
                count,
            });
        }
        interval.consumers.sort_by(|one, other| (other.cpu_ns, &one.name).cmp(&(one.cpu_ns, &other.name)));
    }

    /// Read the clocks of all processes. Return those that have ended since, and remove them from the table.
    fn read(&mut self) -> HashMap<u32, Seen> {
        self.reading = self.reading.wrapping_add(1);
        rewind(&self.directory);
        loop {
            let length = entries(&self.directory, &mut self.buffer);
            if length == 0 {
                break;
            }
            let mut at = 0;
            while let Some((pid, next)) = entry(&self.buffer[..length], at) {
                at = next;
                if let Some(pid) = pid {
                    self.look(pid);
                }
            }
        }
        let reading = self.reading;
        if self.seen.values().all(|seen| seen.reading == reading) {
            return HashMap::new();
        }
        let gone = self.seen.iter().filter(|(_, seen)| seen.reading != reading);
        let gone = gone.map(|(pid, seen)| (*pid, *seen)).collect();
        self.seen.retain(|_, seen| seen.reading == reading);
        self.groups.retain(|pid, _| self.seen.contains_key(pid));
        gone
    }

    fn look(&mut self, pid: u32) {
        let Ok(clock_ns) = process_cpu_ns(pid as i32) else { return };
        let reading = self.reading;
        if let Some(seen) = self.seen.get_mut(&pid).filter(|seen| clock_ns >= seen.clock_ns) {
            (seen.clock_ns, seen.reading) = (clock_ns, reading);
            return;
        }
        // The process is new, or its number was reused.
        self.groups.remove(&pid);
        let parent = stat(pid).and_then(|stat| u32::try_from(stat.at(4)?).ok()).unwrap_or(0);
        let own = !self.starters.contains(&pid) && self.is_own(pid, parent);
        let seen = Seen {
            base_ns: 0,
            clock_ns,
            traffic: None,
            traffic_clock_ns: 0,
            held: (0, 0),
            held_clock_ns: 0,
            own,
            reading,
        };
        self.seen.insert(pid, seen);
    }

    /// Return whether a process descends from one that starts programs. Orphans of programs become children
    /// of this process.
    fn is_own(&self, pid: u32, parent: u32) -> bool {
        if self.starters.contains(&parent) {
            return !crate::exec::tree::is_spared(pid as i32);
        }
        match self.seen.get(&parent) {
            Some(seen) => seen.own,
            None if parent <= 1 => false,
            None => {
                let above = stat(parent).and_then(|stat| u32::try_from(stat.at(4)?).ok());
                above.is_some_and(|above| self.is_own(parent, above))
            }
        }
    }
}

fn disjoint(one: &[usize], other: &[usize]) -> bool {
    !one.iter().any(|cpu| other.contains(cpu))
}

/// Return the name of a process; empty where it has ended.
pub fn name(pid: u32) -> String {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    name.trim_end_matches('\n').to_owned()
}

fn stat(pid: u32) -> Option<PidStat> {
    PidStat::parse(&fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// Return the CPU time and the run-queue wait of the live threads of a process, ns
/// (`/proc/PID/task/TID/schedstat`).
fn waited(pid: u32) -> (u64, u64) {
    let directory = PathBuf::from(format!("/proc/{pid}"));
    let Ok(threads) = thread_ids(&directory) else { return (0, 0) };
    let times = threads.into_iter().filter_map(|tid| {
        let text = fs::read_to_string(directory.join(format!("task/{tid}/schedstat"))).ok()?;
        let mut words = text.split_ascii_whitespace().map(str::parse::<u64>);
        Some((words.next()?.ok()?, words.next()?.ok()?))
    });
    times.fold((0, 0), |(execs, waits), (exec, wait)| (execs + exec, waits + wait))
}

/// Return the deepest control group of a process: in version 2, or in the named hierarchy of an init system.
pub fn group(pid: u32) -> String {
    let text = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    let paths = text.lines().filter_map(|line| line.splitn(3, ':').nth(2));
    let deepest = paths.max_by_key(|path| path.matches('/').count() + usize::from(path.len() > 1));
    deepest.map(|path| path.trim_start_matches('/').to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::delays::Delays;

    fn task(pid: u32, process: u32, name: &[u8], exec_ns: u64) -> Task {
        let mut delays = Delays::ZERO;
        delays.0[0] = Some(exec_ns);
        let mut bytes = [0; 16];
        bytes[..name.len()].copy_from_slice(name);
        Task { pid, parent: 1, runs: 1, delays, process: Some(process), lived_ns: 1, name: bytes }
    }

    fn seen(own: bool) -> Seen {
        Seen {
            base_ns: 0,
            clock_ns: 0,
            traffic: None,
            traffic_clock_ns: 0,
            held: (0, 0),
            held_clock_ns: 0,
            own,
            reading: 0,
        }
    }

    #[test]
    fn ended_processes_are_summed_by_name_without_earlier_time() {
        let mut others = Others::open([u32::MAX; 3]).unwrap();
        others.begin();
        // These are above the largest number of a process (PID_MAX_LIMIT is 2^22).
        let (one, two, three) = (1 << 23, (1 << 23) + 1, (1 << 23) + 2);
        for ended in [
            task(one, one, b"cc1", 5_000),
            task(9, one, b"cc1", 700),
            task(two, two, b"cc1", 300),
            task(three, three, b"as", 40),
        ] {
            others.ended(&ended);
        }
        let before = Seen { base_ns: 100, clock_ns: 200, ..seen(false) };
        let mine = Seen { own: true, ..before };
        let mut interval = Interval::default();
        others.add_ended(&HashMap::from([(two, before), (three, mine)]), &mut interval);
        let found: Vec<_> =
            interval.consumers.iter().map(|each| (each.pid, &*each.name, each.cpu_ns, each.count)).collect();
        assert_eq!(found, [(None, "cc1", 5_900, 2)]);
    }

    #[test]
    fn this_process_is_seen_and_is_no_program_of_its_own() {
        let own = std::process::id();
        let mut others = Others::open([own; 3]).unwrap();
        others.begin();
        assert!(others.seen.values().all(|seen| seen.reading == 1 && seen.base_ns == seen.clock_ns));
        assert!(!others.seen[&own].own);
        let interval = others.interval(1, None);
        assert!(interval.consumers.len() <= NAMED);
        assert!(interval.consumers.iter().any(|each| each.pid == Some(own)));
    }

    #[test]
    fn traffic_is_reported_in_one_interval() {
        let mut others = Others::open([u32::MAX; 3]).unwrap();
        let moved = |read| Traffic { read, written: 0 };
        let seen = |traffic, own| Seen { clock_ns: 9, traffic, traffic_clock_ns: 9, ..seen(own) };
        let (one, two, mine, hidden) = (1 << 23, (1 << 23) + 1, (1 << 23) + 2, (1 << 23) + 3);
        others.seen.insert(one, seen(Some((moved(100), moved(150))), false));
        others.seen.insert(two, seen(Some((moved(0), moved(4000))), false));
        others.seen.insert(mine, seen(Some((moved(0), moved(9000))), true));
        others.seen.insert(hidden, seen(None, false));
        let first = others.moved();
        let found: Vec<_> = first.movers.iter().map(|each| (each.pid, each.traffic.read)).collect();
        assert_eq!((found, first.unread), (vec![(two, 4000), (one, 50)], 1));
        assert!(others.moved().movers.is_empty());
    }

    #[test]
    fn growth_is_reported_in_one_interval_but_not_of_starters() {
        let starter = (1 << 23) + 4;
        let mut others = Others::open([u32::MAX, u32::MAX, starter]).unwrap();
        let (one, two, mine, shrunk) = (1 << 23, (1 << 23) + 1, (1 << 23) + 2, (1 << 23) + 3);
        others.seen.insert(starter, Seen { held: (0, 7000), ..seen(false) });
        others.seen.insert(one, Seen { held: (100, 150), ..seen(false) });
        others.seen.insert(two, Seen { held: (0, 4000), ..seen(false) });
        others.seen.insert(mine, Seen { held: (0, 9000), ..seen(true) });
        others.seen.insert(shrunk, Seen { held: (900, 10), ..seen(false) });
        let bytes = |changes: Vec<MemoryChange>| {
            changes.iter().map(|change| (change.pid, change.bytes)).collect::<Vec<_>>()
        };
        assert_eq!(bytes(others.memory_changes()), [(two, 4000), (shrunk, -890), (one, 50)]);
        assert!(others.memory_changes().is_empty());
    }

    #[test]
    fn memory_is_read_of_who_ran_for_long_enough() {
        let mut others = Others::open([u32::MAX; 3]).unwrap();
        let own = std::process::id();
        let held = |others: &Others| others.seen[&own].held.1;
        others.seen.insert(own, Seen { clock_ns: 5, ..seen(false) });
        others.read_memory();
        assert!(held(&others) > 0, "the first reading");
        for (clock_ns, read) in [(GROWS_NS + 4, false), (GROWS_NS + 5, true)] {
            others.seen.insert(own, Seen { clock_ns, held_clock_ns: 5, ..seen(false) });
            others.read_memory();
            assert_eq!(held(&others) > 0, read);
        }
    }

    #[test]
    fn children_of_starters_and_of_programs_are_programs() {
        let mut others = Others::open([7, 7, 7]).unwrap();
        others.seen.insert(20, seen(true));
        others.seen.insert(30, seen(false));
        assert!(others.is_own(40, 7) && others.is_own(41, 20));
        assert!(!others.is_own(42, 30) && !others.is_own(43, 1) && !others.is_own(44, 0));
    }
}
