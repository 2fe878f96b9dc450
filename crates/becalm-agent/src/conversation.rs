//! The conversation with becalm: requests and signals come in, events go out, at any moment.
//!
//! `Session` reads requests here; `measure::Runner` asks `attend` what the outside wants while a program runs. Nothing
//! waits for the reader of the events alone: `drain` comes back, too, when somebody wants an end.

use std::io;
use std::mem::{self, MaybeUninit};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;

use becalm_core::exec::poll::{closing, readable, reading, ready, until_ready};
use libc::pollfd;
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

/// A longer line is neither `stop` nor `alive`, and may take long to read.
const LONGEST_URGENT: usize = 256;

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

    /// What to wait for: requests, signals, and that waiting events can go out.
    pub fn interests(&self) -> [pollfd; 3] {
        [self.arrival(), reading(self.signals.as_raw_fd()), self.output.outlet.interest()]
    }

    /// No more is read while too much waits: then only the end of the input is of interest.
    fn arrival(&self) -> pollfd {
        if self.is_stuffed() {
            closing(libc::STDIN_FILENO)
        } else {
            reading(libc::STDIN_FILENO)
        }
    }

    fn is_stuffed(&self) -> bool {
        self.output.outlet.is_full() || self.input.is_full()
    }

    /// Write what the reader takes now, and read what has arrived.
    pub fn look(&mut self) -> io::Result<()> {
        self.output.outlet.write_more()?;
        let stuffed = self.is_stuffed();
        let something = ready(&[self.arrival()])?;
        while let Some(signal) = self.signal()? {
            // What came while we were busy with something long was no silence; whoever takes no events is silent.
            self.signalled |= signal != libc::SIGALRM || stuffed || !something;
        }
        match (something, stuffed) {
            (true, true) => self.input.closed = true,
            (true, false) => {
                self.input.fill();
                self.heard();
            }
            _ => {}
        }
        Ok(())
    }

    /// Look after signals alone: requests that came before the end of the input are still served.
    pub fn look_for_signals(&mut self) -> io::Result<()> {
        if readable(self.signals.as_raw_fd())? {
            self.look()?;
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
        while !self.over() {
            let urgent = |line: &[u8]| match line.len() {
                ..=LONGEST_URGENT => protocol::parse(line).ok().filter(Request::is_urgent),
                _ => None,
            };
            let Some(request) = self.input.take(urgent) else { return Ok(Attention::Nothing) };
            self.output.done(request.id, json!({}))?;
            if matches!(request.action, Action::Stop {}) {
                return Ok(Attention::Stop);
            }
        }
        Ok(Attention::Quit)
    }

    /// Wait until the reader has taken all events, or somebody wants something else.
    pub fn drain(&mut self) -> io::Result<Attention> {
        loop {
            let attention = self.attend()?;
            if attention != Attention::Nothing || self.output.outlet.is_empty() {
                return Ok(attention);
            }
            until_ready(&self.interests())?;
        }
    }
}

/// A descriptor for SIGTERM, SIGHUP, SIGINT and SIGALRM (long silence), which are blocked from here on.
pub fn signals() -> io::Result<OwnedFd> {
    // SAFETY: the set is initialised by sigemptyset before use; the descriptor is new and ours.
    unsafe {
        let mut set = mem::zeroed();
        libc::sigemptyset(&mut set);
        for signal in [libc::SIGTERM, libc::SIGHUP, libc::SIGINT, libc::SIGALRM] {
            libc::sigaddset(&mut set, signal);
        }
        if libc::sigprocmask(libc::SIG_BLOCK, &set, ptr::null_mut()) != 0 {
            return Err(io::Error::last_os_error());
        }
        let fd = libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(OwnedFd::from_raw_fd(fd))
    }
}
