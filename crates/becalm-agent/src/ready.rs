//! A workload made ready: its programs found, its files checked, its environment laid out, once for all its runs.
//!
//! `session` makes one for each workload that is defined; `measure` runs it.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::CString;

use becalm_core::exec::program::{input_file, BaseEnvironment, Environment, Program};
use becalm_core::exec::spawner::Executable;
use becalm_core::knob::settings::Settings;
use becalm_core::metric::Metric;
use becalm_core::stress::room::Room;
use becalm_core::types::{Kernel, Output, Workload};

use crate::copies::MOST;
use crate::gauges::check;
use crate::protocol::Failure;

/// A neighbour that can be started at once.
pub struct ReadyNeighbour {
    pub ready: Ready,
    pub settings: Settings,
}

/// A workload that can be started at once.
pub struct Ready {
    pub workload: Workload,
    path: String,
    pub program: Option<Program>,
    pub prepare: Option<Program>,
    pub setup: Option<Program>,
    /// Whether its setup command has ended well.
    pub set_up: Cell<bool>,
    /// Of one with a setup command: what it is, time limits aside.
    identity: Option<Workload>,
    pub cleanup: Option<Program>,
    pub environment: Environment,
    pub input: Option<CString>,
    pub metrics: Vec<Metric>,
    /// Kept running around each of its runs.
    pub neighbours: Vec<ReadyNeighbour>,
    /// Whether its memory over time was told of one run.
    pub drawn: Cell<bool>,
}

impl Ready {
    /// Find a workload's programs and files. Nothing is run.
    pub fn new(workload: Workload, base: &BaseEnvironment) -> Result<Self, Failure> {
        let own = &workload.environment;
        let find = |command: &[_]| Program::find(command, workload.directory.as_ref(), own, base);
        // SAFETY: cannot fail.
        if workload.cold && unsafe { libc::geteuid() } != 0 {
            let message =
                "Dropping the page cache before each run (cold) needs root. Use --sudo, or leave it out.";
            return Err(Failure::new("unsupported", message));
        }
        if workload.copies == 0
            || workload.copies > MOST
            || (workload.copies > 1 && workload.kernel.is_some())
        {
            let message = format!("A program is started in 1 to {MOST} copies, a built-in kernel in one.");
            return Err(Failure::new("usage", message));
        }
        if workload.copies > 1 {
            Room::here()
                .check(f64::from(workload.copies), "copies at once")
                .map_err(|error| Failure::new(error.kind(), error.to_string()))?;
        }
        let metrics = workload.metrics.iter().map(Metric::new).collect::<Result<Vec<_>, _>>();
        let metrics = metrics.map_err(|error| Failure::new("domain", error.to_string()))?;
        check(&metrics)?;
        if workload.output == Output::Inherit && prints(&metrics) {
            let message =
                "A metric is read from what the program prints, and --output inherit passes that on unread. \
                           Leave it out, or use --output keep.";
            return Err(Failure::new("usage", message));
        }
        let program = if workload.kernel.is_some() { None } else { Some(find(&workload.argv)?) };
        let identity = workload.setup.as_ref().map(|_| Workload { timeout_ns: None, ..workload.clone() });
        // For replies: the program itself, not what starts its copies.
        let path = program.as_ref().map_or(String::new(), |found| found.path.to_string_lossy().into_owned());
        Ok(Self {
            program: program.map(|found| copied(found, workload.copies)),
            path,
            prepare: workload.prepare.as_deref().map(find).transpose()?,
            setup: workload.setup.as_deref().map(find).transpose()?,
            set_up: Cell::new(false),
            identity,
            cleanup: workload.cleanup.as_deref().map(find).transpose()?,
            environment: Environment::new(base, own)?,
            input: workload.input.as_ref().map(|path| input_file(path, base)).transpose()?,
            metrics,
            neighbours: Vec::new(),
            drawn: Cell::new(false),
            // What is laid out above is not needed twice.
            workload: Workload { argv: Vec::new(), environment: BTreeMap::new(), ..workload },
        })
    }

    /// What is started, with so many bytes of padding in the environment.
    pub fn executable(&self, padding: usize) -> Executable<'_> {
        match &self.program {
            Some(program) => Executable::Program {
                path: &program.path,
                arguments: &program.arguments,
                environment: &self.environment,
                padding,
            },
            None => Executable::Kernel(self.workload.kernel.unwrap_or(Kernel::Add), self.workload.iterations),
        }
    }

    /// In sentences.
    pub fn called(&self) -> String {
        if self.program.is_some() {
            return self.path();
        }
        "a built-in kernel".to_owned()
    }

    /// Whether commands of its own run before or after it.
    pub fn has_commands(&self) -> bool {
        self.setup.is_some() || self.prepare.is_some() || self.cleanup.is_some()
    }

    /// What it is, once its setup command has ended well: a search makes known again and again what it runs, with
    /// other settings, and it need not be set up again.
    pub fn was_set_up(&self) -> Option<&Workload> {
        self.identity.as_ref().filter(|_| self.set_up.get())
    }

    /// Take it for set up, where it is one of these.
    pub fn recognise(&self, done: &[Workload]) {
        self.set_up.set(self.identity.as_ref().is_some_and(|own| done.contains(own)));
    }

    /// Whether numbers are looked for in what it prints.
    pub fn prints(&self) -> bool {
        prints(&self.metrics)
    }

    /// Absolute path of the program, for the reply.
    pub fn path(&self) -> String {
        self.path.clone()
    }
}

fn prints(metrics: &[Metric]) -> bool {
    metrics.iter().any(|metric| metric.quantity().is_none())
}

/// Several copies are one program: this executable, which starts them (`copies`). The child finds it as its own until
/// it becomes it, whoever the user is and wherever it lies.
fn copied(program: Program, copies: u32) -> Program {
    match copies {
        1 => program,
        _ => {
            let count = CString::new(copies.to_string()).unwrap_or_default();
            program.behind(c"/proc/self/exe".into(), [c"becalm-agent".into(), c"copies".into(), count])
        }
    }
}
