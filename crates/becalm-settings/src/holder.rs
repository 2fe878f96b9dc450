//! The processes that hold the lock, and how to end them. They have the locked file open, and the kernel
//! lists the lock for each descriptor (proc_pid_fdinfo(5), `lock:`). The agent that took the lock may have
//! ended while its guard still has a copy.
//!
//! A process is identified by a descriptor (`pidfd`) that is opened before anything of it is read.

use std::fs::{self, File, Metadata};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::pidfd;
use super::task::start_and_state;
use super::tree::Tree;

/// The beginning of the names of the programs that may be ended.
const OURS: &str = "becalm-";

/// A process that holds a lock.
pub struct Holder {
    pub pid: i32,
    /// The name of the process, which a guard sets.
    name: String,
    /// Whether the program is one of becalm's.
    ours: bool,
    pub stopped: bool,
    /// Time since it started, s.
    age_s: u64,
    process: OwnedFd,
}

impl Holder {
    /// Return a description of the process.
    pub fn shown(&self) -> String {
        let state = if self.stopped { ", stopped" } else { "" };
        format!("process {} ({}{state}, started {} s ago)", self.pid, self.name, self.age_s)
    }
}

/// Return the processes that hold the lock on a file, by number; only root sees those of other users.
pub fn holders(about: &Metadata) -> Vec<Holder> {
    let numbers = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut found: Vec<Holder> = numbers
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| *pid != std::process::id() as i32)
        .filter_map(|pid| holder(pid, about))
        .collect();
    found.sort_by_key(|holder| holder.pid);
    found
}

/// Return a process if it holds the lock.
fn holder(pid: i32, about: &Metadata) -> Option<Holder> {
    let directory = format!("/proc/{pid}");
    if !holds(Path::new(&directory), about) {
        return None;
    }
    let process = pidfd::open(pid).ok()?;
    let (start, state) = start_and_state(&Tree::running(), pid)?;
    let name = fs::read_to_string(format!("{directory}/comm")).ok()?.trim().to_owned();
    let program = fs::read_link(format!("{directory}/exe")).ok();
    let program = program.as_deref().and_then(Path::file_name).and_then(|name| name.to_str());
    let ours = program.is_some_and(|name| name.starts_with(OURS));
    // All of this describes one process if it holds the lock now and the process of the descriptor has not
    // ended.
    if !holds(Path::new(&directory), about) || pidfd::has_ended(&process, 0) {
        return None;
    }
    let stopped = matches!(state, 'T' | 't');
    Some(Holder { pid, name, ours, stopped, age_s: age_s(start), process })
}

/// Return whether a process has a descriptor by which the file is locked.
fn holds(directory: &Path, about: &Metadata) -> bool {
    let files = fs::read_dir(directory.join("fd")).into_iter().flatten().flatten();
    files.map(|file| file.file_name()).any(|number| {
        let same = fs::metadata(directory.join("fd").join(&number))
            .is_ok_and(|file| (file.dev(), file.ino()) == (about.dev(), about.ino()));
        same && fs::read_to_string(directory.join("fdinfo").join(&number)).is_ok_and(|text| locked(&text))
    })
}

/// "lock:   1: FLOCK  ADVISORY  WRITE 4711 00:1a:2153 0 EOF": the lock belongs to this descriptor.
fn locked(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("lock:") && line.contains("FLOCK") && line.contains("WRITE"))
}

/// Return the seconds since a start in clock ticks.
fn age_s(start: u64) -> u64 {
    // SAFETY: only reads a constant.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) }.max(1) as u64;
    let uptime = fs::read_to_string("/proc/uptime").unwrap_or_default();
    let now = uptime.split('.').next().and_then(|seconds| seconds.parse().ok()).unwrap_or(0u64);
    now.saturating_sub(start / ticks)
}

