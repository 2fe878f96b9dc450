//! The conversation with becalm: requests and signals come in, events go out, at any moment.
//!
//! `Session` reads requests here; `measure::Runner` asks `attend` what the outside wants while a program runs.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use becalm_core::exec::watch::readable;
use serde_json::json;

use crate::input::Input;
use crate::output::Output;
use crate::protocol::{self, Action, Request};

/// What has happened outside while a program ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attention {
    Nothing,
    /// End this block.
    Stop,
    /// End everything.
    Quit,
}

/// Requests and signals in, events out.
pub struct Conversation {
    pub input: Input,
    pub output: Output,
    signals: OwnedFd,
    signalled: bool,
}

impl Conversation {
    /// A conversation; `signals` is a signalfd(2) of those that ask to end.
    pub fn new(input: Input, output: Output, signals: OwnedFd) -> Self {
        Self { input, output, signals, signalled: false }
    }

    /// What to poll for attention.
    pub fn descriptors(&self) -> [RawFd; 2] {
        [libc::STDIN_FILENO, self.signals.as_raw_fd()]
    }

    /// Read what has arrived. One of the descriptors is readable.
    pub fn look(&mut self) -> io::Result<()> {
        if readable(&[self.signals.as_raw_fd()])? {
            self.signalled = true;
        }
        if readable(&[libc::STDIN_FILENO])? {
            self.input.fill()?;
        }
        Ok(())
    }

    /// Whether everything is to end.
    pub fn over(&self) -> bool {
        self.signalled || self.input.closed
    }

    /// What the outside wants of a running block. A `stop` is answered here, at once.
    pub fn attend(&mut self) -> io::Result<Attention> {
        self.look()?;
        if self.over() {
            return Ok(Attention::Quit);
        }
        let is_stop =
            |line: &[u8]| matches!(protocol::parse(line), Ok(Request { action: Action::Stop {}, .. }));
        if let Some(line) = self.input.take(is_stop) {
            if let Ok(request) = protocol::parse(&line) {
                self.output.done(request.id, json!({}))?;
            }
            return Ok(Attention::Stop);
        }
        Ok(Attention::Nothing)
    }
}
