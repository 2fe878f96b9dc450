//! A workload made ready: its programs found, its files checked, its environment laid out, once for all its runs.
//!
//! `session` makes one for each workload that is defined; `measure` runs it.

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

/// The state that a run starts from.
pub struct Start {
    /// None for a built-in kernel.
    pub program: Option<Program>,
    pub input: Option<CString>,
    path: String,
}

/// Commands that run before and after each run.
pub struct Hooks {
    pub prepare: Option<Program>,
    pub cleanup: Option<Program>,
}

/// A workload that can be started at once, or once a command before it has made what it lacks.
pub struct Ready {
    pub workload: Workload,
    start: OnceCell<Start>,
    hooks: OnceCell<Hooks>,
    pub setup: Option<Program>,
    /// Whether its setup command has ended well.
    pub set_up: Cell<bool>,
    /// The whole workload, where commands before it may make what is not there yet.
    whole: Option<Workload>,
    pub environment: Environment,
    pub metrics: Vec<Metric>,
    /// Kept running around each of its runs.
    pub neighbours: Vec<ReadyNeighbour>,
    /// Whether its memory over time was told of one run.
    pub drawn: Cell<bool>,
}

impl Ready {
    /// Find a workload's programs and files. Nothing is run.
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
            // What is laid out above is not needed twice.
            workload: Workload { argv: Vec::new(), environment: BTreeMap::new(), ..workload },
        })
    }

    /// The commands before and after a run, which the setup command may have made.
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

    /// In sentences.
    pub fn called(&self) -> String {
        if self.workload.kernel.is_some() {
            return "a built-in kernel".to_owned();
        }
        self.path()
    }

    /// Whether commands of its own run before or after it.
    pub fn has_commands(&self) -> bool {
        self.setup.is_some() || self.workload.prepare.is_some() || self.workload.cleanup.is_some()
    }

    /// What it is, once its setup command has ended well: a search makes known again and again what it runs, with
    /// other settings, and it need not be set up again.
    pub fn was_set_up(&self) -> Option<Workload> {
        self.identity().filter(|_| self.set_up.get())
    }

    /// Of one with a setup command: what it is, time limits aside.
    fn identity(&self) -> Option<Workload> {
        self.setup.as_ref()?;
        Some(Workload { timeout_ns: None, ..self.whole.clone()? })
    }

    /// Take it for set up, where it is one of these.
    pub fn recognise(&self, done: &[Workload]) {
        self.set_up.set(self.identity().is_some_and(|own| done.contains(&own)));
    }

    /// Whether numbers are looked for in what it prints.
    pub fn prints(&self) -> bool {
        prints(&self.metrics)
    }

    /// Absolute path of the program, for the reply; of one that is not there yet, its name.
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
        // For replies: the program itself, not what starts its copies.
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

/// Whether what is missing may be there once the commands before it have run. A name without a path that is in no
/// directory of PATH is rather a mistake where nothing is set up.
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
