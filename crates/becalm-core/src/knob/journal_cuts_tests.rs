//! Tests that a machine is restored from every journal that ends anywhere: what a killed becalm has written
//! up to any byte, and journals that earlier versions have written.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{json, Map, Value};

use super::hold::Hold;
use super::journal::{self, Begin};
use super::played;
use super::recover::clear;
use super::settings::Settings;
use super::tree::Tree;
use super::watched::watch;

type Files = BTreeMap<PathBuf, String>;

/// A machine at a moment, and the length of the journal at that time.
struct Moment {
    written: usize,
    files: Files,
}

thread_local! {
    /// The machine before each record of the journal, and the recorded moments.
    static RECORDED: RefCell<Option<(PathBuf, Vec<Moment>)>> = const { RefCell::new(None) };
}

/// Record a moment; called by a journal before it gets another record.
fn about_to_append(written: u64) {
    RECORDED.with_borrow_mut(|recorded| {
        if let Some((root, moments)) = recorded {
            let files = files_of(root);
            moments.push(Moment { written: written as usize, files });
        }
    });
}

/// Return settings of every kind, in sessions that switch between them.
fn sessions() -> Vec<(&'static str, Vec<Value>)> {
    let files = json!({"swappiness": 10, "governor": "performance", "frequency_floor": "max", "watchdogs": "off",
        "transparent_hugepages": "never", "stat_interval": 20, "cpu_dma_latency": 0, "smt": "off"});
    let groups = json!({"isolation": "last-core", "swap": "off", "swappiness": 20});
    let interrupts = json!({"irq_affinity": "away", "workqueue_cpus": "away"});
    let cpus = json!({"online_cpus": "first", "swappiness": 30});
    vec![
        ("files", vec![files.clone()]),
        ("groups", vec![groups.clone()]),
        ("interrupts", vec![interrupts.clone()]),
        ("cpus", vec![cpus.clone()]),
        ("switching", vec![files, groups, json!({}), cpus]),
    ]
}

/// Return the distance between the bytes at which the machine is restored, too; the journal is cut at each.
/// `make test-long` restores at each byte.
fn stride() -> usize {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    if cases.unwrap_or(64) > 64 {
        1
    } else {
        16
    }
}

/// A machine in a directory, in memory if possible: it is created and restored thousands of times.
struct Laptop {
    root: PathBuf,
    tree: Tree,
    original: Files,
}

impl Laptop {
    fn new(name: &str) -> Self {
        let shelf = Path::new("/dev/shm");
        let shelf = if shelf.is_dir() { shelf.to_owned() } else { std::env::temp_dir() };
        let root = shelf.join(format!("becalm-cuts-{name}-{}", std::process::id()));
        let text = include_str!("../../../../fuzz/machines/debian.json");
        let files: BTreeMap<String, String> = serde_json::from_str(text).unwrap();
        for (path, text) in files {
            write(&root.join(path), &text);
        }
        fs::create_dir_all(root.join("run/becalm")).unwrap();
        let original = files_of(&root);
        Self { tree: played::machine(&root), root, original }
    }

    fn begin(&self) -> Begin {
        let (boot, word) = (journal::boot_id(&self.tree), String::new);
        Begin { boot, becalm: word(), user: word(), pid: 1, title: word(), at: 0 }
    }

    /// Change the original files to these.
    fn become_as(&self, files: &Files) {
        for path in self.original.keys().filter(|path| !files.contains_key(*path)) {
            fs::remove_file(self.root.join(path)).unwrap();
        }
        for (path, text) in files.iter().filter(|(path, text)| self.original.get(*path) != Some(text)) {
            write(&self.root.join(path), text);
        }
    }

    /// Recover from a journal.
    fn recover(&self, text: &[u8]) {
        let path = journal::path(&self.tree);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        let done = clear(&self.tree, 0, false).unwrap();
        assert!(done.places.iter().all(|place| place.settled()), "{:?}", done.places);
        assert!(!path.exists(), "the journal is done with");
    }

    /// Return which of some files, or of all, are not as they were.
    fn different(&self, some: Option<&BTreeSet<PathBuf>>) -> Vec<(PathBuf, Option<String>, Option<String>)> {
        let now = match some {
            Some(paths) => paths
                .iter()
                .filter_map(|path| Some((path.clone(), text_of(&self.root.join(path))?)))
                .collect(),
            None => files_of(&self.root),
        };
        let names: BTreeSet<&PathBuf> = match some {
            Some(paths) => paths.iter().collect(),
            None => self.original.keys().chain(now.keys()).collect(),
        };
        let pair = |path: &PathBuf| (path.clone(), self.original.get(path).cloned(), now.get(path).cloned());
        names.into_iter().map(pair).filter(|(_, before, after)| before != after).collect()
    }

    /// Apply settings one after the other, with the journal left as it is at the end.
    fn hold(&self, wanted: &[Value]) -> (Vec<u8>, Vec<Moment>) {
        RECORDED.set(Some((self.root.clone(), Vec::new())));
        watch(Some(about_to_append));
        let (mut hold, _) = Hold::open(&self.tree, &self.begin()).unwrap();
        for given in wanted {
            let given: &Map<String, Value> = given.as_object().unwrap();
            let settings = Settings::read(given, &self.tree, true).unwrap();
            hold.switch(&settings.changes).unwrap();
        }
        let text = fs::read(journal::path(&self.tree)).unwrap();
        about_to_append(text.len() as u64);
        let (_, moments) = RECORDED.take().unwrap();
        watch(None);
        hold.release(false);
        assert_eq!(self.different(None), []);
        (text, moments)
    }
}

