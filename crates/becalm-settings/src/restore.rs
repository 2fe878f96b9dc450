//! The restore of everything: from the entries that a session holds, or from the journal of one that has
//! ended.
//!
//! A place whose value is neither the original nor ours was changed by somebody else: it is reported and left
//! alone. Places affect each other (a governor resets turbo, a CPU that comes back gets defaults), so
//! restored places are checked again until all of them stay.

use std::collections::HashMap;
use std::io;
use std::thread::sleep;
use std::time::Duration;

use serde::Serialize;

use super::away::{self, Away};
use super::entry::Entry;
use super::fallen::{rejoin, sets};
use super::interrupt;
use super::member::wait_for_emptied;
use super::place::Place;
use super::threads::{self, Back, Had};
use super::tree::{Tree, CPU};

/// Rounds of restoring and checking again.
const ROUNDS: u64 = 5;

/// The pause before the second round in which something failed, ms; each later one is five times as long. The
/// obstacle may be about to end: a program of a killed agent in our cpuset, or one that has the latency
/// device open. On a directory no obstacle ends.
const PATIENCE_MS: u64 = 2;

/// The outcome for a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// It had its original value already.
    Untouched,
    Restored,
    /// Somebody else changed it meanwhile; it was left alone.
    Foreign,
    /// An interrupt that goes back when it next fires, if the kernel allows that: `away` lists it.
    Returning,
    /// The place does not exist any more: a process has ended, a device has gone.
    Gone,
    /// It could not be restored.
    Failed,
}

/// One place after restoring.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Restored {
    pub knob: String,
    pub place: String,
    pub original: String,
    /// The value that it holds now; empty when that cannot be read.
    pub found: String,
    pub fate: Fate,
    /// The reason why it could not be restored.
    pub error: String,
}

impl Restored {
    /// Return whether nothing is left to restore here.
    pub fn settled(&self) -> bool {
        !matches!(self.fate, Fate::Foreign | Fate::Failed)
    }
}

/// Restore the entries, the last one first. `force`: also what somebody else has changed.
pub fn restore(tree: &Tree, entries: &[Entry], force: bool) -> Vec<Restored> {
    let mut outcomes: Vec<Restored> = entries.iter().map(started).collect();
    let mut foreign = vec![false; entries.len()];
    let away = match entries.iter().any(|entry| entry.place.irq().is_some()) {
        true => away::listed(tree),
        false => HashMap::new(),
    };
    wait_for_emptied(tree, sets(entries));
    let judged = |entry: &Entry| !force && !entry.side_effect && !entry.doubtful;
    let seen_twice = seen_twice(tree, entries, judged);
    for round in 0..ROUNDS {
        let mut settled = true;
        for pass in Pass::ALL {
            for (index, entry) in entries.iter().enumerate().rev() {
                if !pass.has(entry) || foreign[index] {
                    continue;
                }
                if going_back(tree, entry, &away) {
                    outcomes[index].fate = Fate::Restored;
                    continue;
                }
                let outcome = &mut outcomes[index];
                let judge = (round == 0 && judged(entry)).then_some(&seen_twice);
                settled &= restore_place(tree, entry, judge, force, outcome);
                foreign[index] = outcome.fate == Fate::Foreign;
            }
        }
        if settled {
            break;
        }
        if tree.live && round + 1 < ROUNDS && outcomes.iter().any(|outcome| outcome.fate == Fate::Failed) {
            sleep(Duration::from_millis(PATIENCE_MS * 5_u64.pow(round as u32)));
        }
    }
    rejoin(tree, entries);
    call_back(tree, entries, &away, &mut outcomes);
    outcomes
}

/// Restore entries together. CPUs that were online come first: a task that was bound to one of them must not
/// be moved to the root of the cpusets earlier (set_cpus_allowed_ptr in cpuset_attach_task of
/// kernel/cgroup/cpuset.c fails, and warns). Side effects come last: they can be restored only after their
/// cause.
#[derive(Clone, Copy)]
enum Pass {
    Processors,
    Written,
    SideEffects(u8),
}

impl Pass {
    const ALL: [Self; 5] =
        [Self::Processors, Self::Written, Self::SideEffects(0), Self::SideEffects(1), Self::SideEffects(2)];

    fn has(self, entry: &Entry) -> bool {
        let place = &entry.place;
        match self {
            _ if matches!(place, Place::Arrival { .. }) => false,
            Self::Processors => brings_cpus(entry),
            Self::Written => !entry.side_effect && !brings_cpus(entry),
            Self::SideEffects(rank) => entry.side_effect && place.rank() == rank,
        }
    }
}

/// Return whether restoring this brings CPUs online.
fn brings_cpus(entry: &Entry) -> bool {
    let Place::File { path } = &entry.place else { return false };
    let switch = match path.strip_prefix(CPU) {
        Some("/smt/control") => entry.original == "on",
        Some(file) => file.ends_with("/online") && entry.original == "1",
        None => false,
    };
    switch && !entry.side_effect
}

