//! Processes and tasks, each identified by its number and start time: whether they run, and the CPUs that
//! they may use.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::io;
use std::mem;

use super::cpus::{self, Cpus};
use super::tree::Tree;
use crate::pid_stat::PidStat;
use crate::place::Place;

/// The state of a process: it was stopped, runs, or does not exist any more.
pub const RUNNING: &str = "running";
pub const STOPPED: &str = "stopped";
pub const GONE: &str = "gone";

/// The largest number of listings of the threads of a process until two in a row are equal.
const LISTINGS: usize = 10;

/// Return the numbers of all threads of a process, ascending; none if it has ended.
pub fn threads(tree: &Tree, pid: u32) -> Vec<i32> {
    let list = || tree.numbered(&format!("/proc/{pid}/task"), "").into_iter().map(|tid| tid as i32).collect();
    whole_listing(|| Ok::<_, Infallible>(list())).unwrap_or_default()
}

/// Return all threads of a process from listings of its directory. A listing during which a thread ends may
/// lack others that live (next_tid and first_tid in fs/proc/base.c), but then contains the one that ended,
/// which the next does not: two equal listings are complete. If threads never stop coming and going, return
/// all of any listing.
pub fn whole_listing<E>(mut list: impl FnMut() -> Result<Vec<i32>, E>) -> Result<Vec<i32>, E> {
    let mut last = list()?;
    let mut all: BTreeSet<i32> = last.iter().copied().collect();
    for _ in 1..LISTINGS {
        let next = list()?;
        if next == last {
            return Ok(last);
        }
        all.extend(&next);
        last = next;
    }
    Ok(all.into_iter().collect())
}

/// Return the start time of a process or task, in clock ticks since boot (proc(5), stat, field 22), and its
/// state letter.
pub fn start_and_state(tree: &Tree, pid: i32) -> Option<(u64, char)> {
    let text = tree.read(&format!("/proc/{pid}/stat")).ok()?;
    let stat = PidStat::parse(text.as_bytes())?;
    Some((stat.at(22)?, stat.state.chars().next()?))
}

/// Return the state of a process, which is identified by its number and start time.
pub fn process_state(tree: &Tree, pid: i32, start: u64) -> &'static str {
    match start_and_state(tree, pid) {
        Some((found, state)) if found == start && !matches!(state, 'Z' | 'X') => match state {
            'T' | 't' => STOPPED,
            _ => RUNNING,
        },
        _ => GONE,
    }
}

/// Let a process run, or stop or end it.
pub fn signal(tree: &Tree, pid: i32, start: u64, value: &str) -> io::Result<()> {
    if process_state(tree, pid, start) == GONE {
        return Ok(());
    }
    let (signal, wanted) = match value {
        STOPPED => (libc::SIGSTOP, STOPPED),
        GONE => (libc::SIGKILL, GONE),
        _ => (libc::SIGCONT, RUNNING),
    };
    // SAFETY: no pointers.
    if unsafe { libc::kill(pid, signal) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // A signal takes effect when the process next leaves the kernel.
    for _ in 0..200 {
        if process_state(tree, pid, start) == wanted {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    Ok(())
}

/// Fail with ESRCH unless a number is still that of the task that started then.
pub fn same_task(tree: &Tree, tid: i32, start: u64) -> io::Result<()> {
    match start_and_state(tree, tid) {
        Some((found, _)) if found == start => Ok(()),
        _ => Err(io::Error::from_raw_os_error(libc::ESRCH)),
    }
}

/// Return the CPUs that a task may use, as a list.
pub fn affinity(tree: &Tree, tid: i32, start: u64) -> io::Result<String> {
    same_task(tree, tid, start)?;
    let status = tree.read(&format!("/proc/{tid}/status"))?;
    allowed(&status).map(str::to_owned).ok_or_else(|| io::Error::from_raw_os_error(libc::ENODATA))
}

/// Return the CPUs that a task may use, as a list, from its `status` file.
pub fn allowed(status: &str) -> Option<&str> {
    status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).map(str::trim)
}

/// Return the active CPUs that a task of the running machine may use; None if it has ended, or the kernel has
/// more CPUs than a set of libc.
pub fn active_affinity(tid: i32) -> Option<Cpus> {
    // SAFETY: an all-zero set is empty; the pointer is live and of the size given; indices are checked against it.
    unsafe {
        let mut set: libc::cpu_set_t = mem::zeroed();
        if libc::sched_getaffinity(tid, mem::size_of_val(&set), &mut set) != 0 {
            return None;
        }
        Some((0..libc::CPU_SETSIZE as u32).filter(|cpu| libc::CPU_ISSET(*cpu as usize, &set)).collect())
    }
}

/// Let a task use these CPUs, unless it has ended.
pub fn set_affinity(tree: &Tree, tid: i32, start: u64, value: &str) -> io::Result<()> {
    if same_task(tree, tid, start).is_err() {
        return Ok(());
    }
    let wanted: Cpus = cpus::parse(value).ok_or_else(|| io::Error::from_raw_os_error(libc::EINVAL))?;
    if let Some(done) = tree.act(&Place::Affinity { tid, start }, value) {
        return done;
    }
    // SAFETY: an all-zero set is empty; indices are checked against its size; the pointer is live.
    unsafe {
        let mut set: libc::cpu_set_t = mem::zeroed();
        for cpu in wanted.iter().filter(|cpu| (**cpu as usize) < libc::CPU_SETSIZE as usize) {
            libc::CPU_SET(*cpu as usize, &mut set);
        }
        if libc::sched_setaffinity(tid, mem::size_of_val(&set), &set) != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Return the result of `whole_listing` for these listings, and how many it read.
    fn of(listings: &[&[i32]]) -> (Vec<i32>, usize) {
        let mut taken = 0;
        let found = whole_listing(|| {
            taken += 1;
            listings.get(taken - 1).map(|listing| listing.to_vec()).ok_or("no more")
        });
        (found.unwrap(), taken)
    }

    #[test]
    fn a_thread_hidden_by_one_that_ends_is_found() {
        assert_eq!(of(&[&[1, 2, 3], &[1, 2, 3]]), (vec![1, 2, 3], 2));
        // Thread 2 ended while the first was made, so that it lacks 4.
        assert_eq!(of(&[&[1, 2, 3], &[1, 3, 4], &[1, 3, 4]]), (vec![1, 3, 4], 3));
    }

    #[test]
    fn threads_that_never_stop_coming_are_all_named() {
        let listings: Vec<[i32; 2]> = (0..20).map(|at| [1, 100 + at]).collect();
        let listings: Vec<&[i32]> = listings.iter().map(|listing| &listing[..]).collect();
        assert_eq!(of(&listings), ([1].into_iter().chain(100..110).collect(), 10));
    }

    #[test]
    fn a_process_that_ends_between_two_listings_is_an_error() {
        let mut listings = vec![Err("ended"), Ok(vec![1])];
        assert_eq!(whole_listing(|| listings.pop().unwrap()), Err("ended"));
    }
}
