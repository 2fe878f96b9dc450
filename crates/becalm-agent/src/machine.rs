//! The machine as this conversation changes it: by this process, where it is root, else by `becalm-helper`.
//!
//! `Held` does it here, and over there. What is asked of either is the same, and so are the answers; `booting` is for a
//! process that is root itself.

use std::fs;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

use becalm_core::knob::catalogue::{find, Scope};
use becalm_core::knob::changes::Changes;
use becalm_core::knob::restore::{unsettled, Restored};
use becalm_core::knob::settings::Settings;
use becalm_core::knob::tree::Tree;
use becalm_core::time::AnyClock;
use becalm_helper::held::Held;
use serde_json::{json, Map, Value};

use crate::protocol::Failure;
use crate::root_helper::Helper;

/// A machine and what is set on it.
pub struct Machine {
    held: Held,
    helper: Option<Helper>,
    /// The person consents to restarts of the machine.
    pub reboot: bool,
    patience: Duration,
    /// Settings that the helper has on.
    on: Map<String, Value>,
    /// Programs belong in the group that those make.
    joins: bool,
    /// The process that starts programs, while all that it starts belongs there.
    starter: Option<libc::pid_t>,
    placed: Option<Place>,
}

/// A process that the helper has placed: with these priorities, and in the group.
type Place = (libc::pid_t, Map<String, Value>, bool);

