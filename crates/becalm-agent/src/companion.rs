//! A process next to programs: the load of the requests `load` and `unload`, or the process that keeps
//! neighbours running (`neighbours`).
//!
//! It is forked from this process. It sends no signal at its end and is spared by `exec::tree::sweep`, so
//! that ending what a program has left does not end it; it ends with the agent, and its own processes end
//! with it (`stress::worker`, `neighbours::starter`).

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use becalm_core::exec::poll::{readable, reading, until_ready};
use becalm_core::exec::tree;
use becalm_core::exec::{checked, end_with};
use becalm_core::source::abandoned;
use becalm_core::stress::demand::Demand;
use becalm_settings::pidfd;
use serde_json::{json, Value};

use crate::conversation::Conversation;
use crate::load;
use crate::protocol::Failure;
use crate::rights::keep_for_load;

/// A process next to programs.
pub struct Companion {
    pid: libc::pid_t,
    report: File,
    kind: &'static Kind,
}

/// A kind of such a process.
pub struct Kind {
    /// The name in sentences.
    pub called: &'static str,
    /// The name of the process.
    pub name: &'static CStr,
    /// The function that spares it when processes left by programs are ended.
    pub spare: fn(libc::pid_t),
}

const LOAD: Kind = Kind { called: "The load", name: c"becalm-load", spare: tree::spare_load };

/// The time in which a process ends that was asked to, ms: one with gigabytes of memory takes a second or so.
const PATIENCE_MS: i32 = 10_000;

type Answer = Result<Value, Failure>;

impl Companion {
    /// Start the load, and wait until all of it is up.
    ///
    /// # Errors
    /// The inner error is a sentence about the load.
    pub fn load(demand: &Demand, talk: &mut Conversation) -> io::Result<Result<Self, Failure>> {
        // SAFETY: cannot fail.
        let agent = unsafe { libc::getpid() };
        Self::start(&LOAD, talk, |mut report| match keep_for_load(demand) {
            Ok(()) => {
                // A change of user has undone it (prctl(2)).
                end_with_agent(agent);
                i32::from(load::run_and_report(report, demand, None, None).is_err())
            }
            Err(message) => {
                let event = json!({"event": "error", "kind": "system", "message": message});
                drop(report.write_all(format!("{event}\n").as_bytes()));
                3
            }
        })
    }

    /// Fork a process that runs `live` and exits with its result, and wait until it is up. The process
    /// reports in lines of JSON that it is up (`started`), its results (`done`) or an error (`error`).
    pub fn start(
        kind: &'static Kind,
        talk: &mut Conversation,
        live: impl FnOnce(File) -> i32,
    ) -> io::Result<Result<Self, Failure>> {
        let [reading, writing] = pipe()?;
        // SAFETY: cannot fail.
        let parent = unsafe { libc::getpid() };
        // SAFETY: as fork(2), but without a signal at its end (clone(2)); this process has a single thread.
        let pid = checked(unsafe { libc::syscall(libc::SYS_clone, 0, 0, 0, 0, 0) } as i32)?;
        if pid == 0 {
            let code = alone(writing, parent, kind.name).map_or(3, live);
            // SAFETY: ends the child without the exit handlers of its parent.
            unsafe { libc::_exit(code) }
        }
        drop(writing);
        (kind.spare)(pid);
        let mut alongside = Self { pid, report: File::from(reading), kind };
        Ok(match alongside.line(talk)? {
            Some(event) if event["event"] == "started" => Ok(alongside),
            Some(event) => Err(refusal(&event)),
            None => Err(Failure::new("system", format!("{} was ended before it was up.", kind.called))),
        })
    }

    /// End the process, and return its results.
    pub fn end(mut self, talk: &mut Conversation) -> io::Result<Answer> {
        self.signal(libc::SIGTERM);
        Ok(match self.line(talk)? {
            Some(made) if made["event"] == "done" => Ok(made),
            Some(event) => Err(refusal(&event)),
            None => Err(Failure::new("system", self.killed())),
        })
    }

