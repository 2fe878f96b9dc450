//! A lock by which one becalm at a time changes a machine: it ends with its last holder, however that ends
//! (flock(2)).

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::thread::sleep;
use std::time::Duration;

use super::failure::Failure;
use super::holder::{self, holders, Holder};
use super::journal::Begin;
use super::title;
use super::tree::{Tree, RUN};

pub const LOCK: &str = "/run/becalm/lock";

/// The file that names the lock's holder, which everybody can read. Only root may open the lock itself:
/// whoever can open it can hold it.
const HOLDER: &str = "/run/becalm/holder";

/// The number of tries, 50 ms apart: the guard of a killed agent ends within that.
const TRIES: u32 = 40;

/// The number of tries after processes were ended: an agent restores what is applied, and its guard after it.
const PATIENCE: u32 = 200;

/// The lock, held as long as this or an inherited copy of its descriptor lives.
pub struct Lock {
    file: File,
}

/// Record the holder of the lock.
fn announce(tree: &Tree, mut holder: File, who: &Begin) -> io::Result<()> {
    holder.set_len(0)?;
    writeln!(holder, "process {} of {}", who.pid, who.user)?;
    title::save(tree, HOLDER, &who.title)
}

/// Return the failure to write a file, with what to do.
fn at(tree: &Tree, path: &str, error: &io::Error) -> Failure {
    Failure::new(
        "system",
        format!(
            "{} cannot be written, so nothing was changed: {error}. Free some space or rights there.",
            tree.path(path).display()
        ),
    )
}

impl Lock {
    /// Take the lock, or report who has it.
    pub fn take(tree: &Tree, who: &Begin) -> Result<Self, Failure> {
        tree.ensure_directory(RUN).map_err(|error| at(tree, RUN, &error))?;
        let file = tree.lasting(LOCK, 0o600)?;
        let mut tries = 0;
        // SAFETY: a live descriptor.
        while unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } != 0 {
            let error = io::Error::last_os_error();
            if error.raw_os_error() != Some(libc::EWOULDBLOCK) {
                return Err(error.into());
            }
            tries += 1;
            if tries > TRIES {
                return Err(Failure::busy(&describe_holder(tree)));
            }
            sleep(Duration::from_millis(50));
        }
        tree.sweep();
        let holder = tree.lasting(HOLDER, 0o644)?;
        announce(tree, holder, who).map_err(|error| at(tree, HOLDER, &error))?;
        Ok(Self { file })
    }

    /// Return the descriptor, for a process that is to hold the lock too.
    pub fn descriptor(&self) -> i32 {
        self.file.as_raw_fd()
    }
}

/// Describe the lock's holder; None when nobody has it.
///
/// # Errors
/// The lock may not be opened by this user.
pub fn holder(tree: &Tree) -> io::Result<Option<String>> {
    match tree.open(LOCK, libc::O_RDONLY | libc::O_NONBLOCK, 0) {
        Ok(file) => Ok((!unlocked(&file)).then(|| describe_holder(tree))),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Err(error),
        Err(_) => Ok(None),
    }
}

/// Describe the lock's holder where it is known that somebody has it.
pub fn describe_holder(tree: &Tree) -> String {
    let (who, what) = (tree.read(HOLDER).unwrap_or_default(), title::load(tree, HOLDER));
    let recorded = if what.is_empty() { who.clone() } else { format!("{who} ({what})") };
    let found = tree.about(LOCK).map(|about| holders(&about)).unwrap_or_default();
    let pid = who.split(' ').nth(1).and_then(|pid| pid.parse::<i32>().ok());
    match found.iter().find(|holder| Some(holder.pid) == pid) {
        // Only root sees the processes of other users.
        _ if found.is_empty() => recorded,
        Some(taker) if taker.stopped => format!("{recorded}, which is stopped"),
        Some(_) => recorded,
        None => {
            let names = found.iter().map(Holder::shown).collect::<Vec<_>>().join(", ");
            format!("{names}, left by {recorded}, which has ended")
        }
    }
}

/// End the processes that hold the lock, so that it can be taken; return a description of each. An error is a
/// sentence.
pub fn free(tree: &Tree) -> Result<Vec<String>, String> {
    let Ok(file) = tree.open(LOCK, libc::O_RDONLY | libc::O_NONBLOCK | libc::O_NOFOLLOW, 0) else {
        return Ok(Vec::new());
    };
    if unlocked(&file) {
        return Ok(Vec::new());
    }
    holder::end(&file, |file| {
        (0..PATIENCE).any(|_| {
            sleep(Duration::from_millis(50));
            unlocked(file)
        })
    })
}

