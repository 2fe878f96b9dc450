//! The results of the request `define`: the workloads and settings that steps refer to by number.

use std::collections::HashSet;
use std::os::fd::RawFd;

use becalm_core::exec::program::{BaseEnvironment, LARGEST_PADDING};
use becalm_core::knob::settings::Settings;
use becalm_core::types::{Step, Workload};
use serde_json::{Map, Value};

use crate::machine::{needs_rights, Machine};
use crate::measure::Runner;
use crate::neighbours;
use crate::protocol::Failure;
use crate::ready::Ready;

/// The names and values of settings of the program itself.
type Own = Vec<(&'static str, String)>;

/// The workloads and settings by number; None where a number of settings is not used.
#[derive(Default)]
pub struct Defined {
    workloads: Vec<Ready>,
    settings: Vec<Option<Settings>>,
    /// The settings of programs that were tried successfully in this conversation.
    tried: HashSet<Own>,
    /// The workloads that were set up in this conversation by earlier definitions.
    done: Vec<Workload>,
}

impl Defined {
    /// Read and try workloads and settings on this machine, in this base environment. Workloads that were set
    /// up before stay so.
    ///
    /// # Errors
    /// Fails if one of them cannot be used.
    pub fn read(
        before: &Self,
        workloads: Vec<Workload>,
        settings: &[Option<Map<String, Value>>],
        dangerous: bool,
        (machine, runner, base): (&mut Machine, &mut Runner, &BaseEnvironment),
    ) -> Result<Self, Failure> {
        machine.linger()?;
        let tree = machine.tree.clone();
        let settings = settings
            .iter()
            .map(|values| values.as_ref().map(|values| machine.read(values, dangerous)).transpose())
            .collect::<Result<Vec<_>, _>>()?;
        if settings.iter().flatten().any(|each| each.process.cold) && !machine.has_rights() {
            return Err(Failure::new("permission", "drop_caches needs root. Use --sudo, or leave it out."));
        }
        if workloads.iter().any(|each| each.cold) && !machine.has_rights() {
            let message =
                "Dropping the page cache before each run (cold) needs root. Use --sudo, or leave it out.";
            return Err(Failure::new("unsupported", message));
        }
        let mut tried = before.tried.clone();
        let alone = |workload: &Workload| workload.alongside.is_empty();
        let known = |each: &Settings| each.own.is_empty() || tried.contains(&each.own);
        if !workloads.iter().all(alone) || !settings.iter().flatten().all(known) {
            // A child would otherwise try them in the group of the current settings.
            machine.rest()?;
        }
        for each in settings.iter().flatten().filter(|each| needs_rights(each)) {
            if machine.is_helped() && !tried.contains(&each.own) {
                machine.place(Some(runner.starter()), each)?;
                let done = runner.try_settings(&each.process.child, base.user.as_ref());
                machine.place(None, each)?;
                done?;
                tried.insert(each.own.clone());
            }
        }
        let mut attempt = |each: &Settings| -> Result<(), Failure> {
            if !each.own.is_empty() && !tried.contains(&each.own) {
                runner.try_settings(&each.process.child, base.user.as_ref())?;
                tried.insert(each.own.clone());
            }
            Ok(())
        };
        settings.iter().flatten().try_for_each(&mut attempt)?;
        let mut ready = |workload: Workload| -> Result<Ready, Failure> {
            let neighbours = neighbours::ready(&workload, &tree, base)?;
            neighbours.iter().try_for_each(|each| attempt(&each.settings))?;
            let mut made = Ready::new(workload, base)?;
            made.neighbours = neighbours;
            Ok(made)
        };
        let workloads = workloads.into_iter().map(&mut ready).collect::<Result<Vec<_>, _>>()?;
        let now = before.workloads.iter().filter_map(Ready::was_set_up);
        let mut done: Vec<Workload> = Vec::new();
        for each in before.done.iter().cloned().chain(now) {
            if !done.contains(&each) {
                done.push(each);
            }
        }
        for each in &workloads {
            each.recognise(&done);
        }
        Ok(Self { workloads, settings, tried, done })
    }

    /// Return the program of each workload.
    pub fn programs(&self) -> Vec<String> {
        self.workloads.iter().map(Ready::path).collect()
    }

    /// Return what will differ from before when these settings are restored, each sentence once.
    pub fn lasting(&self) -> Vec<&str> {
        let mut all: Vec<&str> = Vec::new();
        for sentence in self.settings.iter().flatten().flat_map(|each| &each.lasting) {
            if !all.contains(&sentence.as_str()) {
                all.push(sentence);
            }
        }
        all
    }

    /// Check that all steps refer to defined workloads and settings.
    pub fn check(&self, steps: &[Step]) -> Result<(), Failure> {
        let known = |step: &Step| {
            let settings = self.settings.get(step.1 as usize);
            (step.0 as usize) < self.workloads.len() && settings.is_some_and(Option::is_some)
        };
        if let Some(bad) = steps.iter().find(|step| !known(step)) {
            let message = format!("Step {bad:?} names a workload or settings that were not defined.");
            return Err(Failure::new("usage", message));
        }
        if let Some(bad) = steps.iter().find(|step| step.2 as usize > LARGEST_PADDING) {
            let message = format!("Step {bad:?} asks for more padding than {LARGEST_PADDING} bytes.");
            return Err(Failure::new("domain", message));
        }
        Ok(())
    }

    /// Return the workload and the settings of a step; None if they were not defined.
    pub fn of(&self, step: &Step) -> Option<(&Ready, &Settings)> {
        Some((self.workloads.get(step.0 as usize)?, self.settings.get(step.1 as usize)?.as_ref()?))
    }

    /// Have the programs of these steps join a control group by themselves, or none.
    pub fn join(&mut self, steps: [&Step; 2], group: Option<RawFd>) {
        for step in steps {
            if let Some(Some(settings)) = self.settings.get_mut(step.1 as usize) {
                settings.process.child.join = group;
            }
        }
    }
}
