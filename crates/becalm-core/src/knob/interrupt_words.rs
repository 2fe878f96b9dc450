//! Sentences about interrupts: what a user must know before CPUs go, and which interrupts are not back where
//! they were.

use std::collections::{BTreeMap, BTreeSet};

use super::away::{listed, Away, Why};
use super::cpus::Cpus;
use super::interrupt::{allowed, arrival, arrives, count, device, movable, numbers, shown};
use super::tree::Tree;
use crate::source::fired::fired;

/// Return how often interrupts at these CPUs whose masks cannot be set have fired since the boot.
pub fn staying(tree: &Tree, cpus: &Cpus) -> u64 {
    let text = tree.read("/proc/interrupts").unwrap_or_default();
    let movable = movable(tree);
    let stays = |irq: u32| arrives(tree, irq).intersection(cpus).next().is_some() && !movable(irq);
    let counted = fired(&text).filter(|(irq, count)| *count > 0 && stays(*irq));
    counted.fold(0, |sum, (_, count)| sum.saturating_add(count))
}

/// Remove interrupts that have never fired: it makes no difference where they would arrive.
fn used(tree: &Tree, irqs: &mut Vec<u32>) {
    let text = tree.read("/proc/interrupts").unwrap_or_default();
    let never: BTreeSet<u32> = fired(&text).filter(|(_, count)| *count == 0).map(|(irq, _)| irq).collect();
    irqs.retain(|irq| !never.contains(irq));
}

/// Return the device of an interrupt, from the name of its handler: drivers name one for each queue
/// (virtio1-req.0, eth0-TxRx-3, nvme0q1). An interrupt without a name counts as a device of its own.
pub fn owner(device: &str, irq: u32) -> String {
    let name = device.split_once('-').map_or(device, |(name, _)| name);
    let stem = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
    match stem.strip_suffix('q') {
        Some(stem) if stem.len() + 1 < name.len() && !stem.is_empty() => stem.to_owned(),
        _ if name.is_empty() => irq.to_string(),
        _ => name.to_owned(),
    }
}

/// Describe the interrupts of one device, as the beginning of a sentence.
fn of_device<'a>(interrupts: impl Iterator<Item = (u32, &'a str)>) -> String {
    let (irqs, mut devices): (Vec<String>, Vec<&str>) =
        interrupts.map(|(irq, device)| (irq.to_string(), device)).unzip();
    devices.retain(|device| !device.is_empty());
    devices.dedup();
    let word = if irqs.len() == 1 { "Interrupt" } else { "Interrupts" };
    let names = if devices.is_empty() { String::new() } else { format!(" ({})", devices.join(", ")) };
    format!("{word} {}{names}", irqs.join(", "))
}

/// Return whether a user needs to know of it: not of one that has never fired, for which it makes no
/// difference where it would arrive, nor of one that cannot come back, which was reported before it was
/// moved.
fn matters(away: &Away, tree: &Tree) -> bool {
    away.why != Why::Managed && count(tree, away.irq) != Some(0)
}

/// Return whether it is where it was and has its mask, as far as can be read.
fn is_done(away: &Away, tree: &Tree) -> bool {
    away.back(tree) && !away.narrowed(tree)
}

/// Return a sentence about the interrupts of one device.
fn sentence(tree: &Tree, away: &[Away]) -> String {
    let several = away.len() > 1;
    let of = |cpus: &BTreeSet<String>| cpus.iter().cloned().collect::<Vec<_>>().join(", ");
    let at = |one: &Away| arrival(tree, one.irq).unwrap_or_else(|_| "another".to_owned());
    let name = of_device(away.iter().map(|one| (one.irq, one.device.as_str())));
    let now = of(&away.iter().map(at).collect());
    if away.iter().all(|one| one.back(tree)) {
        // A process that waits for the interrupt restores its mask at once, unless that process was killed.
        let (are, masks) = if several { ("are", "their masks") } else { ("is", "its mask") };
        return format!(
            "{name} {are} back at CPU {now}, and still bound to it. If that stays so, `becalm reset` restores {masks}."
        );
    }
    let was = of(&away.iter().map(|one| one.was.clone()).collect());
    let (arrive, they, go, have, fire) = match several {
        true => ("arrive", "they", "go", "have", "fire"),
        false => ("arrives", "it", "goes", "has", "fires"),
    };
    let since = away.iter().fold(0_u64, |sum, one| sum.saturating_add(one.since(tree)));
    let times = if since == 1 { "once".to_owned() } else { format!("{since} times") };
    let why = match (away.iter().any(|one| one.why == Why::Waiting), since) {
        (true, _) => format!("{they} {go} back when {they} next {fire}"),
        (false, 0) => {
            format!("{they} {have} not fired since. `becalm reset` tries again; a restart puts it right")
        }
        (false, _) => format!(
            "{they} {have} fired {times} since becalm stopped waiting. `becalm reset` as root brings {} back",
            if several { "them" } else { "it" }
        ),
    };
    format!("{name} {arrive} at CPU {now}, before at CPU {was}: {why}.")
}

