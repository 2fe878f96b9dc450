//! Interrupts that arrive at another CPU than before becalm, and their way back.
//!
//! Writing the old mask of an interrupt does not move it back (`interrupt`). So its mask is first set to the
//! CPU where it arrived before; the kernel moves it there as it next fires (irq_move_masked_irq in
//! kernel/irq/migration.c), and then it gets its old mask. Some interrupts fire a thousand times a second and
//! some never, so a restore does not wait for that: this list records which are under way, and a process that
//! outlives becalm waits for them (`settle`), within a bound.
//!
//! While the kernel moves an interrupt, it already arrives at the right CPU and its mask still reads as
//! before (`interrupt`). So one reading of the mask never decides that such an interrupt is back, or that
//! somebody else has moved it: its old mask is written in any case, and the kernel applies it after the move.
//!
//! The list is in a directory that a restart empties, because a restart resets all interrupts. When settings
//! move a listed interrupt again, its old values are taken from here, so that becalm's own are never taken
//! for the machine's.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::checksum;
use super::cpus;
use super::interrupt;
use super::journal::boot_id;
use super::tree::{Tree, RUN};

const LIST: &str = "/run/becalm/interrupts";
const LOCK: &str = "/run/becalm/interrupts.lock";

/// The pause between two looks, ms, which doubles from the first value to the last.
const PAUSE_MS: (u64, u64) = (1, 128);

/// The reason why an interrupt is not back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// It goes back when it next fires; its mask is that one CPU until then.
    Waiting,
    /// It has not fired within the bound, and has its old mask.
    Silent,
    /// The kernel does not let it be moved.
    Managed,
}

/// An interrupt that arrives at another CPU than before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Away {
    pub irq: u32,
    pub device: String,
    /// The CPUs where it arrived, as a list.
    pub was: String,
    /// Its mask before.
    pub mask: String,
    pub why: Why,
    /// Its count since the boot when it was last given up, or began to go back.
    #[serde(default)]
    fired: u64,
    boot: String,
}

impl Away {
    /// Describe an interrupt that is about to be brought back.
    pub fn new(tree: &Tree, irq: u32, device: &str, was: &str, mask: &str) -> Self {
        let (device, was, mask) = (device.to_owned(), was.to_owned(), mask.to_owned());
        let fired = interrupt::count(tree, irq).unwrap_or(0);
        Self { irq, device, was, mask, why: Why::Waiting, fired, boot: boot_id(tree) }
    }

    /// Return how often it has fired since it was given up.
    pub fn since(&self, tree: &Tree) -> u64 {
        interrupt::count(tree, self.irq).unwrap_or(self.fired).saturating_sub(self.fired)
    }

    /// Return whether nobody else has changed its mask since.
    fn ours(&self, tree: &Tree) -> bool {
        let now = interrupt::allowed(tree, self.irq);
        !now.is_empty() && (Some(&now) == cpus::unmask(&self.mask).as_ref() || self.narrowed(tree))
    }

    /// Return whether somebody else has changed its mask. It is read twice, since it may read so for a moment
    /// while the kernel moves the interrupt.
    fn theirs(&self, tree: &Tree) -> bool {
        let other = || !self.ours(tree) && !self.back(tree);
        other() && {
            sleep(interrupt::MOVED);
            other()
        }
    }

    /// Return whether its mask is the CPU that it is to go back to.
    pub fn narrowed(&self, tree: &Tree) -> bool {
        self.why == Why::Waiting && cpus::parse(&self.was) == Some(interrupt::allowed(tree, self.irq))
    }

    pub fn back(&self, tree: &Tree) -> bool {
        cpus::parse(&self.was) == Some(interrupt::arrives(tree, self.irq))
    }

    /// Set its mask to that CPU, by which the kernel moves it there.
    fn narrow(&self, tree: &Tree) -> io::Result<()> {
        let cpus = cpus::parse(&self.was).ok_or_else(|| io::Error::from_raw_os_error(libc::EINVAL))?;
        tree.write(&interrupt::mask_file(self.irq), &cpus::mask(&cpus))
    }

    /// Set its old mask, even if that is what it reads: the kernel may be about to narrow it.
    fn widen(&self, tree: &Tree) -> io::Result<()> {
        tree.write(&interrupt::mask_file(self.irq), &self.mask)
    }
}

/// The list, locked for as long as this lives.
struct Listed {
    _lock: File,
    all: Vec<Away>,
}

impl Listed {
    fn open(tree: &Tree) -> io::Result<Self> {
        tree.ensure_directory(RUN)?;
        let lock = tree.lasting(LOCK, 0o600)?;
        // SAFETY: a live descriptor. Held for some writes at most.
        if unsafe { libc::flock(lock.as_raw_fd(), libc::LOCK_EX) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { _lock: lock, all: read(tree) })
    }

    fn save(&self, tree: &Tree) -> io::Result<()> {
        if self.all.is_empty() {
            return match tree.remove_file(LIST) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            };
        }
        let lines = self.all.iter().map(checksum::line).collect::<io::Result<String>>()?;
        tree.replace(LIST, lines.as_bytes())
    }
}

