//! Serve requests until the input closes: who is asked, in which order, and what is answered.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::{env, fs};

use becalm_core::exec::program::{Surroundings, LARGEST_PADDING};
use becalm_core::exec::tree::sweep;
use becalm_core::exec::user::User;
use becalm_core::exec::watch::{readable, until_readable};
use becalm_core::facts;
use becalm_core::knob::catalogue::CATALOGUE;
use becalm_core::knob::process::ProcessSettings;
use becalm_core::types::{Outcome, Step, Text, Workload, COLUMNS};
use serde_json::{json, Map, Value};

use crate::conversation::{Attention, Conversation};
use crate::measure::{system, Runner};
use crate::overhead::overhead;
use crate::protocol::{self, Action, Failure, Request};
use crate::ready::Ready;

/// One conversation with becalm.
pub struct Session {
    talk: Conversation,
    runner: Runner,
    user: Option<User>,
    base: Option<Surroundings>,
    workloads: Vec<Ready>,
    settings: Vec<ProcessSettings>,
}

type Answer = Result<Value, Failure>;

impl Session {
    /// A session; workloads run as `user`, or as this process's own user.
    pub fn new(talk: Conversation, runner: Runner, user: Option<User>) -> Self {
        Self { talk, runner, user, base: None, workloads: Vec::new(), settings: Vec::new() }
    }

    /// Greet and serve. Returns when the input closes, `bye` comes or a signal asks to end; nothing runs then.
    pub fn serve(&mut self) -> Result<(), String> {
        let result = self.greet().and_then(|()| self.requests());
        sweep();
        match result {
            // Whoever read the events is gone: as good as a closed input.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            Err(error) => Err(format!("The conversation with becalm broke off: {error}.")),
            Ok(()) => Ok(()),
        }
    }

    fn greet(&mut self) -> io::Result<()> {
        // SAFETY: cannot fail.
        let (uid, gid) = unsafe { (libc::geteuid(), libc::getegid()) };
        let user = match &self.user {
            Some(user) => json!({"uid": user.uid, "gid": user.gid, "name": user.name}),
            None => json!({"uid": uid, "gid": gid, "name": env::var("USER").ok()}),
        };
        let boot_id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok();
        self.talk.output.send(&json!({
            "becalm-agent": env!("CARGO_PKG_VERSION"),
            "protocol": protocol::VERSION,
            "pid": std::process::id(),
            "uid": uid,
            "user": user,
            "boot_id": boot_id.as_deref().map(str::trim),
            "columns": COLUMNS,
        }))
    }

    fn requests(&mut self) -> io::Result<()> {
        loop {
            while let Some(line) = self.talk.input.line() {
                let request = match protocol::parse(&line) {
                    Ok(request) => request,
                    Err((id, failure)) => {
                        self.talk.output.error(id, &failure)?;
                        continue;
                    }
                };
                if matches!(request.action, Action::Bye {}) {
                    return self.talk.output.done(request.id, json!({}));
                }
                let id = request.id;
                match self.answer(request)? {
                    Ok(results) => self.talk.output.done(id, results)?,
                    Err(failure) => self.talk.output.error(Some(id), &failure)?,
                }
                if self.talk.over() {
                    return Ok(());
                }
            }
            if self.talk.over() {
                return Ok(());
            }
            until_readable(&self.talk.descriptors())?;
            self.talk.look()?;
        }
    }

    fn answer(&mut self, request: Request) -> io::Result<Answer> {
        Ok(match request.action {
            Action::Open { protocol, environment, directory } => self.open(protocol, environment, directory),
            Action::Facts { root } => {
                let root = root.unwrap_or_else(|| PathBuf::from("/"));
                Ok(json!({"facts": facts::collect(&root)}))
            }
            Action::Knobs {} => Ok(json!({"knobs": CATALOGUE})),
            Action::Define { workloads, settings } => self.define(workloads, &settings),
            Action::Measure { first, steps, stop_on_failure } => {
                return self.measure(request.id, first, &steps, stop_on_failure)
            }
            Action::Overhead { runs } => self.overhead(runs),
            Action::Stop {} | Action::Bye {} => Ok(json!({})),
        })
    }

