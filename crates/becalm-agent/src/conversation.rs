//! The conversation with becalm: requests and signals come in and events go out, at any moment.
//!
//! `Session` reads requests here; `measure::Runner` calls `attend` while a program runs, to learn whether it
//! must end. Nothing waits only for the reader of the events: `drain` also returns when an end is requested.

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

/// The request of the outside while a program runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attention {
    Nothing,
    /// End this block.
    Stop,
    /// End everything.
    Quit,
}

/// The length of the longest line that is parsed while a program runs: `stop` and `alive` are shorter, and a
/// longer line may take long to parse.
const LONGEST_URGENT: usize = 256;

/// The requests and signals that come in, and the events that go out.
pub struct Conversation {
    pub input: Input,
    pub output: Output,
    signals: OwnedFd,
    signalled: bool,
    silence: Option<u32>,
}

impl Conversation {
    /// Create a conversation; `signals` is a non-blocking signalfd(2) for those that request an end. With
    /// `silence` (seconds) it is over when no input arrives for that long, since a cut network does not close
    /// the input.
    pub fn new(input: Input, output: Output, signals: OwnedFd, silence: Option<u32>) -> Self {
        let conversation = Self { input, output, signals, signalled: false, silence };
        conversation.heard();
        conversation
    }

    /// Restart the silence timer after input. It is the kernel's alarm, so that none of our code has to run
    /// next to a measured program.
    fn heard(&self) {
        if let Some(seconds) = self.silence {
            // SAFETY: cannot fail; SIGALRM is blocked and read from the signalfd.
            unsafe { libc::alarm(seconds) };
        }
    }

    /// Return the descriptors to wait for: requests, signals, and events that can be written.
    pub fn interests(&self) -> [pollfd; 3] {
        [self.arrival(), reading(self.signals.as_raw_fd()), self.output.outlet.interest()]
    }

    /// Return the poll of the input. While too much waits, only the end of the input matters.
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

    /// Write as many events as the reader takes, and read the input that has arrived.
    pub fn look(&mut self) -> io::Result<()> {
        self.output.outlet.write_more()?;
        let stuffed = self.is_stuffed();
        let something = ready(&[self.arrival()])?;
        while let Some(signal) = self.signal()? {
            // Input that arrived during a long operation ends the silence; a reader that takes no events is
            // silent.
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

    /// Check signals only: requests that arrived before the end of the input are still served.
    pub fn look_for_signals(&mut self) -> io::Result<()> {
        if readable(self.signals.as_raw_fd())? {
            self.look()?;
        }
        Ok(())
    }

    /// Return the next signal that has arrived.
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

    /// Return whether the conversation is over.
    pub fn over(&self) -> bool {
        self.signalled || self.input.closed
    }

    /// Return whether there is something for `attend`, also what was read while this process waited for another one.
    pub fn calls(&self) -> io::Result<bool> {
        Ok(self.input.has_unseen() || ready(&self.interests())?)
    }

    /// Return what the outside requests of a running block. `stop` and `alive` are answered here,
    /// immediately.
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

    /// Wait until the reader has taken all events, or something else is requested.
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

/// Block SIGTERM, SIGHUP, SIGINT and SIGALRM (long silence), and return a descriptor that receives them.
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
