//! A workload made ready: its programs found, its files checked, its environment laid out, once for all its runs.
//!
//! `session` makes one for each workload that is defined; `measure` runs it.

use std::ffi::CString;

use becalm_core::exec::program::{input_file, Environment, Program, Surroundings};
use becalm_core::types::Workload;

use crate::protocol::Failure;

/// A workload that can be started at once.
pub struct Ready {
    pub workload: Workload,
    pub program: Option<Program>,
    pub prepare: Option<Program>,
    pub cleanup: Option<Program>,
    pub environment: Environment,
    pub input: Option<CString>,
}

impl Ready {
    /// Find a workload's programs and files. Nothing is run.
    pub fn new(workload: Workload, base: &Surroundings) -> Result<Self, Failure> {
        let own = &workload.environment;
        let find = |command: &[_]| Program::find(command, workload.directory.as_ref(), own, base);
        // SAFETY: cannot fail.
        if workload.cold && unsafe { libc::geteuid() } != 0 {
            let message =
                "Dropping the page cache before each run (cold) needs root. Use --sudo, or leave it out.";
            return Err(Failure::new("unsupported", message));
        }
        let program = if workload.kernel.is_some() { None } else { Some(find(&workload.argv)?) };
        Ok(Self {
            program,
            prepare: workload.prepare.as_deref().map(find).transpose()?,
            cleanup: workload.cleanup.as_deref().map(find).transpose()?,
            environment: Environment::new(base, own)?,
            input: workload.input.as_ref().map(|path| input_file(path, base)).transpose()?,
            workload,
        })
    }

    /// Absolute path of the program, for the reply.
    pub fn path(&self) -> String {
        self.program.as_ref().map_or(String::new(), |program| program.path.to_string_lossy().into_owned())
    }
}
