//! The rights of this process: user, capabilities, limits.

use serde_json::Value;

use super::read::{short, Known, Machine, Subject};

/// The names by bit, linux/capability.h.
const CAPABILITIES: &[&str] = &[
    "CHOWN",
    "DAC_OVERRIDE",
    "DAC_READ_SEARCH",
    "FOWNER",
    "FSETID",
    "KILL",
    "SETGID",
    "SETUID",
    "SETPCAP",
    "LINUX_IMMUTABLE",
    "NET_BIND_SERVICE",
    "NET_BROADCAST",
    "NET_ADMIN",
    "NET_RAW",
    "IPC_LOCK",
    "IPC_OWNER",
    "SYS_MODULE",
    "SYS_RAWIO",
    "SYS_CHROOT",
    "SYS_PTRACE",
    "SYS_PACCT",
    "SYS_ADMIN",
    "SYS_BOOT",
    "SYS_NICE",
    "SYS_RESOURCE",
    "SYS_TIME",
    "SYS_TTY_CONFIG",
    "MKNOD",
    "LEASE",
    "AUDIT_WRITE",
    "AUDIT_CONTROL",
    "SETFCAP",
    "MAC_OVERRIDE",
    "MAC_ADMIN",
    "SYSLOG",
    "WAKE_ALARM",
    "BLOCK_SUSPEND",
    "AUDIT_READ",
    "PERFMON",
    "BPF",
    "CHECKPOINT_RESTORE",
];

const STATUS: &str = "proc/self/status";

/// Collect user, effective capabilities by name, nice and real-time limits, and sudo.
pub fn collect(machine: &Machine) -> Value {
    let mut privileges = Subject::default();
    privileges.put("uid", machine.effective_uid());
    privileges.put("capabilities", capabilities(machine));
    privileges.put("nice_limit", limit(machine, "Max nice priority"));
    privileges.put("realtime_limit", limit(machine, "Max realtime priority"));
    privileges.put("no_new_privileges", machine.field(STATUS, "NoNewPrivs").map(|value| value == "1"));
    privileges.put("sudo", sudo(machine));
    privileges.finish()
}

fn capabilities(machine: &Machine) -> Known<Vec<String>> {
    let text = machine.field(STATUS, "CapEff")?;
    let bits = u64::from_str_radix(&text, 16)
        .map_err(|_| format!("/{STATUS} holds {:?} as capabilities", short(&text)))?;
    Ok((0..64).filter(|bit| bits >> bit & 1 == 1).map(name).collect())
}

fn name(bit: usize) -> String {
    CAPABILITIES.get(bit).map_or_else(|| format!("CAP_{bit}"), |name| (*name).to_owned())
}

/// Return the soft value of a limit; -1 is unlimited.
fn limit(machine: &Machine, name: &str) -> Known<i64> {
    let text = machine.text("proc/self/limits")?;
    let rest = text.lines().find_map(|line| line.strip_prefix(name));
    match rest.and_then(|rest| rest.split_whitespace().next()) {
        Some("unlimited") => Ok(-1),
        Some(word) => {
            word.parse().map_err(|_| format!("/proc/self/limits holds {:?} as {name}", short(word)))
        }
        None => Err(format!("/proc/self/limits has no line {name:?}")),
    }
}

fn sudo(machine: &Machine) -> Known<String> {
    let found = ["usr/bin/sudo", "bin/sudo", "usr/local/bin/sudo", "run/wrappers/bin/sudo"];
    found
        .into_iter()
        .find(|path| machine.exists(path))
        .map(|path| format!("/{path}"))
        .ok_or_else(|| "sudo is not installed".to_owned())
}
