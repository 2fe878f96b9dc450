//! The machine as this conversation changes it: by this process if it is root, else by `becalm-helper`.
//!
//! `Held` makes the changes in either process, so both serve the same requests with the same answers;
//! `booting` is for a process that is root itself.

use std::fs::File;
use std::io;
use std::ops::{Deref, DerefMut};
use std::os::fd::{AsRawFd, RawFd};
use std::rc::Rc;
use std::time::Duration;

use becalm_core::knob::catalogue::{find, Scope};
use becalm_core::knob::changes::Changes;
use becalm_core::knob::cpuset_facts::remark;
use becalm_core::knob::locks::seen_holder;
use becalm_core::knob::place::Place;
use becalm_core::knob::reading::misleads;
use becalm_core::knob::restore::{unsettled, Restored};
use becalm_core::knob::settings::Settings;
use becalm_core::knob::tree::Tree;
use becalm_core::knob::write_requests;
use becalm_core::time::{AnyClock, Clock};
use becalm_settings::guard::GuardContext;
use becalm_settings::held::Held;
use serde_json::{json, Map, Value};

use crate::abandoned_groups::Groups;
use crate::hidden_files::seen;
use crate::protocol::Failure;
use crate::root_helper::Helper;
use crate::settings_report::{done, knobs, plan, restored, status, with_interrupts};

/// A machine and the settings that are applied to it.
pub struct Machine {
    held: Held,
    helper: Option<Helper>,
    /// Whether the user consents to restarts of the machine.
    pub reboot: bool,
    clock: AnyClock,
    /// The changes that are applied.
    on: Changes,
    /// Whether the changes outlast the block that needed them, until the next one is announced.
    lingers: bool,
    /// The task file of the group that programs join by themselves.
    task_file: Option<File>,
    /// Whether programs belong in the group that the changes create.
    joins: bool,
    /// The process that starts programs, if all that it starts belongs in that group.
    starter: Option<libc::pid_t>,
    placed: Option<Placed>,
}

/// A process that the helper has placed: its priorities, and whether it is in the group.
type Placed = (libc::pid_t, Map<String, Value>, bool);

/// The priorities of programs; some of their values need root's rights.
const PRIORITIES: [&str; 3] = ["nice", "io_priority", "policy"];

type Answer = Result<Value, Failure>;

impl Deref for Machine {
    type Target = Held;

    fn deref(&self) -> &Held {
        &self.held
    }
}

impl DerefMut for Machine {
    fn deref_mut(&mut self) -> &mut Held {
        &mut self.held
    }
}

impl Machine {
    /// Use the machine below a root; `who` returns the name of the user.
    pub fn new(
        tree: Tree,
        who: Box<dyn Fn() -> String>,
        (patience, clock): (Duration, AnyClock),
        helper: Option<Helper>,
    ) -> Self {
        let (dates, live) = (clock.clone(), tree.live);
        let after = if live { || drop(Groups::remove()) } else { || () };
        let context = GuardContext { patience, now: Rc::new(move || dates.unix_s()), after };
        Self {
            held: Held::new(tree, who, context),
            helper,
            reboot: false,
            clock,
            on: Changes::default(),
            lingers: false,
            task_file: None,
            joins: false,
            starter: None,
            placed: None,
        }
    }

    /// Return whether this process has all rights to change settings of the machine.
    pub fn has_rights(&self) -> bool {
        self.helper.is_some() || self.check_rights().is_ok()
    }

    /// Return whether another process changes them.
    pub fn is_helped(&self) -> bool {
        self.helper.is_some()
    }

    /// Begin a conversation: its title, its owner's name, and the consent to restarts.
    pub fn greet(&mut self, title: String, owner: &str, reboot: bool) -> Result<(), Failure> {
        self.held.set_name(owner)?;
        self.reboot = reboot;
        if let Some(helper) = &mut self.helper {
            let wait = self.held.context.patience.as_secs_f64();
            let short: String =
                title.chars().map(|each| if each.is_control() { ' ' } else { each }).take(500).collect();
            helper.ask("hello", json!({"protocol": becalm_helper::request::VERSION, "title": short, "owner": owner, "interrupt_wait_s": wait}))?;
        }
        self.held.title = title;
        if self.helper.is_none() {
            self.held.retry_interrupts();
        }
        Ok(())
    }

