//! Files that are read repeatedly: kept open, and read from their beginning by pread(2) into one buffer.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::exec::now_ns;
use crate::refusal::refusal;
use crate::time::AnyClock;

/// The reason why something could not be read. Shared, so that repeating it allocates nothing.
pub type Reason = Arc<str>;

/// The time for which a missing file is not looked for again, ns.
const AGAIN_NS: i64 = 1_000_000_000;

/// The largest size of a file, bytes. `/proc/interrupts` of 2,048 CPUs and 1,000 interrupts has 23 MB.
const LONGEST: usize = 256 << 20;

/// The prefixes of the wanted values of a source.
pub type Beginnings = fn(source: &str) -> Vec<&'static str>;

/// The place of files: the running machine, or a directory that looks like it, as one process sees it.
#[derive(Debug, Clone)]
pub struct Place {
    root: PathBuf,
    /// The process whose accounts, mounts, network and control group are read: "self" or a number.
    pub process: String,
    /// The prefixes of the values to which sources are limited: some have many costly values that nobody
    /// uses.
    pub brief: Option<Beginnings>,
    /// The clock for the times of readings.
    pub clock: AnyClock,
}

impl Place {
    /// Use the files below `root`, as this process sees them.
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), process: "self".to_owned(), brief: None, clock: AnyClock::System }
    }

    /// Use the files below `root`, as another process sees them.
    pub fn of_process(root: &Path, pid: u32) -> Self {
        Self { process: pid.to_string(), ..Self::new(root) }
    }

    /// Limit the sources to the wanted values.
    pub fn brief(mut self, wanted: Beginnings) -> Self {
        self.brief = Some(wanted);
        self
    }

    /// Use a clock for readings.
    pub fn on(mut self, clock: &AnyClock) -> Self {
        self.clock = clock.clone();
        self
    }

    /// Return the root of the files.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Return a file of `/proc/PID` of the process.
    pub fn own(&self, name: &str) -> Kept {
        Kept::new(self, &format!("proc/{}/{name}", self.process))
    }
}

/// The buffer for all files, one after the other. It grows to the size of the longest.
pub struct Buffer(Vec<u8>);

impl Default for Buffer {
    fn default() -> Self {
        Self(vec![0; 1 << 14])
    }
}

/// A file that stays open from its first successful read on.
pub struct Kept {
    path: PathBuf,
    /// The path for messages, without the leading slash.
    name: String,
    /// Whether it stays open. A file in a directory may be replaced by another of the same name: such a file
    /// is opened each time.
    keep: bool,
    file: Option<File>,
    refused: Option<(i32, Reason)>,
    /// The last time when it was not found, CLOCK_MONOTONIC_RAW in ns.
    missed_ns: i64,
}

impl Kept {
    /// Describe a file, named without its leading slash. Nothing is opened yet.
    pub fn new(place: &Place, name: &str) -> Self {
        let keep = place.root == Path::new("/");
        let path = place.root.join(name);
        Self { path, name: name.to_owned(), keep, file: None, refused: None, missed_ns: i64::MIN }
    }

    /// Do not leave it open: there are too many of its kind for the limit on descriptors (RLIMIT_NOFILE,
    /// often 1,024).
    pub fn opened_each_time(mut self) -> Self {
        self.keep = false;
        self
    }

    /// Read all its bytes now. Looking for a file of the running machine that does not exist costs as much as
    /// reading one, so this is done once per second at most.
    pub fn read<'b>(&mut self, buffer: &'b mut Buffer) -> Result<&'b [u8], Reason> {
        if let (true, Some((libc::ENOENT, reason))) = (self.keep, &self.refused) {
            if now_ns().saturating_sub(self.missed_ns) < AGAIN_NS {
                return Err(Arc::clone(reason));
            }
        }
        let length = match self.fill(buffer) {
            Ok(length) => length,
            Err(error) => return Err(self.reason(&error)),
        };
        self.refused = None;
        Ok(&buffer.0[..length])
    }

    fn fill(&mut self, buffer: &mut Buffer) -> io::Result<usize> {
        if let Some(file) = &self.file {
            match read_all(file, &mut buffer.0) {
                Ok(length) => return Ok(length),
                // The device has gone (a CPU offline: ENODEV), and may have come back.
                Err(_) => self.file = None,
            }
        }
        // Opening must not hang on a FIFO that somebody put in place of a file.
        let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(&self.path)?;
        let length = read_all(&file, &mut buffer.0)?;
        if self.keep {
            self.file = Some(file);
        }
        Ok(length)
    }

    /// Return the text of an error, created once as long as it is the same.
    fn reason(&mut self, error: &io::Error) -> Reason {
        let code = error.raw_os_error().unwrap_or(0);
        self.missed_ns = now_ns();
        match &self.refused {
            Some((known, reason)) if *known == code => Arc::clone(reason),
            _ => {
                let reason: Reason = refusal(&self.name, error).into();
                self.refused = Some((code, Arc::clone(&reason)));
                reason
            }
        }
    }
}

/// Read from the beginning until nothing more comes: files of /proc return a page or so at a time.
fn read_all(file: &File, buffer: &mut Vec<u8>) -> io::Result<usize> {
    let mut length = 0;
    loop {
        if length == buffer.len() {
            if length >= LONGEST {
                return Err(io::Error::from_raw_os_error(libc::EFBIG));
            }
            buffer.resize(length * 2, 0);
        }
        match file.read_at(&mut buffer[length..], length as u64) {
            Ok(0) => return Ok(length),
            Ok(more) => length += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_file_is_read_anew_and_a_missing_one_has_a_reason() {
        let root = std::env::temp_dir().join(format!("becalm-kept-{}", std::process::id()));
        fs::create_dir_all(root.join("proc")).unwrap();
        let place = Place::new(&root);
        let mut buffer = Buffer::default();
        let mut kept = Kept::new(&place, "proc/x");
        assert_eq!(&*kept.read(&mut buffer).unwrap_err(), "/proc/x does not exist");
        let long = vec![b'a'; 100_000];
        fs::write(root.join("proc/x"), &long).unwrap();
        assert_eq!(kept.read(&mut buffer).unwrap(), long);
        fs::write(root.join("proc/y"), "short").unwrap();
        fs::rename(root.join("proc/y"), root.join("proc/x")).unwrap();
        assert_eq!(kept.read(&mut buffer).unwrap(), b"short");
        fs::remove_file(root.join("proc/x")).unwrap();
        fs::create_dir(root.join("proc/x")).unwrap();
        assert!(kept.read(&mut buffer).unwrap_err().contains("Is a directory"));
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_live_file_stays_open() {
        let mut buffer = Buffer::default();
        let mut kept = Kept::new(&Place::new(Path::new("/")), "proc/self/stat");
        kept.read(&mut buffer).unwrap();
        assert!(kept.file.is_some());
        assert!(!kept.read(&mut buffer).unwrap().is_empty());
    }
}
