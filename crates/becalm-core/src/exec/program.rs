//! A command that is ready to start many times: its path found, its arguments and environment in the kernel's
//! form.
//!
//! All workloads of a session share a `BaseEnvironment`; `Program::find` prepares one command in it, and
//! `Environment` one environment. Both are laid out for a child when it is started (`spawner`), padding
//! included, so that a hundred thousand of them take little memory.

use std::collections::BTreeMap;
use std::ffi::{c_char, CStr, CString, OsStr};
use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::arena::Arena;
use super::user::User;
use crate::types::{Text, TextError};

/// The largest padding, bytes; layout experiments need a page.
pub const LARGEST_PADDING: usize = 1 << 16;

const PADDING: &[u8] = b"BECALM_PADDING";

/// The variable with the number of the run, for programs and the commands around them.
const RUN: &[u8] = b"BECALM_RUN";

/// The variable that fills up shorter numbers of runs: the size of an environment moves the stack.
const FILL: &[u8] = b"BECALM_FILL";

/// The number of digits of the largest number of a run.
const DIGITS: usize = 20;

/// The variables of becalm itself: each run has its own values.
const OWN: [&[u8]; 3] = [PADDING, RUN, FILL];

/// The directories of programs when PATH is not set (confstr(3), _CS_PATH, with sbin).
const USUAL_PATH: &[u8] = b"/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";

/// Programs with another name than their package, which is the same in Debian, Ubuntu and Fedora.
const PACKAGES: [(&str, &str); 3] =
    [("hackbench", "rt-tests"), ("cyclictest", "rt-tests"), ("sar", "sysstat")];

/// Return the package of a program, if the name of the program does not show it.
fn package(name: &str) -> String {
    let known = PACKAGES.iter().find(|(program, _)| *program == name);
    known.map_or(String::new(), |(_, package)| format!(" It is in the package {package}."))
}

/// The reason why a command cannot be prepared.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// The error of a program that was not found, with the number of directories that were searched.
    #[error("There is no program {0:?}: it is in none of the {1} directories of PATH.{hint}", hint = package(.0))]
    NotInPath(String, usize),
    #[error("There is no program {0:?}.")]
    NotFound(String),
    #[error("{path} is not executable: {why}.")]
    NotExecutable { path: String, why: String },
    #[error("The directory {path} cannot be used: {error}.")]
    Directory { path: String, error: io::Error },
    #[error("The input file {path} cannot be read: {error}.")]
    Input { path: String, error: io::Error },
    #[error("{0}.")]
    Text(#[from] TextError),
    #[error("A workload needs a program: its argument list is empty.")]
    Empty,
}

/// The environment that all workloads of a session share.
#[derive(Debug, Clone)]
pub struct BaseEnvironment {
    /// By name, each as `NAME=value`.
    environment: Rc<Entries>,
    pub directory: PathBuf,
    pub user: Option<User>,
}

impl BaseEnvironment {
    /// Build the environment of a session: the given variables, with the user's own home and name when the user
    /// changes.
    pub fn new(
        mut environment: BTreeMap<Vec<u8>, Vec<u8>>,
        directory: PathBuf,
        user: Option<User>,
    ) -> Result<Self, TextError> {
        if let Some(user) = &user {
            for (name, value) in
                [("HOME", &user.home), ("USER", &user.name), ("LOGNAME", &user.name), ("SHELL", &user.shell)]
            {
                environment.insert(name.into(), value.clone().into_bytes());
            }
        }
        environment.retain(|name, _| !OWN.contains(&name.as_slice()));
        let entry = |(name, value): (Vec<u8>, Vec<u8>)| entry(&name, &value).map(|entry| (name, entry));
        let environment = environment.into_iter().map(entry).collect::<Result<_, _>>()?;
        Ok(Self { environment: Rc::new(environment), directory, user })
    }

    /// Return the value of a variable.
    fn value(&self, name: &[u8]) -> Option<&[u8]> {
        Some(&self.environment.get(name)?.to_bytes()[name.len() + 1..])
    }

    fn may(&self, path: &Path, bits: u32) -> io::Result<bool> {
        let status = fs::metadata(path)?;
        if let Some(user) = &self.user {
            return Ok(user.allowed(status.mode(), status.uid(), status.gid(), bits));
        }
        let name = CString::new(path.as_os_str().as_bytes())?;
        // SAFETY: the path is a live C string.
        Ok(unsafe { libc::faccessat(libc::AT_FDCWD, name.as_ptr(), bits as libc::c_int, libc::AT_EACCESS) }
            == 0)
    }
}

