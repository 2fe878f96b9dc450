//! Checks of steps that start at the same time, before anything runs.

use becalm_core::quantity::Kind;
use becalm_core::types::{Start, Step};

use crate::defined::Defined;
use crate::machine::{needs_rights, Machine};
use crate::protocol::Failure;

/// The number of CPUs that a cpu_set_t can name.
const CPUS: u32 = libc::CPU_SETSIZE as u32;

/// Check that there is a start for each step or none at all, and that each pair of steps can start at the same time.
pub fn check(starts: &[Start], steps: &[Step], defined: &Defined, machine: &Machine) -> Result<(), Failure> {
    let usage = |message: String| Err(Failure::new("usage", message));
    if starts.is_empty() {
        return Ok(());
    }
    if starts.len() != steps.len() {
        return usage(format!("{} steps need as many starts, not {}.", steps.len(), starts.len()));
    }
    if let Some(Start(cpu, _)) = starts.iter().find(|start| start.cpu().is_some_and(|cpu| cpu >= CPUS)) {
        return usage(format!(
            "CPU {cpu} is beyond those that a program can be confined to, 0 to {}.",
            CPUS - 1
        ));
    }
    let mut later = false;
    for (index, start) in starts.iter().enumerate() {
        if later {
            let [one, other] = [index - 1, index];
            if start.1 {
                return usage("Two steps start at the same time, not three.".to_owned());
            }
            let cpus = [one, other].map(|index| starts[index].cpu());
            if cpus.iter().any(Option::is_none) || cpus[0] == cpus[1] {
                return usage("Steps that start at the same time need one CPU each.".to_owned());
            }
            together([&steps[one], &steps[other]], defined, machine)?;
        }
        later = start.1;
    }
    match later {
        true => usage("The last step cannot start at the same time as the next one.".to_owned()),
        false => Ok(()),
    }
}

/// Check that two defined steps need the same of the machine, and measure nothing that belongs to both.
fn together(steps: [&Step; 2], defined: &Defined, machine: &Machine) -> Result<(), Failure> {
    if let [Some((_, one)), Some((_, other))] = steps.map(|step| defined.of(step)) {
        if one.changes != other.changes {
            let message = "Steps that start at the same time need the same settings of the machine.";
            return Err(Failure::new("usage", message));
        }
    }
    for step in steps {
        let Some((workload, settings)) = defined.of(step) else { continue };
        let shared = workload.metrics.iter().filter_map(|metric| metric.quantity());
        if let Some(shared) =
            shared.into_iter().find(|each| matches!(each.kind, Kind::Energy(_) | Kind::Memory(_)))
        {
            let message = format!(
                "{} cannot be measured separately for programs that run at the same time.",
                shared.name
            );
            return Err(Failure::new("unsupported", message));
        }
        if !workload.neighbours.is_empty() {
            let message = "Programs that run at the same time have no other programs next to them.";
            return Err(Failure::new("unsupported", message));
        }
        if machine.is_helped() && needs_rights(settings) {
            let message =
                "Through becalm-helper, programs with priorities that need rights run one after the other.";
            return Err(Failure::new("unsupported", message));
        }
    }
    Ok(())
}
