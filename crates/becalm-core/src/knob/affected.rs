//! What taking CPUs offline changes besides: places to look at, and to put back, once the CPUs are online again.

use super::cpus::{self, Cpus};
use super::cpuset;
use super::place::{start_and_state, Place};
use super::state::interrupt_files;
use super::tree::{Tree, CPU};

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
    places.extend(interrupt_files(tree).into_iter().map(|path| Place::Mask { path }));
    if cpuset::version(tree) == Ok(1) {
        places.extend(cpuset::others(tree).into_iter().map(|(path, _)| Place::File { path }));
    }
    places.extend(bound_tasks(tree, gone));
    places
}

/// Tasks that may run on some of these CPUs but not on all: the kernel widens their set and forgets it.
fn bound_tasks(tree: &Tree, gone: &Cpus) -> Vec<Place> {
    let (_, online) = tree.cpus();
    let mut found = Vec::new();
    for pid in tree.numbered("/proc", "") {
        for tid in tree.numbered(&format!("/proc/{pid}/task"), "") {
            let Some((start, _)) = start_and_state(tree, tid as i32) else { continue };
            let place = Place::Affinity { tid: tid as i32, start };
            // A kernel thread's CPUs are the kernel's business: it parks and rebinds those itself.
            let kernel = tree.read(&format!("/proc/{pid}/cmdline")).is_ok_and(|text| text.is_empty());
            let allowed = place.read(tree).ok().and_then(|text| cpus::parse(&text)).unwrap_or_default();
            if !kernel && !allowed.is_superset(&online) && allowed.intersection(gone).next().is_some() {
                found.push(place);
            }
        }
    }
    found
}