    /// Fail if this process may not change the machine.
    pub fn check_rights(&self) -> Result<(), Failure> {
        self.check_clock()?;
        self.held.check_rights()
    }

    /// Fail if a real machine would be changed while its clock is scripted.
    fn check_clock(&self) -> Result<(), Failure> {
        if !self.held.tree.live || !self.clock.is_scripted() {
            return Ok(());
        }
        Err(Failure::new(
            "refused",
            "This agent has a scripted clock and so changes no settings of the machine. Start it without --script, or \
             with --root and a directory that looks like a machine.",
        ))
    }

    /// Fetch what only root may read; return the rest of the helper's answer.
    fn look(&mut self) -> Answer {
        let Some(helper) = &mut self.helper else { return Ok(Value::Null) };
        let view = helper.request("view")?;
        self.held.tree = seen(&view);
        Ok(view)
    }

    /// Read settings and resolve them for this machine.
    pub fn read(&mut self, given: &Map<String, Value>, dangerous: bool) -> Result<Settings, Failure> {
        if given.keys().any(|name| is_live(name)) {
            self.look()?;
        }
        Ok(Settings::read(given, &self.held.tree, dangerous)?)
    }

    /// Return the changes that settings would make, and those of them that last.
    pub fn planned(&mut self, given: &Map<String, Value>, dangerous: bool) -> Answer {
        let settings = self.read(given, dangerous)?;
        Ok(json!({"changes": plan(&self.held.tree, &settings.changes), "lasting": settings.lasting}))
    }

    /// Prepare to read settings that follow the present ones: these stay unless they would be taken for the
    /// machine's own state.
    pub fn linger(&mut self) -> Result<(), Failure> {
        if misleads(&self.held.tree, &self.on) {
            return self.apply(&Changes::default());
        }
        self.lingers = !self.on.writes.is_empty();
        Ok(())
    }

    /// Restore what `linger` has left on.
    pub fn rest(&mut self) -> Result<(), Failure> {
        match self.lingers {
            true => self.apply(&Changes::default()),
            false => Ok(()),
        }
    }

    /// Apply the machine's part of these settings, and restore all others.
    pub fn switch(&mut self, settings: &Settings) -> Result<(), Failure> {
        self.apply(&settings.changes)?;
        self.place(self.starter, settings)
    }

    /// Apply these changes to the machine, and restore all others.
    fn apply(&mut self, changes: &Changes) -> Result<(), Failure> {
        if !changes.writes.is_empty() {
            self.check_clock()?;
        }
        self.lingers = false;
        let before = std::mem::take(&mut self.on);
        match &mut self.helper {
            None => {
                self.held.switch(changes)?;
                if let Err(error) = self.open_task_file() {
                    // A program outside of the group would be measured among all the others.
                    self.held.switch(&Changes::default())?;
                    return Err(error.into());
                }
            }
            Some(helper) if *changes == before => helper.check()?,
            Some(helper) => {
                let switched = helper.ask("switch", write_requests::fields(changes))?;
                self.joins = switched["joins"] == true;
                self.held.remarks.extend(sentences(&switched["remarks"]));
            }
        }
        for change in changes.writes.iter().filter(|change| !before.writes.contains(change)) {
            let Place::Cpuset(set) = &change.place else { continue };
            let remark = remark(&self.held.tree, set).filter(|remark| !self.held.remarks.contains(remark));
            self.held.remarks.extend(remark);
        }
        self.on.clone_from(changes);
        Ok(())
    }

    /// Fail if the helper has ended: its guard has restored what was on.
    pub fn check_helper(&self) -> Result<(), Failure> {
        self.helper.as_ref().map_or(Ok(()), Helper::check)
    }

    /// Open the task file of the group that settings have created for programs, if there is one.
    fn open_task_file(&mut self) -> io::Result<()> {
        let tree = &self.held.tree;
        self.task_file = self.held.group().map(|tasks| tree.open(tasks, libc::O_WRONLY, 0)).transpose()?;
        Ok(())
    }

    /// Return the task file of the group that programs join by themselves, if there is one.
    pub fn join(&self) -> Option<RawFd> {
        self.task_file.as_ref().filter(|_| !self.held.starter_is_moved()).map(AsRawFd::as_raw_fd)
    }