/// The environment of a workload: the entries that it shares with the session, and its own.
pub struct Environment {
    pub base: Rc<Entries>,
    pub own: Entries,
}

/// Entries of an environment by name, each as `NAME=value`.
pub type Entries = BTreeMap<Vec<u8>, CString>;

impl Environment {
    /// Combine the session's environment with a workload's own entries.
    pub fn new(base: &BaseEnvironment, own: &BTreeMap<String, Text>) -> Result<Self, TextError> {
        let mut entries = Entries::new();
        for (name, value) in own.iter().filter(|(name, _)| !OWN.contains(&name.as_bytes())) {
            if name.is_empty() || name.contains('=') {
                return Err(TextError::Name(name.clone()));
            }
            let name = name.as_bytes();
            entries.insert(name.to_vec(), entry(name, &value.bytes()?)?);
        }
        Ok(Self { base: base.environment.clone(), own: entries })
    }

    /// Return all entries, each as `NAME=value`; none of them is padding.
    pub fn entries(&self) -> impl Iterator<Item = &CStr> {
        let base = self.base.iter().filter(|(name, _)| !self.own.contains_key(*name));
        base.chain(&self.own).map(|(_, entry)| entry.as_c_str())
    }
}

/// Return the entries with the number of a run, of the same length for each number.
pub fn numbered(run: u64) -> [CString; 2] {
    let number = run.to_string().into_bytes();
    let fill = vec![b'x'; DIGITS - number.len()];
    // Neither contains a zero byte.
    [(RUN, number), (FILL, fill)].map(|(name, value)| entry(name, &value).unwrap_or_default())
}

/// Lay out an entry of the environment that only takes `size` bytes; None when there is no room.
pub fn padding(arena: &mut Arena, size: usize) -> Option<*const c_char> {
    let name = [PADDING, b"="].concat();
    let text = arena.fill(name.len() + size.min(LARGEST_PADDING), b'x')?;
    text[..name.len()].copy_from_slice(&name);
    Some(text.as_ptr().cast())
}

/// Return `NAME=value` in the kernel's form.
fn entry(name: &[u8], value: &[u8]) -> Result<CString, TextError> {
    let entry = [name, b"=", value].concat();
    CString::new(entry)
        .map_err(|error| TextError::Zero(String::from_utf8_lossy(&error.into_vec()).into_owned()))
}

/// A command that is ready to start.
pub struct Program {
    pub path: CString,
    pub arguments: Vec<CString>,
    pub directory: CString,
}

impl Program {
    /// Find a command's program and check that it can be started from its directory.
    pub fn find(
        command: &[Text],
        directory: Option<&Text>,
        own: &BTreeMap<String, Text>,
        base: &BaseEnvironment,
    ) -> Result<Self, ProgramError> {
        let name = command.first().ok_or(ProgramError::Empty)?;
        let arguments = command.iter().map(Text::c_string).collect::<Result<Vec<_>, _>>()?;
        let directory = match directory {
            Some(text) => base.directory.join(OsStr::from_bytes(&text.bytes()?)),
            None => base.directory.clone(),
        };
        let problem = |error| ProgramError::Directory { path: directory.display().to_string(), error };
        match base.may(&directory, 1) {
            Ok(true) if directory.is_dir() => {}
            Ok(true) => return Err(problem(io::Error::from_raw_os_error(libc::ENOTDIR))),
            Ok(false) => return Err(problem(io::Error::from_raw_os_error(libc::EACCES))),
            Err(error) => return Err(problem(error)),
        }
        let search = match own.get("PATH") {
            Some(path) => path.bytes()?,
            None => base.value(b"PATH").unwrap_or(USUAL_PATH).to_vec(),
        };
        let path = resolve(&name.bytes()?, &search, &directory, base)?;
        Ok(Self { path: c_path(&path)?, arguments, directory: c_path(&directory)? })
    }

