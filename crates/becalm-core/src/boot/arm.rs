//! The choice of becalm's entry for the next start, and its removal. The caller holds the lock.

use std::collections::BTreeSet;
use std::io;
use std::process::Command;

use serde::Serialize;

use super::guard::TIMER;
use super::kept;
use super::loader::{plan, LOADERS};
use super::plan::{Plan, Request, Write};
use super::record::{self, Recorded};
use super::write::State;
use super::{running, words, BootError};
use crate::knob::journal::Begin;
use crate::knob::restore::{unsettled, Fate, Restored};
use crate::knob::tree::Tree;

/// The mark of the boot that was found healthy; a restart removes this file.
const HEALTHY: &str = "/run/becalm/healthy";

/// On a directory: the commands that systemd would get, a line each.
const PLAYED: &str = "/run/becalm/systemctl";

/// The status of becalm's entry, which everybody can read. All fields except `mark`, `running` and `waiting`
/// are empty if this boot is of an entry that has been removed since.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Status {
    pub loader: String,
    pub entry: String,
    pub mark: String,
    pub parameters: Vec<String>,
    pub limit_s: u32,
    pub title: String,
    pub user: String,
    /// Unix time, s.
    pub at: u64,
    pub files: Vec<FileStatus>,
    /// Whether the next start is the entry's.
    pub armed: bool,
    /// Whether this boot is the entry's.
    pub running: bool,
    /// Whether the fall-back is still active.
    pub waiting: bool,
    /// Whether every start is the entry's, as long as each goes well.
    pub kept: bool,
    /// The entry's kernel.
    pub kernel: String,
    /// The kernel that starts by default, if the entry is kept and starts another one.
    pub default_kernel: Option<String>,
}

#[derive(Debug, Clone, Serialize)]
pub struct FileStatus {
    pub path: String,
    /// Its state; None if that cannot be read.
    pub state: Option<State>,
}

/// The state of a new boot, as soon as it can be reached.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Health {
    /// Whether it is the boot that was requested.
    pub ours: bool,
    pub mark: Option<String>,
    pub parameters: Vec<String>,
    /// The reason why it is not that boot; else empty.
    pub sentence: String,
    pub remarks: Vec<String>,
}

/// Write an entry for one boot and choose it for the next start. An earlier entry is removed first.
pub fn arm(tree: &Tree, request: &Request, begin: &Begin, consent: bool) -> Result<Plan, BootError> {
    words::check(&request.parameters, tree, consent)?;
    if let Some(now) = status(tree)?.filter(|now| now.kept && (now.running || now.armed)) {
        return Err(BootError::Kept(now.parameters.join(" ")));
    }
    let removed = disarm(tree, false)?;
    let open = unsettled(&removed);
    if !open.is_empty() {
        return Err(BootError::Stuck(open));
    }
    let plan = plan(tree, request)?;
    let in_the_way = |write: &&Write| {
        let fresh = matches!(write, Write::File { .. } | Write::Link { .. });
        fresh && tree.about(write.path()).is_ok()
    };
    if let Some(write) = plan.writes.iter().find(in_the_way) {
        let path = write.path();
        let reason =
            "it is there already, and not in becalm's list. Remove it if it is an old one of becalm's";
        return Err(BootError::Refused { path: path.to_owned(), error: io::Error::other(reason) });
    }
    record::save(tree, &Recorded { begin: begin.clone(), plan: plan.clone() })?;
    for (at, write) in plan.writes.iter().enumerate() {
        let Err(error) = write.make(tree) else { continue };
        let made = plan.writes[..=at].iter().rev();
        let open = unsettled(&made.map(|write| undo(tree, write, false)).collect::<Vec<_>>());
        if !open.is_empty() {
            return Err(BootError::Stuck(open));
        }
        record::remove(tree)?;
        return Err(BootError::Refused { path: write.path().to_owned(), error });
    }
    Ok(plan)
}

