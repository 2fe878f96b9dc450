//! Directories that look like a machine's `/`, of which an input replaces a file.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::watch::{Changes, Watch};

/// A machine in a directory of its own, and what belongs into its files.
pub struct Machine {
    root: PathBuf,
    files: Vec<(PathBuf, Vec<u8>)>,
    /// Where in `files` a path is.
    places: HashMap<PathBuf, usize>,
    /// Tells what is not as it was written; none before the first `renew`.
    watch: RefCell<Option<Watch>>,
}

/// Where the machines of a process are. The runner removes it; what cargo-fuzz leaves is removed by the next start.
pub fn scratch(pid: u32) -> PathBuf {
    shelf().join(format!("becalm-fuzz-{pid}"))
}

/// In memory where that is to be had: thousands of files a second.
fn shelf() -> PathBuf {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        memory.to_owned()
    } else {
        std::env::temp_dir()
    }
}

/// Remove what processes that are no more have left.
pub fn sweep() {
    for entry in fs::read_dir(shelf()).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.strip_prefix("becalm-fuzz-")) else { continue };
        if pid.parse::<u32>().is_ok() && !Path::new("/proc").join(pid).exists() {
            drop(fs::remove_dir_all(entry.path()));
        }
    }
}

/// The project's directory.
pub fn project() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("/"))
}

/// A recorded machine: the files below a directory.
pub fn recorded(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    collect(directory, directory, &mut found);
    assert!(!found.is_empty(), "{} holds no machine", directory.display());
    found
}

fn collect(top: &Path, directory: &Path, found: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(top, &path, found);
        } else if let (Ok(name), Ok(bytes)) = (path.strip_prefix(top), fs::read(&path)) {
            found.insert(name.to_string_lossy().into_owned(), bytes);
        }
    }
}

/// A machine of `machines/`: a JSON object of files, each byte a character.
pub fn written(name: &str) -> BTreeMap<String, Vec<u8>> {
    let path = project().join("fuzz/machines").join(name).with_extension("json");
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let files: BTreeMap<String, String> =
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}"));
    let bytes = |text: String| text.chars().map(|character| character as u8).collect();
    files.into_iter().map(|(name, text)| (name, bytes(text))).collect()
}

impl Machine {
    /// Write it down.
    pub fn new(files: BTreeMap<String, Vec<u8>>) -> Self {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        if MADE.load(Ordering::Relaxed) == 0 {
            sweep();
        }
        let root =
            scratch(std::process::id()).join(MADE.fetch_add(1, Ordering::Relaxed).to_string()).join("root");
        let files: Vec<_> = files.into_iter().map(|(name, bytes)| (root.join(name), bytes)).collect();
        let places = files.iter().enumerate().map(|(index, (path, _))| (path.clone(), index)).collect();
        let machine = Self { root, files, places, watch: RefCell::new(None) };
        machine.renew();
        machine.try_renewing();
        machine
    }

    /// Its `/`.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// How many files it has.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Give a file other bytes.
    pub fn put(&self, index: usize, bytes: &[u8]) {
        write(&self.files[index].0, bytes);
    }

    /// Give a file its own bytes again.
    pub fn undo(&self, index: usize) {
        write(&self.files[index].0, &self.files[index].1);
    }

    /// Everything as it was, also what has gone or come: the files that were changed, or all of them.
    pub fn renew(&self) {
        let mut watch = self.watch.borrow_mut();
        match watch.as_ref().map(Watch::changes) {
            Some(Changes::Files(paths)) => {
                for path in &paths {
                    // As a new file, with the mode that it had.
                    drop(fs::remove_file(path));
                    if let Some(index) = self.places.get(path) {
                        write(path, &self.files[*index].1);
                    }
                }
                // Those of this function.
                watch.as_ref().map(Watch::changes);
            }
            _ => {
                self.rebuild();
                *watch = Some(Watch::of_tree(&self.root));
            }
        }
    }

    /// Panic unless files that were changed, removed and made are as before after `renew`.
    fn try_renewing(&self) {
        let [(first, bytes), .., (last, _)] = self.files.as_slice() else { return };
        let new = self.root.join("run/becalm/new");
        write(first, b"changed");
        drop(fs::remove_file(last));
        write(&new, b"");
        self.renew();
        let whole = fs::read(first).is_ok_and(|found| found == *bytes) && last.exists() && !new.exists();
        assert!(whole, "{} is not as it was", self.root.display());
    }

    fn rebuild(&self) {
        drop(fs::remove_dir_all(&self.root));
        for (path, bytes) in &self.files {
            write(path, bytes);
        }
        for directory in
            ["var/lib/becalm", "run/becalm", "etc/systemd/system/sysinit.target.wants", "run/systemd/system"]
        {
            fs::create_dir_all(self.root.join(directory))
                .unwrap_or_else(|error| panic!("{directory}: {error}"));
        }
    }
}

fn write(path: &Path, bytes: &[u8]) {
    let made = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(path, bytes));
    made.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}
