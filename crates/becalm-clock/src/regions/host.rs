//! Which machine a file was written on.

use std::format;
use std::fs;
use std::string::{String, ToString};

/// FNV-1a, 64 bits, of the machine id, which is confidential itself (machine-id(5)); empty where there is none.
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

/// Of this start of the machine.
pub fn boot() -> String {
    line("/proc/sys/kernel/random/boot_id")
}

/// The processor's model, as the kernel names it; on Armv8 its part.
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