/// Make every start that of this boot, from the next one on. Only in the entry's own boot, if that was found
/// healthy and has exactly these parameters.
pub fn keep(tree: &Tree, parameters: &[String]) -> Result<Plan, BootError> {
    let not = |reason: &str| Err(BootError::Keep(reason.to_owned()));
    let Some(recorded) = record::load(tree)? else { return not("becalm has no entry") };
    let once = &recorded.plan;
    if running::mark(tree).as_deref() != Some(&once.mark) {
        return not("the machine does not run by becalm's entry now");
    }
    let asked: BTreeSet<&String> = parameters.iter().collect();
    if asked != once.parameters.iter().collect() {
        return not(&format!("it has {}, not what was requested", once.parameters.join(" ")));
    }
    let line = running::words(tree);
    if let Some(word) = once.parameters.iter().find(|word| !line.contains(word)) {
        return not(&format!("the kernel's command line lacks {word}"));
    }
    if once.kept {
        make(tree, &once.writes.iter().filter(|write| write.arms()).collect::<Vec<_>>())?;
        return Ok(once.clone());
    }
    if !found_healthy(tree, &once.mark) {
        return not("it was not found healthy yet");
    }
    let plan = kept::plan(tree, once)?;
    // Whatever happens next, everything that may exist is listed.
    let all = [&once.writes[..], &plan.writes[..]].concat();
    let begin = &recorded.begin;
    record::save(tree, &Recorded { begin: begin.clone(), plan: Plan { writes: all, ..once.clone() } })?;
    let (fresh, choice): (Vec<&Write>, Vec<&Write>) =
        plan.writes.iter().filter(|write| !kept::is_entry(write)).partition(|write| !write.arms());
    let removed = |write: &&Write| !plan.writes.contains(write);
    let done = make(tree, &fresh).and_then(|()| {
        // The fall-back would restart the machine in a boot that nobody marks as healthy, so it is removed
        // before such boots are chosen.
        let open: Vec<Restored> =
            once.writes.iter().rev().filter(removed).map(|write| undo(tree, write, false)).collect();
        let open = unsettled(&open);
        if !open.is_empty() {
            return Err(BootError::Stuck(open));
        }
        make(tree, &choice)
    });
    if let Err(error) = done {
        let made = fresh.iter().chain(&choice).rev();
        let undone: Vec<Restored> = made.map(|write| undo(tree, write, false)).collect();
        if unsettled(&undone).is_empty() {
            record::save(tree, &recorded)?;
        }
        return Err(error);
    }
    record::save(tree, &Recorded { begin: recorded.begin, plan: plan.clone() })?;
    Ok(plan)
}

/// Make writes in order, except those that exist; if one fails, those before it stay for the caller to undo.
fn make(tree: &Tree, writes: &[&Write]) -> Result<(), BootError> {
    for write in writes {
        let made = match write.state(tree) {
            Ok(State::Ours) => Ok(()),
            Ok(_) => write.make(tree),
            Err(error) => Err(error),
        };
        made.map_err(|error| BootError::Refused { path: write.path().to_owned(), error })?;
    }
    Ok(())
}

/// Remove all that was written, the choice for the next start first. `force`: also what somebody else has changed.
///
/// A place that could not be removed stays recorded. Return an outcome for each place, none when nothing was
/// there.
pub fn disarm(tree: &Tree, force: bool) -> Result<Vec<Restored>, BootError> {
    let Some(found) = record::load(tree)? else {
        record::remove(tree)?;
        return Ok(Vec::new());
    };
    stop_waiting(tree, &found.plan)?;
    let outcomes: Vec<Restored> =
        found.plan.writes.iter().rev().map(|write| undo(tree, write, force)).collect();
    if unsettled(&outcomes).is_empty() {
        record::remove(tree)?;
    }
    Ok(outcomes)
}

fn undo(tree: &Tree, write: &Write, force: bool) -> Restored {
    let done = write.undo(tree, force);
    let fate = match &done {
        Ok(State::Ours) => Fate::Restored,
        Ok(State::Gone) => Fate::Untouched,
        Ok(State::Changed) if force => Fate::Restored,
        Ok(State::Changed) => Fate::Foreign,
        Err(_) => Fate::Failed,
    };
    let found = match fate {
        Fate::Foreign => "something else",
        Fate::Failed => "becalm's",
        _ => "",
    };
    let original = match write {
        Write::Part { created: false, .. } => "as it was",
        Write::Variable { before: Some(_), .. } => "as it was",
        _ => "not there",
    };
    Restored {
        knob: "boot entry".to_owned(),
        place: write.path().to_owned(),
        original: original.to_owned(),
        found: found.to_owned(),
        fate,
        error: done.err().map(|error| error.to_string()).unwrap_or_default(),
    }
}

/// Return the status of the recorded entry, on the disk and in the present boot.
pub fn status(tree: &Tree) -> Result<Option<Status>, BootError> {
    let booted = running::mark(tree);
    let Some(Recorded { begin, plan }) = record::load(tree)? else {
        return Ok(booted.map(|mark| {
            let waiting = !found_healthy(tree, &mark);
            Status { mark, running: true, waiting, ..Status::default() }
        }));
    };
    let file = |write: &Write| FileStatus { path: write.path().to_owned(), state: write.state(tree).ok() };
    let files: Vec<FileStatus> = plan.writes.iter().map(file).collect();
    let armed =
        plan.writes.iter().zip(&files).any(|(write, file)| write.arms() && file.state == Some(State::Ours));
    let running = booted.as_ref() == Some(&plan.mark);
    let waiting = running && !plan.kept && !found_healthy(tree, &plan.mark);
    let default_kernel = default_kernel(tree, &plan);
    let Plan { loader, entry, mark, parameters, limit_s, kept, kernel, .. } = plan;
    let Begin { title, user, at, .. } = begin;
    Ok(Some(Status {
        loader,
        entry,
        mark,
        parameters,
        limit_s,
        title,
        user,
        at,
        files,
        armed,
        running,
        waiting,
        kept,
        kernel,
        default_kernel,
    }))
}

