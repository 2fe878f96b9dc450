//! The old values, on disk before the first write: what a killed becalm leaves to whoever cleans up after it.
//!
//! One file, to which records are appended, one in a line, each with its checksum. The records of what will
//! be changed are on the disk before it is changed. Restoring from the file is idempotent, so no progress is
//! recorded meanwhile. The values of a running machine do not outlive it, so records of another boot have
//! nothing to restore.

use std::collections::BTreeMap;
use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::checksum;
use super::entry::Entry;
use super::table;
use super::title;
use super::tree::Tree;

/// The directory of the journal. Everybody can read it, so that `becalm status` needs no rights: what may be
/// secret is in its `title`.
pub const DIRECTORY: &str = "/var/lib/becalm";
const JOURNAL: &str = "/var/lib/becalm/journal";
const FRESH: &str = "/var/lib/becalm/journal.new";
const NOTE: &str = "/var/lib/becalm/last-restore";

/// The user who applied settings, with the time and the reason.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begin {
    pub boot: String,
    pub becalm: String,
    pub user: String,
    pub pid: u32,
    /// The purpose. It is not in the file itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// Unix time, s.
    pub at: u64,
}

/// One record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
enum Record {
    Begin(Begin),
    /// A place will be changed. `side_effect`: by writes to other places. Numbered, so that a damaged line
    /// loses only itself.
    Place {
        index: usize,
        #[serde(flatten)]
        entry: Entry,
    },
    /// The place of this index gets, or has shown, this value of ours; `asked` is the value that the kernel
    /// made it of, if another.
    Ours {
        index: usize,
        value: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        asked: Option<String>,
    },
    /// All values announced so far have been written and read back.
    Settled {},
    /// The settings stay when becalm ends, until they are reset.
    Kept {
        settings: Map<String, Value>,
    },
}

/// The content of a journal.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    pub begin: Begin,
    pub entries: Vec<Entry>,
    pub kept: Option<Map<String, Value>>,
    /// Lines that cannot be read; the last line may be cut off.
    pub damaged: Vec<usize>,
}

impl Begin {
    /// Return the part that everybody may read.
    pub fn public(&self) -> Self {
        Self { title: String::new(), ..self.clone() }
    }
}

/// A journal that is being written.
pub struct Journal {
    file: File,
    /// Bytes of whole records. A full disk may accept a part of one, which is cut off again.
    length: u64,
}

/// Return the id of this boot; empty if the kernel does not report it.
pub fn boot_id(tree: &Tree) -> String {
    tree.read("/proc/sys/kernel/random/boot_id").unwrap_or_default()
}

/// Return the path of a machine's journal.
pub fn path(tree: &Tree) -> PathBuf {
    tree.path(JOURNAL)
}

impl Journal {
    /// Begin a journal. None may exist.
    pub fn create(tree: &Tree, begin: &Begin) -> io::Result<Self> {
        tree.ensure_directory(DIRECTORY)?;
        let file = tree.created(JOURNAL)?;
        let mut journal = Self { file, length: 0 };
        let begun = journal
            .file
            .set_permissions(Permissions::from_mode(0o644))
            .and_then(|()| journal.append(&[Record::Begin(begin.public())]))
            .and_then(|()| title::save(tree, JOURNAL, &begin.title))
            .and_then(|()| journal.sync(tree));
        if let Err(error) = begun {
            // An empty journal would be taken for a damaged one.
            title::remove(tree, JOURNAL);
            drop(tree.remove_file(JOURNAL));
            return Err(error);
        }
        Ok(journal)
    }

