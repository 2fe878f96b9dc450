//! The conversation with `becalm-helper`, which does as root what this process may not do.
//!
//! sudo starts the helper and nothing else. Neither is our child, so that ending processes left by programs
//! does not affect them; both notice when our end of the pipes closes for whatever reason.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::Path;
use std::process::{Command, Stdio};

use becalm_core::exec::checked;
use becalm_helper::request::VERSION;
use serde_json::{json, Value};

use crate::protocol::Failure;

/// A conversation with the helper.
pub struct Helper {
    input: BufReader<File>,
    output: File,
    process: Option<HelperProcess>,
}

/// The helper's process, and the sudo that waits for it.
struct HelperProcess {
    descriptor: OwnedFd,
    sudo: Vec<i32>,
}

impl HelperProcess {
    /// Watch the process with this number; None where it has ended already.
    fn watch(number: i32) -> Option<Self> {
        // SAFETY: a new descriptor, or -1.
        let descriptor = unsafe { libc::syscall(libc::SYS_pidfd_open, number, 0) };
        let descriptor = RawFd::try_from(descriptor).ok().filter(|number| *number >= 0)?;
        // SAFETY: the kernel has just given us this descriptor.
        let descriptor = unsafe { OwnedFd::from_raw_fd(descriptor) };
        // sudo may have a process of its own between itself and the helper (sudoers(5), use_pty).
        let ancestors = std::iter::successors(parent(number), |number| parent(*number)).take(2);
        let is_sudo = |number: &i32| {
            std::fs::read_to_string(format!("/proc/{number}/comm"))
                .is_ok_and(|name| name.trim_end() == "sudo")
        };
        Some(Self { descriptor, sudo: ancestors.take_while(is_sudo).collect() })
    }

    /// Have a sudo that stopped together with the helper go on, so that it ends too.
    ///
    /// Any process may continue another one of its session, also one of root (kill(2)).
    fn continue_sudo(&self) {
        for process in &self.sudo {
            // SAFETY: sends a signal; the process is sudo, or has ended.
            unsafe { libc::kill(*process, libc::SIGCONT) };
        }
    }
}

impl Drop for HelperProcess {
    fn drop(&mut self) {
        self.continue_sudo();
    }
}

/// Return the number of the parent of a process.
fn parent(number: i32) -> Option<i32> {
    let stat = std::fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
    // The name, which stands in parentheses, may have spaces and parentheses (proc_pid_stat(5)).
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// The kinds of its errors (docs/reference/protocol.md).
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
        let ((theirs, output), (input, said)) = (io::pipe()?, io::pipe()?);
        let mut command = Command::new("sudo");
        command.args(["-n", "--"]).arg(path).stdin(Stdio::from(theirs)).stdout(Stdio::from(said));
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

    /// Send a request without fields.
    pub fn tell(&mut self, what: &str) -> Result<Value, Failure> {
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

    /// Wait for input, or its end. Return false when the helper has ended and nothing more can come.
    ///
    /// The pipe alone does not tell: a sudo that stopped together with the helper keeps it open.
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
        "becalm-helper, which changes settings as root, was not started by sudo, or has ended. What was on is put back by its \
         guard; `becalm status` shows it.",
    )
}
