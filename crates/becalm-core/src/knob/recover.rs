//! Putting back what an earlier becalm left on a machine, from its journal. The lock is held by whoever calls this.

use std::io;

use super::hold_error::HoldError;
use super::journal::{self, Recorded};
use super::restore::{restore, unsettled, Fate, Restored};
use super::tree::Tree;

/// What was found from an earlier becalm, and put back.
#[derive(Debug, Default)]
pub struct Recovered {
    pub places: Vec<Restored>,
    pub sentence: String,
}

/// Make the machine free for new settings. None when nothing was left on it.
///
/// Values that somebody else set meanwhile are theirs and become the machine's own; the sentence names them.
pub fn recover(tree: &Tree, now: u64) -> Result<Option<Recovered>, HoldError> {
    let Some(found) = journal::load(tree)? else { return Ok(None) };
    if let (Some(_), true) = (&found.kept, found.begin.boot == journal::boot_id(tree)) {
        let minutes = now.saturating_sub(found.begin.at) / 60;
        let title = if found.begin.title.is_empty() { "A profile".to_owned() } else { found.begin.title };
        return Err(HoldError::Kept { title, user: found.begin.user, minutes });
    }
    let mut recovered = clear(tree, now, false)?;
    if recovered.places.iter().any(|place| place.fate == Fate::Failed) {
        return Err(HoldError::Unsettled(unsettled(&recovered.places)));
    }
    let foreign = unsettled(&recovered.places);
    if !foreign.is_empty() {
        journal::remove(tree)?;
        recovered.sentence = format!("{} {}", recovered.sentence, foreign.join(" "));
    }
    Ok(Some(recovered))
}

/// Put back everything the journal says, whoever wrote it. `force`: also what somebody else changed.
///
/// The journal stays as long as something is not as it was, so that this can be done again.
pub fn clear(tree: &Tree, now: u64, force: bool) -> Result<Recovered, HoldError> {
    let Some(found) = journal::load(tree)? else { return Ok(Recovered::default()) };
    let who = if found.begin.title.is_empty() { "becalm".to_owned() } else { found.begin.title.clone() };
    clear_of(tree, &found, &who, now, force)
}

/// The same, with nothing in the sentence that is not for everybody.
pub fn clear_unnamed(tree: &Tree, now: u64) -> Result<Recovered, HoldError> {
    let Some(found) = journal::load(tree)? else { return Ok(Recovered::default()) };
    clear_of(tree, &found, "becalm", now, false)
}

fn clear_of(tree: &Tree, found: &Recorded, who: &str, now: u64, force: bool) -> Result<Recovered, HoldError> {
    // Values that a restart has wiped out must not be written to the machine that came up.
    if !found.begin.boot.is_empty() && found.begin.boot != journal::boot_id(tree) {
        journal::remove(tree)?;
        let sentence =
            format!("The machine was restarted since {who} changed it, which took its settings off.");
        return Ok(Recovered { places: Vec::new(), sentence });
    }
    let places = restore(tree, &found.entries, force);
    let open = unsettled(&places);
    if !found.damaged.is_empty() {
        return Err(damaged(tree, who, now, &found.damaged, &places));
    }
    let count = places.iter().filter(|place| place.fate == Fate::Restored).count();
    let sentence = match (open.is_empty(), places.is_empty()) {
        (true, true) => format!("{who} was ended before it had changed anything."),
        (true, false) => {
            format!("What {who} had left on was put back: {count} of {} places had to be.", places.len())
        }
        (false, _) if open.len() == 1 => format!("Of what {who} had left on, one place is not as it was."),
        (false, _) => format!("Of what {who} had left on, {} places are not as they were.", open.len()),
    };
    close(tree, found, &places)?;
    Ok(Recovered { sentence, places })
}

/// After restoring: remove the journal, or have in it only what is still to be put back.
pub fn close(tree: &Tree, found: &Recorded, places: &[Restored]) -> io::Result<()> {
    if unsettled(places).is_empty() {
        return journal::remove(tree);
    }
    // What has gone may come back with a CPU that is still offline.
    let done = |index: usize| {
        places
            .get(index)
            .is_some_and(|place| matches!(place.fate, Fate::Untouched | Fate::Restored | Fate::Returning))
    };
    journal::narrow(tree, found, |index| !done(index))
}

/// What can be said when lines of the journal are lost. It is put aside unless it is still needed.
fn damaged(tree: &Tree, who: &str, now: u64, lines: &[usize], places: &[Restored]) -> HoldError {
    let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
    let lines = lines.join(", ");
    let mut sentences = unsettled(places);
    if places.iter().any(|place| place.fate == Fate::Failed) {
        sentences.insert(0, format!("The journal of {who} is damaged in line {lines}."));
        return HoldError::Unsettled(sentences);
    }
    match journal::put_aside(tree, now) {
        Ok(aside) => {
            let aside = aside.display();
            sentences.insert(
                0,
                format!(
                    "The journal of {who} was damaged in line {lines}; what could be read of it was put back. \
                     It is now {aside}."
                ),
            );
            HoldError::Unsettled(sentences)
        }
        Err(error) => HoldError::System(error),
    }
}