    /// Record places that are about to be changed, by number, and the values that they will hold. On the disk
    /// when this returns.
    pub fn places<'a>(&mut self, entries: impl IntoIterator<Item = (usize, &'a Entry)>) -> io::Result<()> {
        let mut records = Vec::new();
        for (index, entry) in entries {
            records.push(Record::Place { index, entry: entry.clone() });
            records.extend(entry.ours.iter().map(|value| {
                let asked = entry.made_of.get(value).cloned();
                Record::Ours { index, value: value.clone(), asked }
            }));
        }
        self.append(&records)?;
        self.file.sync_data()
    }

    /// Record another value of ours, and the value that it was made of, if another. Not forced to disk: it
    /// matters only while this kernel runs, which has the data.
    pub fn ours(&mut self, index: usize, value: &str, asked: Option<&str>) -> io::Result<()> {
        self.append(&[Record::Ours { index, value: value.to_owned(), asked: asked.map(str::to_owned) }])
    }

    /// Record that the values which the places hold now are known. Not forced to disk either.
    pub fn settled(&mut self) -> io::Result<()> {
        self.append(&[Record::Settled {}])
    }

    /// Record that the settings stay.
    pub fn keep(&mut self, settings: &Map<String, Value>) -> io::Result<()> {
        self.append(&[Record::Kept { settings: settings.clone() }])?;
        self.file.sync_data()
    }

    fn append(&mut self, records: &[Record]) -> io::Result<()> {
        #[cfg(any(test, feature = "unprivileged"))]
        crate::watched::about_to_append(self.length);
        let mut text = String::new();
        for record in records {
            text.push_str(&checksum::line(record)?);
        }
        let written = self.file.write_all(text.as_bytes());
        match written {
            Ok(()) => self.length += text.len() as u64,
            // A record after half a line would be unreadable like that.
            Err(_) => self.file.set_len(self.length)?,
        }
        written
    }

    fn sync(&self, tree: &Tree) -> io::Result<()> {
        self.file.sync_all()?;
        // The name of the new file must be on the disk too.
        tree.sync(DIRECTORY)
    }
}

