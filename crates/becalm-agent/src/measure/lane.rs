//! The spawner, output and gauges of one of two programs that run at the same time.

use std::io;
use std::os::fd::OwnedFd;

use becalm_core::exec::prepare::Preparation;
use becalm_core::exec::program::BaseEnvironment;
use becalm_core::exec::spawner::{Child, Side, SpawnError, SpawnRequest, Spawner};
use becalm_core::types::Step;

use crate::gauges::Gauges;
use crate::ready::{Ready, Start};
use crate::streams::Streams;

/// The means to run one program. All programs that run alone use the first lane.
pub struct Lane {
    pub spawner: Spawner,
    pub streams: Streams,
    pub gauges: Gauges,
}

impl Lane {
    /// Create a lane that passes these descriptors to workloads with inherited output.
    pub fn new(
        spawner: Spawner,
        null: OwnedFd,
        (stdout, stderr): (Option<OwnedFd>, Option<OwnedFd>),
        scripted: bool,
    ) -> io::Result<Self> {
        let gauges = Gauges::new(spawner.pid(), scripted);
        Ok(Self { spawner, streams: Streams::new(null, stdout, stderr)?, gauges })
    }

    /// Create a lane with another spawner and the same descriptors.
    pub fn twin(&self, spawner: Spawner, scripted: bool) -> io::Result<Self> {
        let gauges = Gauges::new(spawner.pid(), scripted);
        Ok(Self { spawner, streams: self.streams.twin()?, gauges })
    }

    /// Start the program of a step on a side.
    pub fn start(
        &mut self,
        ready: &Ready,
        settings: &Preparation,
        base: &BaseEnvironment,
        (start, seq, step): (&Start, u64, Step),
        side: Side,
    ) -> Result<Child, SpawnError> {
        let null = self.streams.null();
        let (stdout, stderr) = self.streams.ends(ready.workload.output, ready.prints());
        let request = SpawnRequest {
            executable: ready.executable(start, step.2 as usize, Some(seq)),
            settings,
            user: base.user.as_ref(),
            directory: start.program.as_ref().map(|program| program.directory.as_c_str()),
            input: start.input.as_deref(),
            null,
            stdout,
            stderr,
        };
        self.spawner.start_on(&request, side)
    }
}
