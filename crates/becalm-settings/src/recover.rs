//! The restore of what an earlier becalm left on a machine, from its journal. The caller holds the lock.

use std::io;

use super::controller::EXPEDITED;
use super::entry::Entry;
use super::failure::Failure;
use super::journal::{self, Recorded};
use super::restore::{restore, unsettled, Fate, Restored};
use super::tree::Tree;

/// Settings that an earlier becalm left, and their restore.
#[derive(Debug, Default)]
pub struct Recovered {
    pub places: Vec<Restored>,
    pub sentence: String,
    /// The user who had applied the settings.
    pub owner: Option<String>,
}

/// Make the machine free for new settings. Return None when nothing was left on it.
///
/// Values that somebody else set meanwhile are not ours and become the machine's own; the sentence names
/// them.
pub fn recover(tree: &Tree, now: u64) -> Result<Option<Recovered>, Failure> {
    let Some(found) = journal::load(tree)? else { return Ok(None) };
    if let (Some(_), true) = (&found.kept, found.begin.boot == journal::boot_id(tree)) {
        let minutes = now.saturating_sub(found.begin.at) / 60;
        let title = if found.begin.title.is_empty() { "A profile".to_owned() } else { found.begin.title };
        let message = format!(
            "{title}, applied {minutes} min ago by {}, is still in force, and becalm does not apply settings on top of others. Restore them \
             first: becalm reset",
            found.begin.user
        );
        return Err(Failure::new("kept", message));
    }
    let mut recovered = clear(tree, now, false)?;
    if recovered.places.iter().any(|place| place.fate == Fate::Failed) {
        return Err(Failure::unsettled(&unsettled(&recovered.places)));
    }
    let foreign = unsettled(&recovered.places);
    if !foreign.is_empty() {
        journal::remove(tree)?;
        recovered.sentence = format!("{} {}", recovered.sentence, foreign.join(" "));
    }
    Ok(Some(recovered))
}

/// Restore everything in the journal, whoever wrote it. `force`: also what somebody else changed.
///
/// The journal stays as long as something is not restored, so that this can be repeated.
pub fn clear(tree: &Tree, now: u64, force: bool) -> Result<Recovered, Failure> {
    let Some(found) = journal::load(tree)? else { return Ok(Recovered::default()) };
    let what = if found.begin.title.is_empty() { "becalm" } else { &found.begin.title };
    let who = format!("{what} of {}", found.begin.user);
    clear_of(tree, &found, &who, now, force)
}

/// Do the same, with nothing in the sentence that not everybody may read.
pub fn clear_unnamed(tree: &Tree, now: u64) -> Result<Recovered, Failure> {
    let Some(found) = journal::load(tree)? else { return Ok(Recovered::default()) };
    clear_of(tree, &found, "becalm", now, false)
}

fn clear_of(tree: &Tree, found: &Recorded, who: &str, now: u64, force: bool) -> Result<Recovered, Failure> {
    // Values that a restart has wiped out must not be written to the machine that has started anew.
    if !found.begin.boot.is_empty() && found.begin.boot != journal::boot_id(tree) {
        journal::remove(tree)?;
        let sentence =
            format!("The machine was restarted since {who} changed it, which took its settings off.");
        return Ok(Recovered { sentence, ..Recovered::default() });
    }
    let places = restore(tree, &found.entries, force);
    let open = unsettled(&places);
    if !found.damaged.is_empty() {
        return Err(damaged(tree, who, now, &found.damaged, &places));
    }
    close(tree, found, &places)?;
    let haste = |(entry, place): (&Entry, &Restored)| place.fate == Fate::Restored && !entry.of_settings();
    let hasty = found.entries.iter().zip(&places).any(haste);
    let places = of_settings(&found.entries, places);
    let count = places.iter().filter(|place| place.fate == Fate::Restored).count();
    let mut sentences = match (open.len(), places.len()) {
        (0, 0) if hasty => Vec::new(),
        (0, 0) => vec![format!("{who} was ended before it had changed anything.")],
        (0, all) => {
            vec![format!("Restored what {who} had left applied: {count} of {all} values had changed.")]
        }
        (1, _) => vec![format!("Of what {who} had left applied, one value is not as it was.")],
        (open, _) => vec![format!("Of what {who} had left applied, {open} values are not as they were.")],
    };
    if hasty {
        sentences.push(format!(
            "{who} was ended while it moved programs between groups: the kernel, which was in haste for that, is not any \
             more ({EXPEDITED})."
        ));
    }
    Ok(Recovered { sentence: sentences.join(" "), places, owner: None })
}

/// Return the outcomes of places of settings, and of others that are not as they were.
pub fn of_settings(entries: &[Entry], places: Vec<Restored>) -> Vec<Restored> {
    let is_reported = |(entry, place): &(&Entry, Restored)| entry.of_settings() || !place.settled();
    entries.iter().zip(places).filter(is_reported).map(|(_, place)| place).collect()
}