    fn open(
        &mut self,
        version: u32,
        environment: Option<BTreeMap<String, Text>>,
        directory: Option<Text>,
    ) -> Answer {
        if version != protocol::VERSION {
            let message = format!(
                "becalm speaks protocol {version}, its agent {}. Install both from one version.",
                protocol::VERSION
            );
            return Err(Failure::new("protocol", message));
        }
        let environment = match environment {
            Some(given) => given
                .into_iter()
                .map(|(name, value)| Ok((name.into_bytes(), value.bytes()?)))
                .collect::<Result<_, Failure>>()?,
            None => env::vars_os().map(|(name, value)| (name.into_vec(), value.into_vec())).collect(),
        };
        let directory = match directory {
            Some(text) => Path::new(std::ffi::OsStr::from_bytes(&text.bytes()?)).to_owned(),
            None => env::current_dir().unwrap_or_else(|_| "/".into()),
        };
        self.base = Some(Surroundings::new(environment, directory, self.user.clone()));
        Ok(json!({}))
    }

    fn define(&mut self, workloads: Vec<Workload>, settings: &[Map<String, Value>]) -> Answer {
        let base = opened(self.base.as_ref())?;
        let parsed = settings.iter().map(ProcessSettings::parse).collect::<Result<Vec<_>, _>>()?;
        for (values, each) in settings.iter().zip(&parsed) {
            if !values.is_empty() {
                self.runner.try_settings(each, base.user.as_ref())?;
            }
        }
        let ready = workloads
            .into_iter()
            .map(|workload| Ready::new(workload, base))
            .collect::<Result<Vec<_>, _>>()?;
        let programs: Vec<String> = ready.iter().map(Ready::path).collect();
        (self.workloads, self.settings) = (ready, parsed);
        Ok(json!({"programs": programs}))
    }

    fn measure(&mut self, id: u64, first: u64, steps: &[Step], stop_on_failure: bool) -> io::Result<Answer> {
        let base = match opened(self.base.as_ref()) {
            Ok(base) => base,
            Err(failure) => return Ok(Err(failure)),
        };
        let known =
            |step: &Step| (step.0 as usize) < self.workloads.len() && (step.1 as usize) < self.settings.len();
        if let Some(bad) = steps.iter().find(|step| !known(step)) {
            let message = format!("Step {bad:?} names a workload or settings that were not defined.");
            return Ok(Err(Failure::new("usage", message)));
        }
        if let Some(bad) = steps.iter().find(|step| step.2 as usize > LARGEST_PADDING) {
            let message = format!("Step {bad:?} asks for more padding than {LARGEST_PADDING} bytes.");
            return Ok(Err(Failure::new("domain", message)));
        }
        let others = self.talk.descriptors();
        self.talk.output.begin(id);
        // A stop may have come in the same read as this request: polling would not see it any more.
        let steps = if self.talk.attend()? == Attention::Nothing { steps } else { &[] };
        let mut ran = 0_u64;
        for step in steps {
            if readable(&others)? && self.talk.attend()? != Attention::Nothing {
                break;
            }
            let result = self.runner.step(
                &mut self.workloads[step.0 as usize],
                &self.settings[step.1 as usize],
                base,
                (first + ran, *step),
                &mut self.talk,
            );
            let (outcome, attention) = match result {
                Ok(ended) => ended,
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Err(error),
                Err(error) => {
                    // The program may still run: it must not live on into the next block.
                    sweep();
                    self.talk.output.flush()?;
                    return Ok(Err(system(&error)));
                }
            };
            ran += 1;
            if attention != Attention::Nothing || (stop_on_failure && outcome != Outcome::Ok) {
                break;
            }
        }
        self.talk.output.flush()?;
        Ok(match self.talk.output.spool_failure() {
            Some(failure) => Err(failure),
            None => Ok(json!({"ran": ran})),
        })
    }

    fn overhead(&mut self, runs: u32) -> Answer {
        let base = opened(self.base.as_ref())?;
        let (starter, stream, null) = self.runner.parts();
        let (bare, own) = overhead(runs, starter, base, stream, &mut self.talk, null)?;
        Ok(json!({"bare_ns": bare, "own_ns": own}))
    }
}

fn opened(base: Option<&Surroundings>) -> Result<&Surroundings, Failure> {
    base.ok_or_else(|| Failure::new("protocol", "The first request must be open."))
}
