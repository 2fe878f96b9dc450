//! The bytes written before each measurement, so that code and timer come from further away: four times each
//! cache of the processor that measures, according to the kernel.

use serde::Serialize;

use super::evict::{self, Code};
use crate::facts::caches::bytes;
use crate::facts::memory;
use crate::facts::read::Machine;

/// The multiple of a cache that is written: enough to displace its content, whatever its replacement policy.
const TIMES: u64 = 4;
/// The inverse of the largest share of the available memory that is used.
const SHARE: u64 = 4;

/// A row of the result: the place that the timer's code and lines come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Flush {
    /// L1, L2, L3 or memory.
    pub name: &'static str,
    /// The bytes that are written before each measurement, or evicted.
    pub bytes: u64,
    /// The reason why it is left out.
    pub reason: Option<String>,
}

/// The row that evicts lines instead of displacing them.
pub const EVICTED: &str = "evicted";

impl Flush {
    /// Return the buffer for the flush.
    pub fn buffer(&self) -> Buffer {
        match self.name {
            EVICTED => Buffer { memory: Vec::new(), code: Code::own() },
            _ => Buffer::new(self.bytes),
        }
    }
}

/// Return the rows for a processor: nothing, and four times its first, second and third cache for data.
///
/// `available` is the memory that may be used, in bytes.
pub fn rows(machine: &Machine, cpu: u32, available: u64) -> Vec<Flush> {
    let cache = |level: u32| {
        let directory = format!("sys/devices/system/cpu/cpu{cpu}/cache");
        machine.numbered(&directory, "index").unwrap_or_default().into_iter().find_map(|index| {
            let read = |name: &str| machine.line(&format!("{directory}/index{index}/{name}")).ok();
            let right = read("level")? == level.to_string() && read("type")? != "Instruction";
            right.then(|| bytes(&read("size")?)).flatten()
        })
    };
    let row = |name, level| {
        match cache(level) {
        None => {
            Flush { name, bytes: 0, reason: Some(format!("the kernel reports no cache of level {level}")) }
        }
        Some(size) if size * TIMES > available / SHARE => Flush {
            name,
            bytes: size * TIMES,
            reason: Some(format!(
                "{} MiB are more than a quarter of the available memory ({} MiB); the row `{EVICTED}` needs none",
                (size * TIMES) >> 20,
                available >> 20
            )),
        },
        Some(size) => Flush { name, bytes: size * TIMES, reason: None },
    }
    };
    vec![
        Flush { name: "L1", bytes: 0, reason: None },
        row("L2", 1),
        row("L3", 2),
        row("memory", 3),
        evicted(),
    ]
}

/// Return the available memory according to /proc/meminfo, in bytes; 0 if it is not listed.
pub fn available(machine: &Machine) -> u64 {
    memory::available(&machine.text("proc/meminfo")).unwrap_or(0)
}

/// Return the row whose lines are evicted, or the reason why it is left out.
fn evicted() -> Flush {
    let reason = evict::unable().map(str::to_owned);
    Flush { name: EVICTED, bytes: Code::own().map_or(0, |code| code.bytes()), reason }
}

/// The memory that is written before a measurement, or the code that is evicted.
#[derive(Debug)]
pub struct Buffer {
    memory: Vec<u8>,
    code: Option<Code>,
}

/// The bytes of a cache line on every processor that this runs on, or a part of it.
const LINE: usize = 64;

impl Buffer {
    /// Return a buffer of this size, touched once so that the kernel has provided all of it.
    pub fn new(bytes: u64) -> Buffer {
        Buffer { memory: vec![1; bytes as usize], code: None }
    }

    /// Write to each line; or evict the code of the work, of the vDSO and of these functions.
    #[inline(never)]
    pub fn away(&mut self, functions: &[usize]) {
        for line in self.memory.chunks_mut(LINE) {
            line[0] = line[0].wrapping_add(1);
        }
        std::hint::black_box(&mut self.memory);
        if let Some(code) = &self.code {
            code.evict(functions);
        }
    }

    /// Return whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.memory.is_empty() && self.code.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(caches: &[(&str, &str, &str)]) -> tempdir::Tree {
        let tree = tempdir::Tree::new();
        for (index, (level, kind, size)) in caches.iter().enumerate() {
            let directory = format!("sys/devices/system/cpu/cpu1/cache/index{index}");
            tree.write(&format!("{directory}/level"), level);
            tree.write(&format!("{directory}/type"), kind);
            tree.write(&format!("{directory}/size"), size);
        }
        tree.write("proc/meminfo", "MemTotal: 9000000 kB\nMemAvailable:    1048576 kB\n");
        tree
    }

    mod tempdir {
        use std::path::PathBuf;

        use crate::facts::read::Machine;

        /// A directory that is removed with its value.
        pub struct Tree(PathBuf);

        impl Tree {
            pub fn new() -> Tree {
                static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
                let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                Tree(std::env::temp_dir().join(format!("becalm-caches-{}-{number}", std::process::id())))
            }

            pub fn machine(&self) -> Machine {
                Machine::new(&self.0)
            }

            pub fn write(&self, path: &str, text: &str) {
                let path = self.0.join(path);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, format!("{text}\n")).unwrap();
            }
        }

        impl Drop for Tree {
            fn drop(&mut self) {
                let _ = std::fs::remove_dir_all(&self.0);
            }
        }
    }

    #[test]
    fn four_times_each_cache_for_data() {
        let tree = machine(&[
            ("1", "Instruction", "64K"),
            ("1", "Data", "48K"),
            ("2", "Unified", "1M"),
            ("3", "Unified", "32M"),
        ]);
        let found = rows(&tree.machine(), 1, available(&tree.machine()));
        let short: Vec<_> =
            found[..4].iter().map(|row| (row.name, row.bytes, row.reason.is_some())).collect();
        let mib = 1 << 20;
        assert_eq!(
            short,
            [
                ("L1", 0, false),
                ("L2", 192 << 10, false),
                ("L3", 4 * mib, false),
                ("memory", 128 * mib, false),
            ]
        );
    }

    #[test]
    fn unavailable_flushes_have_a_reason() {
        let tree = machine(&[("1", "Data", "48K"), ("3", "Unified", "105M")]);
        let found = rows(&tree.machine(), 1, available(&tree.machine()));
        assert!(found[2].reason.as_ref().unwrap().contains("no cache of level 2"));
        assert!(found[3].reason.as_ref().unwrap().contains("420 MiB are more than a quarter"));
        assert_eq!(available(&Machine::new(std::path::Path::new("/nowhere"))), 0);
    }

    #[test]
    fn evicted_lines_need_no_memory() {
        let tree = machine(&[]);
        let row = rows(&tree.machine(), 1, 0).pop().unwrap();
        assert_eq!((row.name, row.reason.as_deref()), (EVICTED, evict::unable()));
        if row.reason.is_none() {
            assert!(row.bytes > 1_024, "{row:?}");
            let mut buffer = row.buffer();
            assert!(!buffer.is_empty());
            buffer.away(&[Buffer::is_empty as *const () as usize]);
        }
    }

    #[test]
    fn every_line_is_written() {
        let mut buffer = Buffer::new(1_000);
        buffer.away(&[]);
        assert_eq!(buffer.memory.iter().filter(|byte| **byte == 2).count(), 16);
        assert!(!buffer.is_empty() && Buffer::new(0).is_empty());
    }
}
