//! What the machine is and allows.

use std::path::Path;

/// Read the facts of the machine whose root directory is `root`.
pub fn collect(root: &Path) -> serde_json::Value {
    let hostname = std::fs::read_to_string(root.join("proc/sys/kernel/hostname")).ok();
    serde_json::json!({"host": {"hostname": hostname.as_deref().map(str::trim)}, "abilities": []})
}