/// End the processes that hold the lock on an open file, until it is free. `wait` gives them time and returns
/// whether the lock is free.
///
/// Running ones get SIGTERM first, so that an agent restores what is applied, and a guard gets its time.
/// Stopped ones cannot react to it. Return a phrase for each that was ended; an error is a sentence.
pub fn end(file: &File, wait: impl Fn(&File) -> bool) -> Result<Vec<String>, String> {
    let about = file.metadata().map_err(|error| format!("The lock cannot be read: {error}."))?;
    let mut ended = Vec::new();
    for patient in [true, false] {
        let found = holders(&about);
        if let Some(other) = found.iter().find(|holder| !holder.ours) {
            return Err(format!(
                "The lock is held by {}, which is not of becalm's and was not ended. End it, then: becalm reset",
                other.shown()
            ));
        }
        for holder in &found {
            let number = if patient && !holder.stopped { libc::SIGTERM } else { libc::SIGKILL };
            pidfd::signal(&holder.process, number).map_err(|error| {
                format!("{} holds the lock and cannot be ended: {error}.", holder.shown())
            })?;
            ended.push((holder.pid, holder.shown()));
        }
        if wait(file) {
            ended.sort();
            ended.dedup_by_key(|(pid, _)| *pid);
            return Ok(ended.into_iter().map(|(_, shown)| shown).collect());
        }
    }
    let left = holders(&about).iter().map(Holder::shown).collect::<Vec<_>>().join(", ");
    Err(match left.is_empty() {
        true => "The lock is held by a process that cannot be seen from here, as in another container. End it there."
            .to_owned(),
        false => format!("The lock is still held by {left}, which does not end: it may wait for a device."),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;
    use std::io::{self, Read as _, Write as _};
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};

    /// Return a file that another process has locked, and that process.
    fn locked_by_another(name: &str) -> (std::path::PathBuf, File, std::process::Child) {
        let path = std::env::temp_dir().join(format!("becalm-holder-{name}-{}", std::process::id()));
        let file = File::create(&path).unwrap();
        let place = CString::new(path.as_os_str().as_bytes()).unwrap();
        let mut command = Command::new("cat");
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        // The child opens the file: a copy of a descriptor of ours could be in a child of another test, too.
        // SAFETY: only system calls; the descriptor stays open over exec.
        unsafe {
            command.pre_exec(move || {
                let descriptor = libc::open(place.as_ptr(), libc::O_RDWR);
                match libc::flock(descriptor, libc::LOCK_EX | libc::LOCK_NB) {
                    0 => Ok(()),
                    _ => Err(io::Error::last_os_error()),
                }
            });
        }
        let mut child = command.spawn().unwrap();
        // It is cat when it answers.
        child.stdin.as_mut().unwrap().write_all(b"x").unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        (path, file, child)
    }

    #[test]
    fn copies_of_the_lock_are_found_and_foreign_processes_left() {
        let (path, file, mut child) = locked_by_another("copy");
        let found = holders(&file.metadata().unwrap());
        assert_eq!(found.iter().map(|holder| holder.pid).collect::<Vec<_>>(), [child.id() as i32]);
        assert!(found[0].shown().contains("(cat, started"), "{}", found[0].shown());
        let refused = end(&file, |_| panic!("nobody is waited for")).unwrap_err();
        assert!(refused.contains("not of becalm's"), "{refused}");
        assert!(child.try_wait().unwrap().is_none(), "it was not ended");
        drop(child.stdin.take());
        child.wait().unwrap();
        assert!(holders(&file.metadata().unwrap()).is_empty(), "the lock went with its last holder");
        fs::remove_file(path).unwrap();
    }

    #[test]
    fn an_open_file_without_the_lock_holds_nothing() {
        let path = std::env::temp_dir().join(format!("becalm-holder-none-{}", std::process::id()));
        let file = File::create(&path).unwrap();
        assert!(holders(&file.metadata().unwrap()).is_empty());
        assert!(!locked("pos:\t0\nlock:\t1: FLOCK  ADVISORY  READ 4711 00:1a:2153 0 EOF\n"));
        assert!(locked("pos:\t0\nlock:\t1: FLOCK  ADVISORY  WRITE 4711 00:1a:2153 0 EOF\n"));
        fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_lock_of_an_invisible_holder_is_reported() {
        let path = std::env::temp_dir().join(format!("becalm-holder-unseen-{}", std::process::id()));
        let file = File::create(&path).unwrap();
        let refused = end(&file, |_| false).unwrap_err();
        assert!(refused.contains("cannot be seen from here"), "{refused}");
        fs::remove_file(path).unwrap();
    }
}