/// Return the masks that seem to be somebody else's, read again a moment later: together, since each reading
/// waits.
fn seen_twice(tree: &Tree, entries: &[Entry], judged: impl Fn(&Entry) -> bool) -> HashMap<u32, String> {
    let theirs = |entry: &&Entry| {
        let mask = matches!(entry.place, Place::Mask { .. }) && judged(entry);
        mask && entry.place.read(tree).is_ok_and(|now| !entry.knows(&now))
    };
    let irqs: Vec<u32> = entries.iter().filter(theirs).filter_map(|entry| entry.place.irq()).collect();
    interrupt::masks(tree, &irqs)
}

/// Return whether a mask is narrow because its interrupt is on its way back, and will get its original then.
fn going_back(tree: &Tree, entry: &Entry, away: &HashMap<u32, Away>) -> bool {
    let Place::Mask { .. } = entry.place else { return false };
    let known = entry.place.irq().and_then(|irq| away.get(&irq));
    known.is_some_and(|away| away.narrowed(tree) && entry.place.agree(&away.mask, &entry.original))
}

/// Bring back the interrupts that arrive elsewhere, except those whose masks somebody else has set since.
///
/// The old mask of each is known from its own entry or from the list of moved interrupts; others are read
/// together, since each reading waits.
fn call_back(tree: &Tree, entries: &[Entry], known: &HashMap<u32, Away>, outcomes: &mut [Restored]) {
    let masks: HashMap<u32, usize> = entries
        .iter()
        .enumerate()
        .filter(|(_, entry)| matches!(entry.place, Place::Mask { .. }))
        .filter_map(|(index, entry)| Some((entry.place.irq()?, index)))
        .collect();
    let mut elsewhere: Vec<(usize, u32)> = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        let Place::Arrival { irq, .. } = entry.place else { continue };
        let Ok(now) = entry.place.read(tree) else {
            outcomes[index].fate = Fate::Gone;
            continue;
        };
        outcomes[index].found.clone_from(&now);
        let theirs = masks.get(&irq).is_some_and(|mask| outcomes[*mask].fate == Fate::Foreign);
        if !entry.place.agree(&now, &entry.original) && !theirs {
            elsewhere.push((index, irq));
        }
    }
    let noted = |irq: &u32| match masks.get(irq) {
        Some(mask) => Some(&entries[*mask].original),
        None => known.get(irq).map(|away| &away.mask),
    };
    let unknown: Vec<u32> =
        elsewhere.iter().map(|(_, irq)| *irq).filter(|irq| noted(irq).is_none()).collect();
    let seen = interrupt::masks(tree, &unknown);
    let (mut away, mut of) = (Vec::new(), Vec::new());
    for (index, irq) in elsewhere {
        let Entry { place: Place::Arrival { device, .. }, original, .. } = &entries[index] else { continue };
        let Some(held) = noted(&irq).or_else(|| seen.get(&irq)) else { continue };
        away.push(Away::new(tree, irq, device, original, held));
        of.push(index);
    }
    let called = away::call_back(tree, away);
    for index in of {
        outcomes[index].fate = if called.is_ok() { Fate::Returning } else { Fate::Failed };
        outcomes[index].error = called.as_ref().err().map(ToString::to_string).unwrap_or_default();
    }
}

fn started(entry: &Entry) -> Restored {
    Restored {
        knob: entry.knob.clone(),
        place: entry.place.shown(),
        original: entry.original.clone(),
        found: String::new(),
        fate: Fate::Untouched,
        error: String::new(),
    }
}

