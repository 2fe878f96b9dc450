//! The side effects of taking CPUs offline or moving interrupts: places to check, and to restore afterwards.

use super::cpus::Cpus;
use super::cpuset;
use super::interrupt;
use super::moved::{DOMAINS, GOVERNORS};
use super::place::Place;
use super::table;
use super::tree::{Tree, CPU};

/// The times of the scheduler that the kernel recomputes from its initial values when the number of CPUs
/// changes: a value that somebody wrote there is lost (kernel/sched/fair.c, update_sysctl).
const SCALED: [&str; 4] = [
    "/sys/kernel/debug/sched/latency_ns",
    "/sys/kernel/debug/sched/min_granularity_ns",
    "/sys/kernel/debug/sched/wakeup_granularity_ns",
    "/sys/kernel/debug/sched/base_slice_ns",
];

/// The files of a CPU that has gone and come back.
const FREQUENCY: [&str; 5] =
    ["scaling_governor", "boost", "energy_performance_preference", "scaling_max_freq", "scaling_min_freq"];

/// The assignment of CPUs to send queues: drivers redistribute the queues over the available CPUs
/// (virtnet_set_affinity in drivers/net/virtio_net.c, and others).
const QUEUES: &[&str] = &["/sys/class/net/*/queues/tx-*/xps_cpus"];

/// The other settings that the kernel recomputes when CPUs come and go.
const MOVED: [&[&str]; 3] = [QUEUES, GOVERNORS, DOMAINS];

/// List the places that change when CPUs are taken offline: their frequency settings, interrupts, cpusets of v1, bound
/// tasks.
pub fn affected(tree: &Tree, gone: &Cpus) -> Vec<Place> {
    let mut places = Vec::new();
    if gone.is_empty() {
        return places;
    }
    for cpu in gone {
        for name in FREQUENCY {
            let path = format!("{CPU}/cpu{cpu}/cpufreq/{name}");
            if tree.exists(&path) {
                places.push(Place::File { path });
            }
        }
    }
    places.extend(
        SCALED.iter().filter(|path| tree.exists(path)).map(|path| Place::File { path: (*path).to_owned() }),
    );
    for patterns in MOVED {
        places.extend(table::places(tree, patterns));
    }
    places.extend(
        interrupt::numbers(tree).into_iter().map(|irq| Place::Mask { path: interrupt::mask_file(irq) }),
    );
    places.extend(arrivals(tree));
    if cpuset::version(tree) == Ok(1) {
        places.extend(cpuset::others(tree).into_iter().map(|(path, _)| Place::File { path }));
    }
    places
}

/// Return where every interrupt arrives: a change of CPUs or masks moves them.
pub fn arrivals(tree: &Tree) -> Vec<Place> {
    let place = |irq| Place::Arrival { irq, device: interrupt::device(tree, irq) };
    let is_known = |irq: &u32| interrupt::arrival(tree, *irq).is_ok();
    interrupt::numbers(tree).into_iter().filter(is_known).map(place).collect()
}
