//! Memory that is written to repeatedly, more than its control group may have, so that the kernel swaps.

use std::fs;
use std::ptr;

use super::board::Slot;
use super::demand::Demand;
use super::job::{Job, LoadError};
use super::room::size;

const PAGE: usize = 4096;

pub fn jobs(demand: &Demand) -> Result<Vec<Job>, LoadError> {
    let (Some(bytes), Some(limit)) = (demand.memory_bytes, demand.limit_bytes) else { return Ok(Vec::new()) };
    let text = fs::read_to_string("/proc/meminfo")
        .map_err(|error| LoadError::Machine(format!("/proc/meminfo cannot be read: {error}.")))?;
    enough(&text, bytes, limit)?;
    let work = Box::new(move |slot: &Slot| fill(bytes as usize, slot));
    Ok(vec![Job { kind: "memory", asked: Some(bytes as f64), limit_bytes: Some(limit), work }])
}

/// Refuse a load that the machine would not survive, or that would be killed instead of swapped.
fn enough(meminfo: &str, bytes: u64, limit: u64) -> Result<(), LoadError> {
    let mib = |bytes: u64| bytes >> 20;
    if let Some(available) =
        size(meminfo, "MemAvailable").filter(|available| limit.min(bytes) > available / 10 * 9)
    {
        return Err(LoadError::Machine(format!(
            "A limit of {} MiB is too much: {} MiB of memory are available, and a tenth of that stays free.",
            mib(limit),
            mib(available)
        )));
    }
    let swap = size(meminfo, "SwapFree").unwrap_or(0);
    let over = bytes.saturating_sub(limit);
    if over > 0 && over > swap / 10 * 9 {
        return Err(LoadError::Machine(format!(
            "{} MiB in a limit of {} MiB would have to be swapped out by {} MiB, but {} MiB of swap are free: the load \
             would be killed. Switch swap on (swapon(8); zram will do), or ask for less memory than the limit.",
            mib(bytes),
            mib(limit),
            mib(over),
            mib(swap)
        )));
    }
    Ok(())
}

/// Fill memory with data that can hardly be compressed, then write a word to each page in turn for ever.
fn fill(bytes: usize, slot: &Slot) -> LoadError {
    let pages = bytes.div_ceil(PAGE);
    // SAFETY: a private anonymous mapping of our own.
    let at = unsafe {
        let (protection, kind) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        libc::mmap(ptr::null_mut(), pages * PAGE, protection, kind, -1, 0)
    };
    if at == libc::MAP_FAILED {
        return LoadError::Machine(format!(
            "{} MiB of memory is not available: {}.",
            bytes >> 20,
            std::io::Error::last_os_error()
        ));
    }
    // Huge pages would be split before they are swapped, at an unknown cost. An old kernel without them
    // refuses this.
    // SAFETY: the mapping above.
    unsafe { libc::madvise(at, pages * PAGE, libc::MADV_NOHUGEPAGE) };
    let words = at.cast::<u64>();
    let in_page = PAGE / size_of::<u64>();
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    for index in 0..pages * in_page {
        // This is xorshift64 (Marsaglia 2003, "Xorshift RNGs"): fast, and no two pages are alike.
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        // SAFETY: within the mapping. Volatile, so that the store is made.
        unsafe { words.add(index).write_volatile(random) };
    }
    slot.ready();
    loop {
        for page in 0..pages {
            // SAFETY: as above; one word of each page, another one each time round.
            unsafe {
                let word = words.add(page * in_page);
                word.write_volatile(word.read_volatile().wrapping_add(1));
            }
            slot.add(PAGE as u64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn a_load_that_would_exhaust_memory_is_refused() {
        let of = |bytes: u64, limit: u64, swap: u64| {
            let text = format!("MemTotal: 9 kB\nMemAvailable:  1024000 kB\nSwapFree:  {} kB\n", swap * 1024);
            enough(&text, bytes * MIB, limit * MIB)
        };
        assert!(of(512, 256, 400).is_ok());
        assert!(of(100, 256, 0).is_ok(), "less than the limit needs no swap");
        assert!(of(512, 256, 0).unwrap_err().to_string().contains("swapon"));
        assert!(of(512, 256, 260).unwrap_err().to_string().contains("260 MiB of swap"));
        assert!(of(5000, 990, 9000).unwrap_err().to_string().contains("too much"));
        assert!(enough("", 2 * MIB, MIB).unwrap_err().to_string().contains("0 MiB of swap"));
    }
}
