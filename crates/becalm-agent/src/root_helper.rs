//! `becalm-helper` as this agent's other side: it does as root what this process may not.
//!
//! sudo starts it, and nothing but it. Neither is a child of ours, so that ending what programs have left does not look
//! for them; both see when our end of the pipes is closed, however that came.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, Stdio};

use becalm_core::exec::checked;
use becalm_helper::request::VERSION;
use serde_json::{json, Value};

use crate::protocol::Failure;

/// A conversation with it.
pub struct Helper {
    input: BufReader<File>,
    output: File,
}

/// Kinds of its errors (docs/reference/protocol.md).
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
    /// Have sudo start the helper of this path. This process must have one thread.
    pub fn start(path: &Path) -> io::Result<Self> {
        let ((theirs, output), (input, said)) = (io::pipe()?, io::pipe()?);
        let mut command = Command::new("sudo");
        command.args(["-n", "--"]).arg(path).stdin(Stdio::from(theirs)).stdout(Stdio::from(said));
        // SAFETY: this process has one thread, so the child may do anything.
        let between = checked(unsafe { libc::fork() })?;
        if between == 0 {
            let code = command.spawn().map_or_else(|error| error.raw_os_error().unwrap_or(libc::EIO), |_| 0);
            // SAFETY: without exit handlers of the process that it was forked from.
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

    /// Wait until it is there.
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

    /// Ask for something; its answer.
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

    /// Ask for something without fields.
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
