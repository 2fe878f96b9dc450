//! The interrupts of devices, and the CPUs at which they arrive.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::read::{Known, Machine, Subject};
use crate::cpus::{list, parse};
use crate::source::fired::fired;

/// Collect how many interrupts have arrived since the boot, and at which CPUs, in the kernel's format of lists.
pub fn collect(machine: &Machine) -> Value {
    let mut interrupts = Subject::default();
    let arrivals = arrivals(machine);
    interrupts.put("fired", arrivals.as_ref().map(BTreeMap::len).map_err(Clone::clone));
    interrupts.put("arrive_at", arrivals.map(|arrivals| list(&arrivals.into_values().flatten().collect())));
    interrupts.finish()
}

/// Return the CPUs of each interrupt that has fired and has an effective affinity (Linux 4.15 and later).
fn arrivals(machine: &Machine) -> Known<BTreeMap<u32, BTreeSet<u32>>> {
    let text = machine.text("proc/interrupts")?;
    let at = |(irq, count): (u32, u64)| {
        if count == 0 {
            return None;
        }
        let cpus = machine.line(&format!("proc/irq/{irq}/effective_affinity_list")).ok()?;
        Some((irq, parse(&cpus)?))
    };
    let found: BTreeMap<u32, BTreeSet<u32>> = fired(&text).filter_map(at).collect();
    match found.is_empty() {
        true => {
            Err("no /proc/irq/N/effective_affinity_list shows at which CPU an interrupt arrives".to_owned())
        }
        false => Ok(found),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn only_fired_interrupts_count() {
        let root = std::env::temp_dir().join(format!("becalm-facts-interrupts-{}", std::process::id()));
        for (irq, at) in [(4, "1"), (9, "0"), (36, "1"), (40, "3")] {
            let directory = root.join(format!("proc/irq/{irq}"));
            fs::create_dir_all(&directory).unwrap();
            fs::write(directory.join("effective_affinity_list"), format!("{at}\n")).unwrap();
        }
        let text = "      CPU0  CPU1\n  4:  0  7  ttyS0\n  9:  0  0  acpi\n 36: 0 9 disk\n 40: 2 0 net\nLOC: 5 5 Local\n";
        fs::write(root.join("proc/interrupts"), text).unwrap();
        let facts = collect(&Machine::new(&root));
        assert_eq!((facts["fired"].as_u64(), facts["arrive_at"].as_str()), (Some(3), Some("1,3")));
        fs::remove_dir_all(root).unwrap();
    }
}
