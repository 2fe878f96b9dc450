//! Standard output that never blocks: what its reader does not take yet waits here, and whoever writes goes on.
//!
//! Putting the machine's settings back must not depend on anybody reading (`session`), so nothing in the agent waits
//! for the reader without looking after input, signals and silence too (`conversation`).

use std::io;
use std::os::fd::RawFd;

use becalm_core::exec::now_ns;
use becalm_core::exec::poll::{ready_within, writing, NOTHING};
use libc::{c_int, pollfd};

/// With so many bytes waiting nothing new is begun: no request, no run, and what programs write stays in their pipes.
/// What has been begun comes to an end, so a single large event goes beyond it.
const MOST: usize = 1 << 20;

/// How long the reader may take nothing at the end before the rest is given up, ns.
const PATIENCE_NS: i64 = 2_000_000_000;

/// A descriptor in non-blocking mode and what waits to be written to it.
pub struct Outlet {
    fd: RawFd,
    flags: c_int,
    waiting: Vec<u8>,
    /// How many of these bytes have been written.
    written: usize,
}

impl Outlet {
    /// Write to a descriptor. Others may share its mode (a terminal's), which is put back in the end.
    pub fn new(fd: RawFd) -> io::Result<Self> {
        // SAFETY: only reads and sets flags.
        let flags = unsafe { libc::fcntl(fd, libc::F_GETFL) };
        // SAFETY: as above.
        if flags < 0 || unsafe { libc::fcntl(fd, libc::F_SETFL, flags | libc::O_NONBLOCK) } < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { fd, flags, waiting: Vec::new(), written: 0 })
    }

    /// Write bytes, or keep them until the reader takes more. An error when there is no reader any more.
    pub fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        let taken = if self.is_empty() { self.write(bytes)? } else { 0 };
        self.waiting.extend_from_slice(&bytes[taken..]);
        Ok(())
    }

    /// Write as much of what waits as is taken now.
    pub fn write_more(&mut self) -> io::Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        self.written += self.write(&self.waiting[self.written..])?;
        if self.is_empty() {
            // Room for what is usual stays, room for what was exceptional goes.
            self.waiting.clear();
            self.waiting.shrink_to(MOST / 16);
            self.written = 0;
        } else if self.written > MOST {
            self.waiting.drain(..self.written);
            self.written = 0;
        }
        Ok(())
    }

    /// How much is taken now.
    fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut taken = 0;
        while taken < bytes.len() {
            let rest = &bytes[taken..];
            // SAFETY: a live buffer of that length.
            let length = unsafe { libc::write(self.fd, rest.as_ptr().cast(), rest.len()) };
            match length {
                length if length > 0 => taken += length as usize,
                0 => break,
                _ => {
                    let error = io::Error::last_os_error();
                    match error.kind() {
                        io::ErrorKind::Interrupted => {}
                        io::ErrorKind::WouldBlock => break,
                        _ => return Err(error),
                    }
                }
            }
        }
        Ok(taken)
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.written == self.waiting.len()
    }

    /// Whether so much waits that nothing new should be begun.
    pub fn is_full(&self) -> bool {
        self.waiting.len() - self.written >= MOST
    }

    /// To wait until more can be written, if there is more.
    pub fn interest(&self) -> pollfd {
        if self.is_empty() {
            NOTHING
        } else {
            writing(self.fd)
        }
    }

    /// Write the rest, to a reader that still takes it.
    pub fn finish(&mut self) -> io::Result<()> {
        let mut given_up_ns = now_ns() + PATIENCE_NS;
        while !self.is_empty() && ready_within(&[self.interest()], given_up_ns - now_ns())? {
            self.write_more()?;
            given_up_ns = now_ns() + PATIENCE_NS;
        }
        Ok(())
    }
}

impl Drop for Outlet {
    fn drop(&mut self) {
        // SAFETY: only sets flags.
        unsafe { libc::fcntl(self.fd, libc::F_SETFL, self.flags) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::fd::AsRawFd;

    #[test]
    fn what_is_not_read_waits_and_comes_in_order() {
        let (mut reader, writer) = io::pipe().unwrap();
        let mut outlet = Outlet::new(writer.as_raw_fd()).unwrap();
        let line: Vec<u8> = (0..=u8::MAX).cycle().take(10_007).collect();
        let mut sent = 0;
        while !outlet.is_full() {
            outlet.put(&line).unwrap();
            sent += 1;
        }
        assert!(!ready_within(&[outlet.interest()], 0).unwrap(), "the pipe is full");
        let mut got = Vec::new();
        let mut chunk = [0; 4096];
        while got.len() < sent * line.len() {
            let length = reader.read(&mut chunk).unwrap();
            got.extend_from_slice(&chunk[..length]);
            outlet.write_more().unwrap();
        }
        assert!(outlet.is_empty() && got == line.repeat(sent));
        assert_eq!(outlet.interest().fd, -1, "nothing more to wait for");
    }

    #[test]
    fn the_mode_of_the_descriptor_is_put_back() {
        let (_reader, writer) = io::pipe().unwrap();
        let mode = || unsafe { libc::fcntl(writer.as_raw_fd(), libc::F_GETFL) & libc::O_NONBLOCK };
        let outlet = Outlet::new(writer.as_raw_fd()).unwrap();
        assert_ne!(mode(), 0);
        drop(outlet);
        assert_eq!(mode(), 0);
    }

    #[test]
    fn without_a_reader_there_is_an_error() {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let error = Outlet::new(writer.as_raw_fd()).unwrap().put(b"x").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }
}
