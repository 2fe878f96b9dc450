//! Regions kept in memory that the caller provides: no allocation and no system call while code is timed.
//!
//! ```
//! use becalm_clock::ring::{Full, Record, Ring};
//! use becalm_clock::{begin, end};
//!
//! const PARSE: u32 = 1;
//! let mut memory = [Record::EMPTY; 1024];
//! let mut ring = Ring::new(&mut memory, Full::DropOldest);
//! for _ in 0..2_000 {
//!     let from = begin();
//!     std::hint::black_box((1..=10_u64).sum::<u64>());
//!     ring.push(PARSE, from, end());
//! }
//! assert_eq!((ring.len(), ring.dropped()), (1024, 976));
//! let shortest = ring.records().map(|record| record.region().ticks).min();
//! # assert!(shortest.is_some());
//! ```
//!
//! A ring belongs to one thread, so nothing is locked; a program has one per thread.

use crate::{Region, Stamp};

/// A timed region: its number and both reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// The caller's number for the region.
    pub id: u32,
    /// The clock at the beginning.
    pub begin: Stamp,
    /// The clock at the end.
    pub end: Stamp,
}

impl Record {
    /// The value with which the memory of a ring is filled.
    pub const EMPTY: Record =
        Record { id: 0, begin: Stamp { ticks: 0, processor: 0 }, end: Stamp { ticks: 0, processor: 0 } };

    /// Return the region between the two reads.
    #[inline]
    pub fn region(&self) -> Region {
        self.begin.until(self.end)
    }
}

/// The records that are dropped when the memory is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Full {
    /// New records are dropped: the first ones stay.
    DropNewest,
    /// Old records are dropped: the last ones stay.
    DropOldest,
}

/// A buffer of records in memory that the caller provides.
#[derive(Debug)]
pub struct Ring<'a> {
    memory: &'a mut [Record],
    /// The index at which the next record is stored.
    next: usize,
    /// The number of records pushed.
    pushed: u64,
    full: Full,
}

impl<'a> Ring<'a> {
    /// Create an empty ring in this memory.
    pub fn new(memory: &'a mut [Record], full: Full) -> Ring<'a> {
        Ring { memory, next: 0, pushed: 0, full }
    }

    /// Store a region.
    #[inline]
    pub fn push(&mut self, id: u32, begin: Stamp, end: Stamp) {
        self.pushed += 1;
        if self.next == self.memory.len() {
            if self.full == Full::DropNewest {
                return;
            }
            self.next = 0;
        }
        if let Some(place) = self.memory.get_mut(self.next) {
            *place = Record { id, begin, end };
            self.next += 1;
        }
    }

    /// Return the number of records in the ring.
    pub fn len(&self) -> usize {
        usize::try_from(self.pushed).map_or(self.memory.len(), |pushed| pushed.min(self.memory.len()))
    }

    /// Return whether the ring is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Return which records are dropped when the memory is full.
    pub fn full(&self) -> Full {
        self.full
    }

    /// Return the number of records dropped.
    pub fn dropped(&self) -> u64 {
        self.pushed - self.len() as u64
    }

    /// Return the stored records, in the order in which they were pushed.
    pub fn records(&self) -> impl Iterator<Item = &Record> {
        let kept = &self.memory[..self.len()];
        let wrapped = self.full == Full::DropOldest && self.dropped() > 0;
        let (new, old) = kept.split_at(if wrapped { self.next.min(kept.len()) } else { 0 });
        old.iter().chain(new)
    }

    /// Remove all records and reset the counts.
    pub fn clear(&mut self) {
        self.next = 0;
        self.pushed = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(memory: &mut [Record], full: Full, many: u32) -> Ring<'_> {
        let mut ring = Ring::new(memory, full);
        for id in 0..many {
            ring.push(id, Stamp { ticks: 10, processor: 0 }, Stamp { ticks: 15, processor: 0 });
        }
        ring
    }

    fn ids(ring: &Ring) -> Vec<u32> {
        ring.records().map(|record| record.id).collect()
    }

    #[test]
    fn a_full_ring_keeps_the_chosen_records_and_counts_the_rest() {
        let mut memory = [Record::EMPTY; 4];
        for (full, many, kept, dropped) in [
            (Full::DropOldest, 3, vec![0, 1, 2], 0),
            (Full::DropOldest, 4, vec![0, 1, 2, 3], 0),
            (Full::DropOldest, 6, vec![2, 3, 4, 5], 2),
            (Full::DropOldest, 8, vec![4, 5, 6, 7], 4),
            (Full::DropNewest, 6, vec![0, 1, 2, 3], 2),
        ] {
            let mut ring = filled(&mut memory, full, many);
            assert_eq!((ids(&ring), ring.dropped()), (kept, dropped), "{full:?} {many}");
            assert!(ring.records().all(|record| record.region().ticks == 5));
            ring.clear();
            assert!(ring.is_empty() && ring.dropped() == 0);
        }
    }

    #[test]
    fn a_ring_without_memory_counts_only() {
        for full in [Full::DropOldest, Full::DropNewest] {
            let ring = filled(&mut [], full, 5);
            assert_eq!((ring.len(), ring.dropped(), ids(&ring).len()), (0, 5, 0));
        }
    }

    /// Forbid every system call except exit; any other one ends this process (seccomp(2)). This is not strict
    /// mode, in which the kernel forbids reads of the counter, too.
    #[cfg(all(feature = "os", target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    fn forbid_system_calls() {
        let instruction = |code, jf, k| libc::sock_filter { code, jt: 0, jf, k };
        let mut filter = [
            instruction((libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16, 0, 0),
            instruction((libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16, 1, libc::SYS_exit as u32),
            instruction((libc::BPF_RET | libc::BPF_K) as u16, 0, libc::SECCOMP_RET_ALLOW),
            instruction((libc::BPF_RET | libc::BPF_K) as u16, 0, libc::SECCOMP_RET_KILL_PROCESS),
        ];
        let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
        // SAFETY: the program outlives the calls.
        let status = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
                | libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program)
        };
        if status != 0 {
            // A kernel without filters: the caller sees an exit code that no assertion uses.
            unsafe { libc::_exit(NO_FILTER) };
        }
    }

    #[cfg(all(feature = "os", target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    const NO_FILTER: i32 = 77;

    /// Run in a child process, since the filter cannot be removed.
    #[cfg(all(feature = "os", target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    #[test]
    fn timing_makes_no_system_call() {
        let clock = crate::Clock::calibrated(1_000_000).unwrap();
        let mut memory = [Record::EMPTY; 64];
        // SAFETY: between fork and exit the child allocates nothing, and makes system calls only before the
        // filter is set.
        let child = unsafe { libc::fork() };
        if child == 0 {
            forbid_system_calls();
            let mut ring = Ring::new(&mut memory, Full::DropOldest);
            let mut total = 0;
            for turn in 0..1_000 {
                let from = crate::begin();
                ring.push(turn, from, crate::end());
                total += clock.ns(ring.records().map(|record| record.region().ticks).max().unwrap_or(0));
            }
            std::hint::black_box(total);
            // _exit would call exit_group, which is forbidden.
            unsafe { libc::syscall(libc::SYS_exit, 0) };
        }
        let mut status = -1;
        // SAFETY: waits for the child forked above.
        unsafe { libc::waitpid(child, &mut status, 0) };
        let without_filters = libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == NO_FILTER;
        assert!(status == 0 || without_filters, "status {status:#x}: {} is SIGSYS", libc::SIGSYS);
    }
}
