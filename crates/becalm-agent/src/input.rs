//! The byte stream of requests, split into lines without ever blocking a measurement.

use std::collections::VecDeque;
use std::io;
use std::os::fd::RawFd;

/// The length of the longest request, in bytes. A longer one is skipped up to its end.
pub const LONGEST: usize = 64 << 20;

/// The memory that a waiting line takes in addition to its bytes.
const ENTRY: usize = size_of::<Line>() + 16;

/// A line that has arrived.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    Whole(Vec<u8>),
    /// A line longer than `LONGEST`, which was discarded.
    TooLong,
}

/// The requests that arrive on a descriptor.
pub struct Input {
    fd: RawFd,
    partial: Vec<u8>,
    /// Whether the rest of the current line is discarded because it is too long.
    skips: bool,
    lines: VecDeque<Line>,
    /// The number of lines that were looked at out of turn.
    seen: usize,
    /// The memory that the lines take, in bytes.
    size: usize,
    pub closed: bool,
}

impl Input {
    /// Read from a descriptor, which must be in non-blocking mode or polled before each `fill`.
    pub fn new(fd: RawFd) -> Self {
        let (partial, lines) = (Vec::new(), VecDeque::new());
        Self { fd, partial, skips: false, lines, seen: 0, size: 0, closed: false }
    }

    /// Return the next line that has arrived.
    pub fn line(&mut self) -> Option<Line> {
        self.seen = self.seen.saturating_sub(1);
        let line = self.lines.pop_front()?;
        self.size -= size(&line);
        Some(line)
    }

    /// Look at the lines that were not looked at yet, and remove the first for which `wanted` returns a
    /// value. The others stay, in order.
    pub fn take<T>(&mut self, wanted: impl Fn(&[u8]) -> Option<T>) -> Option<T> {
        while let Some(line) = self.lines.get(self.seen) {
            if let Line::Whole(bytes) = line {
                if let Some(found) = wanted(bytes) {
                    let taken = self.lines.remove(self.seen);
                    self.size -= taken.as_ref().map_or(0, size);
                    return Some(found);
                }
            }
            self.seen += 1;
        }
        None
    }

    /// Return whether lines have arrived that were not looked at yet.
    pub fn has_unseen(&self) -> bool {
        self.seen < self.lines.len()
    }

    /// Return whether so much waits to be served that no more should be read.
    pub fn is_full(&self) -> bool {
        self.size > LONGEST
    }

    /// Read what has arrived; called when the descriptor is readable. Sets `closed` at the end of the input.
    pub fn fill(&mut self) {
        let mut chunk = [0_u8; 1 << 16];
        // SAFETY: a live buffer of that size.
        let length = unsafe { libc::read(self.fd, chunk.as_mut_ptr().cast(), chunk.len()) };
        match length {
            0 => self.closed = true,
            length if length > 0 => self.take_in(&chunk[..length as usize]),
            _ => {
                let error = io::Error::last_os_error();
                if !matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock) {
                    self.closed = true;
                }
            }
        }
    }

    fn take_in(&mut self, mut bytes: &[u8]) {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            self.extend(&bytes[..end]);
            let line = std::mem::take(&mut self.partial);
            let line = if std::mem::take(&mut self.skips) { Line::TooLong } else { Line::Whole(line) };
            // An empty line is only a sign of life; such lines must not accumulate while a block runs.
            if line != Line::Whole(Vec::new()) {
                self.size += size(&line);
                self.lines.push_back(line);
            }
            bytes = &bytes[end + 1..];
        }
        self.extend(bytes);
    }

    fn extend(&mut self, bytes: &[u8]) {
        self.skips |= self.partial.len() + bytes.len() > LONGEST;
        if self.skips {
            self.partial = Vec::new();
        } else {
            self.partial.extend_from_slice(bytes);
        }
    }
}

fn size(line: &Line) -> usize {
    match line {
        Line::Whole(bytes) => bytes.capacity() + ENTRY,
        Line::TooLong => ENTRY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn whole(text: &str) -> Line {
        Line::Whole(text.as_bytes().to_vec())
    }

    proptest! {
        #[test]
        fn lines_are_the_same_however_they_arrive(text in "[a-z\n]{0,60}", cuts in proptest::collection::vec(0_usize..60, 0..6)) {
            let mut input = Input::new(-1);
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
            cuts.sort_unstable();
            let mut from = 0;
            for cut in cuts.into_iter().chain([text.len()]) {
                input.take_in(&text.as_bytes()[from..cut]);
                from = cut;
            }
            let got: Vec<Line> = std::iter::from_fn(|| input.line()).collect();
            let mut wanted: Vec<&str> = text.split('\n').collect();
            wanted.pop();
            prop_assert_eq!(got, wanted.into_iter().filter(|line| !line.is_empty()).map(whole).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_line_can_be_taken_out_of_turn_and_each_is_looked_at_once() {
        let mut input = Input::new(-1);
        input.take_in(b"a\nstop\nb\nstop\n");
        let is_stop = |line: &[u8]| (line == b"stop").then_some(());
        assert!(input.take(is_stop).is_some() && input.take(is_stop).is_some());
        assert!(input.take(|_| Some(())).is_none() && !input.has_unseen(), "all were looked at");
        assert_eq!(input.line(), Some(whole("a")));
        input.take_in(b"stop\n");
        assert!(input.has_unseen());
        assert!(input.take(is_stop).is_some(), "a new one is");
        assert_eq!(input.line(), Some(whole("b")));
        assert_eq!((input.line(), input.size), (None, 0));
    }

    #[test]
    fn a_line_that_is_too_long_costs_only_itself() {
        let mut input = Input::new(-1);
        let chunk = vec![b'x'; 1 << 20];
        for _ in 0..65 {
            input.take_in(&chunk);
        }
        assert!(input.partial.capacity() < LONGEST, "it is not kept");
        input.take_in(b"xx\nnext\n");
        assert_eq!(input.line(), Some(Line::TooLong));
        assert_eq!(input.line(), Some(whole("next")));
    }

    #[test]
    fn lines_that_nobody_serves_fill_it() {
        let mut input = Input::new(-1);
        for _ in 0..64 {
            assert!(!input.is_full());
            input.take_in(&vec![b'x'; 1 << 20]);
            input.take_in(b"\n");
        }
        assert!(input.is_full());
        assert!(input.line().is_some() && !input.is_full());
    }
}
