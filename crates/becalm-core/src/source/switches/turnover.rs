//! The proxy `ws_turnover`: how far the pages that one process uses change, for machines without counters. It
//! is not a miss ratio.
//!
//! The kernel marks pages that are referenced (/proc/PID/clear_refs removes the marks, smaps_rollup counts
//! them). A page that is marked now and was not before is new: the number of new pages among the marked ones
//! is reported in place of misses. Marks are removed after a change, so that a change back is one too, and
//! every `KEPT` windows; the window after that is unknown. Steps are pages, not cache lines. Both files take
//! time in proportion to the process's memory and clear_refs flushes its translation caches, so a window is
//! at least `SHARE` times as long as they take. The stream has one CPU, 0, which stands for the process: on
//! which CPU it runs is not known.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use super::record::{Record, Task, What};
use crate::exec::now_ns;

/// The number of windows after which marks are removed in any case.
const KEPT: u32 = 20;

/// The inverse of the largest share of the time that reading takes.
const SHARE: i64 = 10;

/// The inverse of the share of new pages above which marks are removed: the rule of the detector.
const CHANGED: u64 = 10;

/// The pages of one process.
#[derive(Debug)]
pub struct Turnover {
    /// The directory `/proc/PID`, by a path that belongs to this process only.
    directory: PathBuf,
    task: Task,
    least_ns: i64,
    window_ns: i64,
    page: u64,
    due_ns: i64,
    /// The pages marked at the last reading; None: the marks were removed just now.
    marked: Option<u64>,
    /// The windows since the marks were removed.
    kept: u32,
    references: u64,
    misses: u64,
}

impl Turnover {
    /// Begin with a process. An error if its files cannot be read and written.
    pub fn begin(directory: &Path, task: Task, window_ns: u64) -> io::Result<Self> {
        // SAFETY: cannot fail for this name.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) }.max(1) as u64;
        let window_ns = i64::try_from(window_ns).unwrap_or(i64::MAX);
        let mut made = Self {
            directory: directory.to_owned(),
            task,
            least_ns: window_ns,
            window_ns,
            page,
            due_ns: 0,
            marked: None,
            kept: 0,
            references: 0,
            misses: 0,
        };
        let begun = now_ns();
        made.forget()?;
        made.read()?;
        made.lengthen(begun);
        Ok(made)
    }

    /// Return the directory of its process.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Return the present length of a window, ns.
    pub fn window_ns(&self) -> i64 {
        self.window_ns
    }

    /// Return when the next window ends.
    pub fn due_ns(&self) -> i64 {
        self.due_ns
    }

    /// Append the record that the process exists.
    pub fn first(&self, out: &mut Vec<u8>) -> u64 {
        let Self { task, .. } = *self;
        self.put(What::Fork { parent: 0, child: task, process: task }, out);
        self.put(What::Switch { out: 0, to: task, preempted: false }, out);
        2
    }

    /// End a window, if it is time; return the number of records. An error when the process has ended.
    pub fn look(&mut self, out: &mut Vec<u8>) -> io::Result<u64> {
        let begun = now_ns();
        if begun < self.due_ns {
            return Ok(0);
        }
        let now = self.read()?;
        let mut records = 1;
        let changed = match self.marked {
            Some(before) => {
                let new = now.saturating_sub(before);
                self.references += now;
                self.misses += new;
                self.put(What::Tick, out);
                new * CHANGED > now
            }
            // It is not known which of these are new.
            None => {
                self.put(What::Lost, out);
                self.put(What::Switch { out: self.task, to: self.task, preempted: true }, out);
                records = 2;
                false
            }
        };
        self.marked = Some(now);
        self.kept += 1;
        if changed || self.kept >= KEPT {
            self.forget()?;
        }
        self.lengthen(begun);
        Ok(records)
    }

    /// Append the record that the process has ended.
    pub fn end(&self, out: &mut Vec<u8>) -> u64 {
        self.put(What::Exit(self.task), out);
        self.put(What::Switch { out: self.task, to: 0, preempted: false }, out);
        2
    }

    fn lengthen(&mut self, begun: i64) {
        let now = now_ns();
        self.window_ns = self.least_ns.max((now - begun) * SHARE);
        self.due_ns = now + self.window_ns;
    }

    fn forget(&mut self) -> io::Result<()> {
        let mut file = File::options().write(true).open(self.directory.join("clear_refs"))?;
        // 1 stands for all pages (proc_pid_clear_refs(5)).
        file.write_all(b"1")?;
        (self.marked, self.kept) = (None, 0);
        Ok(())
    }

    /// Read the number of marked pages.
    fn read(&self) -> io::Result<u64> {
        let mut text = String::new();
        File::open(self.directory.join("smaps_rollup"))?.read_to_string(&mut text)?;
        referenced(&text)
            .map(|bytes| bytes / self.page)
            .ok_or_else(|| io::Error::from_raw_os_error(libc::ESRCH))
    }

    fn put(&self, what: What, out: &mut Vec<u8>) {
        if !out.is_empty() {
            out.push(b',');
        }
        let (references, misses) = (self.references, self.misses);
        Record { time_ns: now_ns() as u64, cpu: 0, what, references, misses }.write(out);
    }
}

/// Return the bytes of the line `Referenced: N kB`; a process without memory of its own has no such line.
fn referenced(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("Referenced:"))?;
    let number: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    number.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn new_pages_are_reported_and_the_window_after_a_reset_is_unknown() {
        let directory = std::env::temp_dir().join(format!("becalm-turnover-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("clear_refs"), "").unwrap();
        let has = |pages: u64| {
            let text = format!("Rss: 9 kB\nReferenced:   {} kB\n", pages * 4);
            fs::write(directory.join("smaps_rollup"), text).unwrap();
        };
        has(100);
        let mut turnover = Turnover::begin(&directory, 7, 1).unwrap();
        turnover.page = 4096;
        let mut look = |pages| {
            has(pages);
            (turnover.due_ns, turnover.window_ns) = (0, 0);
            let mut out = Vec::new();
            let count = turnover.look(&mut out).unwrap();
            let list: Vec<serde_json::Value> =
                serde_json::from_str(&format!("[{}]", String::from_utf8(out).unwrap())).unwrap();
            assert_eq!(list.len() as u64, count);
            let counts = (turnover.references, turnover.misses);
            (list.into_iter().map(|each| each["what"].clone()).collect::<Vec<_>>(), counts)
        };
        assert_eq!(look(100).0[0], "lost", "they were forgotten at the beginning");
        assert_eq!(look(105), (vec!["tick".into()], (105, 5)));
        assert_eq!(look(205), (vec!["tick".into()], (310, 105)), "a change: they are forgotten");
        assert_eq!(look(100).0[0], "lost");
        assert_eq!(look(100), (vec!["tick".into()], (410, 105)));
        assert_eq!(fs::read_to_string(directory.join("clear_refs")).unwrap(), "1");
        fs::remove_file(directory.join("smaps_rollup")).unwrap();
        turnover.due_ns = 0;
        assert!(turnover.look(&mut Vec::new()).is_err());
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn without_the_line_nothing_is_known() {
        assert_eq!(referenced("Rss: 9 kB\n"), None);
        assert_eq!(referenced("Referenced:  12 kB\n"), Some(12 << 10));
        assert_eq!(referenced("Referenced: 99999999999999999999 kB\n"), None);
    }
}