/// Return whether nobody has the lock. A shared lock fails while the exclusive one is held, and ends with the
/// descriptor.
fn unlocked(file: &File) -> bool {
    // SAFETY: a live descriptor.
    unsafe {
        libc::flock(file.as_raw_fd(), libc::LOCK_SH | libc::LOCK_NB) == 0
            && libc::flock(file.as_raw_fd(), libc::LOCK_UN) == 0
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;
    use std::fs;
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;
    use std::process::Command;

    use super::*;

    #[test]
    fn a_place_that_cannot_be_written_is_named() {
        let root = std::env::temp_dir().join(format!("becalm-lock-place-{}", std::process::id()));
        fs::create_dir_all(&root).unwrap();
        fs::write(root.join("run"), "").unwrap();
        let word = String::new;
        let begin = Begin { boot: word(), becalm: word(), user: word(), pid: 1, title: word(), at: 0 };
        let message = Lock::take(&Tree::new(&root), &begin).err().map(|error| error.to_string());
        fs::remove_dir_all(&root).unwrap();
        let place = format!("{}/run/becalm cannot be written, so nothing was changed: ", root.display());
        assert!(message.as_ref().is_some_and(|message| message.starts_with(&place)), "{message:?}");
    }

    #[test]
    fn taking_the_lock_removes_half_written_files() {
        let root = std::env::temp_dir().join(format!("becalm-lock-{}", std::process::id()));
        fs::create_dir_all(&root).unwrap();
        let tree = Tree::new(&root);
        tree.ensure_directory(RUN).unwrap();
        let mut ended = Command::new("true").spawn().unwrap();
        ended.wait().unwrap();
        let (gone, own) = (ended.id(), std::process::id());
        let names = [format!("write-{gone}"), format!("write-{own}"), "write-0".into(), "write-x".into()];
        for name in &names {
            tree.created(&format!("{RUN}/{name}")).unwrap();
        }
        tree.link("/etc/passwd", &format!("{RUN}/write-{}", i32::MAX)).unwrap();
        let word = String::new;
        let begin = Begin { boot: word(), becalm: word(), user: word(), pid: own, title: word(), at: 0 };
        let lock = Lock::take(&tree, &begin).unwrap();
        let left: Vec<String> =
            tree.names(RUN).into_iter().filter(|name| name.starts_with("write-")).collect();
        drop(lock);
        fs::remove_dir_all(&root).unwrap();
        assert_eq!(left, ["write-0", &names[1], "write-x"]);
    }

    /// Return why there is no lock in a directory for it after `put` was called there.
    fn refused(name: &str, put: fn(&Tree, &Path)) -> String {
        let root = std::env::temp_dir().join(format!("becalm-lock-{name}-{}", std::process::id()));
        fs::create_dir_all(&root).unwrap();
        let tree = Tree::new(&root);
        tree.ensure_directory(RUN).unwrap();
        put(&tree, &tree.path(LOCK));
        let word = String::new;
        let begin = Begin { boot: word(), becalm: word(), user: word(), pid: 1, title: word(), at: 0 };
        let why = Lock::take(&tree, &begin).err().unwrap().to_string();
        fs::remove_dir_all(&root).unwrap();
        let why = why.replace(&root.display().to_string(), "");
        let why = why.strip_prefix("The machine's settings could not be changed: ").unwrap();
        why.strip_suffix('.').unwrap().to_owned()
    }

    #[test]
    fn a_lock_that_is_not_a_plain_file_is_refused_with_a_remedy() {
        let odd = "/run/becalm/lock is not a plain file, and nothing of becalm's; remove it, becalm makes its own anew";
        let fifo = |_: &Tree, at: &Path| {
            let path = CString::new(at.as_os_str().as_bytes()).unwrap();
            // SAFETY: a live string.
            assert_eq!(unsafe { libc::mkfifo(path.as_ptr(), 0o600) }, 0);
        };
        assert_eq!(refused("fifo", fifo), odd);
        assert_eq!(refused("directory", |_, at| fs::create_dir(at).unwrap()), odd);
        assert_eq!(refused("link", |tree, _| tree.link("/etc/passwd", LOCK).unwrap()), odd);
        let socket = |_: &Tree, at: &Path| {
            std::os::unix::net::UnixListener::bind(at).unwrap();
        };
        assert_eq!(refused("socket", socket), odd);
        let second = refused("second", |tree, at| {
            fs::write(at, "").unwrap();
            fs::hard_link(at, tree.path("/second")).unwrap();
        });
        assert!(second.starts_with("/run/becalm/lock is also known by another name"), "{second}");
    }
}
