//! Settings of the measured program only, which end with it. Nothing of the machine is written.

use super::super::process::{has_slices, number, set_slice, Apply, ProcessSettings, Read};
use super::super::row::{Act, Knob};
use super::super::tree::Tree;

/// By system calls in the child, between clone and exec (`knob::process`).
#[derive(Debug)]
pub struct InChild(pub Read, pub Apply);

/// The slice: so, too, where the kernel knows of any.
#[derive(Debug)]
pub struct Slice;

/// By the agent before each run.
#[derive(Debug)]
pub struct BeforeRun;

/// By the environment that the program gets.
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