    /// Return the same program started by another one: `path`, with `before` in front of this program's path
    /// and arguments.
    pub fn behind(self, path: CString, before: impl IntoIterator<Item = CString>) -> Self {
        let words = before.into_iter().chain([self.path]).chain(self.arguments);
        Self { path, arguments: words.collect(), directory: self.directory }
    }

    /// Explain why execve(2) failed on this program.
    pub fn explain(&self, error: &io::Error) -> String {
        let path = self.path.to_string_lossy();
        match error.raw_os_error() {
            Some(libc::ENOEXEC) => format!(
                "{path} is neither a program for this machine nor a script whose first line names its interpreter (#!)."
            ),
            Some(libc::ENOENT) => match interpreter(&self.path) {
                Some(name) => format!("{path} names {name} as its interpreter, which does not exist."),
                None => format!("{path} or the loader it asks for does not exist."),
            },
            Some(libc::E2BIG) => format!("The arguments and environment of {path} are longer than the kernel allows."),
            _ => format!("{path} could not be started: {error}."),
        }
    }
}

/// Check that the user who will open an input file can do so; return its absolute path.
pub fn input_file(text: &Text, base: &BaseEnvironment) -> Result<CString, ProgramError> {
    let path = base.directory.join(OsStr::from_bytes(&text.bytes()?));
    let problem = |error| ProgramError::Input { path: path.display().to_string(), error };
    match base.may(&path, 4) {
        Ok(true) => c_path(&path),
        Ok(false) => Err(problem(io::Error::from_raw_os_error(libc::EACCES))),
        Err(error) => Err(problem(error)),
    }
}

fn c_path(path: &Path) -> Result<CString, ProgramError> {
    CString::new(path.as_os_str().as_bytes())
        .map_err(|_| ProgramError::Text(TextError::Zero(path.display().to_string())))
}

/// Return the file that execvp(3) would run.
fn resolve(
    name: &[u8],
    search: &[u8],
    directory: &Path,
    base: &BaseEnvironment,
) -> Result<PathBuf, ProgramError> {
    let shown = String::from_utf8_lossy(name).into_owned();
    if name.contains(&b'/') {
        let path = directory.join(OsStr::from_bytes(name));
        return match executable(&path, base) {
            Ok(()) => Ok(path),
            Err(Some(why)) => Err(ProgramError::NotExecutable { path: shown, why }),
            Err(None) => Err(ProgramError::NotFound(shown)),
        };
    }
    let mut refused = None;
    for each in search.split(|byte| *byte == b':') {
        let path = directory.join(OsStr::from_bytes(each)).join(OsStr::from_bytes(name));
        match executable(&path, base) {
            Ok(()) if !name.is_empty() => return Ok(path),
            Err(Some(why)) if !name.is_empty() && !path.is_dir() => {
                refused.get_or_insert(ProgramError::NotExecutable { path: path.display().to_string(), why });
            }
            _ => {}
        }
    }
    let searched = search.split(|byte| *byte == b':').count();
    Err(refused.unwrap_or(ProgramError::NotInPath(shown, searched)))
}

/// Check that a file can be executed; the error is the reason, or None when there is no such file.
fn executable(path: &Path, base: &BaseEnvironment) -> Result<(), Option<String>> {
    let status = fs::metadata(path).map_err(|error| match error.raw_os_error() {
        Some(libc::ENOENT | libc::ENOTDIR) => None,
        _ => Some(error.to_string()),
    })?;
    if status.is_dir() {
        return Err(Some("it is a directory".to_owned()));
    }
    match base.may(path, 1) {
        Ok(true) => Ok(()),
        Ok(false) => Err(Some("its mode does not allow it (chmod +x makes a program of it)".to_owned())),
        Err(error) => Err(Some(error.to_string())),
    }
}

