//! The conversation with `becalm-helper`, which does as root what this process may not do.
//!
//! sudo starts the helper and nothing else. Neither is our child, so that ending processes left by programs
//! does not affect them; both notice when our end of the pipes closes for whatever reason.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::Path;
use std::process::{Command, Stdio};

use becalm_core::exec::poll::{closing, poll, readable, reading, until_ready};
use becalm_core::exec::{checked, now_ns};
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

    /// Wait until the helper's answers can be read. Fails when it has ended and none can arrive.
    ///
    /// Their pipe is not enough to find that out: a sudo that stopped together with the helper keeps it open.
    fn await_input(&self, input: RawFd) -> Result<(), Failure> {
        until_ready(&[reading(input), reading(self.descriptor.as_raw_fd())]).map_err(|_| lost())?;
        if readable(input).map_err(|_| lost())? {
            return Ok(());
        }
        self.continue_sudo();
        Err(lost())
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

/// The time limit for the greeting, ns: sudo may ask other machines about the user. becalm waits twice as long for
/// that of the agent.
const GREETING_NS: i64 = 60_000_000_000;

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

    /// Wait for the greeting, and check its version. The wait ends with a signal, which makes this signalfd(2)
    /// readable, and with the end of standard input.
    pub fn greeted(self, signals: RawFd) -> Result<Self, Failure> {
        self.greeted_within(GREETING_NS, signals)
    }

    fn greeted_within(mut self, limit_ns: i64, signals: RawFd) -> Result<Self, Failure> {
        let until_ns = now_ns() + limit_ns;
        let greeting = read_line(&mut self.input, |input| {
            let mut polls = [reading(input), reading(signals), closing(libc::STDIN_FILENO)];
            let ready = poll(&mut polls, Some((until_ns - now_ns()).max(0))).map_err(|_| lost())?;
            match polls[0].revents {
                0 => Err(not_started(ready == 0)),
                _ => Ok(()),
            }
        })?;
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
        let answer = read_line(&mut self.input, |input| match &self.process {
            Some(process) => process.await_input(input),
            None => Ok(()),
        })?;
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
}

/// Return the next line; `wait` waits until the descriptor can be read, or fails when nothing more can arrive.
fn read_line(
    input: &mut BufReader<File>,
    wait: impl Fn(RawFd) -> Result<(), Failure>,
) -> Result<Value, Failure> {
    let mut line = Vec::new();
    while line.last() != Some(&b'\n') {
        if input.buffer().is_empty() {
            wait(input.get_ref().as_raw_fd())?;
        }
        let piece = input.fill_buf().map_err(|_| lost())?;
        let end = piece.iter().position(|byte| *byte == b'\n').map_or(piece.len(), |place| place + 1);
        if end == 0 {
            return Err(lost());
        }
        line.extend_from_slice(&piece[..end]);
        input.consume(end);
    }
    serde_json::from_slice(&line).map_err(|_| lost())
}

/// Return the error for a helper that has not greeted: within the limit, or before the wait was ended.
fn not_started(late: bool) -> Failure {
    let until = match late {
        true => format!("within {} s", GREETING_NS / 1_000_000_000),
        false => "before its agent was ended".to_owned(),
    };
    Failure::new(
        "system",
        format!(
            "sudo has not started becalm-helper, which changes settings as root, {until}. Nothing was changed. \
             `sudo -n true` shows whether sudo answers."
        ),
    )
}

fn lost() -> Failure {
    Failure::new(
        "system",
        "becalm-helper, which changes settings as root, was not started by sudo, or has ended. What was on is restored by its \
         guard; `becalm status` shows it.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Return a conversation with a helper that has written this, and does nothing more.
    fn with(written: &str) -> (Helper, [OwnedFd; 2]) {
        let ((reader, mut answers), (requests, output)) = (io::pipe().unwrap(), io::pipe().unwrap());
        answers.write_all(written.as_bytes()).unwrap();
        let helper = Helper {
            input: BufReader::new(OwnedFd::from(reader).into()),
            output: OwnedFd::from(output).into(),
            process: None,
        };
        (helper, [answers.into(), requests.into()])
    }

    #[test]
    fn a_sudo_that_does_not_start_the_helper_is_waited_for_within_a_limit() {
        for part in ["", "{\"protocol\": "] {
            let (helper, _theirs) = with(part);
            let message = helper.greeted_within(0, -1).err().unwrap().message;
            assert!(message.starts_with("sudo has not started becalm-helper"), "{message}");
        }
        let (helper, _theirs) = with(&format!("{{\"protocol\": {VERSION}}}\n"));
        assert!(helper.greeted_within(0, -1).is_ok());
    }
}
