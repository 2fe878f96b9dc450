//! The conversation with `becalm-helper`, which does as root what this process may not do.
//!
//! sudo starts the helper and nothing else. Neither is our child, so that ending processes left by programs
//! does not affect them; both notice when our end of the pipes closes for whatever reason.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::Path;
use std::process::{Command, Stdio};

use becalm_core::exec::checked;
use becalm_helper::request::VERSION;
use becalm_settings::pid_stat::PidStat;
use becalm_settings::pidfd;
use serde_json::{json, Value};

use crate::protocol::Failure;

/// A conversation with the helper.
pub struct Helper {
    input: BufReader<File>,
    output: File,
    process: Option<HelperProcess>,
}

/// The process of the helper, and the sudo that waits for it; sudo may have a process of its own in between
/// (sudoers(5), use_pty).
struct HelperProcess {
    descriptor: OwnedFd,
    sudo: Vec<OwnedFd>,
}

impl HelperProcess {
    /// Watch the process with this number; None if it has ended already.
    fn watch(number: i32) -> Option<Self> {
        let descriptor = pidfd::open(number).ok()?;
        let mut sudo = Vec::new();
        let mut above = stat(number)?.at(PARENT);
        while let Some(number) =
            above.and_then(|number| i32::try_from(number).ok()).filter(|_| sudo.len() < 2)
        {
            let Ok(process) = pidfd::open(number) else { break };
            let Some(stat) = stat(number).filter(|stat| stat.name == "sudo") else { break };
            above = stat.at(PARENT);
            sudo.push(process);
        }
        Some(Self { descriptor, sudo })
    }

    /// Let a sudo that stopped together with the helper continue, so that it ends too.
    ///
    /// A process may continue any other one of its session, also one of root (kill(2)).
    fn continue_sudo(&self) {
        for process in &self.sudo {
            let _ = pidfd::signal(process, libc::SIGCONT);
        }
    }
}

impl Drop for HelperProcess {
    fn drop(&mut self) {
        self.continue_sudo();
    }
}

/// The field of `PidStat` with the number of the parent.
const PARENT: usize = 4;

/// Return the fields of a process; None if it has ended.
fn stat(number: i32) -> Option<PidStat> {
    PidStat::parse(&fs::read(format!("/proc/{number}/stat")).ok()?)
}

/// The kinds of the helper's errors (docs/reference/protocol.md).
const KINDS: [&str; 10] = [
    "usage",
    "domain",
    "unsupported",
    "consent",
    "busy",
    "kept",
    "unsettled",
    "journal",
    "refused",
    "permission",
];

impl Helper {
    /// Start the helper at this path through sudo. This process must have a single thread.
    pub fn start(path: &Path) -> io::Result<Self> {
        let ((theirs, output), (input, answers)) = (io::pipe()?, io::pipe()?);
        let mut command = Command::new("sudo");
        command.args(["-n", "--"]).arg(path).stdin(Stdio::from(theirs)).stdout(Stdio::from(answers));
        // SAFETY: this process has one thread, so the child may do anything.
        let between = checked(unsafe { libc::fork() })?;
        if between == 0 {
            let code = command.spawn().map_or_else(|error| error.raw_os_error().unwrap_or(libc::EIO), |_| 0);
            // SAFETY: ends the child without the exit handlers of its parent.
            unsafe { libc::_exit(code) }
        }
        drop(command);
        let mut status = 0;
        // SAFETY: our own child, which ends at once; a live pointer.
        checked(unsafe { libc::waitpid(between, &mut status, 0) })?;
        match libc::WEXITSTATUS(status) {
            0 => Ok(Self {
                input: BufReader::new(OwnedFd::from(input).into()),
                output: OwnedFd::from(output).into(),
                process: None,
            }),
            code => Err(io::Error::from_raw_os_error(code)),
        }
    }

    /// Wait for the greeting, and check its version.
    pub fn greeted(mut self) -> Result<Self, Failure> {
        let greeting = self.line()?;
        match greeting["protocol"].as_u64() {
            Some(version) if version == u64::from(VERSION) => {
                let number = greeting["pid"].as_i64().and_then(|number| i32::try_from(number).ok());
                self.process = number.and_then(HelperProcess::watch);
                Ok(self)
            }
            _ => Err(Failure::new(
                "protocol",
                "becalm-helper is of another version than its agent. Install it anew: becalm install-sudoers.",
            )),
        }
    }

    /// Send a request, and return its answer.
    pub fn ask(&mut self, what: &str, mut fields: Value) -> Result<Value, Failure> {
        fields["do"] = what.into();
        let line = format!("{fields}\n");
        self.output.write_all(line.as_bytes()).map_err(|_| lost())?;
        let answer = self.line()?;
        if answer["event"] == "done" {
            return Ok(answer);
        }
        let kind = KINDS.into_iter().find(|kind| answer["kind"] == *kind).unwrap_or("system");
        Err(Failure::new(kind, answer["message"].as_str().unwrap_or_default()))
    }

    /// Fail if the helper has ended, as far as its process can be watched.
    pub fn check(&self) -> Result<(), Failure> {
        match &self.process {
            Some(process) if pidfd::has_ended(&process.descriptor, 0) => Err(lost()),
            _ => Ok(()),
        }
    }

    /// Send a request without fields.
    pub fn request(&mut self, what: &str) -> Result<Value, Failure> {
        self.ask(what, json!({}))
    }

    fn line(&mut self) -> Result<Value, Failure> {
        let mut line = Vec::new();
        while line.last() != Some(&b'\n') {
            if self.input.buffer().is_empty() && !self.has_input() {
                return Err(lost());
            }
            let piece = self.input.fill_buf().map_err(|_| lost())?;
            let end = piece.iter().position(|byte| *byte == b'\n').map_or(piece.len(), |place| place + 1);
            if end == 0 {
                return Err(lost());
            }
            line.extend_from_slice(&piece[..end]);
            self.input.consume(end);
        }
        serde_json::from_slice(&line).map_err(|_| lost())
    }

    /// Wait for input, or its end. Return false when the helper has ended and nothing more can arrive.
    ///
    /// The pipe is not enough to find that out: a sudo that stopped together with the helper keeps it open.
    fn has_input(&self) -> bool {
        let Some(process) = &self.process else { return true };
        let interest = |fd: RawFd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        let mut descriptors =
            [interest(self.input.get_ref().as_raw_fd()), interest(process.descriptor.as_raw_fd())];
        // SAFETY: an array of two.
        while unsafe { libc::poll(descriptors.as_mut_ptr(), 2, -1) } < 0
            && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
        {}
        if descriptors[0].revents == 0 {
            process.continue_sudo();
            return false;
        }
        true
    }
}

fn lost() -> Failure {
    Failure::new(
        "system",
        "becalm-helper, which changes settings as root, was not started by sudo, or has ended. What was on is restored by its \
         guard; `becalm status` shows it.",
    )
}
