//! The CPUs of running processes: of every thread, also of those that appear meanwhile, and in a restore of
//! the processes that they forked.
//!
//! The CPUs of a process are spelled as those of its main thread, followed by those of threads that have
//! others: `0-3;1235@88=0`, each thread identified by its number and start time. A thread that is not named
//! has the CPUs of the main thread, and so has one that started since. The kernel itself limits every mask to
//! the cpuset of its task (__sched_setaffinity in kernel/sched/syscalls.c), so the masks of a process contain
//! only CPUs that it is allowed.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use super::cpus::{self, Cpus};
use super::task::{self, affinity, same_task, set_affinity, start_and_state};
use super::tree::Tree;
use super::widened::Widened;
use crate::pid_stat::PidStat;

/// The largest number of passes: threads and children appear while they are bound.
const PASSES: usize = 100;

/// Passes in a row that find nothing to do.
const CALM: usize = 2;

/// Clock ticks per second in start times (proc(5), USER_HZ).
const TICKS: f64 = 100.0;

/// The CPUs of each thread: those of the main thread, and those of the threads that have others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Masks {
    pub main: Cpus,
    pub others: BTreeMap<(i32, u64), Cpus>,
}

impl Masks {
    /// Parse the text of `spelled`; None for another text.
    pub fn parse(text: &str) -> Option<Masks> {
        let mut parts = text.split(';');
        let main = cpus::parse(parts.next()?)?;
        let other = |part: &str| {
            let (who, list) = part.split_once('=')?;
            let (tid, start) = who.split_once('@')?;
            Some(((tid.parse().ok()?, start.parse().ok()?), cpus::parse(list)?))
        };
        Some(Masks { main, others: parts.map(other).collect::<Option<_>>()? })
    }

    /// Return the spelling for the journal.
    pub fn spelled(&self) -> String {
        let other = |((tid, start), set): (&(i32, u64), &Cpus)| format!(";{tid}@{start}={}", cpus::list(set));
        cpus::list(&self.main) + &self.others.iter().map(other).collect::<String>()
    }

    fn of(&self, tid: i32, start: u64) -> &Cpus {
        self.others.get(&(tid, start)).unwrap_or(&self.main)
    }
}

/// Return the CPUs of a process now; ESRCH when it has ended.
pub fn masks(tree: &Tree, pid: i32, start: u64) -> io::Result<Masks> {
    let gone = || io::Error::from_raw_os_error(libc::ESRCH);
    same_task(tree, pid, start)?;
    let state = start_and_state(tree, pid).map(|(_, state)| state);
    let tasks = tasks(tree, pid);
    // The first thread of a process may end before the others do.
    if matches!(state, None | Some('Z' | 'X')) && tasks.len() < 2 {
        return Err(gone());
    }
    let main = cpus::parse(&affinity(tree, pid, start)?).ok_or_else(gone)?;
    let mut others = BTreeMap::new();
    for (tid, start) in tasks {
        let set = affinity(tree, tid, start).ok().and_then(|list| cpus::parse(&list));
        if let Some(set) = set.filter(|set| *set != main) {
            others.insert((tid, start), set);
        }
    }
    Ok(Masks { main, others })
}

/// Return the CPUs of a process as text.
pub fn read(tree: &Tree, pid: i32, start: u64) -> io::Result<String> {
    masks(tree, pid, start).map(|masks| masks.spelled())
}

/// Give all threads of a process the CPUs in the text, unless it has ended.
pub fn write(tree: &Tree, pid: i32, start: u64, value: &str) -> io::Result<()> {
    let wanted = Masks::parse(value).ok_or_else(|| io::Error::from_raw_os_error(libc::EINVAL))?;
    if same_task(tree, pid, start).is_err() {
        return Ok(());
    }
    settle(tree, |_| false, || vec![pid], |_, tid, start, _| Some(wanted.of(tid, start).clone())).map(drop)
}

/// Return whether two texts mean the same CPUs; the text of a process that has ended is empty and agrees with
/// every other.
pub fn agree(one: &str, other: &str) -> bool {
    one.is_empty()
        || other.is_empty()
        || Masks::parse(one).is_some_and(|masks| Some(masks) == Masks::parse(other))
}

/// Return the clock ticks since the boot, the unit of start times; 0 if the kernel does not report them.
pub fn ticks(tree: &Tree) -> u64 {
    let text = tree.read("/proc/uptime").unwrap_or_default();
    let seconds = text.split_whitespace().next().and_then(|word| word.parse::<f64>().ok());
    seconds.map_or(0, |seconds| (seconds * TICKS) as u64)
}

/// The outcome of restoring a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Back {
    /// It has ended.
    pub gone: bool,
    /// Whether a thread had to be given its CPUs.
    pub changed: bool,
    /// Whether a thread has CPUs that somebody else gave it.
    pub foreign: bool,
}

/// The CPUs that a process had, in the spelling of `Masks`, those that becalm gave it, and the time of that
/// (`ticks`, and `widened::newest`; 0: not known).
#[derive(Debug, Clone, Copy)]
pub struct Had<'a> {
    pub original: &'a str,
    pub ours: &'a [String],
    pub since: u64,
    pub newest: u64,
}