impl Drop for Laptop {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.root));
    }
}

/// Return the text of all files except becalm's own, without the white space around it.
fn files_of(root: &Path) -> Files {
    fn collect(top: &Path, directory: &Path, found: &mut Files) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(top).unwrap().to_owned();
            if name.starts_with("run/becalm") || name.starts_with("var/lib/becalm") {
                continue;
            }
            if path.is_dir() {
                collect(top, &path, found);
            } else {
                found.extend(text_of(&path).map(|text| (name, text)));
            }
        }
    }
    let mut found = Files::new();
    collect(root, root, &mut found);
    found
}

fn text_of(path: &Path) -> Option<String> {
    let bytes = fs::read(path).ok()?;
    Some(bytes.into_iter().map(char::from).collect::<String>().trim().to_owned())
}

/// Write a text of which each character is a byte.
fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text.chars().map(|character| character as u8).collect::<Vec<u8>>()).unwrap();
}

#[test]
fn the_machine_comes_back_from_a_journal_that_was_cut_at_any_byte() {
    for (name, wanted) in sessions() {
        let laptop = Laptop::new(name);
        let (text, moments) = laptop.hold(&wanted);
        assert!(moments.len() > 3, "{name}: {} records", moments.len());
        let changed = |files: &Files| {
            let all: BTreeSet<&PathBuf> = files.keys().chain(laptop.original.keys()).collect();
            let differs = |path: &&PathBuf| files.get(*path) != laptop.original.get(*path);
            all.into_iter().filter(differs).cloned().collect::<BTreeSet<PathBuf>>()
        };
        let touched: BTreeSet<PathBuf> = moments.iter().flat_map(|moment| changed(&moment.files)).collect();
        assert!(!touched.is_empty(), "{name}: settings were on");
        for (index, Moment { written, files }) in moments.iter().enumerate() {
            // The machine stays as it was when the record began until the record's last byte; then the
            // announced change begins.
            let end = moments.get(index + 1).map_or(text.len(), |next| next.written);
            let whole = journal::parse(&text[..*written]);
            for cut in *written..=end {
                if !text[*written..cut].contains(&b'\n') {
                    assert_eq!(journal::parse(&text[..cut]), whole, "{name}: byte {cut}");
                }
                if (cut - written) % stride() != 0 && cut != end {
                    continue;
                }
                laptop.become_as(files);
                laptop.recover(&text[..cut]);
                // Checking all files takes longest, and half a line names no path.
                let some = (cut != end).then_some(&touched);
                assert_eq!(laptop.different(some), [], "{name}: byte {cut} of {}", text.len());
            }
        }
    }
}

/// Return the journals of a version, by the name of their session.
fn earlier() -> Vec<(String, Vec<u8>)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/journals");
    let mut found: Vec<(String, Vec<u8>)> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.file_stem().unwrap().to_string_lossy().into_owned(), fs::read(&path).unwrap()))
        .collect();
    found.sort();
    found
}

#[test]
fn journals_of_earlier_versions_are_restored() {
    let journals = earlier();
    assert!(journals.len() >= sessions().len());
    for (name, text) in journals {
        let mut laptop = Laptop::new(&format!("earlier-{name}"));
        // This leaves out the kernel's reactions to a value: it is not known which of them came before the
        // cut.
        laptop.tree = Tree::new(&laptop.root);
        let lines: Vec<usize> = (0..text.len()).filter(|at| text[*at] == b'\n').map(|at| at + 1).collect();
        for cut in lines {
            let found = journal::parse(&text[..cut]);
            assert!(found.damaged.is_empty(), "{name}: {:?}", found.damaged);
            for entry in &found.entries {
                for value in &entry.ours {
                    // A place that this machine does not have fails, and stays as it was.
                    drop(entry.place.write(&laptop.tree, value));
                }
            }
            laptop.recover(&text[..cut]);
            assert_eq!(laptop.different(None), [], "{name}: byte {cut}");
        }
    }
}

#[test]
fn each_kind_of_record_that_is_written_today_is_among_the_earlier_journals() {
    let shape = |text: &[u8]| -> Vec<String> {
        let text = String::from_utf8_lossy(text);
        let mut kinds: Vec<String> = text
            .lines()
            .map(|line| {
                let (_, record) = line.split_at(line.find('{').unwrap());
                let record: Value = serde_json::from_str(record).unwrap();
                let keys =
                    |value: &Value| value.as_object().map(|map| map.keys().cloned().collect::<Vec<_>>());
                format!("{} {:?} {:?}", record["record"], keys(&record), keys(&record["place"]))
            })
            .collect();
        kinds.sort();
        kinds.dedup();
        kinds
    };
    let known: Vec<String> = earlier().iter().flat_map(|(_, text)| shape(text)).collect();
    for (name, wanted) in sessions() {
        let laptop = Laptop::new(&format!("today-{name}"));
        let (text, _) = laptop.hold(&wanted);
        if let Some(place) = std::env::var_os("BECALM_KEEP_JOURNALS") {
            fs::write(Path::new(&place).join(name).with_extension("jsonl"), &text).unwrap();
        }
        for kind in shape(&text) {
            assert!(known.contains(&kind), "{kind}: add a journal with it to tests/vectors/journals");
        }
    }
}