/// Remove the journal after a restore, or leave in it only what is still to be restored.
pub fn close(tree: &Tree, found: &Recorded, places: &[Restored]) -> io::Result<()> {
    if unsettled(places).is_empty() {
        return journal::remove(tree);
    }
    // A place that has gone may come back with a CPU that is still offline.
    let done = |index: usize| {
        places
            .get(index)
            .is_some_and(|place| matches!(place.fate, Fate::Untouched | Fate::Restored | Fate::Returning))
    };
    journal::narrow(tree, found, |index| !done(index))
}

/// Report lost lines of the journal. It is moved aside unless it is still needed.
fn damaged(tree: &Tree, who: &str, now: u64, lines: &[usize], places: &[Restored]) -> Failure {
    let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
    let lines = lines.join(", ");
    let mut sentences = unsettled(places);
    if places.iter().any(|place| place.fate == Fate::Failed) {
        sentences.insert(0, format!("The journal of {who} is damaged in line {lines}."));
        return Failure::unsettled(&sentences);
    }
    match journal::put_aside(tree, now) {
        Ok(aside) => {
            let aside = aside.display();
            sentences.insert(
                0,
                format!(
                    "The journal of {who} was damaged in line {lines}; what could be read of it was restored. \
                     It is now {aside}."
                ),
            );
            Failure::unsettled(&sentences)
        }
        Err(error) => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::super::journal::{Begin, Journal};
    use super::super::place::Place;
    use super::*;

    const SWAPPINESS: &str = "/proc/sys/vm/swappiness";

    /// Make a machine that was left with these values of ours and holds `now`: (path, original, ours, now).
    fn left(name: &str, places: &[(&str, &str, &[&str], &str)]) -> (PathBuf, Tree) {
        let root = std::env::temp_dir().join(format!("becalm-recover-{name}-{}", std::process::id()));
        let tree = Tree::new(&root);
        let word = String::new;
        let begin =
            Begin { boot: word(), becalm: word(), user: "ada".to_owned(), pid: 1, title: word(), at: 0 };
        fs::create_dir_all(&root).unwrap();
        let mut journal = Journal::create(&tree, &begin).unwrap();
        for (index, (path, original, ours, now)) in places.iter().enumerate() {
            let file = root.join(&path[1..]);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, now).unwrap();
            let ours = ours.iter().map(|value| (*value).to_owned()).collect();
            let place = Place::File { path: (*path).to_owned() };
            let entry = Entry { ours, ..Entry::new("isolation", place, (*original).to_owned()) };
            journal.places([(index, &entry)]).unwrap();
        }
        journal.settled().unwrap();
        (root, tree)
    }

    /// Return the report, the places in it, and the value of `EXPEDITED` afterwards.
    fn cleared(
        name: &str,
        places: &[(&str, &str, &[&str], &str)],
        force: bool,
    ) -> (String, Vec<String>, String) {
        let (root, tree) = left(name, places);
        let done = clear(&tree, 0, force).unwrap();
        let hurry = fs::read_to_string(root.join(&EXPEDITED[1..])).unwrap().trim().to_owned();
        assert_eq!(journal::path(&tree).exists(), !unsettled(&done.places).is_empty());
        fs::remove_dir_all(root).unwrap();
        (done.sentence, done.places.into_iter().map(|place| place.place).collect(), hurry)
    }

    #[test]
    fn ended_haste_is_not_among_the_restored_places() {
        for (name, ours) in [("disowned", &[][..]), ("calm", &["1"][..])] {
            let (message, places, _) =
                cleared(name, &[(EXPEDITED, "0", ours, "0"), (SWAPPINESS, "60", &["10"], "10")], false);
            assert_eq!(
                message, "Restored what becalm of ada had left applied: 1 of 1 values had changed.",
                "{name}"
            );
            assert_eq!(places, [SWAPPINESS]);
        }
    }

    #[test]
    fn haste_left_by_a_killed_becalm_is_ended_and_reported() {
        let hasty = (EXPEDITED, "0", &["1"][..], "1");
        let (message, places, hurry) = cleared("hasty", &[hasty, (SWAPPINESS, "60", &["10"], "10")], false);
        assert!(
            message.starts_with(
                "Restored what becalm of ada had left applied: 1 of 1 values had changed. becalm of ada was"
            ),
            "{message}"
        );
        assert!(message.contains(EXPEDITED), "{message}");
        assert_eq!((places, hurry.as_str()), (vec![SWAPPINESS.to_owned()], "0"));
        let (message, places, hurry) = cleared("hasty-alone", &[hasty], false);
        assert!(
            message.starts_with("becalm of ada was ended while it moved programs between groups"),
            "{message}"
        );
        assert_eq!((places.len(), hurry.as_str()), (0, "0"));
    }

    #[test]
    fn haste_of_another_owner_is_reported_and_left() {
        let (message, places, hurry) = cleared("foreign", &[(EXPEDITED, "0", &[], "1")], false);
        assert_eq!(message, "Of what becalm of ada had left applied, one value is not as it was.");
        assert_eq!((places, hurry.as_str()), (vec![EXPEDITED.to_owned()], "1"));
    }
}
