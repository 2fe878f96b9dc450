//! Marks: lines `mark NS` with the time at which a kernel begins its next piece of work, by CLOCK_MONOTONIC,
//! which is also the clock of `perf record -k CLOCK_MONOTONIC`.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// The place where marks are written: a file, or standard error.
#[derive(Debug, Default)]
pub struct Marks {
    file: Option<File>,
    failed: Cell<bool>,
}

impl Marks {
    /// Write marks to this file, which is emptied or created.
    pub fn into_file(path: &Path) -> io::Result<Marks> {
        Ok(Marks { file: Some(File::create(path)?), failed: Cell::new(false) })
    }

    /// Write a mark, in one call.
    pub fn mark(&self) {
        let line = format!("mark {}\n", monotonic_ns());
        let written = match &self.file {
            Some(file) => {
                let mut file: &File = file;
                file.write_all(line.as_bytes())
            }
            None => io::stderr().write_all(line.as_bytes()),
        };
        self.failed.set(self.failed.get() || written.is_err());
    }

    /// Return whether a mark could not be written.
    pub fn failed(&self) -> bool {
        self.failed.get()
    }
}

fn monotonic_ns() -> i64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live timespec; the clock exists on every kernel.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}
