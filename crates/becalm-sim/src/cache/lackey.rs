//! Traces of `valgrind --tool=lackey --trace-mem=yes`: lines `I  04001090,3`, ` L 1ffeffe7e8,8`, ` S …`, ` M
//! …`.
//!
//! Traces are read line by line in bounded memory. A UTF-8 byte order mark, CRLF line ends and any number of
//! blanks are accepted, as in traces that courses on caches hand out; valgrind's own messages (`==123== …`)
//! are skipped. As in cachegrind, a modification is one read, and an access longer than a line is as long as
//! one.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};

use super::hierarchy::Kind;
use super::level::LINE;
use super::program::{Program, Step, BATCH};

/// The UTF-8 byte order mark.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// The longest line of a trace, in bytes.
const LONGEST: usize = 4096;

/// The end of accepted addresses: 48 bits, which cover user space on 64-bit machines.
const MOST_ADDRESS: u64 = 1 << 48;

/// A trace that is being read.
#[derive(Debug)]
pub struct Lackey<R = BufReader<File>> {
    from: R,
    path: String,
    page_bytes: u64,
    /// The number of each page in order of first use; None if addresses are kept.
    pages: Option<HashMap<u64, u64>>,
    line: Vec<u8>,
    number: u64,
    steps: u64,
}

impl Lackey {
    /// Open a trace.
    ///
    /// # Errors
    /// Returns a sentence if it cannot be read.
    pub fn open(path: &str, page_bytes: u64, raw: bool) -> Result<Self, String> {
        let file = File::open(path).map_err(|why| format!("The trace {path} cannot be read: {why}."))?;
        Ok(Self::of(BufReader::with_capacity(1 << 16, file), path, page_bytes, raw))
    }
}

impl<R: BufRead> Lackey<R> {
    /// Read a trace from any source; `raw` keeps its addresses.
    pub fn of(from: R, path: &str, page_bytes: u64, raw: bool) -> Self {
        let pages = (!raw).then(HashMap::new);
        Self { from, path: path.to_owned(), page_bytes, pages, line: Vec::new(), number: 0, steps: 0 }
    }

    fn wrong(&self) -> String {
        let shown: String = String::from_utf8_lossy(&self.line).chars().take(60).collect();
        format!(
            "Line {} of {} is none of lackey's: {shown:?}. Make the trace with: valgrind --tool=lackey --trace-mem=yes \
             --log-file={} PROGRAM",
            self.number, self.path, self.path
        )
    }

    /// Return the step of the next access; None at the end.
    fn next(&mut self) -> Result<Option<Step>, String> {
        loop {
            self.line.clear();
            let most = LONGEST as u64 + 1;
            let got = (&mut self.from).take(most).read_until(b'\n', &mut self.line);
            let got = got.map_err(|why| format!("The trace {} cannot be read: {why}.", self.path))?;
            if got == 0 && self.steps == 0 {
                return Err(format!("The trace {} has no access in it.", self.path));
            }
            if got == 0 {
                return Ok(None);
            }
            self.number += 1;
            if got > LONGEST {
                return Err(self.wrong());
            }
            let marked = if self.number == 1 { self.line.strip_prefix(MARK) } else { None };
            let text = marked.unwrap_or(&self.line).trim_ascii_end();
            if text.is_empty() || text.starts_with(b"==") || text.starts_with(b"--") {
                continue;
            }
            let Some((address, size, kind)) = parsed(text) else { return Err(self.wrong()) };
            self.steps += 1;
            let address = self.placed(address);
            return Ok(Some(Step::Access { address, size, kind, work: 0 }));
        }
    }

    fn placed(&mut self, address: u64) -> u64 {
        let Some(pages) = &mut self.pages else { return address };
        let next = pages.len() as u64;
        let page = *pages.entry(address / self.page_bytes).or_insert(next);
        page * self.page_bytes + address % self.page_bytes
    }
}

fn parsed(text: &[u8]) -> Option<(u64, u8, Kind)> {
    let (kind, rest) = text.trim_ascii_start().split_first()?;
    let kind = match kind {
        b'I' => Kind::Fetch,
        b'L' | b'M' => Kind::Read,
        b'S' => Kind::Write,
        _ => return None,
    };
    let rest = std::str::from_utf8(rest).ok()?;
    let (address, size) = rest.strip_prefix([' ', '\t'])?.trim_start().split_once(',')?;
    // from_str_radix would accept a sign.
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let address = u64::from_str_radix(address, 16).ok().filter(|_| digits(address))?;
    let size = size.trim_start().parse::<u64>().ok().filter(|_| !size.contains('+'))?;
    (size > 0 && address < MOST_ADDRESS).then_some((address, size.min(LINE) as u8, kind))
}

impl<R: BufRead + std::fmt::Debug> Program for Lackey<R> {
    fn fill(&mut self, steps: &mut Vec<Step>, _now_ns: u64) -> Result<bool, String> {
        for _ in 0..BATCH {
            let Some(step) = self.next()? else { return Ok(!steps.is_empty()) };
            steps.push(step);
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, raw: bool) -> Result<Vec<Step>, String> {
        let mut trace = Lackey::of(text.as_bytes(), "t", 4096, raw);
        let mut steps = Vec::new();
        while let Some(step) = trace.next()? {
            steps.push(step);
        }
        Ok(steps)
    }

    #[test]
    fn each_kind_of_line_is_read() {
        let text = "==7== Lackey\nI  04001090,3\n S 1ffeffe7e8,8\n M 0421c7cc,4\n L 0421c7d0,512\n";
        let fetch = Step::Access { address: 0x0400_1090, size: 3, kind: Kind::Fetch, work: 0 };
        let found = read(text, true).expect("a trace");
        assert_eq!((found.len(), found[0]), (4, fetch));
        assert_eq!(found[3], Step::Access { address: 0x0421_c7d0, size: 64, kind: Kind::Read, work: 0 });
        let Step::Access { address, .. } = read(text, false).expect("a trace")[3] else { panic!() };
        assert_eq!(address, 2 * 4096 + 0x7d0, "the third page that was touched");
    }

    #[test]
    fn traces_that_courses_hand_out_are_the_same() {
        let plain = read("I  04001090,3\n S 1ffeffe7e8,8\n L 10,1\n", true);
        for other in [
            "I 04001090,3\nS 1ffeffe7e8,8\nL 10,1\n",
            "\u{feff}I  04001090,3\r\n S 1ffeffe7e8,8\r\n L 10,1\r\n",
            "\n  I\t04001090, 3\n S 1FFEFFE7E8,8\n\n L 10,1",
        ] {
            assert_eq!(read(other, true), plain, "{other:?}");
        }
    }

    #[test]
    fn an_invalid_line_is_reported_with_its_number() {
        for bad in [
            "I  04001090,3\nhello",
            "I  xyz,3",
            " L 10,0",
            " L 1000000000000,4",
            " L 10,-3",
            " L +10,3",
            " L 10,+3",
            "L10,3",
            "X 10,3",
            "I",
            "\u{e4}\u{e4}",
        ] {
            let why = read(bad, true).expect_err(bad);
            assert!(why.contains("none of lackey's") && why.contains(" of t "), "{why}");
        }
        assert!(read("", true).expect_err("empty").contains("no access"));
        assert!(read(&"x".repeat(10_000), true).is_err());
    }
}
