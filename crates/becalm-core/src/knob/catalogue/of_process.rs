//! Knobs of the measured program only, whose settings end with it. Nothing of the machine is written.

use super::super::process::{has_slices, number, set_slice, Apply, ProcessSettings, Read};
use super::super::row::{Act, Knob};
use super::super::tree::Tree;

/// A knob that is set by a system call in the child, between clone and exec (`knob::process`).
#[derive(Debug)]
pub struct InChild(pub Read, pub Apply);

/// The knob of the slice, which is set in the same way if the kernel has slices.
#[derive(Debug)]
pub struct Slice;

/// A knob that the agent sets before each run.
#[derive(Debug)]
pub struct BeforeRun;

/// A knob that the program's environment sets.
#[derive(Debug)]
pub struct EnvironmentSize;

impl Act for InChild {
    fn on_process(&self, settings: &mut ProcessSettings, knob: &'static Knob, value: &str) -> Option<()> {
        settings.child.call(knob.name, self.1, (self.0)(&knob.domain, value)?);
        Some(())
    }
}

impl Act for Slice {
    fn state(&self, tree: &Tree, knob: &Knob) -> Result<String, String> {
        match tree.live && has_slices() == Some(false) {
            true => Err(knob.absent.to_owned()),
            false => Ok(String::new()),
        }
    }

    fn on_process(&self, settings: &mut ProcessSettings, knob: &'static Knob, value: &str) -> Option<()> {
        InChild(number, set_slice).on_process(settings, knob, value)
    }
}

impl Act for BeforeRun {
    fn on_process(&self, settings: &mut ProcessSettings, _knob: &'static Knob, value: &str) -> Option<()> {
        settings.cold = value == "on";
        Some(())
    }
}

impl Act for EnvironmentSize {
    fn on_process(&self, settings: &mut ProcessSettings, _knob: &'static Knob, value: &str) -> Option<()> {
        settings.fixed_environment = value == "fixed";
        Some(())
    }
}
