//! A prepared workload: its programs resolved, its files checked and its environment laid out, once for all
//! its runs.
//!
//! `session` prepares each workload that is defined, and `measure` runs it.

use std::cell::{Cell, OnceCell};
use std::collections::BTreeMap;
use std::ffi::CString;

use becalm_core::exec::program::{input_file, BaseEnvironment, Environment, Program, ProgramError};
use becalm_core::exec::spawner::Executable;
use becalm_core::knob::settings::Settings;
use becalm_core::metric::Metric;
use becalm_core::stress::room::Room;
use becalm_core::types::{Kernel, Output, Text, Workload};

use crate::copies::MOST;
use crate::gauges::check;
use crate::protocol::Failure;

/// A neighbour that can be started at once.
pub struct ReadyNeighbour {
    pub ready: Ready,
    pub settings: Settings,
}

/// The parts with which a run starts.
pub struct Start {
    /// The program; None for a built-in kernel.
    pub program: Option<Program>,
    pub input: Option<CString>,
    path: String,
}

/// The commands that run before and after each run.
pub struct Hooks {
    pub prepare: Option<Program>,
    pub cleanup: Option<Program>,
}

/// A workload that can be started at once, or once a command before it has created what is missing.
pub struct Ready {
    pub workload: Workload,
    start: OnceCell<Start>,
    hooks: OnceCell<Hooks>,
    pub setup: Option<Program>,
    /// Whether its setup command has succeeded.
    pub set_up: Cell<bool>,
    /// The whole workload, if commands before it may create what does not exist yet.
    whole: Option<Workload>,
    pub environment: Environment,
    pub metrics: Vec<Metric>,
    /// The neighbours that are kept running around each of its runs.
    pub neighbours: Vec<ReadyNeighbour>,
    /// Whether the memory over time of one of its runs was sent.
    pub drawn: Cell<bool>,
}

impl Ready {
    /// Resolve a workload's programs and files, without running anything.
    pub fn new(workload: Workload, base: &BaseEnvironment) -> Result<Self, Failure> {
        if workload.copies == 0
            || workload.copies > MOST
            || (workload.copies > 1 && workload.kernel.is_some())
        {
            let message = format!("A program is started in 1 to {MOST} copies, a built-in kernel in one.");
            return Err(Failure::new("usage", message));
        }
        if workload.copies > 1 {
            Room::here()
                .check_copies(workload.copies)
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
        let (start, hooks) = (OnceCell::new(), OnceCell::new());
        match find_start(&workload, base) {
            Err(error) if may_be_made(&error, &workload, workload.prepare.is_some()) => {}
            found => drop(start.set(found?)),
        }
        match find_hooks(&workload, base) {
            Err(error) if may_be_made(&error, &workload, false) => {}
            found => drop(hooks.set(found?)),
        }
        let setup = find_optional(workload.setup.as_deref(), &workload, base)?;
        let later = setup.is_some() || start.get().is_none();
        Ok(Self {
            start,
            hooks,
            setup,
            set_up: Cell::new(false),
            environment: Environment::new(base, &workload.environment)?,
            metrics,
            neighbours: Vec::new(),
            drawn: Cell::new(false),
            whole: later.then(|| workload.clone()),
            // The parts laid out above are not stored twice.
            workload: Workload { argv: Vec::new(), environment: BTreeMap::new(), ..workload },
        })
    }

    /// Return the commands before and after a run, which the setup command may have created.
    pub fn hooks(&self, base: &BaseEnvironment) -> Result<&Hooks, Failure> {
        self.later(&self.hooks, |whole| find_hooks(whole, base))
    }

    /// Return the program to start, which the commands before it may have built.
    pub fn start(&self, base: &BaseEnvironment) -> Result<&Start, Failure> {
        self.later(&self.start, |whole| find_start(whole, base))
    }

    /// Return the program, resolved at once or later; an error for a workload without one.
    fn later<'a, T>(
        &self,
        known: &'a OnceCell<T>,
        find: impl Fn(&Workload) -> Result<T, ProgramError>,
    ) -> Result<&'a T, Failure> {
        if let (None, Some(whole)) = (known.get(), &self.whole) {
            let made = find(whole).map_err(|error| {
                let failure = Failure::from(error);
                let message = format!("{} The commands before it have not made it.", failure.message);
                Failure::new(failure.kind, message)
            })?;
            drop(known.set(made));
        }
        known.get().ok_or_else(|| Failure::new("not_found", "What is to be run is not known."))
    }

    /// Return the program to start, with the padding in its environment (bytes) and the number of the run.
    pub fn executable<'a>(&'a self, start: &'a Start, padding: usize, run: Option<u64>) -> Executable<'a> {
        match &start.program {
            Some(program) => Executable::Program {
                path: &program.path,
                arguments: &program.arguments,
                environment: &self.environment,
                padding,
                run,
            },
            None => Executable::Kernel(self.workload.kernel.unwrap_or(Kernel::Add), self.workload.iterations),
        }
    }

    /// Return the name of the workload for sentences.
    pub fn called(&self) -> String {
        if self.workload.kernel.is_some() {
            return "a built-in kernel".to_owned();
        }
        self.path()
    }

    /// Return whether commands run before or after the program.
    pub fn has_commands(&self) -> bool {
        self.setup.is_some() || self.workload.prepare.is_some() || self.workload.cleanup.is_some()
    }

    /// Return the identity of a workload whose setup command has succeeded. A search defines the same
    /// workload again and again with other settings, and need not set it up again.
    pub fn was_set_up(&self) -> Option<Workload> {
        self.identity().filter(|_| self.set_up.get())
    }

    /// Return the identity of a workload with a setup command: all but its time limit.
    fn identity(&self) -> Option<Workload> {
        self.setup.as_ref()?;
        Some(Workload { timeout_ns: None, ..self.whole.clone()? })
    }

    /// Mark the workload as set up if it is one of these.
    pub fn recognise(&self, done: &[Workload]) {
        self.set_up.set(self.identity().is_some_and(|own| done.contains(&own)));
    }

    /// Return whether metrics are read from the output.
    pub fn prints(&self) -> bool {
        prints(&self.metrics)
    }

    /// Return the absolute path of the program for the reply, or its name if it does not exist yet.
    pub fn path(&self) -> String {
        let name = || self.whole.as_ref()?.argv.first()?.bytes().ok();
        let text = || name().map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        self.start.get().map(|start| start.path.clone()).or_else(text).unwrap_or_default()
    }
}

