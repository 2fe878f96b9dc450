//! The byte stream requests come on: lines out of it, without ever blocking a measurement.

use std::collections::VecDeque;
use std::io;
use std::os::fd::RawFd;

/// The longest request, bytes; a longer one is refused rather than grown into.
pub const LONGEST: usize = 64 << 20;

/// Requests as they arrive on a descriptor.
pub struct Input {
    fd: RawFd,
    partial: Vec<u8>,
    lines: VecDeque<Vec<u8>>,
    pub closed: bool,
}

impl Input {
    /// Read from a descriptor, which must be in non-blocking mode or polled before each `fill`.
    pub fn new(fd: RawFd) -> Self {
        Self { fd, partial: Vec::new(), lines: VecDeque::new(), closed: false }
    }

    /// The next whole line that has arrived.
    pub fn line(&mut self) -> Option<Vec<u8>> {
        self.lines.pop_front()
    }

    /// Take the first line for which `wanted` holds, leaving the others in order.
    pub fn take(&mut self, wanted: impl Fn(&[u8]) -> bool) -> Option<Vec<u8>> {
        let at = self.lines.iter().position(|line| wanted(line))?;
        self.lines.remove(at)
    }

    /// Read what has arrived; called when the descriptor is readable. At the end of input sets `closed`.
    pub fn fill(&mut self) -> io::Result<()> {
        let mut chunk = [0_u8; 1 << 16];
        // SAFETY: a live buffer of that size.
        let length = unsafe { libc::read(self.fd, chunk.as_mut_ptr().cast(), chunk.len()) };
        match length {
            0 => self.closed = true,
            length if length > 0 => self.take_in(&chunk[..length as usize])?,
            _ => {
                let error = io::Error::last_os_error();
                if !matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock) {
                    self.closed = true;
                }
            }
        }
        Ok(())
    }

    fn take_in(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            self.partial.extend_from_slice(&bytes[..end]);
            let line = std::mem::take(&mut self.partial);
            // An empty line says only that becalm lives; they must not pile up while a block runs.
            if !line.is_empty() {
                self.lines.push_back(line);
            }
            bytes = &bytes[end + 1..];
        }
        self.partial.extend_from_slice(bytes);
        if self.partial.len() > LONGEST {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a request is longer than 64 MiB"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn lines_are_the_same_however_they_arrive(text in "[a-z\n]{0,60}", cuts in proptest::collection::vec(0_usize..60, 0..6)) {
            let mut input = Input::new(-1);
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
            cuts.sort_unstable();
            let mut from = 0;
            for cut in cuts.into_iter().chain([text.len()]) {
                input.take_in(&text.as_bytes()[from..cut]).unwrap();
                from = cut;
            }
            let got: Vec<Vec<u8>> = std::iter::from_fn(|| input.line()).collect();
            let mut wanted: Vec<&str> = text.split('\n').collect();
            wanted.pop();
            prop_assert_eq!(got, wanted.iter().filter(|line| !line.is_empty()).map(|line| line.as_bytes().to_vec()).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_line_can_be_taken_out_of_turn() {
        let mut input = Input::new(-1);
        input.take_in(b"a\nstop\nb\n").unwrap();
        assert_eq!(input.take(|line| line == b"stop"), Some(b"stop".to_vec()));
        assert_eq!(input.line(), Some(b"a".to_vec()));
        assert_eq!(input.line(), Some(b"b".to_vec()));
    }
}