/// Return sentences, one for each device, about the interrupts that are not as they were.
pub fn sentences(tree: &Tree) -> Vec<String> {
    let mut devices: BTreeMap<String, Vec<Away>> = BTreeMap::new();
    let mut all: Vec<Away> = listed(tree).into_values().collect();
    all.retain(|away| matters(away, tree) && !is_done(away, tree));
    all.sort_by_key(|away| away.irq);
    for away in all {
        devices.entry(owner(&away.device, away.irq)).or_default().push(away);
    }
    let mut devices: Vec<Vec<Away>> = devices.into_values().collect();
    devices.sort_by_key(|away| away[0].irq);
    devices.iter().map(|away| sentence(tree, away)).collect()
}

/// Return the number of firing interrupts that stay where they were moved until the machine restarts.
pub fn staying_away(tree: &Tree) -> usize {
    let stays = |away: &&Away| away.why == Why::Managed && count(tree, away.irq) != Some(0);
    listed(tree).values().filter(stays).count()
}

/// Return warnings for CPUs that are to go offline: which of their interrupts stay away, and which come back late.
pub fn lost(tree: &Tree, knob: &str, gone: &Cpus) -> Vec<String> {
    let leaves = |irq: &u32| arrives(tree, *irq).intersection(gone).next().is_some();
    // A managed interrupt that may arrive nowhere else is switched off with its CPU and comes back with it
    // (kernel/irq/cpuhotplug.c).
    let movable = movable(tree);
    let stays_away = |irq: &u32| !allowed(tree, *irq).is_subset(gone) && !movable(*irq);
    let mut leaving: Vec<u32> = numbers(tree).into_iter().filter(leaves).collect();
    used(tree, &mut leaving);
    let (away, back): (Vec<u32>, Vec<u32>) = leaving.into_iter().partition(stays_away);
    let mut warnings = Vec::new();
    if !away.is_empty() {
        let them = if away.len() == 1 { "it" } else { "them" };
        warnings.push(format!(
            "{knob}: another CPU will handle {} until the machine restarts: the kernel does not let {them} be moved back.",
            named(tree, &away)
        ));
    }
    match back.len() {
        0 => {}
        1 => warnings.push(format!("{knob}: {} comes back only when it next fires.", named(tree, &back))),
        count => warnings.push(format!(
            "{knob}: {count} interrupts come back one by one, each only when it next fires: {}.",
            named(tree, &back)
        )),
    }
    warnings
}

/// Name interrupts; if there are many, the first ones.
fn named(tree: &Tree, irqs: &[u32]) -> String {
    const MOST: usize = 4;
    let mut names: Vec<String> = irqs.iter().take(MOST).map(|irq| shown(*irq, &device(tree, *irq))).collect();
    if irqs.len() > MOST {
        names.push(format!("{} more", irqs.len() - MOST));
    }
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn interrupts_that_stay_are_counted_by_cpu() {
        let root = std::env::temp_dir().join(format!("becalm-staying-{}", std::process::id()));
        for (irq, mode, at) in [(4, 0o644, "2"), (36, 0o444, "2"), (40, 0o444, "0"), (42, 0o444, "0")] {
            let directory = root.join(format!("proc/irq/{irq}"));
            fs::create_dir_all(&directory).unwrap();
            fs::write(directory.join("effective_affinity_list"), format!("{at}\n")).unwrap();
            fs::write(directory.join("smp_affinity"), "3\n").unwrap();
            fs::set_permissions(directory.join("smp_affinity"), fs::Permissions::from_mode(mode)).unwrap();
        }
        // Interrupt 36 has moved since; the CPU of 41 is not reported.
        let text = "      CPU0  CPU2\n  4:  900  900  ttyS0\n 36: 4000 1000 disk\n 40: 7 0 net\n 41: 9 9 x\n 42: 0 0 y\nLOC: 5 5 L\n";
        fs::write(root.join("proc/interrupts"), text).unwrap();
        let tree = Tree::new(&root);
        assert_eq!([0, 1, 2].map(|cpu| staying(&tree, &Cpus::from([cpu]))), [7, 0, 5000]);
        assert_eq!(staying(&tree, &Cpus::from([0, 2])), 5007);
        fs::remove_dir_all(root).unwrap();
    }
}
