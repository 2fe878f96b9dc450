//! The size of the last-level cache of the CPU on which a kernel starts, and the memory that the kernel may
//! touch.

use crate::facts::caches::bytes;
use crate::facts::memory;
use crate::facts::read::Machine;

/// The size assumed for a cache that the kernel does not report, as in many virtual machines.
pub const UNKNOWN_CACHE: u64 = 32 << 20;

/// Return the CPU that this runs on at the moment.
pub fn here() -> u32 {
    // SAFETY: it takes nothing and writes nothing.
    u32::try_from(unsafe { libc::sched_getcpu() }).unwrap_or(0)
}

/// Return the size of the highest-level cache for data, in bytes; None if sysfs lists none.
pub fn last_level(machine: &Machine, cpu: u32) -> Option<u64> {
    let directory = format!("sys/devices/system/cpu/cpu{cpu}/cache");
    let read = |index: u32, name: &str| machine.line(&format!("{directory}/index{index}/{name}")).ok();
    let found = machine.numbered(&directory, "index").unwrap_or_default().into_iter().filter_map(|index| {
        let level = read(index, "level")?.parse::<u32>().ok()?;
        (read(index, "type")? != "Instruction").then_some(())?;
        Some((level, bytes(&read(index, "size")?)?))
    });
    found.max().map(|(_, size)| size).filter(|size| *size > 0)
}

/// Return the bytes that may be touched; None if /proc/meminfo does not list them.
pub fn available(machine: &Machine) -> Option<u64> {
    memory::available(&machine.text("proc/meminfo")).ok()
}

/// Refuse a kernel that needs more memory than there is; an error is a sentence.
pub fn refuse(name: &str, needed: u64, available: Option<u64>) -> Result<(), String> {
    match available {
        Some(available) if needed > available => Err(format!(
            "The kernel {name} would touch {} MiB of memory, and {} MiB are available (MemAvailable in /proc/meminfo). \
             Ask for a smaller size.",
            needed.div_ceil(1 << 20),
            available >> 20
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn the_highest_level_counts_and_no_cache_for_instructions() {
        let root = std::env::temp_dir().join(format!("becalm-room-{}", std::process::id()));
        let caches = [
            ("1", "Data", "32K"),
            ("3", "Unified", "24576K"),
            ("2", "Unified", "1M"),
            ("4", "Instruction", "1G"),
        ];
        for (index, (level, kind, size)) in caches.iter().enumerate() {
            let place = root.join(format!("sys/devices/system/cpu/cpu2/cache/index{index}"));
            fs::create_dir_all(&place).unwrap();
            for (name, text) in [("level", level), ("type", kind), ("size", size)] {
                fs::write(place.join(name), format!("{text}\n")).unwrap();
            }
        }
        let machine = Machine::new(&root);
        assert_eq!(last_level(&machine, 2), Some(24 << 20));
        assert_eq!(last_level(&machine, 0), None);
        assert_eq!(available(&machine), None);
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn more_than_available_is_refused_but_not_the_unknown() {
        let message = refuse("chase", 3 << 30, Some(2 << 30)).unwrap_err();
        assert!(message.contains("3072 MiB of memory, and 2048 MiB are available"), "{message}");
        assert!(refuse("chase", 2 << 30, Some(2 << 30)).is_ok() && refuse("chase", 3 << 30, None).is_ok());
        assert!(available(&Machine::new(Path::new("/"))).is_some());
    }
}
