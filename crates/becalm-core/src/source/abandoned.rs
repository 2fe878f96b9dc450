//! Control groups that agents created for their programs (`group`), or loads for their memory (`stress::group`), and left
//! behind because they were killed.
//!
//! The name of a group contains the number of the process that created it. Numbers are reused, and in a
//! container they differ from those here, so a group is abandoned only when no process of that number is
//! older than it, here or among those of the group above. A living agent of that number counts as older: the times are
//! compared by the clock of the day, which may have been set meanwhile.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use super::membership::mount_points;
use super::pid_stat::PidStat;

/// The beginning of a group's name, before the number of its creator.
pub const NAME: &str = "becalm-";

/// The same for the group of a load.
pub const LOAD: &str = "becalm-load-";

/// The number of tries to remove a group, and the time between them, ms: killed processes take a moment to leave it, up
/// to a second on a busy machine.
const TRIES: u32 = 500;
const PAUSE_MS: u64 = 2;

/// The depth of nested groups to which they are searched: more than any system nests them.
const DEEPEST: u32 = 32;

/// A group whose creator has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Abandoned {
    pub path: PathBuf,
    /// The number of processes that are still in it.
    pub processes: usize,
    /// The reason why it could not be removed, if that was tried.
    pub error: Option<String>,
}

/// Find all abandoned groups of the running machine.
pub fn find() -> Vec<Abandoned> {
    let mounts = fs::read("/proc/self/mountinfo").unwrap_or_default();
    let mut found = Vec::new();
    for point in [&b"cgroup2"[..], b"cgroup"].into_iter().flat_map(|kind| mount_points(&mounts, kind)) {
        find_below(Path::new(&point), DEEPEST, &mut found);
    }
    found
}

/// Remove abandoned groups; return those that could be removed, and those that could not.
pub fn remove() -> (Vec<Abandoned>, Vec<Abandoned>) {
    let mut found = find();
    for each in &mut found {
        each.error = remove_one(&each.path).err().map(|error| error.to_string());
        each.processes = processes(&each.path).len();
    }
    found.into_iter().partition(|each| each.error.is_none())
}

/// Remove the abandoned groups in one group. One that is in use cannot be removed.
pub fn remove_in(above: &Path) {
    let mut found = Vec::new();
    find_below(above, 1, &mut found);
    for each in found {
        drop(fs::remove_dir(each.path));
    }
}

/// Remove a group; an error if it still exists after a while.
pub fn remove_one(path: &Path) -> io::Result<()> {
    for _ in 1..TRIES {
        match fs::remove_dir(path) {
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) => sleep(Duration::from_millis(PAUSE_MS)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            done => return done,
        }
    }
    fs::remove_dir(path)
}

fn find_below(above: &Path, depth: u32, found: &mut Vec<Abandoned>) {
    let Ok(entries) = fs::read_dir(above) else { return };
    for entry in entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        let (path, name) = (entry.path(), entry.file_name());
        let number = |name: &str| name.strip_prefix(LOAD).or(name.strip_prefix(NAME))?.parse::<u32>().ok();
        let maker = name.to_str().and_then(number);
        if maker.is_some_and(|pid| !lives(pid, &path, above)) {
            let processes = processes(&path).len();
            found.push(Abandoned { path, processes, error: None });
        } else if depth > 1 {
            find_below(&path, depth - 1, found);
        }
    }
}

/// Return whether the creator of a group still runs.
fn lives(pid: u32, group: &Path, above: &Path) -> bool {
    let made = fs::metadata(group).map_or(i64::MAX, |about| about.ctime());
    older(pid, made) || processes(above).iter().any(|other| number_inside(*other) == Some(pid))
}

