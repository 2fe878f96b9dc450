//! A control group for the measured programs, and the time for which quotas of the groups around it held them
//! back (Documentation/admin-guide/cgroup-v2.rst, psi.rst, cgroup-v1/cpu via scheduler/sched-bwc.rst).
//!
//! The group is created below the one of this process, in version 2 only, if root's rights or a delegated
//! group allow that and it changes nobody's share of the CPUs. It is removed with this value. Programs are in
//! it because the process that starts them is: a process that moves there waits until every CPU has passed
//! through the scheduler (`cgroup_threadgroup_rwsem`), 7 to 27 ms, and one that begins there does not. So the
//! group is best created before that process (`directory`); a process that exists already is moved
//! (`take_in`).

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::abandoned::{self, NAME};
use super::bytes::{lines, number, split_once, Words};
use super::file::{Buffer, Kept, Place};
use super::membership::{Group, Membership};

/// The name of the first cgroup namespace, the same on every Linux (include/linux/proc_ns.h,
/// PROC_CGROUP_INIT_INO): the groups above a later namespace are hidden.
const FIRST_NAMESPACE: &str = "cgroup:[4026531835]";

/// The control groups around the programs, and their own if it could be created.
pub struct Around {
    own: Option<Own>,
    quotas: Vec<Quota>,
    /// Whether no group above is hidden, so that without a quota nothing is held back.
    whole: bool,
    buffer: Buffer,
}

struct Own {
    directory: PathBuf,
    /// The processes that start the programs.
    starters: Vec<libc::pid_t>,
    pressures: [Kept; 3],
}

/// A group with a quota.
struct Quota {
    group: String,
    cpus: f64,
    statistics: Kept,
}

/// The counts of a group's quota: `group` begins with a slash, and `cpus` is the number of CPUs that the
/// quota amounts to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Throttled {
    pub group: String,
    pub cpus: f64,
    /// The periods in which the group had something to run, and those of them in which it was held back.
    pub periods: u64,
    pub throttled: u64,
    /// The time for which it was held back, ns.
    pub throttled_ns: u64,
}

/// The counts so far. None is unknown.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Counted {
    /// The time for which a quota held back the group that has it, ns.
    pub quota_ns: Option<u64>,
    /// The counts of each quota, from the innermost group to the root; those that cannot be read are left out.
    pub quotas: Vec<Throttled>,
    /// The PSI "some" of the programs' own group: CPU, I/O, memory, ns.
    pub pressure_ns: [Option<u64>; 3],
}

impl Counted {
    /// Return the difference from an earlier one; a count that ran backwards is unknown.
    pub fn since(&self, before: &Self) -> Self {
        let moved = |now: Option<u64>, then: Option<u64>| now?.checked_sub(then?);
        let pressure = |index: usize| moved(self.pressure_ns[index], before.pressure_ns[index]);
        let quotas = self.quotas.iter().filter_map(|now| {
            now.since(before.quotas.iter().find(|then| then.group == now.group && then.cpus == now.cpus)?)
        });
        Self {
            quota_ns: moved(self.quota_ns, before.quota_ns),
            quotas: quotas.collect(),
            pressure_ns: std::array::from_fn(pressure),
        }
    }
}

impl Throttled {
    /// Return the difference from an earlier one; None for counts that ran backwards.
    fn since(&self, before: &Self) -> Option<Self> {
        Some(Self {
            periods: self.periods.checked_sub(before.periods)?,
            throttled: self.throttled.checked_sub(before.throttled)?,
            throttled_ns: self.throttled_ns.checked_sub(before.throttled_ns)?,
            ..self.clone()
        })
    }

    /// Add the counts of a further time.
    pub fn add(&mut self, more: &Self) {
        self.periods += more.periods;
        self.throttled += more.throttled;
        self.throttled_ns += more.throttled_ns;
    }
}

