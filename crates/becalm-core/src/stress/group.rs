//! A control group with a memory limit that exists as long as a load (cgroups(7); memory controller, versions
//! 1 and 2).
//!
//! A separate process removes the group when all its members have gone, even if the load was killed. Where that process
//! was ended, too, the group counts as abandoned (`source::abandoned`).

use std::fs;
use std::io::{self, PipeWriter, Read};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use super::job::LoadError;
use super::worker::{fork, leave};
use crate::source::abandoned::{remove_in, LOAD};
use crate::source::file::{Buffer, Place};
use crate::source::membership::Membership;

/// A group that exists until this is dropped.
pub struct Group {
    pub directory: PathBuf,
    /// The pipe whose end the remover waits for; None after that.
    alive: Option<PipeWriter>,
    remover: libc::pid_t,
}

impl Group {
    /// Create a group that may have `limit_bytes` in memory. Must be called before the processes of the load
    /// are started.
    pub fn make(limit_bytes: u64) -> Result<Self, LoadError> {
        let mut reasons = Vec::new();
        let name = format!("{LOAD}{}", std::process::id());
        for (parent, file) in places() {
            remove_in(&parent);
            let directory = parent.join(&name);
            match make(&directory, file, limit_bytes) {
                Ok(()) => return Self::guarded(directory),
                Err(error) => reasons.push(format!("{}: {error}", parent.display())),
            }
        }
        if reasons.is_empty() {
            reasons.push("no memory controller is mounted".into());
        }
        Err(LoadError::Machine(format!(
            "Memory load needs a control group with a limit, and none can be made ({}). As root it can, or in a group of \
             your own: systemd-run --user --scope becalm load …",
            reasons.join("; ")
        )))
    }

    fn guarded(directory: PathBuf) -> Result<Self, LoadError> {
        let started = io::pipe().and_then(|(mut end, alive)| match fork(0)? {
            0 => {
                drop(alive);
                // SAFETY: plain system calls; whoever reads our output must not wait for this process.
                unsafe {
                    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
                        libc::signal(signal, libc::SIG_IGN);
                    }
                    for descriptor in 0..3 {
                        libc::close(descriptor);
                    }
                }
                let _ = end.read(&mut [0]);
                leave(i32::from(!remove(&directory)))
            }
            pid => Ok((alive, pid)),
        });
        match started {
            Ok((alive, remover)) => Ok(Self { directory, alive: Some(alive), remover }),
            Err(error) => {
                remove(&directory);
                Err(LoadError::Machine(format!(
                    "A process to remove the control group cannot be started: {error}."
                )))
            }
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        drop(self.alive.take());
        // SAFETY: our own child; the status is not asked for.
        unsafe { libc::waitpid(self.remover, std::ptr::null_mut(), 0) };
    }
}

/// Return the directories in which a group could be created, and the name of the limit's file there.
fn places() -> Vec<(PathBuf, &'static str)> {
    let mut membership = Membership::new(&Place::new(Path::new("/")));
    if membership.refresh(&mut Buffer::default()).is_err() {
        return Vec::new();
    }
    let mut places = Vec::new();
    for group in membership.groups() {
        let own = Path::new("/").join(&group.directory);
        if group.controllers.iter().any(|name| name == "memory") {
            places.push((own, "memory.limit_in_bytes"));
        } else if group.controllers.is_empty() {
            // In version 2 a group with processes has no groups with controllers below it, unless it is the root.
            let above = own.parent().filter(|above| above.join("cgroup.procs").exists()).map(Path::to_owned);
            let passes_on = |directory: &PathBuf| {
                fs::read_to_string(directory.join("cgroup.subtree_control"))
                    .is_ok_and(|text| text.split_ascii_whitespace().any(|name| name == "memory"))
            };
            places.extend(
                [above, Some(own)].into_iter().flatten().filter(passes_on).map(|p| (p, "memory.max")),
            );
        }
    }
    places
}

fn make(directory: &Path, file: &str, limit_bytes: u64) -> io::Result<()> {
    fs::create_dir(directory)?;
    let limited = fs::write(directory.join(file), limit_bytes.to_string());
    if limited.is_err() {
        remove(directory);
    }
    limited
}

/// Remove a group; killed processes may not have left it yet.
fn remove(directory: &Path) -> bool {
    for _ in 0..1000 {
        match fs::remove_dir(directory) {
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) => sleep(Duration::from_millis(10)),
            gone => return gone.is_ok(),
        }
    }
    false
}
