//! The bytes that processes moved from and to storage (`/proc/PID/io`, proc_pid_io(5)), and the disks that moved any.
//!
//! A read counts for the process for which it was fetched from a device, and a write for the one that changed
//! the page: when the kernel writes the page back later, that counts for no other process. A process has the
//! counts of its threads and of the children that it waited for.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::bytes::{lines, Words};

/// Bytes read from and written to storage.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traffic {
    pub read: u64,
    pub written: u64,
}

impl Traffic {
    /// Return the traffic of a process so far, below a root: that of another user's process needs root
    /// (`ptrace(2)`, read access).
    pub fn of(root: &Path, pid: u32) -> io::Result<Self> {
        let text = fs::read(root.join(format!("proc/{pid}/io")))?;
        Self::parse(&text).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
    }

    fn parse(text: &[u8]) -> Option<Self> {
        let count = |name: &[u8]| {
            lines(text).find_map(|line| {
                let mut words = Words(line);
                (words.next()? == name).then(|| words.number()).flatten()
            })
        };
        // Pages that were deleted before they were written never reached a disk.
        let written = count(b"write_bytes:")?.saturating_sub(count(b"cancelled_write_bytes:").unwrap_or(0));
        Some(Self { read: count(b"read_bytes:")?, written })
    }

    /// Return the difference from an earlier one. Cancelling may lower what was written.
    pub fn since(self, before: Self) -> Self {
        Self {
            read: self.read.saturating_sub(before.read),
            written: self.written.saturating_sub(before.written),
        }
    }

    /// Add further traffic.
    pub fn add(&mut self, more: Self) {
        self.read += more.read;
        self.written += more.written;
    }

    /// Return both directions together.
    pub fn bytes(self) -> u64 {
        self.read + self.written
    }
}

/// The whole disks of a machine, with the sectors that each has moved.
pub struct Disks {
    root: PathBuf,
    sectors: HashMap<String, u64>,
    /// Whether each block device is a disk of its own: not a partition, and not a device that passes on to
    /// others.
    whole: HashMap<String, bool>,
}

impl Disks {
    /// Begin with the present counts.
    pub fn new(root: &Path) -> Self {
        let mut disks = Self { root: root.to_owned(), sectors: HashMap::new(), whole: HashMap::new() };
        disks.active();
        disks
    }

    /// Return how many disks have moved anything since the last call; None if that cannot be read.
    pub fn active(&mut self) -> Option<u64> {
        let text = fs::read_to_string(self.root.join("proc/diskstats")).ok()?;
        let mut active = 0;
        for line in text.lines() {
            let mut words = line.split_ascii_whitespace().skip(2);
            let Some(name) = words.next() else { continue };
            let root = &self.root;
            let whole = self.whole.entry(name.to_owned()).or_insert_with(|| {
                root.join("sys/block").join(name.replace('/', "!")).join("device").exists()
            });
            let numbers: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
            let (true, Some(read), Some(written)) = (*whole, numbers.get(2), numbers.get(6)) else {
                continue;
            };
            let sectors = read.wrapping_add(*written);
            let before = self.sectors.insert(name.to_owned(), sectors);
            active += u64::from(before.is_some_and(|before| before != sectors));
        }
        Some(active)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IO: &str = "rchar: 9\nwchar: 9\nsyscr: 1\nsyscw: 1\nread_bytes: 4096\nwrite_bytes: 8192\n\
        cancelled_write_bytes: 4096\n";

    #[test]
    fn traffic_counts_bytes_that_reached_storage() {
        let traffic = Traffic::parse(IO.as_bytes()).unwrap();
        assert_eq!(traffic, Traffic { read: 4096, written: 4096 });
        assert_eq!(Traffic::parse(b"rchar: 9\n"), None);
        let mut sum = traffic.since(Traffic { read: 96, written: 5000 });
        assert_eq!(sum, Traffic { read: 4000, written: 0 });
        sum.add(traffic);
        assert_eq!(sum.bytes(), 12_192);
    }

    #[test]
    fn only_whole_disks_that_moved_are_counted() {
        let root = std::env::temp_dir().join(format!("becalm-traffic-{}", std::process::id()));
        for directory in ["proc/7", "sys/block/sda/device", "sys/block/sdb/device", "sys/block/loop0"] {
            fs::create_dir_all(root.join(directory)).unwrap();
        }
        let write = |sda: u32, sdb: u32| {
            let line = |name: &str, sectors| format!(" 8 0 {name} 1 0 {sectors} 1 1 0 8 1 0 1 1\n");
            let text = line("sda", sda) + &line("sda1", sda) + &line("sdb", sdb) + &line("loop0", sda);
            fs::write(root.join("proc/diskstats"), text).unwrap();
        };
        write(10, 10);
        let mut disks = Disks::new(&root);
        assert_eq!(disks.active(), Some(0));
        write(20, 10);
        assert_eq!(disks.active(), Some(1));
        write(21, 11);
        assert_eq!(disks.active(), Some(2));
        fs::write(root.join("proc/7/io"), IO).unwrap();
        assert_eq!(Traffic::of(&root, 7).unwrap().bytes(), 8192);
        assert!(Traffic::of(&root, 8).is_err());
        fs::remove_dir_all(&root).unwrap();
        assert_eq!(disks.active(), None);
    }
}