fn find_optional(
    command: Option<&[Text]>,
    workload: &Workload,
    base: &BaseEnvironment,
) -> Result<Option<Program>, ProgramError> {
    let find = |words| Program::find(words, workload.directory.as_ref(), &workload.environment, base);
    command.map(find).transpose()
}

fn find_start(workload: &Workload, base: &BaseEnvironment) -> Result<Start, ProgramError> {
    let command = workload.kernel.is_none().then_some(workload.argv.as_slice());
    let program = find_optional(command, workload, base)?;
    Ok(Start {
        // Replies name the program itself and not the one that starts its copies.
        path: program.as_ref().map_or(String::new(), |found| found.path.to_string_lossy().into_owned()),
        program: program.map(|found| copied(found, workload.copies)),
        input: workload.input.as_ref().map(|path| input_file(path, base)).transpose()?,
    })
}

fn find_hooks(workload: &Workload, base: &BaseEnvironment) -> Result<Hooks, ProgramError> {
    Ok(Hooks {
        prepare: find_optional(workload.prepare.as_deref(), workload, base)?,
        cleanup: find_optional(workload.cleanup.as_deref(), workload, base)?,
    })
}

/// Return whether a missing file may exist once the commands before the program have run. A name that is not
/// in PATH is rather a mistake if there is no setup command.
fn may_be_made(error: &ProgramError, workload: &Workload, prepared: bool) -> bool {
    match error {
        ProgramError::NotInPath(..) => workload.setup.is_some(),
        ProgramError::NotFound(_) | ProgramError::Input { .. } => workload.setup.is_some() || prepared,
        _ => false,
    }
}

fn prints(metrics: &[Metric]) -> bool {
    metrics.iter().any(|metric| metric.quantity().is_none())
}

/// Wrap several copies into one program: this executable, which starts them (`copies`). The child refers to
/// it as its own executable until exec, whoever the user is and wherever the file is.
fn copied(program: Program, copies: u32) -> Program {
    match copies {
        1 => program,
        _ => {
            let count = CString::new(copies.to_string()).unwrap_or_default();
            program.behind(c"/proc/self/exe".into(), [c"becalm-agent".into(), c"copies".into(), count])
        }
    }
}