/// Priorities of programs, some of whose values take root.
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
    /// The machine below a root; `who` gives the name of who asks.
    pub fn new(
        tree: Tree,
        who: Box<dyn Fn() -> String>,
        (patience, clock): (Duration, AnyClock),
        helper: Option<Helper>,
    ) -> Self {
        Self {
            held: Held::new(tree, who, patience, clock),
            helper,
            reboot: false,
            patience,
            on: Map::new(),
            joins: false,
            starter: None,
            placed: None,
        }
    }

    /// Whether settings of the machine can be changed for lack of no right.
    pub fn has_rights(&self) -> bool {
        self.helper.is_some() || self.held.check_rights().is_ok()
    }

    /// Whether another process changes them.
    pub fn is_helped(&self) -> bool {
        self.helper.is_some()
    }

    /// Begin: what settings are for.
    pub fn greet(&mut self, title: String, owner: &str, reboot: bool) -> Result<(), Failure> {
        self.held.call(owner)?;
        self.reboot = reboot;
        if let Some(helper) = &mut self.helper {
            let wait = self.patience.as_secs_f64();
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

    /// Read settings: what they mean for a program here, of the machine's whoever may look everywhere.
    pub fn read(&mut self, given: &Map<String, Value>, dangerous: bool) -> Result<Settings, Failure> {
        let Some(helper) = &mut self.helper else {
            return Ok(Settings::read(given, &self.held.tree, dangerous)?);
        };
        let (live, own) = split(given);
        let mut settings = Settings::read(&own, &self.held.tree, dangerous)?;
        if !live.is_empty() {
            let plan = helper.ask("plan", json!({"settings": live, "dangerous": dangerous}))?;
            let sentences = plan["lasting"].as_array().into_iter().flatten();
            settings.changes.lasting =
                sentences.filter_map(|each| each.as_str().map(str::to_owned)).collect();
            settings.live = live;
        }
        Ok(settings)
    }

    /// Return the changes that settings would make, and those of them that last.
    pub fn planned(&mut self, given: &Map<String, Value>, dangerous: bool) -> Answer {
        if let Some(helper) = &mut self.helper {
            let (live, own) = split(given);
            Settings::read(&own, &self.held.tree, dangerous)?;
            let plan = helper.ask("plan", json!({"settings": live, "dangerous": dangerous}))?;
            return Ok(json!({"changes": plan["changes"], "lasting": plan["lasting"]}));
        }
        let settings = Settings::read(given, &self.held.tree, dangerous)?;
        let Changes { lasting, .. } = &settings.changes;
        Ok(json!({"changes": self.held.plan(&settings.changes), "lasting": lasting}))
    }

    /// Have settings read that others are to be switched to.
    pub fn linger(&mut self) -> Result<(), Failure> {
        match &mut self.helper {
            None => Ok(self.held.linger()?),
            Some(_) if self.on.is_empty() => Ok(()),
            Some(helper) => helper.tell("linger").map(drop),
        }
    }

    /// Take off what `linger` has left.
    pub fn rest(&mut self) -> Result<(), Failure> {
        match &mut self.helper {
            None => Ok(self.held.rest()?),
            Some(_) if self.on.is_empty() => Ok(()),
            Some(helper) => {
                self.on.clear();
                helper.tell("rest").map(drop)
            }
        }
    }

    /// Have the machine's part of these settings on, and no others.
    pub fn switch(&mut self, settings: &Settings) -> Result<(), Failure> {
        let Some(helper) = &mut self.helper else { return Ok(self.held.switch(&settings.changes)?) };
        if settings.live != self.on {
            self.on.clear();
            let switched = helper.ask("switch", json!({"settings": settings.live, "dangerous": true}))?;
            self.on.clone_from(&settings.live);
            self.joins = switched["joins"] == true;
        }
        self.place(self.starter, settings)
    }

    /// Have all that this process starts begin where settings say; None: not what it starts now.
    pub fn seats(&mut self, starter: Option<libc::pid_t>) {
        self.starter = starter;
        if self.helper.is_none() {
            self.held.seats(starter);
        }
    }

    /// Have a process where programs with these settings belong, with the priorities that they ask for.
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

    /// Whether programs run in a group that settings made for them.
    pub fn places(&self) -> bool {
        self.joins || self.held.places()
    }

    /// Whether putting settings on may start a guard, for which this process must have one thread.
    pub fn forks_for(&self, settings: &Settings) -> bool {
        self.helper.is_none() && self.held.forks_for(&settings.changes)
    }

    /// Have programs join the group that settings made for them which stay.
    pub fn join_kept(&mut self) -> Result<(), Failure> {
        let kept = self.helper.is_some() && self.on.is_empty() && self.held.kept().is_some();
        match &mut self.helper {
            None => self.held.join_kept(),
            Some(helper) if kept => self.joins = helper.tell("join_kept")?["joins"] == true,
            Some(_) => {}
        }
        Ok(())
    }

    /// Put settings on without measuring; with `keep` they stay when the conversation ends.
    pub fn hold(&mut self, given: &Map<String, Value>, dangerous: bool, keep: bool) -> Answer {
        let Some(helper) = &mut self.helper else {
            self.held.switch(&Changes::default())?;
            let settings = Settings::read(given, &self.held.tree, dangerous)?;
            return Ok(self.held.hold(given, settings, keep)?);
        };
        let (live, own) = split(given);
        Settings::read(&own, &self.held.tree, dangerous)?;
        self.on.clear();
        let done = helper.ask("hold", json!({"settings": live, "dangerous": dangerous, "keep": keep}))?;
        if !keep {
            self.on = live;
        }
        Ok(without_event(done))
    }

    /// Put everything back but what somebody else changed; what came of that.
    pub fn release(&mut self) -> Answer {
        let Some(helper) = &mut self.helper else {
            let outcomes = self.held.release();
            return Ok(self.held.report(&outcomes, ""));
        };
        (self.joins, self.placed) = (false, None);
        self.on.clear();
        helper.tell("release").map(without_event)
    }

    /// Put back what is on or was left behind, whoever set it. `force`: also what somebody else changed, and end whoever
    /// holds the machine; `mine`: nothing of others; `entry`: remove a boot entry, too.
    pub fn restore(&mut self, force: bool, mine: bool, entry: bool) -> Answer {
        let way = match &self.helper {
            None => Some(self.held.clear_way(force, mine)?),
            Some(_) => None,
        };
        let entry = entry && !(mine && self.entry_of_others()?);
        let entry = if entry { self.remove_entry(force) } else { Ok(Vec::new()) };
        let mut report = match (&mut self.helper, way) {
            (Some(helper), _) => {
                self.on.clear();
                without_event(helper.ask("restore", json!({"force": force, "mine": mine}))?)
            }
            (None, way) => self.held.restore(force, way.unwrap_or_default())?,
        };
        self.add_entry(&mut report, &entry?);
        Ok(report)
    }

    fn add_entry(&self, report: &mut Value, entry: &[Restored]) {
        for (field, more) in [("places", json!(entry)), ("unsettled", json!(unsettled(entry)))] {
            if let (Some(all), Value::Array(more)) = (report[field].as_array_mut(), more) {
                all.extend(more);
            }
        }
        let said = [report["sentence"].as_str().unwrap_or_default().to_owned(), self.removed(entry)];
        let said: Vec<String> = said.into_iter().filter(|sentence| !sentence.is_empty()).collect();
        report["sentence"] = said.join(" ").into();
    }

    /// Return the settings that are on, with who applied them and when.
    pub fn status(&mut self) -> Answer {
        let mut status = match &mut self.helper {
            None => self.held.status()?,
            Some(helper) => without_event(helper.tell("status")?),
        };
        status["boot"] = self.entry()?;
        Ok(status)
    }

    /// The catalogue with what each knob is here.
    pub fn knobs(&mut self) -> Answer {
        match &mut self.helper {
            None => Ok(json!({"knobs": self.held.knobs()})),
            Some(helper) => helper.tell("knobs").map(without_event),
        }
    }

    /// Take the observations on settings since the last call: `drift`, `clamped`, `remarks`.
    pub fn noticed(&mut self) -> Answer {
        let mut remarks = std::mem::take(&mut self.held.remarks);
        let Some(helper) = &mut self.helper else {
            return Ok(
                json!({"drift": self.held.drift(), "clamped": self.held.clamped(), "remarks": remarks}),
            );
        };
        let mut noticed = without_event(helper.tell("noticed")?);
        if let Some(all) = noticed["remarks"].as_array_mut() {
            all.extend(remarks.drain(..).map(Value::from));
        }
        Ok(noticed)
    }

    /// Have no file in the page cache that was read before.
    pub fn drop_caches(&mut self) -> Result<(), Failure> {
        if let Some(helper) = &mut self.helper {
            return helper.tell("drop_caches").map(drop);
        }
        // SAFETY: no arguments.
        unsafe { libc::sync() };
        fs::write("/proc/sys/vm/drop_caches", "3").map_err(|error| {
            Failure::new(
                "system",
                format!("The page cache could not be dropped: /proc/sys/vm/drop_caches: {error}."),
            )
        })
    }
}

/// Whether settings have a priority that an ordinary user may not take.
pub fn needs_rights(settings: &Settings) -> bool {
    let needs = |name: &str, value: &str| find(name).is_some_and(|knob| knob.needs_rights(value));
    settings.own.iter().any(|(name, value)| PRIORITIES.contains(name) && needs(name, value))
}

/// Settings of the running machine, and all others.
fn split(given: &Map<String, Value>) -> (Map<String, Value>, Map<String, Value>) {
    let is_live = |name: &str| find(name).is_some_and(|knob| knob.scope == Scope::Live);
    given.clone().into_iter().partition(|(name, _)| is_live(name))
}

fn without_event(mut answer: Value) -> Value {
    if let Some(fields) = answer.as_object_mut() {
        fields.remove("event");
    }
    answer
}