    /// Have all that this process starts begin in the group of the settings; None: programs join it by
    /// themselves.
    pub fn set_starter(&mut self, starter: Option<libc::pid_t>) {
        self.starter = starter;
        if self.helper.is_none() {
            self.held.set_starter(starter);
        }
    }

    /// Put a process where programs with these settings belong, with the priorities that they ask for.
    pub fn place(&mut self, pid: Option<libc::pid_t>, settings: &Settings) -> Result<(), Failure> {
        let Some(helper) = &mut self.helper else { return Ok(()) };
        let own = settings.own.iter().filter(|(name, _)| PRIORITIES.contains(name));
        let priorities: Map<String, Value> =
            own.map(|(name, value)| ((*name).to_owned(), value.clone().into())).collect();
        let needed = self.joins || needs_rights(settings);
        let wanted = pid.filter(|_| needed).map(|pid| (pid, priorities, self.joins));
        if wanted == self.placed {
            return Ok(());
        }
        self.placed = None;
        match &wanted {
            Some((pid, priorities, _)) => {
                helper.ask("place", json!({"pid": pid, "priorities": priorities}))?
            }
            None => helper.ask("place", json!({"pid": null}))?,
        };
        self.placed = wanted;
        Ok(())
    }

    /// Return whether programs run in a group that settings created for them.
    pub fn places(&self) -> bool {
        self.joins || self.task_file.is_some()
    }

    /// Return whether applying settings may start a guard, for which this process must have one thread.
    pub fn forks_for(&self, settings: &Settings) -> bool {
        self.helper.is_none() && self.held.forks_for(&settings.changes)
    }

    /// Have programs join the group of settings that an earlier becalm left on.
    pub fn join_kept(&mut self) -> Result<(), Failure> {
        let kept = self.helper.is_some() && self.on.writes.is_empty() && self.held.kept().is_some();
        match &mut self.helper {
            None => {
                self.held.join_kept();
                // If the file cannot be opened, programs run where they are started.
                drop(self.open_task_file());
            }
            Some(helper) if kept => self.joins = helper.request("join_kept")?["joins"] == true,
            Some(_) => {}
        }
        Ok(())
    }

    /// Apply settings without measuring; with `keep` they stay when the conversation ends. Return what was changed.
    pub fn hold(&mut self, given: &Map<String, Value>, dangerous: bool, keep: bool) -> Answer {
        self.apply(&Changes::default())?;
        let settings = self.read(given, dangerous)?;
        let planned = plan(&self.held.tree, &settings.changes);
        let started = self.clock.now_ns();
        self.apply(&settings.changes)?;
        let took_ns = self.clock.now_ns() - started;
        if keep {
            self.keep(given)?;
        }
        if !settings.changes.writes.is_empty() {
            self.look()?;
        }
        let changes = done(&self.held.tree, &settings.changes, planned);
        let remarks = std::mem::take(&mut self.held.remarks);
        Ok(json!({"changes": changes, "remarks": remarks, "lasting": settings.lasting, "took_ns": took_ns}))
    }

    /// Leave the settings on.
    fn keep(&mut self, given: &Map<String, Value>) -> Result<(), Failure> {
        (self.on, self.task_file) = (Changes::default(), None);
        let Some(helper) = &mut self.helper else { return self.held.keep(given) };
        let live: Map<String, Value> = given.clone().into_iter().filter(|(name, _)| is_live(name)).collect();
        helper.ask("keep", json!({"settings": live})).map(drop)
    }

    /// Restore everything except what somebody else changed; return the outcome.
    pub fn release(&mut self) -> Answer {
        (self.on, self.task_file) = (Changes::default(), None);
        let Some(helper) = &mut self.helper else {
            let places = self.held.release();
            return Ok(restored(&self.held.tree, &places, ""));
        };
        (self.joins, self.placed) = (false, None);
        let report = without_event(helper.request("release")?);
        Ok(with_interrupts(&self.held.tree, report))
    }

