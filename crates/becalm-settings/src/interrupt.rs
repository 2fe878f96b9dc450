//! Interrupts: the CPU at which each one arrives, and whether it may be moved
//! (Documentation/core-api/irq/irq-affinity.rst).
//!
//! A mask lists the CPUs where an interrupt may arrive; most interrupts arrive at one of them. The kernel
//! chooses that CPU when the interrupt is set up, when its CPU goes offline, or when a new mask does not
//! contain it; a wider mask leaves it where it is (assign_vector_locked in arch/x86/kernel/apic/vector.c). So
//! writing the old mask does not bring an interrupt back.
//!
//! A mask that is written takes effect when the interrupt next fires, and reads as written until then. While
//! the kernel moves the interrupt (irq_move_masked_irq in kernel/irq/migration.c) the mask reads once more as
//! before: for tens of microseconds, longer where a hypervisor emulates the device. So a mask is believed
//! only when it was read twice (`MOVED`).

use std::cell::OnceCell;
use std::collections::HashMap;
use std::io;
use std::thread::sleep;
use std::time::Duration;

use super::cpus::{self, Cpus};
use super::tree::Tree;
use crate::fired::fired;

const IRQ: &str = "/proc/irq";

/// The time within which the kernel has moved an interrupt, also where a hypervisor has other things to do.
pub const MOVED: Duration = Duration::from_millis(20);

/// The largest number of readings of the masks until two in a row are equal.
const LOOKS: usize = 5;

/// Return the numbers of all interrupts that have a mask.
pub fn numbers(tree: &Tree) -> Vec<u32> {
    let mut found = tree.numbered(IRQ, "");
    found.retain(|irq| tree.exists(&mask_file(*irq)));
    found
}

/// Return the file of the CPUs at which an interrupt may arrive.
pub fn mask_file(irq: u32) -> String {
    format!("{IRQ}/{irq}/smp_affinity")
}

/// Return the interrupt whose mask a file holds.
pub fn of_mask_file(path: &str) -> Option<u32> {
    path.strip_prefix("/proc/irq/")?.strip_suffix("/smp_affinity")?.parse().ok()
}

/// Return the file of the CPUs at which an interrupt does arrive. Absent on architectures where that is the
/// mask.
pub fn arrival_file(irq: u32) -> String {
    format!("{IRQ}/{irq}/effective_affinity_list")
}

/// Return the CPUs at which an interrupt arrives, as a list; an error if the kernel does not report or has
/// not decided that.
pub fn arrival(tree: &Tree, irq: u32) -> io::Result<String> {
    let text = tree.read(&arrival_file(irq))?;
    match cpus::parse(&text) {
        Some(_) => Ok(text),
        None => Err(io::Error::from_raw_os_error(libc::ENODATA)),
    }
}

/// Return the CPUs at which an interrupt arrives; an empty set if the kernel does not report them.
pub fn arrives(tree: &Tree, irq: u32) -> Cpus {
    arrival(tree, irq).ok().and_then(|text| cpus::parse(&text)).unwrap_or_default()
}

/// Return the CPUs at which an interrupt may arrive.
pub fn allowed(tree: &Tree, irq: u32) -> Cpus {
    tree.read(&mask_file(irq)).ok().and_then(|text| cpus::unmask(&text)).unwrap_or_default()
}

/// Return the masks of interrupts, by number, correct even if the kernel is just moving some. Those that
/// cannot be read are left out.
pub fn masks(tree: &Tree, irqs: &[u32]) -> HashMap<u32, String> {
    alike(|| irqs.iter().filter_map(|irq| Some((*irq, tree.read(&mask_file(*irq)).ok()?))).collect())
}

/// Return the masks on which two readings in a row agree, or the last reading.
fn alike(mut look: impl FnMut() -> HashMap<u32, String>) -> HashMap<u32, String> {
    let mut seen = look();
    for _ in 1..LOOKS {
        if seen.is_empty() {
            break;
        }
        sleep(MOVED);
        let before = std::mem::replace(&mut seen, look());
        if before == seen {
            break;
        }
    }
    seen
}

/// Return a function that returns whether the kernel lets the mask of an interrupt be set. It does not for
/// those that it spreads itself, one per queue of a device ("managed"). From 6.12 on the file's mode shows
/// that; older kernels refuse the write (EIO).
pub fn movable(tree: &Tree) -> impl Fn(u32) -> bool + '_ {
    let read_only = |irq: &u32| tree.mode(&mask_file(*irq)).is_ok_and(|mode| mode & 0o200 == 0);
    // SAFETY: cannot fail.
    let may_try = tree.live && unsafe { libc::geteuid() } == 0;
    let modes_tell = OnceCell::new();
    move |irq| {
        if read_only(&irq) {
            return false;
        }
        if !may_try || *modes_tell.get_or_init(|| numbers(tree).iter().any(read_only)) {
            return true;
        }
        // Text that is not a mask changes nothing, and the kernel checks the text only after this
        // (write_irq_affinity in kernel/irq/proc.c).
        let tried = tree.write(&mask_file(irq), "no mask");
        !tried.is_err_and(|error| matches!(error.raw_os_error(), Some(libc::EIO | libc::EPERM)))
    }
}

/// Return the count of an interrupt since the boot, over all CPUs; None if it is not counted.
pub fn count(tree: &Tree, irq: u32) -> Option<u64> {
    let text = tree.read("/proc/interrupts").ok()?;
    let mut all = fired(&text);
    all.find(|(number, _)| *number == irq).map(|(_, count)| count)
}

/// Return the drivers that handle an interrupt; empty if there are none.
pub fn device(tree: &Tree, irq: u32) -> String {
    if let Ok(actions) = tree.read(&format!("/sys/kernel/irq/{irq}/actions")) {
        return actions;
    }
    let directory = format!("{IRQ}/{irq}");
    let mut names = tree.names(&directory);
    names.retain(|name| tree.is_directory(&format!("{directory}/{name}")));
    names.join(",")
}

/// Describe an interrupt: its number and the drivers that handle it.
pub fn shown(irq: u32, device: &str) -> String {
    match device {
        "" => format!("interrupt {irq}"),
        device => format!("interrupt {irq} ({device})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looks(seen: &[&str]) -> (HashMap<u32, String>, usize) {
        let mut left = seen.iter();
        let found =
            alike(|| left.next().map(|mask| HashMap::from([(5, (*mask).to_owned())])).unwrap_or_default());
        (found, left.len())
    }

    #[test]
    fn a_mask_that_reads_as_an_older_one_for_a_moment_is_not_believed() {
        assert_eq!(looks(&["3", "3", "1"]), (HashMap::from([(5, "3".to_owned())]), 1));
        assert_eq!(looks(&["2", "3", "3", "1"]), (HashMap::from([(5, "3".to_owned())]), 1));
        // A mask that changes all the time is not waited for.
        assert_eq!(looks(&["1", "2", "1", "2", "1", "2"]), (HashMap::from([(5, "1".to_owned())]), 1));
    }
}
