//! The scheduler's accounts, and those of its knobs that can be changed. This is tested by opening files, not
//! by their modes.

use serde_json::Value;

use super::kernel;
use super::read::{Known, Machine, Subject};
use super::system;

/// Collect sources of waiting times, debugfs, autogroup and the per-task slice.
pub fn collect(machine: &Machine) -> Value {
    let mut scheduler = Subject::default();
    scheduler.put("task_schedstat", machine.opens("proc/self/schedstat").map(|()| true));
    scheduler.put("system_schedstat", machine.opens("proc/schedstat").map(|()| true));
    scheduler.put("debugfs", machine.opens("sys/kernel/debug/sched/features").map(|()| true));
    scheduler.put("pressure", machine.opens("proc/pressure/cpu").map(|()| true));
    scheduler.put("delay_accounting", machine.number::<u8>("proc/sys/kernel/task_delayacct").map(|n| n != 0));
    scheduler
        .put("autogroup", machine.number::<u8>("proc/sys/kernel/sched_autogroup_enabled").map(|n| n != 0));
    scheduler.put("slice_ns", slice_ns(machine));
    scheduler.put("extensible", machine.line("sys/kernel/sched_ext/state"));
    scheduler.put("realtime_runtime_us", machine.number::<i64>("proc/sys/kernel/sched_rt_runtime_us"));
    scheduler.finish()
}

/// Return the default slice of a task if slices can be set.
fn slice_ns(machine: &Machine) -> Known<u64> {
    if machine.live {
        return match system::slice_ns()? {
            0 => Err("this kernel has no per-task slices (they came with Linux 6.12)".to_owned()),
            slice => Ok(slice),
        };
    }
    match kernel::numbers(machine)? {
        numbers if numbers >= (6, 12) => Err("recorded files do not show the slice".to_owned()),
        _ => Err("this kernel has no per-task slices (they came with Linux 6.12)".to_owned()),
    }
}