    /// Return the next line of its report; None if it has ended or the conversation is over.
    fn line(&mut self, talk: &mut Conversation) -> io::Result<Option<Value>> {
        let mut line = Vec::new();
        loop {
            let [arrival, signals, outward] = talk.interests();
            until_ready(&[arrival, signals, outward, reading(self.report.as_raw_fd())])?;
            if !readable(self.report.as_raw_fd())? {
                talk.look()?;
                if talk.over() {
                    return Ok(None);
                }
                continue;
            }
            let mut byte = [0];
            match self.report.read(&mut byte) {
                Ok(0) => return Ok(None),
                Ok(_) if byte[0] == b'\n' => return Ok(serde_json::from_slice(&line).ok()),
                Ok(_) => line.push(byte[0]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn killed(&self) -> String {
        format!(
            "{} was ended by somebody before it could report what it did: its process was killed. Its own processes ended \
             with it.",
            self.kind.called
        )
    }

    /// Wait for its end, and return its status (wait(2)); None if it still runs after `limit_ms`. Before Linux 5.3, which
    /// brought pidfd_open(2), there is no limit.
    fn ended_within(&self, limit_ms: i32) -> Option<i32> {
        if pidfd::open(self.pid).is_ok_and(|process| !pidfd::has_ended(&process, limit_ms)) {
            return None;
        }
        let mut status = 0;
        // SAFETY: our own child and a live pointer.
        unsafe { libc::waitpid(self.pid, &mut status, libc::__WALL) };
        Some(status)
    }

    fn signal(&self, number: i32) {
        // SAFETY: our own child, not yet reaped by anybody.
        unsafe { libc::kill(self.pid, number) };
    }
}

impl Drop for Companion {
    fn drop(&mut self) {
        // Settings are restored after this, so a process that does not end, or hangs in the kernel, is left behind.
        self.signal(libc::SIGTERM);
        let status = self.ended_within(PATIENCE_MS).or_else(|| {
            self.signal(libc::SIGKILL);
            self.ended_within(PATIENCE_MS)
        });
        if status.is_none_or(|status| libc::WIFSIGNALED(status)) {
            // The process that removes the control group of a load may have been ended by `tree::sweep`.
            drop(abandoned::remove());
        }
        (self.kind.spare)(0);
    }
}

/// Return the reported error with its kind.
fn refusal(event: &Value) -> Failure {
    let kind = if event["kind"] == "usage" { "usage" } else { "system" };
    Failure::new(kind, event["message"].as_str().unwrap_or_default())
}

/// Close the conversation, the machine's lock and all other descriptors except the report.
fn alone(report: OwnedFd, parent: libc::pid_t, name: &CStr) -> io::Result<File> {
    const REPORT: RawFd = 3;
    end_with_agent(parent);
    // SAFETY: plain system calls; this process ends without dropping the values whose descriptors are closed.
    unsafe {
        libc::prctl(libc::PR_SET_NAME, name.as_ptr());
        let null = checked(libc::open(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC))?;
        // The report is moved first, out of the range that is closed below.
        let report = checked(libc::fcntl(report.as_raw_fd(), libc::F_DUPFD_CLOEXEC, 100))?;
        for fd in 0..REPORT {
            checked(libc::dup2(null, fd))?;
        }
        checked(libc::dup3(report, REPORT, libc::O_CLOEXEC))?;
        // Without close_range (before Linux 5.9) the process keeps copies of the agent's descriptors until it
        // ends.
        libc::syscall(libc::SYS_close_range, REPORT + 1, RawFd::MAX, 0);
        Ok(File::from_raw_fd(REPORT))
    }
}

/// End this process when the agent ends, or now if it has ended.
fn end_with_agent(agent: libc::pid_t) {
    if !end_with(agent, libc::SIGTERM) {
        // SAFETY: nothing of this process has to be dropped.
        unsafe { libc::_exit(3) };
    }
}

fn pipe() -> io::Result<[OwnedFd; 2]> {
    let mut ends = [0; 2];
    // SAFETY: room for two descriptors, which are ours when the call has succeeded.
    unsafe {
        checked(libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC))?;
        Ok(ends.map(|fd| OwnedFd::from_raw_fd(fd)))
    }
}
