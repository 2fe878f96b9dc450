//! The conversation with becalm: requests and signals come in, events go out, at any moment.
//!
//! `Session` reads requests here; `measure::Runner` asks `attend` what the outside wants while a program runs.

use std::io;
use std::mem::MaybeUninit;
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
    silence: Option<u32>,
}

impl Conversation {
    /// A conversation; `signals` is a non-blocking signalfd(2) of those that ask to end. With `silence` (seconds) it
    /// is over when nothing has come for so long: a network that was cut closes no input.
    pub fn new(input: Input, output: Output, signals: OwnedFd, silence: Option<u32>) -> Self {
        let conversation = Self { input, output, signals, signalled: false, silence };
        conversation.heard();
        conversation
    }

    /// Something has come: count the silence from now. The alarm is the kernel's, so that nothing of ours has to run
    /// beside a measured program.
    fn heard(&self) {
        if let Some(seconds) = self.silence {
            // SAFETY: cannot fail; SIGALRM is blocked and read from the signalfd.
            unsafe { libc::alarm(seconds) };
        }
    }

    /// What to poll for attention.
    pub fn descriptors(&self) -> [RawFd; 2] {
        [libc::STDIN_FILENO, self.signals.as_raw_fd()]
    }

    /// Read what has arrived. One of the descriptors is readable.
    pub fn look(&mut self) -> io::Result<()> {
        let something = readable(&[libc::STDIN_FILENO])?;
        while let Some(signal) = self.signal()? {
            // What came while we were busy with something long was no silence.
            self.signalled |= signal != libc::SIGALRM || !something;
        }
        if something {
            self.input.fill()?;
            self.heard();
        }
        Ok(())
    }

    /// The next signal that has arrived.
    fn signal(&self) -> io::Result<Option<i32>> {
        let mut info = MaybeUninit::<libc::signalfd_siginfo>::uninit();
        let size = size_of::<libc::signalfd_siginfo>();
        // SAFETY: the buffer has that size; it is read only when the kernel has filled it.
        let length = unsafe { libc::read(self.signals.as_raw_fd(), info.as_mut_ptr().cast(), size) };
        if length == size as isize {
            // SAFETY: filled just now.
            return Ok(Some(unsafe { info.assume_init() }.ssi_signo as i32));
        }
        let error = io::Error::last_os_error();
        match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(None),
            _ => Err(error),
        }
    }

    /// Whether everything is to end.
    pub fn over(&self) -> bool {
        self.signalled || self.input.closed
    }

    /// What the outside wants of a running block. `stop` and `alive` are answered here, at once.
    pub fn attend(&mut self) -> io::Result<Attention> {
        self.look()?;
        if self.over() {
            return Ok(Attention::Quit);
        }
        let is_alive =
            |line: &[u8]| matches!(protocol::parse(line), Ok(Request { action: Action::Alive {}, .. }));
        while let Some(line) = self.input.take(is_alive) {
            if let Ok(request) = protocol::parse(&line) {
                self.output.done(request.id, json!({}))?;
            }
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
