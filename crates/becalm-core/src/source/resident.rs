//! The memory that programs have at this moment: the resident pages of all processes below one, summed.
//!
//! Pages that several processes share count in each of them (Documentation/filesystems/proc.rst, statm):
//! shared pages could only be found one by one (smaps_rollup), which takes the programs' own memory locks.
//! After the first one, a reading allocates nothing.

use std::fs::File;
use std::io::{Read, Write};

use super::bytes::{number, Words};
use super::directory_entries::{entries, entry};
use crate::exec::tree::is_spared;

/// The largest number of processes: with more of them the memory is unknown.
const MOST: usize = 4096;

/// A reader of the memory of the descendants of a process.
pub struct Resident {
    found: Vec<libc::pid_t>,
    /// The pages of the processes found, in their order.
    pages: Vec<u64>,
    entries: Box<[u8; 8192]>,
    text: Box<[u8; 4096]>,
    page: u64,
}

impl Default for Resident {
    fn default() -> Self {
        // SAFETY: no pointers.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        Self {
            found: Vec::with_capacity(MOST),
            pages: Vec::with_capacity(MOST),
            entries: Box::new([0; 8192]),
            text: Box::new([0; 4096]),
            page: u64::try_from(page).unwrap_or(4096),
        }
    }
}

impl Resident {
    /// Return the resident bytes of all descendants of this process, except those that run next to programs
    /// (`tree::spare`). None when no descendant has memory, or there are too many.
    pub fn below(&mut self, top: libc::pid_t) -> Option<u64> {
        self.found.clear();
        self.pages.clear();
        self.children(top);
        let (mut at, mut sum) = (0, 0);
        while let Some(pid) = self.found.get(at).copied() {
            if at + 1 >= MOST {
                return None;
            }
            // A process that ended meanwhile has none.
            let pages = self.of_process(pid).unwrap_or(0);
            self.pages.push(pages);
            sum += pages;
            self.children(pid);
            at += 1;
        }
        (sum > 0).then(|| sum * self.page)
    }

    /// Return the processes that had most memory at the last reading, the largest first, with their names and
    /// bytes.
    pub fn largest(&self, count: usize) -> Vec<(libc::pid_t, String, u64)> {
        let held = self.found.iter().copied().zip(self.pages.iter().copied());
        let mut held: Vec<_> = held.filter(|(_, pages)| *pages > 0).collect();
        held.sort_unstable_by_key(|(pid, pages)| (std::cmp::Reverse(*pages), *pid));
        held.truncate(count);
        let named = held.into_iter().map(|(pid, pages)| {
            let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            (pid, name.trim_end_matches('\n').to_owned(), pages * self.page)
        });
        named.collect()
    }

    fn of_process(&mut self, pid: libc::pid_t) -> Option<u64> {
        let length = read(format_args!("/proc/{pid}/statm"), &mut self.text[..])?;
        Words(&self.text[..length]).nth(1).and_then(number)
    }

    /// Add the children of all threads of a process.
    fn children(&mut self, pid: libc::pid_t) {
        let Some(directory) = open(format_args!("/proc/{pid}/task")) else { return };
        loop {
            let length = entries(&directory, &mut self.entries[..]);
            if length == 0 {
                return;
            }
            let mut at = 0;
            while let Some((task, next)) = entry(&self.entries[..length], at) {
                at = next;
                if let Some(task) = task {
                    self.of_thread(pid, task.into());
                }
            }
        }
    }

    fn of_thread(&mut self, pid: libc::pid_t, task: u64) {
        let Some(mut file) = open(format_args!("/proc/{pid}/task/{task}/children")) else { return };
        let mut held = None;
        loop {
            let length = file.read(&mut self.text[..]).unwrap_or(0);
            for byte in &self.text[..length] {
                held = match (byte, held) {
                    (b'0'..=b'9', held) => {
                        Some(held.unwrap_or(0_i32).saturating_mul(10).saturating_add(i32::from(byte - b'0')))
                    }
                    (_, Some(child)) => {
                        if !is_spared(child) && self.found.len() < MOST {
                            self.found.push(child);
                        }
                        None
                    }
                    (_, None) => None,
                };
            }
            if length == 0 {
                return;
            }
        }
    }
}

fn open(path: std::fmt::Arguments) -> Option<File> {
    let mut room = [0_u8; 64];
    let mut rest = &mut room[..];
    rest.write_fmt(path).ok()?;
    let unused = rest.len();
    File::open(std::str::from_utf8(&room[..64 - unused]).ok()?).ok()
}

fn read(path: std::fmt::Arguments, buffer: &mut [u8]) -> Option<usize> {
    open(path)?.read(buffer).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn children_of_children_are_in_it() {
        // The shell starts another one, which waits for the end of its input: both exist until then.
        let mut made = Command::new("sh")
            .args(["-c", "sh -c 'echo; read x'; true"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = [0; 1];
        made.stdout.as_mut().unwrap().read_exact(&mut line).unwrap();
        let pid = made.id() as libc::pid_t;
        let mut resident = Resident::default();
        let below = resident.below(pid).unwrap();
        let largest = resident.largest(8);
        let own = resident.of_process(pid).unwrap() * resident.page;
        assert!(below > 100_000 && own > 100_000, "{below} {own}");
        assert_eq!(resident.found.len(), 1);
        assert_eq!(largest, [(resident.found[0], "sh".to_owned(), below)]);
        drop(made.stdin.take());
        made.wait().unwrap();
        assert_eq!(resident.below(pid), None, "it has gone");
    }
}