/// Return the kernel that starts by default, if a kept entry still starts another one. None also if that is
/// not known.
fn default_kernel(tree: &Tree, plan: &Plan) -> Option<String> {
    let loader = LOADERS.iter().find(|loader| loader.name == plan.loader)?;
    let found = (loader.kernel)(tree).ok().filter(|_| plan.kept && !plan.kernel.is_empty())?;
    (found != plan.kernel).then_some(found)
}

/// Stop the fall-back on the new boot, and report whether this is the boot that was requested.
pub fn healthy(tree: &Tree) -> Result<Health, BootError> {
    let mark = running::mark(tree);
    let recorded = record::load(tree)?;
    if let Some(Recorded { plan, .. }) = &recorded {
        stop_waiting(tree, plan)?;
    } else if let Some(mark) = &mark {
        stop(tree, mark)?;
    }
    let mut health = Health { mark, ..Health::default() };
    let Some(Recorded { plan, .. }) = recorded else {
        health.sentence = match &health.mark {
            Some(_) => "This boot is becalm's, but nothing is recorded of it any more.".to_owned(),
            None => "No boot entry of becalm's is there: this boot is the machine's own.".to_owned(),
        };
        return Ok(health);
    };
    let line = running::words(tree);
    health.ours = health.mark.as_ref() == Some(&plan.mark);
    let (on, off): (Vec<String>, Vec<String>) =
        plan.parameters.iter().cloned().partition(|word| line.contains(word));
    let armed = plan.writes.iter().find(|write| write.arms() && matches!(write.state(tree), Ok(State::Ours)));
    if !health.ours {
        let still = if armed.is_some() { " The next start is still becalm's." } else { "" };
        health.sentence = format!(
            "The machine did not start becalm's entry {}, or has left it again: it runs with its own.{still}",
            plan.entry
        );
        return Ok(health);
    }
    health.parameters = on;
    if !off.is_empty() {
        health.remarks.push(format!("The kernel's command line lacks {}.", off.join(" ")));
    }
    if let Some(write) = armed.filter(|_| !plan.kept) {
        // The entry would start again and again.
        write.undo(tree, false)?;
        health
            .remarks
            .push(format!("{} had not used up the choice for one start; it was removed.", plan.loader));
    }
    Ok(health)
}

fn found_healthy(tree: &Tree, mark: &str) -> bool {
    tree.read(HEALTHY).is_ok_and(|found| found == mark)
}

/// Stop the timer that would restart the machine, if this boot is the plan's.
fn stop_waiting(tree: &Tree, plan: &Plan) -> io::Result<()> {
    match running::mark(tree) {
        Some(mark) if mark == plan.mark && plan.kept => found(tree, &mark),
        Some(mark) if mark == plan.mark => stop(tree, &mark),
        _ => Ok(()),
    }
}

/// Stop the timer of this boot, once.
fn stop(tree: &Tree, mark: &str) -> io::Result<()> {
    if found_healthy(tree, mark) {
        return Ok(());
    }
    systemctl(tree, &["stop", TIMER])?;
    found(tree, mark)
}

/// Record that this boot was found healthy.
fn found(tree: &Tree, mark: &str) -> io::Result<()> {
    tree.replace(HEALTHY, format!("{mark}\n").as_bytes())
}

/// Restart the machine: systemd ends everything in order. Return when it has accepted that.
pub fn restart(tree: &Tree) -> Result<(), BootError> {
    if let Some(reason) = super::guard::obstacle(tree) {
        return Err(BootError::Unsupported(reason));
    }
    // SAFETY: has no arguments and cannot fail. What was written must be there after the restart, whatever that is.
    unsafe { libc::sync() };
    Ok(systemctl(tree, &["reboot", "--no-block"])?)
}

fn systemctl(tree: &Tree, arguments: &[&str]) -> io::Result<()> {
    let words = arguments.join(" ");
    if !tree.live {
        let before = tree.bytes(PLAYED).unwrap_or_default();
        return tree.replace(PLAYED, &[&before[..], words.as_bytes(), b"\n"].concat());
    }
    let done = Command::new("systemctl").args(arguments).output()?;
    match done.status.success() {
        true => Ok(()),
        false => {
            let message = String::from_utf8_lossy(&done.stderr);
            Err(io::Error::other(format!("systemctl {words} failed: {}", message.trim())))
        }
    }
}
