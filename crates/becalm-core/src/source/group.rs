//! A control group of their own for the measured programs, and what quotas of the groups around it held back
//! (Documentation/admin-guide/cgroup-v2.rst, psi.rst, cgroup-v1/cpu via scheduler/sched-bwc.rst).
//!
//! The group is made below the one that this process is in, in version 2 alone, where root or a delegated group lets it
//! be made and where it changes nobody's share of the CPUs. It goes with this value. Programs are in it because the
//! process that starts them is: a process that moves there waits until every CPU has passed through the scheduler
//! (`cgroup_threadgroup_rwsem`), 7 to 27 ms, and one that begins there does not. So the group is best made before that
//! process is (`directory`); one that is there already is moved (`take_in`).

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::abandoned::{self, NAME};
use super::bytes::{lines, number, split_once, Words};
use super::file::{Buffer, Kept, Place};
use super::membership::Membership;

/// The first cgroup namespace has this number on every Linux (include/linux/proc_ns.h, PROC_CGROUP_INIT_INO): what lies
/// above a later one is hidden.
const FIRST_NAMESPACE: &str = "cgroup:[4026531835]";

/// The control groups around the programs, and their own where it could be made.
pub struct Around {
    own: Option<Own>,
    quotas: Vec<Kept>,
    /// No group above is hidden, so without a quota nothing is held back.
    whole: bool,
    buffer: Buffer,
}

struct Own {
    directory: PathBuf,
    /// The processes that start the programs.
    starters: Vec<libc::pid_t>,
    pressures: [Kept; 3],
}

/// The counts until now. None is unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counted {
    /// Time in which a quota held back the group that has it, ns.
    pub quota_ns: Option<u64>,
    /// PSI "some" of the programs' own group: CPU, I/O, memory, ns.
    pub pressure_ns: [Option<u64>; 3],
}

impl Counted {
    /// Return the difference from an earlier one; a count that ran backwards is unknown.
    pub fn since(&self, before: &Self) -> Self {
        let moved = |now: Option<u64>, then: Option<u64>| now?.checked_sub(then?);
        let pressure = |index: usize| moved(self.pressure_ns[index], before.pressure_ns[index]);
        Self { quota_ns: moved(self.quota_ns, before.quota_ns), pressure_ns: std::array::from_fn(pressure) }
    }
}

impl Around {
    /// Find the groups, and make one for programs; the second tells why that was not done.
    pub fn new(place: &Place) -> (Self, Option<String>) {
        let mut buffer = Buffer::default();
        let mut membership = Membership::new(place);
        if let Err(reason) = membership.refresh(&mut buffer) {
            return (Self { own: None, quotas: Vec::new(), whole: false, buffer }, Some(reason.to_string()));
        }
        let groups = membership.groups();
        let quotas = groups.iter().flat_map(|group| quotas(place, &group.directory)).collect();
        let unified = groups.iter().find(|group| group.controllers.is_empty());
        let made = match unified {
            Some(group) if place.root() == Path::new("/") => Own::make(place, &group.directory),
            Some(_) => Err("groups are made on the running machine alone".to_owned()),
            None => Err("control groups of version 2 are not mounted here".to_owned()),
        };
        let namespace = fs::read_link("/proc/self/ns/cgroup");
        let whole = namespace.is_ok_and(|name| name == Path::new(FIRST_NAMESPACE));
        let (own, why) = match made {
            Ok(own) => (Some(own), None),
            Err(why) => (None, Some(why)),
        };
        (Self { own, quotas, whole, buffer }, why)
    }

    /// The directory of the programs' own group, for a process to begin in (clone(2), CLONE_INTO_CGROUP).
    pub fn directory(&self) -> Option<File> {
        File::open(&self.own.as_ref()?.directory).ok()
    }

    /// Have the programs in their own group that `starter` starts from now on; an error tells why they are not, and then
    /// there is no group any more.
    pub fn take_in(&mut self, starter: libc::pid_t) -> Result<(), String> {
        let Some(own) = &mut self.own else { return Ok(()) };
        let taken = own.take_in(starter);
        if taken.is_err() {
            self.own = None;
        }
        taken
    }

    /// Whether the programs are in a group of their own.
    pub fn has_own(&self) -> bool {
        self.own.is_some()
    }

    /// Read the counts until now.
    pub fn read(&mut self) -> Counted {
        let Self { own, quotas, whole, buffer } = self;
        let mut counted = Counted { quota_ns: whole.then_some(0), pressure_ns: [None; 3] };
        for file in quotas {
            let held = file.read(buffer).ok().and_then(throttled);
            let sum = counted.quota_ns.unwrap_or(0);
            counted.quota_ns = held.map(|held| sum + held);
            if held.is_none() {
                break;
            }
        }
        if let Some(own) = own {
            for (file, value) in own.pressures.iter_mut().zip(&mut counted.pressure_ns) {
                *value = file.read(buffer).ok().and_then(some_total);
            }
        }
        counted
    }
}

