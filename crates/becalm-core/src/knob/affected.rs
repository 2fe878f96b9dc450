//! What taking CPUs offline changes besides: places to look at, and to put back, once the CPUs are online again.

use super::cpus::{self, Cpus};
use super::cpuset;
use super::place::{allowed, start_and_state, Place};
use super::tree::{Tree, CPU};
use crate::source::pid_stat::PidStat;

/// Times of the scheduler that the kernel computes anew when the number of CPUs changes, from what it began with: a value
/// that somebody wrote there is lost (kernel/sched/fair.c, update_sysctl).
const SCALED: [&str; 4] = [
    "/sys/kernel/debug/sched/latency_ns",
    "/sys/kernel/debug/sched/min_granularity_ns",
    "/sys/kernel/debug/sched/wakeup_granularity_ns",
    "/sys/kernel/debug/sched/base_slice_ns",
];

/// What taking CPUs offline changes besides: their frequency settings, interrupts, cpusets of v1, bound tasks.
pub fn affected(tree: &Tree, gone: &Cpus) -> Vec<Place> {
    let mut places = Vec::new();
    if gone.is_empty() {
        return places;
    }
    for cpu in gone {
        for name in
            ["scaling_governor", "energy_performance_preference", "scaling_max_freq", "scaling_min_freq"]
        {
            let path = format!("{CPU}/cpu{cpu}/cpufreq/{name}");
            if tree.exists(&path) {
                places.push(Place::File { path });
            }
        }
    }
    places.extend(
        SCALED.iter().filter(|path| tree.exists(path)).map(|path| Place::File { path: (*path).to_owned() }),
    );
    places.extend(tree.interrupt_masks().into_iter().map(|path| Place::Mask { path }));
    if cpuset::version(tree) == Ok(1) {
        places.extend(cpuset::others(tree).into_iter().map(|(path, _)| Place::File { path }));
    }
    places
}

/// Tasks that may run on some of the CPUs that are taken, but not on all that are online: the kernel gives them others
/// and, up to 6.1, forgets what they had.
pub fn bound_tasks(tree: &Tree, taken: &Cpus) -> Vec<Place> {
    let (_, online) = tree.cpus();
    let mut found = Vec::new();
    for pid in tree.numbered("/proc", "") {
        for tid in tree.numbered(&format!("/proc/{pid}/task"), "") {
            let tid = tid as i32;
            let Ok(text) = tree.read(&format!("/proc/{tid}/status")) else { continue };
            let allowed = allowed(&text).and_then(cpus::parse).unwrap_or_default();
            let loses = allowed.intersection(taken).next().is_some();
            if allowed.is_superset(&online) || !loses || is_fixed(tree, tid) {
                continue;
            }
            if let Some((start, _)) = start_and_state(tree, tid) {
                found.push(Place::Affinity { tid, start });
            }
        }
    }
    found
}

/// Whether the kernel itself has bound the task and moves it by itself: PF_NO_SETAFFINITY (include/linux/sched.h) in
/// the flags of proc(5), stat, field 9.
fn is_fixed(tree: &Tree, tid: i32) -> bool {
    const PF_NO_SETAFFINITY: u64 = 0x0400_0000;
    let flags = || {
        let text = tree.read(&format!("/proc/{tid}/stat")).ok()?;
        PidStat::parse(text.as_bytes())?.at(9)
    };
    flags().is_none_or(|flags| flags & PF_NO_SETAFFINITY != 0)
}