/// Return the interpreter in a script's first line.
fn interpreter(path: &CStr) -> Option<String> {
    let mut head = [0_u8; 256];
    let length = fs::File::open(OsStr::from_bytes(path.to_bytes())).ok()?.read(&mut head).ok()?;
    let line = head[..length].strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    Some(String::from_utf8_lossy(line).split_ascii_whitespace().next()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base() -> BaseEnvironment {
        BaseEnvironment::new(
            BTreeMap::from([(b"PATH".to_vec(), b"/bin:/usr/bin".to_vec())]),
            "/".into(),
            None,
        )
        .unwrap()
    }

    fn text(words: &[&str]) -> Vec<Text> {
        words.iter().map(|word| Text::Plain((*word).to_owned())).collect()
    }

    fn find(name: &str) -> Result<Program, ProgramError> {
        Program::find(&text(&[name]), None, &BTreeMap::new(), &base())
    }

    #[test]
    fn programs_are_found_as_a_shell_would() {
        assert!(find("sh").unwrap().path.to_bytes().ends_with(b"/sh"));
        assert_eq!(find("bin/sh").unwrap().path.to_bytes(), b"/bin/sh");
        assert!(matches!(find("no-such-program"), Err(ProgramError::NotInPath(..))));
        assert!(matches!(find("/no/such"), Err(ProgramError::NotFound(_))));
        assert!(matches!(find("/etc/passwd"), Err(ProgramError::NotExecutable { .. })));
        assert!(matches!(find("/etc"), Err(ProgramError::NotExecutable { .. })));
        assert!(matches!(find(""), Err(ProgramError::NotInPath(..))));
        assert!(matches!(Program::find(&[], None, &BTreeMap::new(), &base()), Err(ProgramError::Empty)));
    }

    #[test]
    fn a_missing_directory_and_input_are_named() {
        let missing = Text::Plain("/no/such/dir".to_owned());
        let error = Program::find(&text(&["sh"]), Some(&missing), &BTreeMap::new(), &base()).err().unwrap();
        assert!(error.to_string().contains("/no/such/dir"));
        assert!(input_file(&missing, &base()).is_err());
        assert!(input_file(&Text::Plain("etc/passwd".to_owned()), &base()).is_ok());
    }

    fn entries(environment: &Environment) -> Vec<&[u8]> {
        environment.entries().map(CStr::to_bytes).collect()
    }

    #[test]
    fn padding_has_the_size_asked_for() {
        let mut arena = Arena::new(1 << 20).unwrap();
        for size in [1, 100, 4096, LARGEST_PADDING] {
            let last = padding(&mut arena, size).unwrap();
            let text = unsafe { CStr::from_ptr(last) }.to_bytes();
            assert_eq!(text.len(), PADDING.len() + 1 + size);
            assert!(text.starts_with(b"BECALM_PADDING=x"));
        }
    }

    #[test]
    fn the_number_of_a_run_leaves_the_size_of_an_environment_as_it_is() {
        let size = |run| numbered(run).iter().map(|entry| entry.to_bytes().len()).sum::<usize>();
        assert_eq!(numbered(7)[0].to_bytes(), b"BECALM_RUN=7");
        assert!([9, 10, 99_999, u64::MAX].into_iter().all(|run| size(run) == size(0)));
        let outer = BTreeMap::from([(b"BECALM_RUN".to_vec(), b"3".to_vec())]);
        assert!(BaseEnvironment::new(outer, "/".into(), None).unwrap().value(b"BECALM_RUN").is_none());
    }

    #[test]
    fn own_entries_come_in_place_of_the_sessions() {
        let value = |text: &str| Text::Plain(text.to_owned());
        let own =
            BTreeMap::from([("PATH".to_owned(), value("/x")), ("BECALM_PADDING".to_owned(), value("y"))]);
        assert_eq!(entries(&Environment::new(&base(), &own).unwrap()), [b"PATH=/x"]);
        assert_eq!(entries(&Environment::new(&base(), &BTreeMap::new()).unwrap()), [b"PATH=/bin:/usr/bin"]);
        let unnamed = BTreeMap::from([("A=B".to_owned(), value("y"))]);
        assert!(matches!(Environment::new(&base(), &unnamed), Err(TextError::Name(_))));
        let cut = BTreeMap::from([(b"A".to_vec(), b"x\0y".to_vec())]);
        assert!(matches!(BaseEnvironment::new(cut, "/".into(), None), Err(TextError::Zero(_))));
    }

    #[test]
    fn a_user_brings_home_and_name() {
        let user = User {
            uid: 5,
            gid: 5,
            groups: vec![],
            name: "ada".into(),
            home: "/h".into(),
            shell: "/s".into(),
        };
        let base = BaseEnvironment::new(BTreeMap::new(), "/".into(), Some(user)).unwrap();
        assert_eq!((base.value(b"HOME"), base.value(b"USER")), (Some(&b"/h"[..]), Some(&b"ada"[..])));
    }
}