impl Own {
    fn make(place: &Place, parent: &str) -> Result<Self, String> {
        let above = place.root().join(parent);
        let enabled = fs::read_to_string(above.join("cgroup.subtree_control")).unwrap_or_default();
        if enabled.split_ascii_whitespace().any(|controller| controller == "cpu") {
            return Err(format!(
                "a group of its own below /{parent} would change the programs' share of the CPUs"
            ));
        }
        abandoned::remove_in(&above);
        let name = format!("{NAME}{}", std::process::id());
        let directory = above.join(&name);
        fs::create_dir(&directory).map_err(|error| format!("/{parent}/{name} cannot be made: {error}"))?;
        let pressures = ["cpu", "io", "memory"]
            .map(|resource| Kept::new(place, &format!("{parent}/{name}/{resource}.pressure")));
        Ok(Self { directory, starters: Vec::new(), pressures })
    }

    fn take_in(&mut self, starter: libc::pid_t) -> Result<(), String> {
        let processes = self.directory.join("cgroup.procs");
        let pid = starter.to_string();
        let began_here =
            fs::read_to_string(&processes).is_ok_and(|text| text.lines().any(|line| line == pid));
        if !began_here {
            fs::write(&processes, pid).map_err(|error| {
                let file = processes.display();
                format!("programs may not be moved into a group of their own here: {file}: {error}")
            })?;
        }
        self.starters.push(starter);
        Ok(())
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        if let Some(above) = self.directory.parent() {
            for starter in &self.starters {
                // It may have ended.
                drop(fs::write(above.join("cgroup.procs"), starter.to_string()));
            }
        }
        drop(abandoned::remove_one(&self.directory));
    }
}

/// The cpu.stat of this group and of those above it that have a quota.
fn quotas(place: &Place, directory: &str) -> Vec<Kept> {
    let mut found = Vec::new();
    let mut at = Path::new(directory);
    while at.starts_with("sys/fs/cgroup") {
        let read = |file: &str| fs::read_to_string(place.root().join(at).join(file)).ok();
        let second = read("cpu.max").is_some_and(|text| !text.starts_with("max"));
        let first = read("cpu.cfs_quota_us").is_some_and(|text| !text.starts_with('-'));
        if first || second {
            found.push(Kept::new(place, &format!("{}/cpu.stat", at.display())));
        }
        match at.parent() {
            Some(parent) => at = parent,
            None => break,
        }
    }
    found
}

/// Return how long the group was held back by cpu.stat, ns: version 2 counts us, version 1 ns.
fn throttled(text: &[u8]) -> Option<u64> {
    lines(text).find_map(|line| {
        let mut words = Words(line);
        match words.next()? {
            b"throttled_usec" => words.number()?.checked_mul(1000),
            b"throttled_time" => words.number(),
            _ => None,
        }
    })
}

/// The total of the line "some avg10=… total=7", in ns.
fn some_total(text: &[u8]) -> Option<u64> {
    let line = lines(text).find(|line| line.starts_with(b"some"))?;
    Words(line).filter_map(|word| split_once(word, b'=')).find_map(|(name, value)| match name {
        b"total" => number(value)?.checked_mul(1000),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_both_versions_are_read_in_ns() {
        assert_eq!(throttled(b"usage_usec 5\nnr_throttled 2\nthrottled_usec 7\n"), Some(7000));
        assert_eq!(throttled(b"nr_periods 1\nnr_throttled 2\nthrottled_time 7\n"), Some(7));
        assert_eq!(throttled(b"usage_usec 5\n"), None);
        let text = b"some avg10=0.00 avg60=0.00 avg300=0.00 total=12\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=9\n";
        assert_eq!(some_total(text), Some(12_000));
        assert_eq!(some_total(b"full avg10=0.00 total=9\n"), None);
    }

    #[test]
    fn quotas_of_all_groups_above_are_added_and_a_tree_gets_no_group() {
        let root = std::env::temp_dir().join(format!("becalm-around-{}", std::process::id()));
        let inner = root.join("sys/fs/cgroup/pod/box");
        fs::create_dir_all(&inner).unwrap();
        fs::create_dir_all(root.join("proc/self")).unwrap();
        let write = |file: &str, text: &str| fs::write(root.join(file), text).unwrap();
        write("proc/self/cgroup", "0::/pod/box\n");
        write("proc/self/mountinfo", "41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        write("sys/fs/cgroup/pod/box/cpu.max", "max 100000\n");
        write("sys/fs/cgroup/pod/box/cpu.stat", "throttled_usec 1000\n");
        write("sys/fs/cgroup/pod/cpu.max", "50000 100000\n");
        write("sys/fs/cgroup/pod/cpu.stat", "throttled_usec 3\n");
        let (mut around, why) = Around::new(&Place::new(&root));
        assert!(why.unwrap().contains("running machine") && !around.has_own());
        let before = around.read();
        assert_eq!(before.quota_ns, Some(3000));
        write("sys/fs/cgroup/pod/cpu.stat", "throttled_usec 5\n");
        assert_eq!(around.read().since(&before).quota_ns, Some(2000));
        fs::remove_file(root.join("sys/fs/cgroup/pod/cpu.stat")).unwrap();
        assert_eq!(around.read().quota_ns, None);
        fs::remove_dir_all(root).unwrap();
    }
}
