//! Standard output that never blocks: bytes that its reader does not accept yet wait here, and the writer
//! continues.
//!
//! Restoring the machine's settings must not depend on a reader (`session`), so nothing in the agent waits
//! for the reader without also watching input, signals and silence (`conversation`).

use std::io;
use std::os::fd::RawFd;

use becalm_core::exec::now_ns;
use becalm_core::exec::poll::{ready_within, writing, NOTHING};
use libc::{c_int, pollfd};

/// The number of waiting bytes at which nothing new begins: no request and no run, and output of programs
/// stays in their pipes. What has begun is finished, so that a single large event may exceed it.
const MOST: usize = 1 << 20;

/// The time without progress at the end after which the rest is given up, ns.
const PATIENCE_NS: i64 = 2_000_000_000;

/// A descriptor in non-blocking mode, and the bytes that wait to be written to it.
pub struct Outlet {
    fd: RawFd,
    flags: c_int,
    waiting: Vec<u8>,
    /// The number of these bytes that have been written.
    written: usize,
}

impl Outlet {
    /// Write to a descriptor. Others may share its mode (a terminal's), which is restored at the end.
    pub fn new(fd: RawFd) -> io::Result<Self> {
        // SAFETY: only reads and sets flags.
        let flags = unsafe { libc::fcntl(fd, libc::F_GETFL) };
        // SAFETY: only reads and sets flags.
        if flags < 0 || unsafe { libc::fcntl(fd, libc::F_SETFL, flags | libc::O_NONBLOCK) } < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { fd, flags, waiting: Vec::new(), written: 0 })
    }

    /// Write bytes, or store them until the reader accepts more.
    ///
    /// # Errors
    /// Fails if there is no reader any more.
    pub fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        let taken = if self.is_empty() { self.write(bytes)? } else { 0 };
        self.waiting.extend_from_slice(&bytes[taken..]);
        Ok(())
    }

    /// Write as many of the waiting bytes as the reader accepts now.
    pub fn write_more(&mut self) -> io::Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        self.written += self.write(&self.waiting[self.written..])?;
        if self.is_empty() {
            // The usual capacity is kept, and an exceptional one is released.
            self.waiting.clear();
            self.waiting.shrink_to(MOST / 16);
            self.written = 0;
        } else if self.written > MOST {
            self.waiting.drain(..self.written);
            self.written = 0;
        }
        Ok(())
    }

    /// Write bytes, and return how many were accepted.
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

    /// Return whether no bytes wait.
    pub fn is_empty(&self) -> bool {
        self.written == self.waiting.len()
    }

    /// Return whether so many bytes wait that nothing new should begin.
    pub fn is_full(&self) -> bool {
        self.waiting.len() - self.written >= MOST
    }

    /// Return the poll for writing more, if bytes wait.
    pub fn interest(&self) -> pollfd {
        if self.is_empty() {
            NOTHING
        } else {
            writing(self.fd)
        }
    }

    /// Write the remaining bytes as long as the reader accepts them.
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
    use std::net::Shutdown;
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;

    #[test]
    fn unread_bytes_wait_and_arrive_in_order() {
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
    fn the_mode_of_the_descriptor_is_restored() {
        let (_reader, writer) = io::pipe().unwrap();
        let mode = || unsafe { libc::fcntl(writer.as_raw_fd(), libc::F_GETFL) & libc::O_NONBLOCK };
        let outlet = Outlet::new(writer.as_raw_fd()).unwrap();
        assert_ne!(mode(), 0);
        drop(outlet);
        assert_eq!(mode(), 0);
    }

    #[test]
    fn without_a_reader_there_is_an_error() {
        // Not a pipe, whose reader a child of another test could have, too.
        let (_reader, writer) = UnixStream::pair().unwrap();
        writer.shutdown(Shutdown::Both).unwrap();
        let error = Outlet::new(writer.as_raw_fd()).unwrap().put(b"x").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }
}
