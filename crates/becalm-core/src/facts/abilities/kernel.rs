//! Probes of what the kernel reports and permits.

use super::evidence::{Evidence, Found, OUTSIDE_CONTAINER};
use crate::facts::{cgroups, system};

pub fn run_queue_wait(evidence: &Evidence) -> Found {
    readable(evidence, "task_schedstat")
}

pub fn scheduler_statistics(evidence: &Evidence) -> Found {
    readable(evidence, "system_schedstat")
}

pub fn pressure(evidence: &Evidence) -> Found {
    readable(evidence, "pressure")
}

fn readable(evidence: &Evidence, name: &str) -> Found {
    match evidence.fact("scheduler", name) {
        Ok(_) => Found::Have,
        Err(reason) => Found::Lacks(reason),
    }
}

pub fn delay_accounting(evidence: &Evidence) -> Found {
    match evidence.fact("scheduler", "delay_accounting") {
        Ok(on) if on == true => Found::Have,
        Ok(_) => {
            Found::Lacks("kernel.task_delayacct is 0: since Linux 5.14 it is off unless requested".to_owned())
        }
        Err(reason) => Found::Lacks(reason),
    }
}

pub fn task_slice(evidence: &Evidence) -> Found {
    match evidence.fact("scheduler", "slice_ns") {
        Ok(_) => Found::Have,
        Err(reason) if reason.contains("has no per-task slices") => Found::Lacks(reason),
        Err(reason) => Found::Unknown(reason),
    }
}

pub fn scheduler_knobs(evidence: &Evidence) -> Found {
    let Err(reason) = evidence.fact("scheduler", "debugfs") else { return Found::Have };
    if reason.contains("(EPERM)") {
        return Found::Barred(
            reason,
            "boot without the kernel's lockdown (lockdown=none, or secure boot off), or try them in a guest (--host guest:6.1)",
        );
    }
    if evidence.in_container() {
        return Found::Barred(reason, OUTSIDE_CONTAINER);
    }
    if evidence.facts["privileges"]["uid"] != 0 {
        // Ordinary users cannot read the directory, so existing and absent files look the same to them.
        return Found::Barred(reason, "run becalm with --sudo, on a machine where debugfs is mounted");
    }
    if evidence.machine.exists("sys/kernel/debug/sched") {
        return Found::Barred(reason, "");
    }
    Found::Barred(
        format!("{reason}: debugfs is not mounted, or the kernel lacks CONFIG_SCHED_DEBUG"),
        "mount -t debugfs none /sys/kernel/debug (root); a kernel in lockdown still refuses the files",
    )
}

pub fn system_settings(evidence: &Evidence) -> Found {
    evidence.writable("proc/sys/kernel/randomize_va_space")
}

pub fn drop_caches(evidence: &Evidence) -> Found {
    evidence.writable("proc/sys/vm/drop_caches")
}

pub fn negative_nice(evidence: &Evidence) -> Found {
    // RLIMIT_NICE is 20 minus the nice value it allows (getrlimit(2)).
    prioritised(evidence, "nice_limit", 20)
}

pub fn realtime_priority(evidence: &Evidence) -> Found {
    prioritised(evidence, "realtime_limit", 0)
}

/// Return whether a priority is permitted, by a capability or by a resource limit above `ordinary`.
fn prioritised(evidence: &Evidence, limit: &str, ordinary: i64) -> Found {
    if evidence.fact("privileges", "capabilities").is_ok() && evidence.capable("SYS_NICE") {
        return Found::Have;
    }
    match evidence.fact("privileges", limit).map(|value| value.as_i64().unwrap_or(0)) {
        Ok(value) if value < 0 || value > ordinary => Found::Have,
        Ok(value) => {
            let reason = format!("without CAP_SYS_NICE the resource limit decides, and it is {value}");
            if evidence.in_container() {
                return Found::Barred(reason, "let the container have it; for Docker: --cap-add SYS_NICE");
            }
            Found::Lacks(reason)
        }
        Err(reason) => Found::Unknown(reason),
    }
}

pub fn cpu_isolation(evidence: &Evidence) -> Found {
    const NO_CONTROLLER: &str =
        "a kernel with CONFIG_CPUSETS, and the controller enabled in cgroup.subtree_control";
    if let Some(path) = cgroups::legacy_mount(evidence.machine, "cpuset") {
        return evidence.writable(&format!("{path}/cgroup.procs"));
    }
    let has = |name: &str| {
        let controllers = evidence.facts["cgroups"]["controllers"].as_array();
        controllers.is_some_and(|names| names.iter().any(|each| each == name))
    };
    match evidence.fact("cgroups", "mount") {
        Ok(_) if has("cpuset") && evidence.in_container() => Found::Barred(
            "a container's own group cannot keep others off its CPUs".to_owned(),
            OUTSIDE_CONTAINER,
        ),
        Ok(mount) if has("cpuset") => {
            let path = mount.as_str().unwrap_or_default().trim_start_matches('/');
            evidence.writable(&format!("{path}/cgroup.procs"))
        }
        Ok(_) => Found::Barred("control groups have no cpuset controller here".to_owned(), NO_CONTROLLER),
        Err(reason) => Found::Barred(reason, NO_CONTROLLER),
    }
}

pub fn own_cgroup(evidence: &Evidence) -> Found {
    match evidence.fact("cgroups", "writable") {
        Ok(_) => Found::Have,
        Err(reason) if evidence.in_container() => Found::Barred(reason, OUTSIDE_CONTAINER),
        Err(reason) => Found::Lacks(reason),
    }
}

pub fn fixed_addresses(evidence: &Evidence) -> Found {
    if !evidence.machine.live {
        return Found::Unknown("recorded files do not show what a sandbox forbids".to_owned());
    }
    match system::try_fixed_addresses() {
        Ok(()) => Found::Have,
        Err(reason) => Found::Lacks(reason),
    }
}

pub fn tracing(evidence: &Evidence) -> Found {
    let places = ["sys/kernel/tracing/available_events", "sys/kernel/debug/tracing/available_events"];
    let mut reasons = places.map(|place| evidence.machine.opens(place)).into_iter();
    match (reasons.next(), reasons.next()) {
        (Some(Ok(())), _) | (_, Some(Ok(()))) => Found::Have,
        (Some(Err(reason)), _) if evidence.in_container() => Found::Barred(reason, OUTSIDE_CONTAINER),
        (Some(Err(reason)), _)
            if evidence.facts["privileges"]["uid"] == 0 && reason.ends_with("does not exist") =>
        {
            Found::Barred(reason, "mount -t tracefs none /sys/kernel/tracing (root)")
        }
        (Some(Err(reason)), _) => Found::Lacks(reason),
        (None, _) => Found::Unknown(String::new()),
    }
}
