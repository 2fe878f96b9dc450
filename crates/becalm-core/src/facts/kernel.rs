//! The kernel: release, command line, tick rate, preemption model.

use serde_json::Value;

use super::read::{Known, Machine, Subject};
use super::system;

/// The configuration options that decide what can be measured or set.
const OPTIONS: &[&str] = &[
    "CONFIG_HZ",
    "CONFIG_PREEMPT_NONE",
    "CONFIG_PREEMPT_VOLUNTARY",
    "CONFIG_PREEMPT",
    "CONFIG_PREEMPT_LAZY",
    "CONFIG_PREEMPT_RT",
    "CONFIG_PREEMPT_DYNAMIC",
    "CONFIG_NO_HZ_FULL",
    "CONFIG_SCHEDSTATS",
    "CONFIG_SCHED_CLASS_EXT",
    "CONFIG_TASK_DELAY_ACCT",
    "CONFIG_IRQ_TIME_ACCOUNTING",
    "CONFIG_PARAVIRT_TIME_ACCOUNTING",
    "CONFIG_PSI",
    "CONFIG_LOCK_DOWN_KERNEL_FORCE_INTEGRITY",
    "CONFIG_LOCK_DOWN_KERNEL_FORCE_CONFIDENTIALITY",
];

/// Collect what `uname -a` reports, and the choices that were made at build and boot.
pub fn collect(machine: &Machine) -> Value {
    let mut kernel = Subject::default();
    let config = config(machine);
    kernel.put("release", machine.line("proc/sys/kernel/osrelease"));
    kernel.put("version", machine.line("proc/sys/kernel/version"));
    kernel.put("numbers", numbers(machine).map(|(major, minor)| vec![major, minor]));
    kernel.put("command_line", machine.line("proc/cmdline"));
    kernel.put("hz", hz(machine, &config));
    kernel.put("preemption", preemption(machine, &config));
    kernel.put("config", config.map(|text| options(&text)));
    kernel.finish()
}

/// Return the major and minor version.
pub fn numbers(machine: &Machine) -> Known<(u32, u32)> {
    let release = machine.line("proc/sys/kernel/osrelease")?;
    let mut parts = release.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    match (parts.next(), parts.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => Ok((major, minor)),
        _ => Err(format!("the release {release:?} does not begin with two numbers")),
    }
}

fn config(machine: &Machine) -> Known<String> {
    let release = machine.line("proc/sys/kernel/osrelease")?;
    let places = [format!("boot/config-{release}"), format!("lib/modules/{release}/config")];
    // The release is used as a file name here; a slash in it would lead to a file elsewhere.
    if release.contains('/') {
        return Err(format!("the release {release:?} is not a file name"));
    }
    if let Some(text) = places.iter().find_map(|place| machine.text(place).ok()) {
        return Ok(text);
    }
    let compressed =
        if machine.exists("proc/config.gz") { " (/proc/config.gz is there, but compressed)" } else { "" };
    Err(format!("/{} does not exist{compressed}", places[0]))
}

fn options(config: &str) -> Value {
    let value = |option: &&str| {
        let found = config.lines().find_map(|line| line.strip_prefix(option)?.strip_prefix('='));
        // Absent and "is not set" are the same to the kernel's configuration: no.
        ((*option).to_owned(), Value::from(found.unwrap_or("n").trim()))
    };
    Value::Object(OPTIONS.iter().map(value).collect())
}

/// Return the timer interrupts per second. The coarse clocks advance once per tick, so their resolution is
/// its length.
fn hz(machine: &Machine, config: &Known<String>) -> Known<i64> {
    if machine.live {
        return match system::resolution_ns(libc::CLOCK_MONOTONIC_COARSE)? {
            tick if tick > 0 => Ok((1_000_000_000 + tick / 2) / tick),
            tick => Err(format!("the coarse clock has a resolution of {tick} ns")),
        };
    }
    let text = config.as_ref().map_err(Clone::clone)?;
    let value = text.lines().find_map(|line| line.strip_prefix("CONFIG_HZ=")?.trim().parse().ok());
    value.ok_or_else(|| "the kernel's configuration has no CONFIG_HZ".to_owned())
}

/// Return the preemption model in force if debugfs shows it, else the one in the version line.
fn preemption(machine: &Machine, config: &Known<String>) -> Known<String> {
    let debugfs = machine.text("sys/kernel/debug/sched/preempt");
    if let Some((_, rest)) = debugfs.as_deref().ok().and_then(|text| text.split_once('(')) {
        if let Some((word, _)) = rest.split_once(')') {
            return Ok(word.to_owned());
        }
    }
    let version = machine.line("proc/sys/kernel/version")?;
    let command_line = machine.line("proc/cmdline").unwrap_or_default();
    let chosen = command_line.split_whitespace().filter_map(|word| word.strip_prefix("preempt=")).next_back();
    let built = ["PREEMPT_RT", "PREEMPT_DYNAMIC", "PREEMPT_LAZY", "PREEMPT"]
        .into_iter()
        .find(|word| version.split_whitespace().any(|other| other == *word));
    Ok(match (built, chosen) {
        (Some("PREEMPT_DYNAMIC"), Some(chosen)) => chosen.to_owned(),
        (Some("PREEMPT_DYNAMIC"), None) => built_in(config).to_owned(),
        (Some("PREEMPT_RT"), _) => "real-time".to_owned(),
        (Some("PREEMPT_LAZY"), _) => "lazy".to_owned(),
        (Some(_), _) => "full".to_owned(),
        (None, _) => "none or voluntary".to_owned(),
    })
}

/// Return the preemption mode with which a kernel with dynamic preemption starts (Linux, kernel/Kconfig.preempt).
fn built_in(config: &Known<String>) -> &'static str {
    let choices = [
        ("CONFIG_PREEMPT_NONE=y", "none"),
        ("CONFIG_PREEMPT_VOLUNTARY=y", "voluntary"),
        ("CONFIG_PREEMPT_LAZY=y", "lazy"),
        ("CONFIG_PREEMPT=y", "full"),
    ];
    let chosen =
        |line: &str| config.as_ref().is_ok_and(|text| text.lines().any(|other| other.trim() == line));
    choices.iter().find(|(line, _)| chosen(line)).map_or("dynamic, at its built-in default", |(_, name)| name)
}
