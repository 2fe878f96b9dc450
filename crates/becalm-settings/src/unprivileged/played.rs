//! The kernel's reactions to a write, played on a directory that looks like its files: changes to the file
//! itself, and to others when a CPU goes offline or an interrupt gets other CPUs. Restoring is tested on such
//! directories, so what the kernel changes because of a change of ours must change there, too.

use std::io;
use std::path::Path;

use super::acted::played_offline;
use crate::choice::chosen;
use crate::cpus::{self, Cpus};
use crate::fired::fired;
use crate::interrupt;
use crate::tree::{Tree, CPU};

/// Use the machine whose `/` is `root`: the running one, or a directory on which the kernel is played.
pub fn machine(root: &Path) -> Tree {
    Tree::played_by(root, played)
}

fn played(tree: &Tree, path: &str, value: &str) -> io::Result<()> {
    if interrupt::of_mask_file(path).is_some() && tree.mode(path)? & 0o200 == 0 {
        return Err(io::Error::from_raw_os_error(libc::EPERM));
    }
    tree.show(path, &limited(tree, path, value))?;
    keep_free(tree, path)?;
    if let Some(irq) = interrupt::of_mask_file(path) {
        if fires(tree, irq) {
            arrive(tree, irq)?;
        }
    }
    let cpu = path.strip_prefix(CPU).and_then(|rest| rest.strip_prefix("/cpu")?.strip_suffix("/online"));
    match cpu {
        Some(_) if value != "1" => offline(tree),
        _ => Ok(()),
    }
}

/// Raise the memory that is kept free while there are huge pages, to what the kernel computes, whatever was
/// there before (set_recommended_min_free_kbytes in mm/khugepaged.c).
fn keep_free(tree: &Tree, path: &str) -> io::Result<()> {
    const ENABLED: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
    const KEPT: &str = "/proc/sys/vm/min_free_kbytes";
    if path != ENABLED || !tree.exists(KEPT) {
        return Ok(());
    }
    let none = chosen(&tree.read(ENABLED)?) == "never";
    tree.replace(KEPT, if none { b"19832\n" } else { b"67584\n" })
}

/// Bound a lowest frequency by what the processor supports (cpufreq_verify_within_cpu_limits in
/// include/linux/cpufreq.h).
fn limited(tree: &Tree, path: &str, value: &str) -> String {
    let Some(policy) = path.strip_suffix("/scaling_min_freq") else { return value.to_owned() };
    let bound = |name: &str| tree.read(&format!("{policy}/{name}")).ok()?.parse().ok();
    match (bound("cpuinfo_min_freq"), bound("cpuinfo_max_freq")) {
        (Some(low), Some(high)) if low <= high => {
            value.parse().map_or(value.to_owned(), |number: i64| number.clamp(low, high).to_string())
        }
        _ => value.to_owned(),
    }
}

/// React to a CPU that has gone offline.
fn offline(tree: &Tree) -> io::Result<()> {
    let (_, online) = tree.cpus();
    // As migrate_one_irq in kernel/irq/cpuhotplug.c: the interrupts that arrive there move at once, whether
    // they fire or not.
    let movable = interrupt::movable(tree);
    for irq in interrupt::numbers(tree) {
        if interrupt::arrives(tree, irq).is_subset(&online) && tree.exists(&interrupt::arrival_file(irq)) {
            continue;
        }
        if interrupt::allowed(tree, irq).is_disjoint(&online) && movable(irq) {
            let mask = format!("{}\n", cpus::mask(&online));
            tree.replace(&interrupt::mask_file(irq), mask.as_bytes())?;
        }
        arrive(tree, irq)?;
    }
    played_offline(tree, &online)
}

/// Move an interrupt to the first CPU of its mask unless it is at one of them.
fn arrive(tree: &Tree, irq: u32) -> io::Result<()> {
    let file = interrupt::arrival_file(irq);
    let (now, (_, online)) = (interrupt::arrives(tree, irq), tree.cpus());
    let allowed: Cpus = interrupt::allowed(tree, irq).intersection(&online).copied().collect();
    if !tree.exists(&file) || allowed.is_empty() || (!now.is_empty() && now.is_subset(&allowed)) {
        return Ok(());
    }
    let first = allowed.first().copied().unwrap_or_default();
    tree.replace(&file, format!("{first}\n").as_bytes())
}

/// Return whether an interrupt is one that arrives now and then: not if `/proc/interrupts` counts none of it,
/// or a file marks it as silent now.
fn fires(tree: &Tree, irq: u32) -> bool {
    if tree.exists(&format!("/proc/irq/{irq}/silent")) {
        return false;
    }
    let text = tree.read("/proc/interrupts").unwrap_or_default();
    let silent = fired(&text).any(|each| each == (irq, 0));
    !silent
}
