//! The knob of swap areas, all of them on or off.

use super::super::draft::Draft;
use super::super::place::Place;
use super::super::row::{Act, Knob};
use super::super::swap;
use super::super::tree::Tree;

/// The knob of every swap area that is on.
#[derive(Debug)]
pub struct SwapAreas;

impl Act for SwapAreas {
    fn state(&self, tree: &Tree, knob: &Knob) -> Result<String, String> {
        match swap::areas(tree) {
            Ok(areas) if !areas.is_empty() => Ok("on".to_owned()),
            _ => Err(knob.absent.to_owned()),
        }
    }

    fn resolve(&self, draft: &mut Draft, knob: &'static Knob, value: &str) -> Result<(), String> {
        for (area, _) in swap::areas(draft.tree).map_err(|error| error.to_string())? {
            if value == swap::OFF {
                // The file was deleted while the area is on, or is in another mount namespace.
                if !draft.tree.exists(&area) {
                    return Err(format!(
                        "the swap area {area} has no file of that name any more, so it could not be switched on again"
                    ));
                }
                draft.push(knob.name, Place::Swap { area }, swap::OFF);
            }
        }
        Ok(())
    }
}
