//! The owner of settings: a user, and the name that this user chose (`becalm apply --as NAME`), to
//! distinguish users who are all root.

use crate::failure::Failure;
use crate::held::Held;
use crate::journal::{self, Begin};
use crate::lock;

/// The longest name.
const MOST: usize = 64;

impl Held {
    /// Set the name that the user chose. Raise a refusal for one that could be misread in a sentence.
    pub fn set_name(&mut self, name: &str) -> Result<(), Failure> {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "._@-".contains(letter);
        if name.len() > MOST || !name.chars().all(plain) {
            let message = format!(
                "An owner is up to {MOST} letters, digits, dots, dashes, underscores and @, not {name:?}."
            );
            return Err(Failure::new("usage", message));
        }
        name.clone_into(&mut self.name);
        Ok(())
    }

    /// Return the user who applies settings now.
    pub fn owner(&self) -> String {
        let user = self.user();
        if self.name.is_empty() {
            user
        } else {
            format!("{user} as {}", self.name)
        }
    }

    /// Return who has applied the present settings; None when nothing is applied.
    pub fn owned(&self) -> Result<Option<Begin>, Failure> {
        let found = journal::load(&self.tree)
            .map_err(|error| Failure::new("system", format!("The journal cannot be read: {error}.")))?;
        Ok(found.map(|found| found.begin))
    }

    /// Raise a refusal if the present settings are somebody else's.
    pub fn check_owner(&self, whose: Option<&Begin>) -> Result<(), Failure> {
        let me = self.owner();
        match whose {
            Some(begin) if begin.user != me => {
                let what = if begin.title.is_empty() { "Settings" } else { &begin.title };
                let message = format!(
                    "{what}: set by {}, not by {me}. Nothing was changed. To restore it all the same: becalm reset",
                    begin.user
                );
                Err(Failure::new("refused", message))
            }
            _ => Ok(()),
        }
    }

    /// End the process that holds the machine; return what was ended, as a sentence.
    pub fn free(&self) -> Result<String, Failure> {
        if self.holds() {
            return Ok(String::new());
        }
        let ended = lock::free(&self.tree).map_err(|sentence| Failure::new("busy", sentence))?;
        Ok(match ended.as_slice() {
            [] => String::new(),
            ended => format!("Ended, since it held the machine: {}.", ended.join(", ")),
        })
    }
}
