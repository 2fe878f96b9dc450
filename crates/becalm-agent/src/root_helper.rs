//! The conversation with `becalm-helper`, which does as root what this process may not do.
//!
//! sudo starts the helper and nothing else. Neither is our child, so that ending processes left by programs
//! does not affect them; both notice when our end of the pipes closes for whatever reason.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
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
            }),
            code => Err(io::Error::from_raw_os_error(code)),
        }
    }

    /// Wait for the greeting, and check its version.
    pub fn greeted(mut self) -> Result<Self, Failure> {
        let greeting = self.line()?;
        match greeting["protocol"].as_u64() {
            Some(version) if version == u64::from(VERSION) => Ok(self),
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
        match self.input.read_until(b'\n', &mut line) {
            Ok(count) if count > 0 => serde_json::from_slice(&line).map_err(|_| lost()),
            _ => Err(lost()),
        }
    }
}

fn lost() -> Failure {
    Failure::new(
        "system",
        "becalm-helper, which changes settings as root, was not started by sudo, or has ended. What was on is put back by its \
         guard; `becalm status` shows it.",
    )
}
