//! A program's output through a pipe: drained while it runs, the useful part kept in bounded memory.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use super::checked;

/// Which part of the output is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// The first bytes, at most so many.
    First(usize),
    /// The last bytes, at most so many.
    Last(usize),
    /// Everything since it was last taken: somebody forwards it at once.
    All,
}

/// A pipe whose write end a child gets, again and again, and what was kept of what came through.
pub struct Stream {
    reader: File,
    writer: OwnedFd,
    pub keep: Keep,
    kept: Vec<u8>,
    chunk: Vec<u8>,
}

const CHUNK: usize = 64 * 1024;

impl Stream {
    /// A new pipe; both ends close on exec, the read end does not block.
    pub fn new(keep: Keep) -> io::Result<Self> {
        let mut ends = [0; 2];
        // SAFETY: room for two descriptors, which are ours afterwards.
        let (reader, writer) = unsafe {
            checked(libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC))?;
            checked(libc::fcntl(ends[0], libc::F_SETFL, libc::O_NONBLOCK))?;
            (File::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1]))
        };
        Ok(Self { reader, writer, keep, kept: Vec::new(), chunk: vec![0; CHUNK] })
    }

    /// The descriptor that a child gets.
    pub fn write_end(&self) -> RawFd {
        self.writer.as_raw_fd()
    }

    /// The descriptor to poll.
    pub fn read_end(&self) -> RawFd {
        self.reader.as_raw_fd()
    }

    /// Read what is there, at most one pipe full, so that a fast writer cannot keep us here.
    pub fn drain(&mut self) {
        if let Ok(length) = self.reader.read(&mut self.chunk) {
            let chunk = std::mem::take(&mut self.chunk);
            self.take_in(&chunk[..length]);
            self.chunk = chunk;
        }
    }

    fn take_in(&mut self, chunk: &[u8]) {
        match self.keep {
            Keep::All => self.kept.extend_from_slice(chunk),
            Keep::First(most) => {
                let room = most.saturating_sub(self.kept.len());
                self.kept.extend_from_slice(&chunk[..chunk.len().min(room)]);
            }
            Keep::Last(most) => {
                let chunk = &chunk[chunk.len().saturating_sub(most)..];
                let over = (self.kept.len() + chunk.len()).saturating_sub(most);
                self.kept.drain(..over);
                self.kept.extend_from_slice(chunk);
            }
        }
    }

    /// What was kept, as text; nothing is kept afterwards.
    pub fn take(&mut self) -> String {
        let text = String::from_utf8_lossy(&self.kept).into_owned();
        self.kept.clear();
        text
    }

    /// Whether nothing was kept.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(keep: Keep, chunks: &[&str]) -> String {
        let mut stream = Stream::new(keep).unwrap();
        for chunk in chunks {
            stream.take_in(chunk.as_bytes());
        }
        stream.take()
    }

    #[test]
    fn the_first_and_the_last_bytes() {
        assert_eq!(kept(Keep::First(4), &["ab", "cdef", "g"]), "abcd");
        assert_eq!(kept(Keep::Last(4), &["ab", "cdef", "g"]), "defg");
        assert_eq!(kept(Keep::Last(4), &["abcdefghij"]), "ghij");
        assert_eq!(kept(Keep::All, &["ab", "cd"]), "abcd");
    }

    #[test]
    fn an_empty_pipe_does_not_block() {
        let mut stream = Stream::new(Keep::All).unwrap();
        stream.drain();
        assert!(stream.is_empty());
    }
}
