//! Probes of what the processor and its drivers offer.

use super::evidence::{Evidence, Found, BARE_METAL, OUTSIDE_CONTAINER};
use crate::facts::frequency;

const NO_DRIVER: &str =
    "on real hardware, enable the frequency driver in the firmware; in a virtual machine only its host has it";

const NO_DRIVER_HERE: &str =
    "enable the frequency driver in the firmware's settings, or boot a kernel that has one";

pub fn hardware_counters(evidence: &Evidence) -> Found {
    counters(evidence, &["cycles", "instructions"])
}

pub fn cache_counters(evidence: &Evidence) -> Found {
    counters(evidence, &["cache-misses"])
}

fn counters(evidence: &Evidence, names: &[&str]) -> Found {
    let hardware = match evidence.fact("counters", "hardware") {
        Ok(hardware) => hardware,
        Err(reason) => return Found::Unknown(reason),
    };
    let Some(reason) = names.iter().find_map(|name| hardware[*name].as_str()) else {
        return Found::Have;
    };
    let absent = reason.contains("sees no counter");
    let level = &evidence.facts["counters"]["perf_event_paranoid"];
    let reason = &match level.as_i64().filter(|_| reason.contains("refuses")) {
        Some(level) => format!("{reason}; kernel.perf_event_paranoid is {level}"),
        None => reason.to_owned(),
    };
    match (absent, evidence.is_guest(), evidence.in_container()) {
        (true, true, _) => Found::Barred(
            reason.to_owned(),
            "the hypervisor must pass the counters on (for QEMU: -cpu host,pmu=on)",
        ),
        (true, false, _) => Found::Barred(reason.to_owned(), ""),
        (false, _, true) => Found::Barred(
            reason.to_owned(),
            "allow perf_event_open in the sandbox; for Docker: --cap-add PERFMON",
        ),
        (false, _, false) => Found::Lacks(reason.to_owned()),
    }
}

pub fn frequency_control(evidence: &Evidence) -> Found {
    match frequency::policies(evidence.machine) {
        Ok(policies) => evidence.writable(&frequency::policy_file(policies[0], "scaling_governor")),
        Err(reason) if evidence.is_guest() => Found::Barred(reason, BARE_METAL),
        Err(reason) => Found::Barred(reason, without_driver(evidence)),
    }
}

pub fn turbo_control(evidence: &Evidence) -> Found {
    match frequency::turbo(evidence.machine).0 {
        Ok(path) => evidence.writable(path),
        Err(reason) if evidence.is_guest() => Found::Barred(reason, BARE_METAL),
        Err(reason) => Found::Barred(reason, without_driver(evidence)),
    }
}

fn without_driver(evidence: &Evidence) -> &'static str {
    if evidence.facts["virtualisation"]["guest"] == false {
        return NO_DRIVER_HERE;
    }
    NO_DRIVER
}

pub fn smt_control(evidence: &Evidence) -> Found {
    const FILE: &str = "sys/devices/system/cpu/smt/control";
    match evidence.machine.line(FILE).as_deref() {
        Ok("on" | "off") => evidence.writable(FILE),
        Ok("forceoff") => {
            Found::Barred("SMT was switched off for good at boot".to_owned(), "boot without nosmt=force")
        }
        Ok("notimplemented") => Found::Barred("this architecture's kernel has no SMT control".to_owned(), ""),
        Ok("notsupported") if evidence.is_guest() => Found::Barred(
            "the virtual CPUs show no SMT; the host's threads may still be shared".to_owned(),
            BARE_METAL,
        ),
        Ok(_) => {
            Found::Barred("the processor has one thread a core: there is nothing to switch".to_owned(), "")
        }
        Err(reason) => Found::Barred(reason.clone(), ""),
    }
}

pub fn idle_state_control(evidence: &Evidence) -> Found {
    const FILE: &str = "sys/devices/system/cpu/cpu0/cpuidle/state1/disable";
    match evidence.machine.exists(FILE) {
        true => evidence.writable(FILE),
        false if evidence.is_guest() => Found::Barred(
            "the hypervisor shows no idle states; those of the host apply".to_owned(),
            BARE_METAL,
        ),
        false => Found::Barred(format!("/{FILE} does not exist"), ""),
    }
}

pub fn cpu_hotplug(evidence: &Evidence) -> Found {
    const FILE: &str = "sys/devices/system/cpu/cpu1/online";
    match evidence.machine.exists(FILE) {
        true => evidence.writable(FILE),
        false => Found::Barred(format!("/{FILE} does not exist"), ""),
    }
}

pub fn spare_cpu(evidence: &Evidence) -> Found {
    match evidence.fact("cpu", "allowed_count").map(|count| count.as_u64()) {
        Ok(Some(0 | 1)) => Found::Lacks("this process may use one CPU only".to_owned()),
        Ok(_) => Found::Have,
        Err(reason) => Found::Unknown(reason),
    }
}

pub fn invariant_tsc(evidence: &Evidence) -> Found {
    let flags = match evidence.fact("clocks", "tsc_flags") {
        Ok(flags) => flags.as_array().cloned().unwrap_or_default(),
        Err(reason) => return Found::Unknown(reason),
    };
    let lacking: Vec<&str> = ["constant_tsc", "nonstop_tsc"]
        .into_iter()
        .filter(|flag| !flags.iter().any(|each| each == flag))
        .collect();
    if lacking.is_empty() {
        return Found::Have;
    }
    Found::Barred(format!("the processor does not promise {}", lacking.join(" and ")), "")
}

pub fn tsc_clocksource(evidence: &Evidence) -> Found {
    // The clock sources that the vDSO reads in user space, which include Arm's counter and the paravirtual
    // clocks.
    const FAST: &[&str] = &[
        "tsc",
        "kvm-clock",
        "hyperv_clocksource_tsc_page",
        "arch_sys_counter",
        "timebase",
        "riscv_clocksource",
    ];
    match evidence.fact("clocks", "current").map(|name| name.as_str().unwrap_or_default()) {
        Ok(name) if FAST.contains(&name) => Found::Have,
        Ok(name) => Found::Lacks(format!("the clocksource is {name}, which is read through the kernel")),
        Err(reason) => Found::Unknown(reason),
    }
}

pub fn virtual_machines(evidence: &Evidence) -> Found {
    const FILE: &str = "dev/kvm";
    match (evidence.machine.exists(FILE), evidence.in_container(), evidence.is_guest()) {
        (true, _, _) => match evidence.machine.writable(FILE) {
            Ok(()) => Found::Have,
            Err(reason) => {
                Found::Barred(reason, "join the group kvm (usermod -aG kvm USER as root), then log in again")
            }
        },
        (false, true, _) => Found::Barred(format!("/{FILE} does not exist"), OUTSIDE_CONTAINER),
        (false, false, true) => Found::Barred(
            format!("/{FILE} does not exist"),
            "the hypervisor must allow nested virtual machines",
        ),
        (false, false, false) => Found::Lacks(format!("/{FILE} does not exist")),
    }
}
