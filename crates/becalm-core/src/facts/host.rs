//! The identity of this machine, and the time of its boot.

use serde_json::Value;

use super::read::{Known, Machine, Subject};

/// Collect the names of the machine. The machine id itself is confidential (machine-id(5)): only a hash of it
/// is reported.
pub fn collect(machine: &Machine) -> Value {
    let mut host = Subject::default();
    host.put("hostname", machine.line("proc/sys/kernel/hostname"));
    host.put("boot_id", machine.line("proc/sys/kernel/random/boot_id"));
    host.put(
        "machine_id_hash",
        machine.line("etc/machine-id").map(|id| format!("{:016x}", fnv1a(id.as_bytes()))),
    );
    host.put("uptime_s", uptime_s(machine));
    host.put("system", system(machine));
    host.finish()
}

fn uptime_s(machine: &Machine) -> Known<f64> {
    let line = machine.line("proc/uptime")?;
    let seconds =
        line.split_whitespace().next().and_then(|word| word.parse().ok()).filter(|s: &f64| s.is_finite());
    seconds.ok_or_else(|| "/proc/uptime does not begin with a number of seconds".to_owned())
}

/// Return the distribution's own name, os-release(5).
fn system(machine: &Machine) -> Known<String> {
    let text = machine.text("etc/os-release").or_else(|_| machine.text("usr/lib/os-release"))?;
    let name = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    name.map(|name| name.trim_matches(['"', '\'']).to_owned())
        .ok_or_else(|| "/etc/os-release has no PRETTY_NAME".to_owned())
}

/// Return the 64-bit FNV-1a hash (Fowler, Noll, Vo). It has 64 of 128 random bits, so the id cannot be
/// derived from it.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    #[test]
    fn fnv1a_gives_the_published_values() {
        // These are test vectors of the FNV reference: "", "a", "foobar".
        assert_eq!(super::fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(super::fnv1a(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(super::fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
    }
}