    /// Restore the settings that are on or were left behind, whoever applied them. `force`: also what
    /// somebody else changed, and end the process that holds the machine; `mine`: nothing of others; `entry`:
    /// remove a boot entry, too.
    pub fn restore(&mut self, force: bool, mine: bool, entry: bool) -> Answer {
        self.check_clock()?;
        let whose = self.held.owned()?;
        if mine && self.helper.is_none() {
            self.held.check_owner(whose.as_ref())?;
        }
        let entry = entry && !(mine && self.entry_of_others()?);
        let entry = if entry { self.remove_entry(force) } else { Ok(Vec::new()) };
        (self.on, self.task_file) = (Changes::default(), None);
        let mut report = match &mut self.helper {
            Some(helper) => {
                let report = helper.ask("restore", json!({"force": force, "mine": mine}))?;
                with_interrupts(&self.held.tree, without_event(report))
            }
            None => {
                let ending = self.held.restore(force, mine)?;
                let mut report = restored(&self.held.tree, &ending.places, &ending.sentence);
                report["owner"] = ending.owner.into();
                report
            }
        };
        let groups = if self.held.tree.live { Groups::remove() } else { Groups::default() };
        if let Some(unsettled) = report["unsettled"].as_array_mut() {
            unsettled.extend(groups.left().map(Value::from));
        }
        add_sentence(&mut report, groups.removed());
        self.add_entry(&mut report, &entry?);
        Ok(report)
    }

    fn add_entry(&self, report: &mut Value, entry: &[Restored]) {
        for (field, more) in [("places", json!(entry)), ("unsettled", json!(unsettled(entry)))] {
            if let (Some(all), Value::Array(more)) = (report[field].as_array_mut(), more) {
                all.extend(more);
            }
        }
        add_sentence(report, self.removed(entry));
    }

    /// Return the settings that are on, who applied them and when.
    pub fn status(&mut self) -> Answer {
        let view = self.look()?;
        let busy = match &self.helper {
            None => seen_holder(&self.held.tree),
            Some(_) => view["busy"].as_str().map(str::to_owned),
        };
        let mut status = status(&self.held.tree, busy)?;
        if let (Some(title), Some(journal)) = (view["title"].as_str(), status["journal"].as_object_mut()) {
            journal.insert("title".to_owned(), title.into());
        }
        status["boot"] = self.entry()?;
        Ok(status)
    }

    /// Return the catalogue with the state of each knob on this machine.
    pub fn knobs(&mut self) -> Answer {
        self.look()?;
        Ok(json!({"knobs": knobs(&self.held.tree)}))
    }

    /// Return the observations on settings since the last call: `drift`, `clamped`, `remarks`.
    pub fn noticed(&mut self) -> Answer {
        let mut remarks = std::mem::take(&mut self.held.remarks);
        let Some(helper) = &mut self.helper else {
            return Ok(
                json!({"drift": self.held.drift(), "clamped": self.held.clamped(), "remarks": remarks}),
            );
        };
        let mut noticed = without_event(helper.request("noticed")?);
        if let Some(all) = noticed["remarks"].as_array_mut() {
            all.extend(remarks.drain(..).map(Value::from));
        }
        Ok(noticed)
    }

    /// Drop all files from the page cache.
    pub fn drop_caches(&mut self) -> Result<(), Failure> {
        if let Some(helper) = &mut self.helper {
            return helper.request("drop_caches").map(drop);
        }
        self.held.drop_caches()
    }
}

/// Return whether settings have a priority that an ordinary user may not set.
pub fn needs_rights(settings: &Settings) -> bool {
    let needs = |name: &str, value: &str| find(name).is_some_and(|knob| knob.needs_rights(value));
    settings.own.iter().any(|(name, value)| PRIORITIES.contains(name) && needs(name, value))
}

/// Return whether this is a setting of the running machine.
fn is_live(name: &str) -> bool {
    find(name).is_some_and(|knob| knob.scope == Scope::Live)
}

/// Return the texts of a list.
fn sentences(list: &Value) -> impl Iterator<Item = String> + '_ {
    list.as_array().into_iter().flatten().filter_map(|text| text.as_str().map(str::to_owned))
}

/// Add a sentence to a report, unless it is empty.
fn add_sentence(report: &mut Value, more: String) {
    let sentences = [report["sentence"].as_str().unwrap_or_default().to_owned(), more];
    let sentences: Vec<String> = sentences.into_iter().filter(|sentence| !sentence.is_empty()).collect();
    report["sentence"] = sentences.join(" ").into();
}

fn without_event(mut answer: Value) -> Value {
    if let Some(fields) = answer.as_object_mut() {
        fields.remove("event");
    }
    answer
}
