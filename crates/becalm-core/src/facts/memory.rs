//! Memory, swap, and the kernel's settings for pages.

use serde_json::{json, Value};

use super::read::{field, Known, Machine, Subject};

/// Collect sizes in bytes, and the settings of huge pages, page merging, swappiness and NUMA balancing.
pub fn collect(machine: &Machine) -> Value {
    let mut memory = Subject::default();
    let info = machine.text("proc/meminfo");
    memory.put("total_bytes", size(&info, "MemTotal"));
    memory.put("available_bytes", available(&info));
    memory.put("swap", swap(machine));
    memory.put("transparent_huge_pages", machine.choice("sys/kernel/mm/transparent_hugepage/enabled"));
    memory.put("ksm", machine.number::<u8>("sys/kernel/mm/ksm/run").map(|run| run == 1));
    memory.put("swappiness", machine.number::<u32>("proc/sys/vm/swappiness"));
    memory.put("numa_balancing", machine.number::<u8>("proc/sys/kernel/numa_balancing").map(|n| n != 0));
    memory.finish()
}

/// Return the available memory, in bytes, from the text of /proc/meminfo.
pub(crate) fn available(info: &Known<String>) -> Known<u64> {
    size(info, "MemAvailable")
}

fn size(info: &Known<String>, name: &str) -> Known<u64> {
    let text = info.as_ref().map_err(Clone::clone)?;
    let kib = field(text, name).and_then(|value| value.split_whitespace().next()?.parse::<u64>().ok());
    kib.and_then(|kib| kib.checked_mul(1024)).ok_or_else(|| format!("/proc/meminfo has no size {name:?}"))
}

/// Return the swap areas, proc(5): name, type, size and use in KiB, priority. An empty list is a fact, too.
fn swap(machine: &Machine) -> Known<Vec<Value>> {
    let text = machine.text("proc/swaps")?;
    let area = |line: &str| {
        // A name with a space is written with \040, so words are columns.
        let words: Vec<&str> = line.split_whitespace().collect();
        let [name, kind, size, used, priority] = words[..] else { return None };
        let bytes = |word: &str| word.parse::<u64>().ok()?.checked_mul(1024);
        Some(json!({
            "name": name, "type": kind, "size_bytes": bytes(size)?, "used_bytes": bytes(used)?,
            "priority": priority.parse::<i32>().ok()?,
        }))
    };
    Ok(text.lines().skip(1).filter_map(area).collect())
}
