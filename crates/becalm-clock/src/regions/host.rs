//! Identification of the machine on which a file was written.

use std::format;
use std::fs;
use std::string::{String, ToString};

/// Return the 64-bit FNV-1a hash of the machine id, which is itself confidential (machine-id(5)); empty where
/// there is no id.
pub fn machine() -> String {
    let id = line("/etc/machine-id");
    let hash = id.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    if id.is_empty() {
        id
    } else {
        format!("{hash:016x}")
    }
}

/// Return the boot id of the machine.
pub fn boot() -> String {
    line("/proc/sys/kernel/random/boot_id")
}

/// Return the processor's model as the kernel names it; on Armv8 the implementer and part numbers.
pub fn model() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let of = |key: &str| {
        let line = text.lines().find(|line| line.starts_with(key))?;
        line.split_once(':').map(|(_, value)| value.trim().to_string())
    };
    of("model name")
        .or_else(|| Some(format!("implementer {} part {}", of("CPU implementer")?, of("CPU part")?)))
        .unwrap_or_default()
}

fn line(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default().lines().next().unwrap_or_default().trim().to_string()
}
