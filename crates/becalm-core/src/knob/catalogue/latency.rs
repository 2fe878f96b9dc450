//! The knob of the bound on wake-up latency.

use super::super::draft::Draft;
use super::super::place::Place;
use super::super::row::{Act, Knob};
use super::super::tree::Tree;

/// The knob of `/dev/cpu_dma_latency`, which holds as long as somebody has it open.
#[derive(Debug)]
pub struct Latency;

impl Act for Latency {
    fn state(&self, tree: &Tree, knob: &Knob) -> Result<String, String> {
        Place::Latency.read(tree).map_err(|_| knob.absent.to_owned())
    }

    fn resolve(&self, draft: &mut Draft, knob: &'static Knob, value: &str) -> Result<(), String> {
        draft.push(knob.name, Place::Latency, value);
        Ok(())
    }
}