impl Around {
    /// Find the groups, and create one for programs; also return the reason if that was not possible.
    pub fn new(place: &Place) -> (Self, Option<String>) {
        let mut buffer = Buffer::default();
        let mut membership = Membership::new(place);
        if let Err(reason) = membership.refresh(&mut buffer) {
            return (Self { own: None, quotas: Vec::new(), whole: false, buffer }, Some(reason.to_string()));
        }
        let groups = membership.groups();
        let quotas = groups.iter().flat_map(|group| quotas(place, group)).collect();
        let unified = groups.iter().find(|group| group.controllers.is_empty());
        let made = match unified {
            Some(group) if place.root() == Path::new("/") => Own::make(place, &group.directory),
            Some(_) => Err("groups are made only on the running machine".to_owned()),
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

    /// Return the directory of the programs' own group, for a process to begin in (clone(2),
    /// CLONE_INTO_CGROUP).
    pub fn directory(&self) -> Option<File> {
        File::open(&self.own.as_ref()?.directory).ok()
    }

    /// Have programs that `starter` starts from now on begin in their own group; an error is the reason why
    /// they do not, and then the group is removed.
    pub fn take_in(&mut self, starter: libc::pid_t) -> Result<(), String> {
        let Some(own) = &mut self.own else { return Ok(()) };
        let taken = own.take_in(starter);
        if taken.is_err() {
            self.own = None;
        }
        taken
    }

    /// Return whether the programs have a group of their own.
    pub fn has_own(&self) -> bool {
        self.own.is_some()
    }

    /// Read the counts so far.
    pub fn read(&mut self) -> Counted {
        let Self { own, quotas, whole, buffer } = self;
        let mut counted = Counted { quota_ns: whole.then_some(0), ..Counted::default() };
        let mut sum = Some(counted.quota_ns.unwrap_or(0));
        for Quota { group, cpus, statistics } in &mut *quotas {
            let text = statistics.read(buffer).ok();
            let throttled_ns = text.and_then(throttled);
            sum = sum.zip(throttled_ns).map(|(sum, held)| sum + held);
            if let Some(((periods, throttled), throttled_ns)) = text.and_then(periods).zip(throttled_ns) {
                let (group, cpus) = (group.clone(), *cpus);
                counted.quotas.push(Throttled { group, cpus, periods, throttled, throttled_ns });
            }
        }
        if !quotas.is_empty() {
            counted.quota_ns = sum;
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
            return Err(format!("a new group below /{parent} would change the programs' share of the CPUs"));
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
                format!("programs may not be moved into their own group here: {file}: {error}")
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
                // The process may have ended.
                drop(fs::write(above.join("cgroup.procs"), starter.to_string()));
            }
        }
        drop(abandoned::remove_one(&self.directory));
    }
}

/// Return this group and those above it, as far as they have a quota.
fn quotas(place: &Place, group: &Group) -> Vec<Quota> {
    let mut found = Vec::new();
    let mut at = Path::new(&group.directory);
    while at.starts_with(&group.mount) {
        let read = |file: &str| fs::read_to_string(place.root().join(at).join(file)).ok();
        let second = read("cpu.max").and_then(|text| worth(&text));
        let first = || {
            let (quota, period) = (read("cpu.cfs_quota_us")?, read("cpu.cfs_period_us")?);
            worth(&format!("{} {}", quota.trim(), period.trim()))
        };
        if let Some(cpus) = second.or_else(first) {
            let group = at.strip_prefix(&group.mount).unwrap_or(at);
            let statistics = Kept::new(place, &format!("{}/cpu.stat", at.display()));
            found.push(Quota { group: format!("/{}", group.display()), cpus, statistics });
        }
        match at.parent() {
            Some(parent) => at = parent,
            None => break,
        }
    }
    found
}

/// Return the number of CPUs that a quota amounts to, from its time and its period: "50000 100000"; None if
/// there is no limit.
fn worth(text: &str) -> Option<f64> {
    let (quota, period) = text.trim().split_once(' ')?;
    let (quota, period) = (quota.parse::<i64>().ok()?, period.parse::<u64>().ok()?);
    (quota > 0 && period > 0).then(|| quota as f64 / period as f64)
}

/// Return the periods with something to run, and those in which the group was held back, from cpu.stat.
fn periods(text: &[u8]) -> Option<(u64, u64)> {
    let count = |name: &[u8]| {
        lines(text).find_map(|line| {
            let mut words = Words(line);
            (words.next()? == name).then(|| words.number()).flatten()
        })
    };
    Some((count(b"nr_periods")?, count(b"nr_throttled")?))
}

/// Return how long the group was held back according to cpu.stat, ns: version 2 counts us, version 1 ns.
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

/// Return the total of the line "some avg10=… total=7", in ns.
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
        write("sys/fs/cgroup/pod/cpu.stat", "nr_periods 40\nnr_throttled 5\nthrottled_usec 3\n");
        write("sys/fs/cgroup/cpu.max", "200000 100000\n");
        write("sys/fs/cgroup/cpu.stat", "nr_periods 7\nnr_throttled 0\nthrottled_usec 0\n");
        let (mut around, why) = Around::new(&Place::new(&root));
        assert!(why.unwrap().contains("running machine") && !around.has_own());
        let before = around.read();
        assert_eq!(before.quota_ns, Some(3000));
        write("sys/fs/cgroup/pod/cpu.stat", "nr_periods 50\nnr_throttled 8\nthrottled_usec 5\n");
        let moved = around.read().since(&before);
        assert_eq!(moved.quota_ns, Some(2000));
        let pod =
            Throttled { group: "/pod".into(), cpus: 0.5, periods: 10, throttled: 3, throttled_ns: 2000 };
        let top = Throttled { group: "/".into(), cpus: 2.0, ..Throttled::default() };
        assert_eq!(moved.quotas, [pod.clone(), top.clone()]);
        let mut sum = pod.clone();
        sum.add(&pod);
        assert_eq!((sum.periods, sum.throttled, sum.throttled_ns), (20, 6, 4000));
        fs::remove_file(root.join("sys/fs/cgroup/pod/cpu.stat")).unwrap();
        let rest = around.read();
        assert_eq!((rest.quota_ns, rest.quotas.len()), (None, 1));
        assert!(rest.since(&before).quotas == [top]);
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn quotas_of_version_one_count_the_same() {
        let root = std::env::temp_dir().join(format!("becalm-around-first-{}", std::process::id()));
        let group = root.join("sys/fs/cgroup/cpu,cpuacct/box");
        fs::create_dir_all(&group).unwrap();
        fs::create_dir_all(root.join("proc/self")).unwrap();
        let write = |file: &str, text: &str| fs::write(root.join(file), text).unwrap();
        write("proc/self/cgroup", "4:cpu,cpuacct:/box\n");
        write(
            "proc/self/mountinfo",
            "36 31 0:33 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n",
        );
        write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
        write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
        write("sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_quota_us", "25000\n");
        write("sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_period_us", "100000\n");
        write("sys/fs/cgroup/cpu,cpuacct/box/cpu.stat", "nr_periods 9\nnr_throttled 4\nthrottled_time 70\n");
        let counted = Around::new(&Place::new(&root)).0.read();
        let quota =
            Throttled { group: "/box".into(), cpus: 0.25, periods: 9, throttled: 4, throttled_ns: 70 };
        assert_eq!((counted.quota_ns, counted.quotas), (Some(70), vec![quota]));
        fs::remove_dir_all(root).unwrap();
    }
}