/// Read the interrupts that are under way or still arrive elsewhere, except those that somebody else has
/// moved since.
fn read(tree: &Tree) -> Vec<Away> {
    let (bytes, boot) = (tree.own_bytes(LIST).unwrap_or_default(), boot_id(tree));
    let lines = bytes.split(|byte| *byte == b'\n');
    let mut found: Vec<Away> = lines.filter_map(checksum::value).collect();
    found.retain(|away: &Away| {
        let there = away.boot == boot && tree.exists(&interrupt::mask_file(away.irq));
        let came = || away.why != Why::Waiting && away.back(tree);
        there && !came() && !away.theirs(tree)
    });
    found
}

/// Return all interrupts that are away, by number.
pub fn listed(tree: &Tree) -> HashMap<u32, Away> {
    if !tree.exists(LIST) {
        return HashMap::new();
    }
    read(tree).into_iter().map(|away| (away.irq, away)).collect()
}

/// Begin to bring interrupts back. They are added to the list first; one that is in it already keeps its old
/// values.
pub fn call_back(tree: &Tree, given: Vec<Away>) -> io::Result<()> {
    if given.is_empty() {
        return Ok(());
    }
    let mut list = Listed::open(tree)?;
    let movable = interrupt::movable(tree);
    for mut away in given {
        if !movable(away.irq) {
            away.why = Why::Managed;
        } else if interrupt::count(tree, away.irq) == Some(0) {
            // It would not move: its mask stays as it is, and it is called back once it has fired.
            away.why = Why::Silent;
        }
        match list.all.iter_mut().find(|known| known.irq == away.irq) {
            Some(known) => known.why = away.why,
            None => list.all.push(away),
        }
    }
    list.save(tree)?;
    for away in list.all.iter_mut().filter(|away| away.why == Why::Waiting) {
        if let Err(error) = away.narrow(tree) {
            let refused = matches!(error.raw_os_error(), Some(libc::EIO | libc::EPERM));
            away.why = if refused { Why::Managed } else { Why::Silent };
        }
    }
    list.save(tree)
}

/// Try again those that have not fired in time, or for which the time has just ended.
pub fn try_again(tree: &Tree) -> io::Result<()> {
    let may_come = |away: &Away| away.why != Why::Managed;
    let again = |away: Away| Away { why: Why::Waiting, ..away };
    call_back(tree, listed(tree).into_values().filter(may_come).map(again).collect())
}

/// Try again those that have fired since they were given up, since they can be moved now. Return whether
/// there are any.
pub fn try_fired(tree: &Tree) -> io::Result<bool> {
    let came = |away: &Away| away.why == Why::Silent && away.since(tree) > 0;
    let again = |away: Away| Away { why: Why::Waiting, ..away };
    let fired: Vec<Away> = listed(tree).into_values().filter(came).map(again).collect();
    let some = !fired.is_empty();
    call_back(tree, fired)?;
    Ok(some)
}

/// Drop from the list the interrupts that a hold is about to move: they are in the journal now.
pub fn taken_over(tree: &Tree, irqs: impl Fn(u32) -> bool) -> io::Result<()> {
    if !tree.exists(LIST) {
        return Ok(());
    }
    let mut list = Listed::open(tree)?;
    list.all.retain(|away| !irqs(away.irq));
    list.save(tree)
}

/// Wait until the interrupts under way have arrived, and give each its old mask; after the bound, with
/// `give_up`, the others too. Return whether some are still under way.
pub fn settle(tree: &Tree, bound: Duration, give_up: bool) -> io::Result<bool> {
    let end = Instant::now() + bound;
    let mut pause = PAUSE_MS.0;
    loop {
        let late = Instant::now() >= end;
        let under_way = step(tree, late && give_up)?;
        if late || !under_way {
            return Ok(under_way);
        }
        sleep(Duration::from_millis(pause).min(end.saturating_duration_since(Instant::now())));
        pause = (pause * 2).min(PAUSE_MS.1);
    }
}

/// Give the interrupts that have arrived their old masks, or with `all` every one under way; return whether
/// some still are.
fn step(tree: &Tree, all: bool) -> io::Result<bool> {
    if !tree.exists(LIST) {
        return Ok(false);
    }
    let mut list = Listed::open(tree)?;
    let before = list.all.clone();
    let waiting = |away: &Away| away.why == Why::Waiting;
    for away in list.all.iter_mut().filter(|away| waiting(away)) {
        // Those that somebody else has moved are no longer in the list. The mask is read last, just before the write,
        // so that one that somebody else has set meanwhile is not overwritten.
        if all || (away.back(tree) && away.ours(tree)) {
            // One whose mask cannot be written has gone; `read` drops it.
            drop(away.widen(tree));
            away.why = Why::Silent;
            away.fired = interrupt::count(tree, away.irq).unwrap_or(away.fired);
        }
    }
    // Where the kernel uses the first CPU of a mask, the old mask may have moved the interrupt on.
    list.all.retain(|away| waiting(away) || !(away.back(tree) || away.theirs(tree)));
    if list.all != before || before.is_empty() {
        list.save(tree)?;
    }
    Ok(list.all.iter().any(waiting))
}