/// Restore a process, thread by thread. A thread with CPUs of ours, or with those that the kernel made of
/// them as they went offline, gets its own again; any others are somebody's choice and stay, unless by
/// `force`. Processes that it forked since it was bound have inherited ours, and get those of its main
/// thread.
pub fn restore_threads(tree: &Tree, pid: i32, start: u64, had: Had, force: bool) -> io::Result<Back> {
    let original = Masks::parse(had.original).ok_or_else(|| io::Error::from_raw_os_error(libc::EINVAL))?;
    let ours: BTreeSet<Cpus> = had.ours.iter().filter_map(|value| cpus::parse(value)).collect();
    if masks(tree, pid, start).is_err() {
        return Ok(Back { gone: true, changed: false, foreign: false });
    }
    let widened = Widened::of(tree, &ours, had.newest);
    let takes = |tid: i32, now: &Cpus, wanted: &Cpus| {
        now == wanted || ours.contains(now) || widened.explains(tree, tid, now, wanted)
    };
    let mut foreign = false;
    let family = || {
        let mut all = vec![pid];
        all.extend(descendants(tree, pid, had.since));
        all
    };
    let wanted = |process, tid, started, now: &Cpus| {
        if process != pid {
            return takes(tid, now, &original.main).then(|| original.main.clone());
        }
        let wanted = original.of(tid, started);
        let takes = force || takes(tid, now, wanted);
        foreign |= !takes;
        takes.then(|| wanted.clone())
    };
    let settled = settle(tree, |tid| widened.remembered(tree, tid), family, wanted)?;
    let short = settled.short.iter().find_map(|(tid, set, took)| widened.short(tree, *tid, set, took));
    match short {
        Some(why) => Err(io::Error::other(why)),
        None => Ok(Back { gone: false, changed: settled.changed, foreign }),
    }
}

/// The outcome of giving threads their CPUs.
struct Settled {
    /// Whether a thread had to be given CPUs.
    changed: bool,
    /// The threads that took fewer CPUs: the CPUs that they were given, and those that they took.
    short: Vec<(i32, Cpus, Cpus)>,
}

/// Give the threads of these processes the CPUs that `wanted` (of process, thread, start time, present CPUs)
/// returns, until all threads that exist have them, or what the kernel makes of them while some are offline.
///
/// `anew`: whether to write even if the thread has them already. The kernel remembers the CPUs that a task
/// was last given, and returns to them when CPUs come or its cpuset changes (user_cpus_ptr in
/// kernel/sched/core.c): it must not remember ours.
fn settle(
    tree: &Tree,
    anew: impl Fn(i32) -> bool,
    processes: impl Fn() -> Vec<i32>,
    mut wanted: impl FnMut(i32, i32, u64, &Cpus) -> Option<Cpus>,
) -> io::Result<Settled> {
    let read = |tid, start| affinity(tree, tid, start).ok().and_then(|list| cpus::parse(&list));
    let (mut any, mut calm) = (false, 0);
    let mut taken: BTreeMap<(i32, u64), (Cpus, Cpus)> = BTreeMap::new();
    for _ in 0..PASSES {
        let (mut changed, mut refused) = (false, None);
        for process in processes() {
            for (tid, start) in tasks(tree, process) {
                let Some(now) = read(tid, start) else { continue };
                let Some(set) = wanted(process, tid, start, &now) else { continue };
                match taken.get(&(tid, start)) {
                    Some((last, took)) if *last == set && *took == now => continue,
                    None if set == now && !anew(tid) => continue,
                    _ => {}
                }
                match set_affinity(tree, tid, start, &cpus::list(&set)) {
                    Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                    // The other threads can still be restored.
                    Err(error) => refused = Some(refusal(tree, &set, error)),
                    Ok(()) => {
                        let took = read(tid, start).unwrap_or_else(|| set.clone());
                        changed |= took != now;
                        taken.insert((tid, start), (set, took));
                    }
                }
            }
        }
        if let Some(error) = refused {
            return Err(error);
        }
        any |= changed;
        calm = if changed { 0 } else { calm + 1 };
        if calm == CALM {
            break;
        }
    }
    let short = taken.into_iter().filter(|(_, (set, took))| set != took);
    let short = short.map(|((tid, _), (set, took))| (tid, set, took)).collect();
    Ok(Settled { changed: any, short })
}

/// Explain why CPUs were refused: the kernel reports only that they are invalid.
fn refusal(tree: &Tree, set: &Cpus, error: io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(libc::EINVAL) if set.is_disjoint(&tree.cpus().1) => {
            io::Error::new(error.kind(), format!("none of the CPUs {} is online", cpus::list(set)))
        }
        _ => error,
    }
}

/// Return the threads of a process with their start times.
fn tasks(tree: &Tree, pid: i32) -> Vec<(i32, u64)> {
    let started = |tid| start_and_state(tree, tid).map(|(start, _)| (tid, start));
    task::threads(tree, pid as u32).into_iter().filter_map(started).collect()
}

/// Return the descendants of a process that have started since a time; none if the time is not known.
fn descendants(tree: &Tree, pid: i32, since: u64) -> Vec<i32> {
    if since == 0 {
        return Vec::new();
    }
    let mut children: BTreeMap<i32, Vec<(i32, u64)>> = BTreeMap::new();
    for number in tree.numbered("/proc", "") {
        let Ok(text) = tree.read(&format!("/proc/{number}/stat")) else { continue };
        let Some(stat) = PidStat::parse(text.as_bytes()) else { continue };
        // proc(5), stat: field 4 is the parent, field 22 the start time.
        let (Some(parent), Some(start)) = (stat.at(4), stat.at(22)) else { continue };
        if let (Ok(parent), Ok(number)) = (i32::try_from(parent), i32::try_from(number)) {
            children.entry(parent).or_default().push((number, start));
        }
    }
    let (mut found, mut waiting) = (Vec::new(), vec![pid]);
    while let Some(parent) = waiting.pop() {
        for (child, start) in children.remove(&parent).unwrap_or_default() {
            waiting.push(child);
            if start >= since {
                found.push(child);
            }
        }
    }
    found
}

#[cfg(test)]
#[path = "threads_tests.rs"]
mod tests;