/// Return whether a process of this number has not ended and began before this time (Unix, s).
fn older(pid: u32, made: i64) -> bool {
    let Some(stat) = fs::read(format!("/proc/{pid}/stat")).ok().and_then(|text| PidStat::parse(&text)) else {
        return false;
    };
    if ["Z", "X"].contains(&stat.state.as_str()) {
        return false;
    }
    if is_agent(&stat.name) {
        return true;
    }
    // Anything that cannot be found out counts for the process.
    let began = stat.at(22).zip(boot_time()).map_or(0, |(ticks, boot)| boot + (ticks / TICKS) as i64);
    began <= made.saturating_add(1)
}

/// Return whether this is the name of an agent's process or of its load. An agent is the program of the package, a copy on
/// another machine (hosts/ssh/install.py), or that of a guest.
fn is_agent(name: &str) -> bool {
    ["becalm-agent", "becalm-load", "init"].contains(&name) || name.starts_with("agent-")
}

/// Ticks per second in the kernel's reports to programs (USER_HZ).
const TICKS: u64 = 100;

/// Return when the machine was started, Unix time, s (proc_stat(5), btime).
fn boot_time() -> Option<i64> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    text.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()
}

/// Return the number of a process in its own PID namespace (proc_pid_status(5), NSpid), if it is in one.
fn number_inside(pid: u32) -> Option<u32> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let mut numbers = text.lines().find_map(|line| line.strip_prefix("NSpid:"))?.split_ascii_whitespace();
    let inside = numbers.next_back()?;
    numbers.next()?;
    inside.parse().ok()
}

fn processes(group: &Path) -> Vec<u32> {
    let text = fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;

    use super::*;
    use crate::waiting::wait_for;

    #[test]
    fn a_group_is_abandoned_when_no_older_process_has_its_makers_number() {
        let root = std::env::temp_dir().join(format!("becalm-abandoned-{}", std::process::id()));
        let own = format!("becalm-{}", std::process::id());
        // The largest number that the kernel uses is 2^22.
        for name in ["a/becalm-4194305", "a/b/becalm-4194306", "becalm-load-4194307", "becalm-x", &own] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        let names = |depth| {
            let mut found = Vec::new();
            find_below(&root, depth, &mut found);
            let mut names: Vec<_> =
                found.iter().map(|each| each.path.strip_prefix(&root).unwrap().to_owned()).collect();
            names.sort();
            names
        };
        let (inner, load) = (Path::new("a/b/becalm-4194306"), Path::new("becalm-load-4194307"));
        assert_eq!(names(DEEPEST), [inner, Path::new("a/becalm-4194305"), load]);
        assert_eq!(names(1), [load]);
        remove_in(&root.join("a"));
        assert_eq!(names(DEEPEST), [inner, load]);
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_process_that_began_after_the_group_was_made_has_not_made_it() {
        let mut sleeper = std::process::Command::new("sleep").arg("100").spawn().unwrap();
        let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs() as i64;
        // In a namespace of its own process 1 may have begun just now, too.
        assert!(older(sleeper.id(), i64::MAX) && !older(sleeper.id(), boot_time().unwrap() - 60));
        assert!(older(sleeper.id(), now + 3600) && !older(sleeper.id(), now - 3600));
        sleeper.kill().unwrap();
        sleeper.wait().unwrap();
        assert!(!older(sleeper.id(), i64::MAX));
    }

    #[test]
    fn an_agent_has_made_its_group_though_the_clock_was_set() {
        let place = std::env::temp_dir().join(format!("becalm-agent-named-{}", std::process::id()));
        fs::create_dir(&place).unwrap();
        let program = place.join("becalm-agent");
        std::os::unix::fs::symlink("/bin/sleep", &program).unwrap();
        let mut agent = std::process::Command::new(&program).arg0("sleep").arg("100").spawn().unwrap();
        wait_for(|| older(agent.id(), 0));
        agent.kill().unwrap();
        agent.wait().unwrap();
        assert!(!older(agent.id(), i64::MAX));
        fs::remove_dir_all(place).unwrap();
    }
}