/// Read the journal of a machine; None when there is none.
pub fn load(tree: &Tree) -> io::Result<Option<Recorded>> {
    match tree.own_bytes(JOURNAL) {
        Ok(bytes) => {
            let mut found = parse(&bytes);
            if found.begin.title.is_empty() {
                found.begin.title = title::load(tree, JOURNAL);
            }
            Ok(Some(found))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Remove the journal: everything is as it was.
pub fn remove(tree: &Tree) -> io::Result<()> {
    title::remove(tree, JOURNAL);
    tree.remove_file(JOURNAL)?;
    tree.sync(DIRECTORY)
}

/// Leave only these places in the journal: the others are restored, and later changes of them are not ours.
pub fn narrow(tree: &Tree, found: &Recorded, keep: impl Fn(usize) -> bool) -> io::Result<()> {
    let file = tree.emptied(FRESH, 0o644)?;
    let mut journal = Journal { file, length: 0 };
    let kept: Vec<&Entry> =
        found.entries.iter().enumerate().filter(|(index, _)| keep(*index)).map(|(_, entry)| entry).collect();
    let doubtful = kept.iter().any(|entry| entry.doubtful);
    let written = journal
        .append(&[Record::Begin(found.begin.public())])
        .and_then(|()| journal.places(kept.into_iter().enumerate()))
        .and_then(|()| if doubtful { Ok(()) } else { journal.settled() })
        .and_then(|()| journal.file.sync_all())
        .and_then(|()| tree.rename(FRESH, JOURNAL));
    if written.is_err() {
        drop(tree.remove_file(FRESH));
    }
    written
}

/// Leave a note of what happened while there was nobody to report it to.
pub fn note(tree: &Tree, sentence: &str) -> io::Result<()> {
    tree.emptied(NOTE, 0o644)?.write_all(sentence.as_bytes())
}

/// Remove the note: it was reported.
pub fn forget(tree: &Tree) {
    // A note that cannot be removed is reported again, which does no harm.
    drop(tree.remove_file(NOTE));
}

/// Return the note, if there is one.
pub fn noted(tree: &Tree) -> Option<String> {
    tree.read(NOTE).ok()
}

/// Move a damaged journal aside, where it can be examined. Return its new name.
pub fn put_aside(tree: &Tree, at: u64) -> io::Result<PathBuf> {
    let aside = format!("{JOURNAL}.damaged-{at}");
    title::remove(tree, JOURNAL);
    tree.rename(JOURNAL, &aside)?;
    Ok(tree.path(&aside))
}

/// Parse a journal.
pub fn parse(bytes: &[u8]) -> Recorded {
    let nobody = Begin { user: "somebody".to_owned(), ..Begin::default() };
    let mut found = Recorded { begin: nobody, entries: Vec::new(), kept: None, damaged: Vec::new() };
    let mut entries: BTreeMap<usize, Entry> = BTreeMap::new();
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    // A last line without its end was being written when the machine stopped: the change that it announces
    // was not begun.
    for (number, line) in bytes[..whole].split(|byte| *byte == b'\n').enumerate() {
        if line.is_empty() {
            continue;
        }
        match checksum::value(line) {
            Some(Record::Begin(begin)) => found.begin = begin,
            // A journal with other places is not becalm's, or another version's.
            Some(Record::Place { entry, .. }) if !table::permits(&entry.place) => {
                found.damaged.push(number + 1)
            }
            Some(Record::Place { index, entry }) => drop(entries.insert(index, entry)),
            Some(Record::Ours { index, value, asked }) => match entries.get_mut(&index) {
                Some(entry) => {
                    entry.record_ours(value, asked);
                    entry.doubtful = true;
                }
                None => found.damaged.push(number + 1),
            },
            Some(Record::Settled {}) => entries.values_mut().for_each(|entry| entry.doubtful = false),
            Some(Record::Kept { settings }) => found.kept = Some(settings),
            None => found.damaged.push(number + 1),
        }
    }
    found.entries = entries.into_values().collect();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::Place;

    fn lines() -> Vec<String> {
        let place = |index: usize| {
            let path = ["/proc/sys/vm/swappiness", "/sys/kernel/mm/ksm/run"][index].to_owned();
            Record::Place { index, entry: Entry::new("swappiness", Place::File { path }, "60".to_owned()) }
        };
        let ours = |index| Record::Ours { index, value: "1".to_owned(), asked: None };
        [place(0), ours(0), place(1), ours(1)].map(|record| checksum::line(&record).unwrap()).to_vec()
    }

    #[test]
    fn a_damaged_line_costs_only_itself() {
        let mut text = lines();
        text[0] = text[0].replace("60", "61");
        let found = parse(text.concat().as_bytes());
        assert_eq!(found.damaged, [1, 2], "the value of a place that is lost is lost too");
        assert_eq!(found.entries.len(), 1);
        assert_eq!(found.entries[0].ours, ["1"]);
    }

    #[test]
    fn a_place_that_no_setting_has_is_as_a_damaged_line() {
        let mut text = lines();
        for path in ["/etc/shadow", "/proc/sys/vm/../../etc/shadow", "/proc/sys/kernel/modprobe"] {
            let place = Record::Place {
                index: 0,
                entry: Entry::new("swappiness", Place::File { path: path.to_owned() }, "60".to_owned()),
            };
            text[0] = checksum::line(&place).unwrap();
            assert_eq!(parse(text.concat().as_bytes()).damaged, [1, 2], "{path}");
        }
    }

    #[test]
    fn a_full_disk_costs_the_half_line_and_no_whole_one() {
        let root = std::env::temp_dir().join(format!("becalm-journal-{}", std::process::id()));
        std::fs::create_dir_all(&root).unwrap();
        let tree = Tree::new(&root);
        let word = String::new;
        let begin = Begin { boot: word(), becalm: word(), user: word(), pid: 1, title: word(), at: 0 };
        let mut journal = Journal::create(&tree, &begin).unwrap();
        journal.ours(0, "1", None).unwrap();
        journal.settled().unwrap();
        let whole = std::fs::read(path(&tree)).unwrap();
        assert_eq!(journal.length, whole.len() as u64, "what a failed write cuts it back to");
        // The state after a disk accepted only a part of a line.
        File::options().append(true).open(path(&tree)).unwrap().write_all(b"1f").unwrap();
        journal.file.set_len(journal.length).unwrap();
        journal.ours(0, "2", None).unwrap();
        let after = std::fs::read(path(&tree)).unwrap();
        std::fs::remove_dir_all(&root).unwrap();
        assert!(after.starts_with(&whole) && after.len() > whole.len());
    }

    #[test]
    fn a_line_that_was_cut_off_announces_nothing() {
        let text = lines().concat();
        for length in 0..text.len() {
            let found = parse(&text.as_bytes()[..length]);
            assert!(found.damaged.is_empty(), "{length}");
            assert!(found.entries.len() <= 2);
        }
    }
}
