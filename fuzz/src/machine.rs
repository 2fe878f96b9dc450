//! Directories that look like a machine's `/`, in which an input replaces a file.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::watch::{Changes, Watch};

/// A machine in its own directory, and the original content of its files.
pub struct Machine {
    root: PathBuf,
    files: Vec<(PathBuf, Vec<u8>)>,
    /// The index in `files` of each path.
    places: HashMap<PathBuf, usize>,
    /// The watch that reports changed files; None before the first `renew`.
    watch: RefCell<Option<Watch>>,
}

/// Return the directory of a process's machines. The runner removes it; that of cargo-fuzz is removed at the
/// next start.
pub fn scratch(pid: u32) -> PathBuf {
    shelf().join(format!("becalm-fuzz-{pid}"))
}

/// Return the parent directory, in memory if possible, since thousands of files are written per second.
fn shelf() -> PathBuf {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        memory.to_owned()
    } else {
        std::env::temp_dir()
    }
}

/// Remove the directories of processes that no longer exist.
pub fn sweep() {
    for entry in fs::read_dir(shelf()).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.strip_prefix("becalm-fuzz-")) else { continue };
        if pid.parse::<u32>().is_ok() && !Path::new("/proc").join(pid).exists() {
            drop(fs::remove_dir_all(entry.path()));
        }
    }
}

/// Return the project's directory.
pub fn project() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("/"))
}

/// Return the files of a recorded machine, those below a directory.
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

/// Return the files of a machine in `machines/`: a JSON object of files, in which each character is a byte.
pub fn written(name: &str) -> BTreeMap<String, Vec<u8>> {
    let path = project().join("fuzz/machines").join(name).with_extension("json");
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let files: BTreeMap<String, String> =
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}"));
    let bytes = |text: String| text.chars().map(|character| character as u8).collect();
    files.into_iter().map(|(name, text)| (name, bytes(text))).collect()
}

impl Machine {
    /// Create the machine's directory.
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

    /// Return the directory that stands for `/`.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Return the number of files.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Return whether the machine has no files.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Replace the content of a file.
    pub fn put(&self, index: usize, bytes: &[u8]) {
        write(&self.files[index].0, bytes);
    }

    /// Restore the content of a file.
    pub fn undo(&self, index: usize) {
        write(&self.files[index].0, &self.files[index].1);
    }

    /// Restore everything, including removed and added files. Only changed files are rewritten if they are
    /// known.
    pub fn renew(&self) {
        let mut watch = self.watch.borrow_mut();
        match watch.as_ref().map(Watch::changes) {
            Some(Changes::Files(paths)) => {
                for path in &paths {
                    // The file is created anew, with its original mode.
                    drop(fs::remove_file(path));
                    if let Some(index) = self.places.get(path) {
                        write(path, &self.files[*index].1);
                    }
                }
                // Discard the changes made by this function.
                watch.as_ref().map(Watch::changes);
            }
            _ => {
                self.rebuild();
                *watch = Some(Watch::of_tree(&self.root));
            }
        }
    }

    /// Panic unless `renew` restores changed, removed and added files.
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