/// Restore one place if that is necessary; return whether it had its original already. `judge`: a value that
/// is not ours stays; a mask is judged by the value that was read twice.
fn restore_place(
    tree: &Tree,
    entry: &Entry,
    judge: Option<&HashMap<u32, String>>,
    force: bool,
    outcome: &mut Restored,
) -> bool {
    let Entry { place, original, .. } = entry;
    if let Place::Threads { pid, start, .. } = place {
        let had = Had { original, ours: &entry.ours, since: entry.since, newest: entry.newest };
        let done = threads::restore_threads(tree, *pid, *start, had, force);
        outcome.found = place.read(tree).unwrap_or_default();
        return record_threads(done, outcome);
    }
    let now = match place.read(tree) {
        Ok(now) => now,
        Err(error) => {
            outcome.found = String::new();
            // A CPU that is still offline hides its files; the next round finds them. Devices and other
            // people's groups go for good.
            let vanished = matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ESRCH | libc::ENODEV));
            outcome.fate = if vanished { Fate::Gone } else { Fate::Failed };
            outcome.error = error.to_string();
            // Tasks do not come back.
            return matches!(place, Place::Affinity { .. });
        }
    };
    outcome.found = now.clone();
    if place.agree(&now, original) {
        if !entry.side_effect && matches!(place, Place::Mask { .. }) && place.irq().is_some() {
            // The kernel may be about to make it ours (`interrupt`). A mask that may not be set does not
            // change.
            drop(place.write(tree, original));
        }
        if matches!(outcome.fate, Fate::Failed | Fate::Gone) {
            outcome.fate = Fate::Untouched;
        }
        outcome.error = String::new();
        return true;
    }
    if matches!(place, Place::Process { .. }) && now == super::task::GONE {
        outcome.fate = Fate::Gone;
        return true;
    }
    if entry.side_effect && !force && place.chosen_since(&now, original) {
        outcome.fate = Fate::Untouched;
        return true;
    }
    let again = |seen: &HashMap<u32, String>| {
        let known = place.irq().and_then(|irq| seen.get(&irq).cloned());
        known.or_else(|| place.read_again(tree)).is_some_and(|now| entry.knows(&now))
    };
    if judge.is_some_and(|seen| !entry.knows(&now) && !again(seen)) {
        outcome.fate = Fate::Foreign;
        return true;
    }
    let written = place.write(tree, original);
    outcome.found = place.read(tree).unwrap_or_default();
    let back = place.agree(&outcome.found, original);
    outcome.fate = match place {
        _ if back => Fate::Restored,
        // Our bound ended with the file that held it; what is left is the bound of another process.
        Place::Latency if tree.live && !entry.ours.contains(&outcome.found) => Fate::Foreign,
        _ => Fate::Failed,
    };
    outcome.error = match written {
        _ if back => String::new(),
        Err(error) => error.to_string(),
        Ok(()) => "the value was taken without effect".to_owned(),
    };
    false
}

/// Record the outcome for a process; return whether nothing had to be done.
fn record_threads(done: io::Result<Back>, outcome: &mut Restored) -> bool {
    let known = matches!(outcome.fate, Fate::Restored | Fate::Untouched);
    (outcome.fate, outcome.error) = match &done {
        Err(error) => (Fate::Failed, error.to_string()),
        Ok(back) if back.gone => (Fate::Gone, "it has ended".to_owned()),
        Ok(back) if back.foreign => (Fate::Foreign, String::new()),
        Ok(back) if back.changed => (Fate::Restored, String::new()),
        Ok(_) if known => (outcome.fate, String::new()),
        Ok(_) => (Fate::Untouched, String::new()),
    };
    done.is_ok_and(|back| !back.changed)
}

/// Return a sentence for each place that is not as it was.
pub fn unsettled(outcomes: &[Restored]) -> Vec<String> {
    outcomes.iter().filter(|each| !each.settled()).map(sentence).collect()
}

fn sentence(outcome: &Restored) -> String {
    let Restored { knob, place, original, found, error, .. } = outcome;
    match outcome.fate {
        Fate::Foreign => format!(
            "{knob}: {place} holds {found:?}, which neither was there before ({original:?}) nor came from becalm: \
             somebody else changed it, so it was left alone."
        ),
        _ if found.is_empty() => format!("{knob}: {place} should be {original:?} again, but cannot be read: {error}."),
        _ => format!("{knob}: {place} should be {original:?} again, but holds {found:?}: {error}."),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Mutex;

    use super::*;

    static WRITTEN: Mutex<Vec<String>> = Mutex::new(Vec::new());

    fn noted(tree: &Tree, path: &str, value: &str) -> io::Result<()> {
        WRITTEN.lock().unwrap().push(path.to_owned());
        tree.show(path, value)
    }

    #[test]
    fn cpus_that_were_online_come_back_first_and_side_effects_last() {
        let root = std::env::temp_dir().join(format!("becalm-order-{}", std::process::id()));
        let places = [
            ("/proc/sys/vm/min_free_kbytes", "50000", "1", true),
            ("/sys/devices/system/cpu/smt/control", "on", "off", false),
            ("/sys/devices/system/cpu/cpu1/online", "1", "0", false),
            ("/sys/devices/system/cpu/cpu2/online", "0", "1", false),
            ("/proc/sys/vm/swappiness", "60", "10", false),
        ];
        let entry = |(path, original, now, side_effect): (&str, &str, &str, bool)| {
            let file = root.join(path.trim_start_matches('/'));
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, format!("{now}\n")).unwrap();
            let place = Place::File { path: path.to_owned() };
            Entry {
                ours: vec![now.to_owned()],
                side_effect,
                ..Entry::new("knob", place, original.to_owned())
            }
        };
        let entries = places.map(entry);
        let outcomes = restore(&Tree::played_by(&root, noted), &entries, false);
        assert!(outcomes.iter().all(|outcome| outcome.fate == Fate::Restored), "{outcomes:?}");
        // A CPU that was offline before is restored after what was set while it was online.
        let expected = [2, 1, 4, 3, 0].map(|index: usize| places[index].0);
        assert_eq!(*WRITTEN.lock().unwrap(), expected);
        fs::remove_dir_all(root).unwrap();
    }
}
