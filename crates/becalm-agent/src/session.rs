//! The service of requests until the input closes: their order, dispatch and answers. `block` runs programs.

mod block;
mod starts;

use std::collections::BTreeMap;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::{env, fs};

use becalm_core::exec::poll::until_ready;
use becalm_core::exec::program::BaseEnvironment;
use becalm_core::exec::tree::sweep;
use becalm_core::exec::user::User;
use becalm_core::facts;
use becalm_core::facts::abilities::lend_root;
use becalm_core::knob::settings::Settings;
use becalm_core::load;
use becalm_core::run_columns;
use becalm_core::source::perf_events::Pair;
use becalm_core::stress::demand::Demand;
use becalm_core::time::AnyClock;
use becalm_core::types::{Text, Workload};
use serde_json::{json, Map, Value};

use crate::companion::Companion;
use crate::conversation::Conversation;
use crate::defined::Defined;
use crate::follow::{follow, Wish};
use crate::input::{Line, LONGEST};
use crate::machine::Machine;
use crate::measure::Runner;
use crate::observe::{Made, Observer};
use crate::protocol::{self, Action, Failure, Request};
use crate::read::Reading;
use crate::recording::record;
use crate::rights::is_lent;

/// A conversation with becalm.
pub struct Session {
    talk: Conversation,
    clock: AnyClock,
    runner: Runner,
    machine: Machine,
    user: Option<User>,
    base: Option<BaseEnvironment>,
    defined: Defined,
    reading: Reading,
    observer: Observer,
    /// Whether the client has stored everything and said goodbye.
    parted: bool,
    alongside: Option<Companion>,
}

type Answer = Result<Value, Failure>;

impl Session {
    /// Create a session. Workloads run as `user`, or as this process's own user; the pair of events is
    /// counted for them, and a group may have been created for them.
    pub fn new(
        talk: Conversation,
        (runner, pair, group): (Runner, Pair, Option<Made>),
        machine: Machine,
        user: Option<User>,
    ) -> Self {
        let counted = (runner.starters(), pair);
        let clock = runner.clock.clone();
        let observer = Observer::new(&machine.tree.path("/"), (&clock, runner.epoch_ns), counted, group);
        let reading = Reading::on(&clock);
        Self {
            talk,
            clock,
            runner,
            machine,
            user,
            base: None,
            defined: Defined::default(),
            reading,
            observer,
            alongside: None,
            parted: false,
        }
    }

