//! A program's output through a pipe: drained while it runs, with the useful part stored in bounded memory.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use super::checked;

/// The part of the output that is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// The first bytes, up to this number.
    First(usize),
    /// The last bytes, up to this number.
    Last(usize),
    /// The first and the last bytes, up to this number each.
    Ends(usize),
    /// Everything since the last `take`: it is forwarded at once.
    All,
}

/// A pipe whose write end each child gets in turn, and the stored part of what came through.
pub struct Stream {
    reader: File,
    writer: OwnedFd,
    pub keep: Keep,
    /// Whether nothing is read for now: the writer waits when the pipe is full.
    pub paused: bool,
    kept: Vec<u8>,
    /// The last bytes of `Keep::Ends`.
    end: Vec<u8>,
    /// The number of bytes that came since the last `take`, including those that were not stored.
    came: u64,
    chunk: Vec<u8>,
}

const CHUNK: usize = 64 * 1024;

impl Stream {
    /// Create a pipe; both ends close on exec, the read end does not block.
    pub fn new(keep: Keep) -> io::Result<Self> {
        let mut ends = [0; 2];
        // SAFETY: room for two descriptors, which are ours afterwards.
        let (reader, writer) = unsafe {
            checked(libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC))?;
            checked(libc::fcntl(ends[0], libc::F_SETFL, libc::O_NONBLOCK))?;
            (File::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1]))
        };
        Ok(Self {
            reader,
            writer,
            keep,
            paused: false,
            kept: Vec::new(),
            end: Vec::new(),
            came: 0,
            chunk: vec![0; CHUNK],
        })
    }

    /// Return the descriptor for the child.
    pub fn write_end(&self) -> RawFd {
        self.writer.as_raw_fd()
    }

    /// Return the descriptor to poll.
    pub fn read_end(&self) -> RawFd {
        self.reader.as_raw_fd()
    }

    /// Read what is there, at most one pipe full, so that a fast writer cannot hold us here.
    pub fn drain(&mut self) {
        if let Ok(length) = self.reader.read(&mut self.chunk) {
            let chunk = std::mem::take(&mut self.chunk);
            self.take_in(&chunk[..length]);
            self.chunk = chunk;
        }
    }

    /// Read all that is in the pipe now, and no more, even if somebody still writes.
    pub fn drain_all(&mut self) {
        // SAFETY: asks for a number.
        let size = unsafe { libc::fcntl(self.reader.as_raw_fd(), libc::F_GETPIPE_SZ) };
        for _ in 0..usize::try_from(size).unwrap_or(0).div_ceil(CHUNK) {
            self.drain();
        }
    }

    fn take_in(&mut self, chunk: &[u8]) {
        self.came += chunk.len() as u64;
        match self.keep {
            Keep::All => self.kept.extend_from_slice(chunk),
            Keep::First(most) => {
                let room = most.saturating_sub(self.kept.len());
                self.kept.extend_from_slice(&chunk[..chunk.len().min(room)]);
            }
            Keep::Last(most) => last_of(&mut self.kept, chunk, most),
            Keep::Ends(most) => {
                let room = most.saturating_sub(self.kept.len()).min(chunk.len());
                self.kept.extend_from_slice(&chunk[..room]);
                last_of(&mut self.end, &chunk[room..], most);
            }
        }
    }

    /// Discard the excess before the stored end.
    fn cut(&mut self) {
        match self.keep {
            Keep::Last(most) => drop(self.kept.drain(..self.kept.len().saturating_sub(most))),
            Keep::Ends(most) => drop(self.end.drain(..self.end.len().saturating_sub(most))),
            Keep::First(_) | Keep::All => {}
        }
    }

    /// Remove what was stored, and return it as text.
    pub fn take(&mut self) -> String {
        self.take_ends().0
    }

    /// Remove what was stored, and return the beginning, the end if something between them is lost, and the
    /// number of bytes that came.
    pub fn take_ends(&mut self) -> (String, String, u64) {
        self.cut();
        let came = std::mem::take(&mut self.came);
        if came <= (self.kept.len() + self.end.len()) as u64 {
            self.kept.append(&mut self.end);
        }
        let text = |bytes: &mut Vec<u8>| {
            let text = String::from_utf8_lossy(bytes).into_owned();
            bytes.clear();
            text
        };
        (text(&mut self.kept), text(&mut self.end), came)
    }

    /// Remove what was stored, and return it as text, except a last character of which only the first bytes
    /// have come.
    pub fn take_whole(&mut self) -> String {
        let rest = self.kept.split_off(whole_characters(&self.kept));
        let text = self.take();
        self.came = rest.len() as u64;
        self.kept = rest;
        text
    }

    /// Return whether nothing is stored.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }
}

/// Append bytes, and store only the last `most`.
fn last_of(kept: &mut Vec<u8>, chunk: &[u8], most: usize) {
    kept.extend_from_slice(chunk);
    // Not with every chunk: moving the rest would cost as much as reading it many times.
    if kept.len() > most.saturating_mul(2) {
        kept.drain(..kept.len() - most);
    }
}

/// Return the length of a text without a UTF-8 character that is cut off at its end. A character has at most
/// four bytes.
fn whole_characters(bytes: &[u8]) -> usize {
    let tail = bytes.len().saturating_sub(3);
    let begins = |byte: &u8| byte & 0xC0 != 0x80;
    let last = bytes[tail..].iter().rposition(begins).map_or(bytes.len(), |at| tail + at);
    match std::str::from_utf8(&bytes[last..]) {
        Err(error) if error.error_len().is_none() => last,
        _ => bytes.len(),
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
    fn both_ends_and_how_much_came() {
        let ends = |chunks: &[&str]| {
            let mut stream = Stream::new(Keep::Ends(4)).unwrap();
            for chunk in chunks {
                stream.take_in(chunk.as_bytes());
            }
            let (first, last, came) = stream.take_ends();
            assert!(stream.is_empty() && stream.take_ends() == (String::new(), String::new(), 0));
            (first, last, came)
        };
        let of = |first: &str, last: &str, came| (first.to_owned(), last.to_owned(), came);
        assert_eq!(ends(&["ab", "c"]), of("abc", "", 3));
        assert_eq!(ends(&["abc", "defgh"]), of("abcdefgh", "", 8));
        assert_eq!(ends(&["abc", "defghi", "jklmnopqrstuv", "w"]), of("abcd", "tuvw", 23));
    }

    #[test]
    fn characters_are_not_cut() {
        for (text, whole) in [(&b"a\xc3\xa9"[..], 3), (b"a\xc3", 1), (b"\xf0\x9f\x98", 0), (b"\xe2\x82", 0)] {
            assert_eq!(whole_characters(text), whole, "{text:?}");
        }
        for broken in [&b""[..], b"\xff", b"a\x80\x80\x80\x80", b"\xc3\xa9\xa9", b"\xf0\x80\x80"] {
            assert_eq!(
                whole_characters(broken),
                broken.len(),
                "not UTF-8 anyway: nothing to wait for, {broken:?}"
            );
        }
        let mut stream = Stream::new(Keep::All).unwrap();
        stream.take_in(b"na\xc3");
        assert_eq!(stream.take_whole(), "na");
        stream.take_in(b"\xafve\xe2\x82");
        assert_eq!(stream.take_whole(), "\u{ef}ve");
        assert_eq!(stream.take(), "\u{fffd}", "at the end nothing more will come");
    }

    #[test]
    fn an_empty_pipe_does_not_block() {
        let mut stream = Stream::new(Keep::All).unwrap();
        stream.drain();
        assert!(stream.is_empty());
    }
}
