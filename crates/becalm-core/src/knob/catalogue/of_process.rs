//! What is set for the measured program alone, and ends with it. Nothing of the machine is written.

use super::super::place::Place;
use super::super::process::{Apply, ProcessSettings, Read};
use super::super::row::{Act, Knob};

/// By system calls in the child, between clone and exec (`knob::process`).
#[derive(Debug)]
pub struct InChild(pub Read, pub Apply);

/// By the agent before each run.
#[derive(Debug)]
pub struct BeforeRun;

/// By the environment that the program gets.
#[derive(Debug)]
pub struct EnvironmentSize;

impl Act for InChild {
    fn owns(&self, _place: &Place) -> bool {
        false
    }

    fn on_process(&self, settings: &mut ProcessSettings, knob: &'static Knob, value: &str) -> Option<()> {
        settings.child.call(knob.name, self.1, (self.0)(&knob.domain, value)?);
        Some(())
    }
}

impl Act for BeforeRun {
    fn owns(&self, _place: &Place) -> bool {
        false
    }

    fn on_process(&self, settings: &mut ProcessSettings, _knob: &'static Knob, value: &str) -> Option<()> {
        settings.cold = value == "on";
        Some(())
    }
}

impl Act for EnvironmentSize {
    fn owns(&self, _place: &Place) -> bool {
        false
    }

    fn on_process(&self, settings: &mut ProcessSettings, _knob: &'static Knob, value: &str) -> Option<()> {
        settings.fixed_environment = value == "fixed";
        Some(())
    }
}
