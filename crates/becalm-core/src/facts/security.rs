//! Restrictions and slowdowns for security: lockdown, address randomisation, mitigations, tracing limits.

use serde_json::{json, Value};

use super::read::{Known, Machine, Subject};

const VULNERABILITIES: &str = "sys/devices/system/cpu/vulnerabilities";

/// Collect lockdown as the kernel reports it or as it behaves; and the settings of the rest.
pub fn collect(machine: &Machine) -> Value {
    let mut security = Subject::default();
    security.put("lockdown", lockdown(machine));
    security.put("address_randomisation", machine.number::<u8>("proc/sys/kernel/randomize_va_space"));
    security.put("mitigations", mitigations(machine));
    security.put("yama", machine.number::<u8>("proc/sys/kernel/yama/ptrace_scope"));
    security.put("kptr_restrict", machine.number::<u8>("proc/sys/kernel/kptr_restrict"));
    security.finish()
}

/// Return the lockdown mode. The file may be absent though lockdown is built in: then a refused debugfs file
/// shows it.
fn lockdown(machine: &Machine) -> Known<String> {
    let lockdown = machine.choice("sys/kernel/security/lockdown");
    if lockdown.is_err() {
        if let Err(reason) = machine.opens("sys/kernel/debug/sched/features") {
            if reason.contains("(EPERM)") && machine.effective_uid() == Ok(0) {
                return Ok("in force (debugfs is refused even to root)".to_owned());
            }
        }
    }
    lockdown
}

/// Collect names by state: a mitigated vulnerability costs time, an open one does not.
fn mitigations(machine: &Machine) -> Known<Value> {
    let (mut active, mut vulnerable, mut unaffected) = (Vec::new(), Vec::new(), 0);
    for name in machine.names(VULNERABILITIES)? {
        match machine.line(&format!("{VULNERABILITIES}/{name}")) {
            Ok(state) if state.starts_with("Mitigation") || state.contains("; Mitigation") => {
                active.push(name)
            }
            Ok(state) if state.starts_with("Not affected") => unaffected += 1,
            Ok(_) => vulnerable.push(name),
            Err(_) => {}
        }
    }
    Ok(json!({"active": active, "vulnerable": vulnerable, "not_affected": unaffected}))
}
