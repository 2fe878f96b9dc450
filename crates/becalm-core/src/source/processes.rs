//! The processes that used the CPUs between two readings of all `/proc/PID/stat` (proc_pid_stat(5)).
//!
//! A look costs about 10 us per process: it is taken before and after a run, never at each sample. Processes
//! that began or ended in between are not seen.

use std::collections::HashMap;
use std::fs;

use super::file::Place;
use super::pid_stat::PidStat;
use super::TICK_NS;

/// A process and its CPU time until now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    pub name: String,
    pub ticks: u64,
    /// The time when it began, in ticks since the boot: numbers are reused.
    pub began: u64,
}

/// All processes at one time.
#[derive(Debug, Default)]
pub struct Processes(HashMap<u32, Process>);

/// A process that used CPU time between two looks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consumer {
    pub pid: u32,
    pub name: String,
    pub cpu_ns: u64,
}

impl Processes {
    /// Look at all processes; those that end meanwhile are left out.
    pub fn read(place: &Place) -> Self {
        let Ok(entries) = fs::read_dir(place.root().join("proc")) else { return Self::default() };
        let numbered = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let read = |pid: u32| {
            let text = fs::read(place.root().join(format!("proc/{pid}/stat"))).ok()?;
            Some((pid, parse(&text)?))
        };
        Self(numbered.filter_map(read).collect())
    }

    /// Return the largest consumers since an earlier reading, the largest first, at most `count`; those of `without`
    /// are left out.
    pub fn since(&self, before: &Self, count: usize, without: &[u32]) -> Vec<Consumer> {
        let used = |(pid, now): (&u32, &Process)| {
            let then = before.0.get(pid).filter(|then| then.began == now.began && !without.contains(pid))?;
            let ticks = now.ticks.checked_sub(then.ticks).filter(|ticks| *ticks > 0)?;
            Some(Consumer { pid: *pid, name: now.name.clone(), cpu_ns: ticks * TICK_NS })
        };
        let mut found: Vec<Consumer> = self.0.iter().filter_map(used).collect();
        found.sort_by_key(|each| (std::cmp::Reverse(each.cpu_ns), each.pid));
        found.truncate(count);
        found
    }
}

/// Parse the file: user and system time are fields 14 and 15, the start time is field 22.
fn parse(text: &[u8]) -> Option<Process> {
    let stat = PidStat::parse(text)?;
    let (ticks, began) = (stat.at(14)?.checked_add(stat.at(15)?)?, stat.at(22)?);
    Some(Process { name: stat.name, ticks, began })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn line(name: &str, user: u64, system: u64, began: u64) -> Vec<u8> {
        format!("7 ({name}) S 1 7 7 0 -1 4194560 1 0 0 0 {user} {system} 0 0 20 0 1 0 {began} 1 1")
            .into_bytes()
    }

    fn all(each: &[(u32, Vec<u8>)]) -> Processes {
        Processes(each.iter().map(|(pid, text)| (*pid, parse(text).unwrap())).collect())
    }

    #[test]
    fn the_largest_come_first_and_numbers_used_again_are_others() {
        assert_eq!(
            parse(&line("a) b (c", 3, 4, 5)).unwrap(),
            Process { name: "a) b (c".into(), ticks: 7, began: 5 }
        );
        for bad in [&b""[..], b"7 x S 1", b"7 (x) S 1 2"] {
            assert_eq!(parse(bad), None);
        }
        let before = all(&[
            (1, line("a", 1, 1, 0)),
            (2, line("b", 0, 0, 0)),
            (3, line("c", 9, 9, 0)),
            (4, line("d", 1, 0, 0)),
        ]);
        let after = all(&[
            (1, line("a", 2, 1, 0)),
            (2, line("b", 5, 5, 0)),
            (3, line("new", 20, 20, 8)),
            (4, line("d", 90, 0, 0)),
            (5, line("e", 7, 0, 9)),
        ]);
        let found = after.since(&before, 5, &[4]);
        let short: Vec<_> = found.iter().map(|each| (each.pid, each.cpu_ns)).collect();
        assert_eq!(short, [(2, 100_000_000), (1, 10_000_000)]);
        assert_eq!(after.since(&before, 1, &[])[0].name, "d");
    }

    #[test]
    fn this_process_is_among_them() {
        let found = Processes::read(&Place::new(Path::new("/")));
        assert!(found.0.contains_key(&std::process::id()));
        assert!(Processes::read(&Place::new(Path::new("/nowhere"))).0.is_empty());
    }
}