    /// Greet and serve, until the input closes, `bye` arrives or a signal requests an end. No program runs
    /// when this returns.
    pub fn serve(&mut self) -> Result<(), String> {
        let result = self.greet().and_then(|()| self.requests());
        self.alongside = None;
        sweep();
        // A process may be forked that outlives this one, which requires a single thread.
        self.observer.rest();
        self.talk.output.end(self.parted);
        let open = match self.machine.release() {
            Ok(report) => report["unsettled"].as_array().cloned().unwrap_or_default(),
            Err(failure) => vec![failure.message.into()],
        };
        for sentence in open.iter().filter_map(Value::as_str) {
            eprintln!("becalm-agent: {sentence}");
        }
        // This comes last: the machine is restored whether anybody reads this or not.
        let result = result.and_then(|()| self.talk.output.outlet.finish());
        match result {
            // The reader of the events is gone, which is equivalent to a closed input.
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
        let mut greeting = json!({
            "becalm-agent": env!("CARGO_PKG_VERSION"),
            "protocol": protocol::VERSION,
            "pid": std::process::id(),
            "uid": uid,
            "user": user,
            "boot_id": boot_id.as_deref().map(str::trim),
            "columns": run_columns::NAMES,
            "load_columns": load::table::NAMES.as_slice(),
        });
        if self.machine.is_helped() {
            greeting["helper"] = true.into();
        }
        if self.clock.is_scripted() {
            greeting["scripted"] = true.into();
        }
        self.talk.output.send(&greeting)
    }

    fn requests(&mut self) -> io::Result<()> {
        loop {
            while let Some(line) = self.next_line() {
                let request = match line {
                    Line::Whole(line) => protocol::parse(&line),
                    Line::TooLong => Err((None, too_long())),
                };
                let request = match request {
                    Ok(request) => request,
                    Err((id, failure)) => {
                        self.talk.output.error(id, &failure)?;
                        continue;
                    }
                };
                if matches!(request.action, Action::Bye {}) {
                    self.parted = true;
                    return self.talk.output.done(request.id, json!({}));
                }
                let id = request.id;
                match self.answer(request)? {
                    Ok(results) => self.talk.output.done(id, results)?,
                    Err(failure) => self.talk.output.error(Some(id), &failure)?,
                }
                self.talk.look_for_signals()?;
                if self.talk.over() {
                    return Ok(());
                }
            }
            if self.talk.over() {
                return Ok(());
            }
            until_ready(&self.talk.interests())?;
            self.talk.look()?;
        }
    }

    /// Return the next request to serve; None while too many answers wait to be read.
    fn next_line(&mut self) -> Option<Line> {
        if self.talk.output.outlet.is_full() {
            return None;
        }
        self.talk.input.line()
    }

    fn answer(&mut self, request: Request) -> io::Result<Answer> {
        if !matches!(request.action, Action::Measure { .. } | Action::Stop {}) {
            // Applying settings may fork processes that outlive this one, which requires a single thread.
            self.observer.rest();
        }
        let between_blocks = matches!(
            request.action,
            Action::Define { .. } | Action::Measure { .. } | Action::Stop {} | Action::Alive {}
        );
        if !between_blocks {
            // All other requests see the machine without the settings of the last block.
            if let Err(failure) = self.machine.rest() {
                return Ok(Err(failure));
            }
        }
        Ok(match request.action {
            Action::Open { protocol, environment, directory, title, owner, reboot } => {
                self.open(protocol, environment, directory, (title, owner, reboot))
            }
            Action::Facts { root } => {
                if root.is_some() && is_lent() {
                    let message = "Through sudo facts are read of the running machine. Leave --sudo out for a directory.";
                    return Ok(Err(Failure::new("refused", message)));
                }
                let root = root.unwrap_or_else(|| PathBuf::from("/"));
                let mut facts = json!(facts::collect(&root));
                if self.machine.is_helped() {
                    lend_root(&mut facts["abilities"]);
                }
                if let Some(kept) = self.machine.kept().and_then(|found| found.kept) {
                    facts["kept"] = kept.into();
                }
                Ok(json!({"facts": facts}))
            }
            Action::Knobs {} => self.machine.knobs(),
            Action::Read { sources, changes, load, consumers } => {
                self.read(sources.as_deref(), changes, load, consumers)
            }
            Action::Follow { pid, started, period_ns, load, consumers } => {
                let wish = Wish { id: request.id, pid, started, period_ns, load, consumers };
                return follow(&wish, &self.machine.tree.path("/"), &mut self.reading, &mut self.talk);
            }
            Action::Record { recording, pid, started } => {
                let root = self.machine.tree.path("/");
                return record(request.id, &recording, (pid, started), &root, &mut self.talk);
            }
            Action::Define { workloads, settings, dangerous } => self.define(workloads, &settings, dangerous),
            Action::Effects { settings, dangerous } => {
                Settings::at_boot(&settings, &self.machine.tree, dangerous)
                    .map(|effects| json!({"effects": effects}))
                    .map_err(Failure::from)
            }
            Action::Plan { settings, dangerous } => self.machine.planned(&settings, dangerous),
            Action::Hold { settings, dangerous, keep } => self.machine.hold(&settings, dangerous, keep),
            Action::Release {} => self.machine.release(),
            Action::Restore { force, mine, entry } => self.machine.restore(force, mine, entry),
            Action::Status {} => self.machine.status(),
            Action::Boot { parameters, limit_s, dangerous } => {
                self.machine.boot(parameters, limit_s, dangerous)
            }
            Action::Reboot {} => self.machine.reboot(),
            Action::Healthy {} => self.machine.healthy(),
            Action::KeepBoot { parameters } => self.machine.keep_boot(&parameters),
            Action::Unboot { force } => self.machine.unboot(force),
            Action::Measure { first, steps, starts, stop_on_failure, load, recording, waits_by } => {
                let steps = (first, &steps[..], &starts[..]);
                return self.measure(request.id, steps, stop_on_failure, (load, recording, waits_by));
            }
            Action::Load { demand } => return self.load(&demand),
            Action::Unload {} => return self.unload(),
            Action::Overhead { runs } => self.overhead(runs),
            Action::Stop {} | Action::Alive {} | Action::Bye {} => Ok(json!({})),
        })
    }

    /// Generate load next to programs from now on.
    fn load(&mut self, demand: &Demand) -> io::Result<Answer> {
        if self.alongside.is_some() {
            return Ok(Err(Failure::new("usage", "Load is made already. End it first: unload.")));
        }
        Ok(Companion::load(demand, &mut self.talk)?.map(|load| {
            self.alongside = Some(load);
            json!({})
        }))
    }

    /// End the load and return its results.
    fn unload(&mut self) -> io::Result<Answer> {
        match self.alongside.take() {
            Some(load) => load.end(&mut self.talk),
            // A connection that was re-established leads to another agent.
            None => Ok(Err(Failure::new("system", "There is no load: the agent that made it has ended."))),
        }
    }

    fn read(&mut self, sources: Option<&[String]>, changes: bool, load: bool, consumers: u32) -> Answer {
        let root = self.machine.tree.path("/");
        let mut answer = match sources {
            None if load => json!({}),
            sources => self.reading.read(&root, sources, changes)?,
        };
        if let (true, Value::Object(fields)) = (load, &mut answer) {
            fields.extend(self.reading.load(&root));
        }
        if consumers > 0 {
            answer["consumers"] = self.reading.consumers(&root, consumers);
        }
        Ok(answer)
    }

    fn open(
        &mut self,
        version: u32,
        environment: Option<BTreeMap<String, Text>>,
        directory: Option<Text>,
        (title, owner, reboot): (String, String, bool),
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
        self.base = Some(BaseEnvironment::new(environment, directory, self.user.clone())?);
        self.machine.greet(title, &owner, reboot)?;
        Ok(json!({}))
    }

    fn define(
        &mut self,
        workloads: Vec<Workload>,
        settings: &[Option<Map<String, Value>>],
        dangerous: bool,
    ) -> Answer {
        let base = opened(self.base.as_ref())?;
        let around = (&mut self.machine, &mut self.runner, base);
        self.defined = Defined::read(&self.defined, workloads, settings, dangerous, around)?;
        self.machine.join_kept()?;
        Ok(json!({"programs": self.defined.programs(), "lasting": self.defined.lasting()}))
    }
}

fn opened(base: Option<&BaseEnvironment>) -> Result<&BaseEnvironment, Failure> {
    base.ok_or_else(|| Failure::new("protocol", "The first request must be open."))
}

fn too_long() -> Failure {
    let message = format!(
        "A request may be {} MiB long and this one was longer, so nothing was done. Define fewer programs, or measure \
         fewer runs, in one request.",
        LONGEST >> 20
    );
    Failure::new("protocol", message)
}
