//! Lines in and out. No wait is for a reader only: a signal that asks to end, and an input that closes, end
//! both.

use std::io::{self, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

use becalm_settings::tree::checked;
use serde_json::Value;

use crate::request::LONGEST;

/// The number of bytes that a writable pipe takes at once (pipe(7), PIPE_BUF).
const PIECE: usize = 4096;

/// The signals that ask to end.
const SIGNALS: [libc::c_int; 4] = [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT];

/// Standard input and output, and signals.
pub struct Conversation {
    signals: OwnedFd,
    waiting: Vec<u8>,
    /// Whether the line that is arriving is longer than permitted.
    too_long: bool,
}

impl Conversation {
    /// Make signals readable, and a reader that has gone an error.
    pub fn open() -> io::Result<Self> {
        let mut set = MaybeUninit::uninit();
        // SAFETY: the set is initialised before it is used.
        let descriptor = unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            for signal in SIGNALS {
                libc::sigaddset(set.as_mut_ptr(), signal);
            }
            checked(libc::sigprocmask(libc::SIG_BLOCK, set.as_ptr(), ptr::null_mut()))?;
            checked(libc::signalfd(-1, set.as_ptr(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK))?
        };
        // SAFETY: the kernel has just given it to us.
        let signals = unsafe { OwnedFd::from_raw_fd(descriptor) };
        Ok(Self { signals, waiting: Vec::new(), too_long: false })
    }

    /// Return the next line, None in place of one that is too long; None when there is no more, or a signal
    /// has come.
    pub fn line(&mut self) -> io::Result<Option<Option<Vec<u8>>>> {
        loop {
            if let Some(end) = self.waiting.iter().position(|byte| *byte == b'\n') {
                let rest = self.waiting.split_off(end + 1);
                let line = std::mem::replace(&mut self.waiting, rest);
                return Ok(Some((!std::mem::take(&mut self.too_long)).then_some(line)));
            }
            if self.waiting.len() > LONGEST {
                self.too_long = true;
                self.waiting.clear();
            }
            if self.has_signal(libc::STDIN_FILENO, libc::POLLIN)? {
                return Ok(None);
            }
            let mut piece = [0; PIECE];
            match io::stdin().lock().read(&mut piece) {
                Ok(0) => return Ok(None),
                Ok(count) => self.waiting.extend_from_slice(&piece[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Send a line; return false if the other side has gone or a signal has come.
    pub fn send(&mut self, value: &Value) -> io::Result<bool> {
        let text = format!("{value}\n");
        for piece in text.as_bytes().chunks(PIECE) {
            if self.has_signal(libc::STDOUT_FILENO, libc::POLLOUT)? {
                return Ok(false);
            }
            if let Err(error) = write(piece) {
                return if error.kind() == io::ErrorKind::BrokenPipe { Ok(false) } else { Err(error) };
            }
        }
        Ok(true)
    }

    /// Wait until a descriptor is ready, the other side has closed our input, or a signal has come; return
    /// whether one has.
    fn has_signal(&self, descriptor: RawFd, events: libc::c_short) -> io::Result<bool> {
        let poll = |fd, events| libc::pollfd { fd, events, revents: 0 };
        let signals = poll(self.signals.as_raw_fd(), libc::POLLIN);
        let mut polls = [signals, poll(descriptor, events), poll(libc::STDIN_FILENO, libc::POLLRDHUP)];
        // SAFETY: live pollfds. Those signals that ask to end do not interrupt it.
        while unsafe { libc::poll(polls.as_mut_ptr(), polls.len() as libc::nfds_t, -1) } < 0 {
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
        Ok(polls[0].revents != 0)
    }
}

fn write(piece: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(piece)?;
    out.flush()
}
