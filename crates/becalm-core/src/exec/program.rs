//! A command made ready to start many times: path found, arguments and environment as the kernel takes them.
//!
//! `Surroundings` is what all workloads of a session share; `Program::find` makes one command of it, and
//! `Environment` one environment block, whose padding changes from run to run without copying the rest.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, OsStr};
use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::user::User;
use crate::types::{Text, TextError};

/// Bytes of padding that fit; a page is what layout experiments need.
pub const LARGEST_PADDING: usize = 1 << 16;

const PADDING: &[u8] = b"BECALM_PADDING=";

/// Where programs are found when PATH is not set (confstr(3), _CS_PATH, with sbin).
const USUAL_PATH: &[u8] = b"/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";

/// Why a command cannot be made ready.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    #[error("There is no program {0:?}: it is in none of the directories of PATH ({1}).")]
    NotInPath(String, String),
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

/// What all workloads of a session share.
#[derive(Debug, Clone)]
pub struct Surroundings {
    pub environment: BTreeMap<Vec<u8>, Vec<u8>>,
    pub directory: PathBuf,
    pub user: Option<User>,
}

impl Surroundings {
    /// Environment of a session: what was given, with the user's own home and name when the user changes.
    pub fn new(mut environment: BTreeMap<Vec<u8>, Vec<u8>>, directory: PathBuf, user: Option<User>) -> Self {
        if let Some(user) = &user {
            for (name, value) in
                [("HOME", &user.home), ("USER", &user.name), ("LOGNAME", &user.name), ("SHELL", &user.shell)]
            {
                environment.insert(name.into(), value.clone().into_bytes());
            }
        }
        Self { environment, directory, user }
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

/// An environment block with room for padding at its end.
pub struct Environment {
    _entries: Vec<CString>,
    pointers: Vec<*const libc::c_char>,
    padding: Vec<u8>,
    end: usize,
}

impl Environment {
    /// The session's environment with a workload's own entries.
    pub fn new(base: &Surroundings, own: &BTreeMap<String, Text>) -> Result<Self, TextError> {
        let mut all = base.environment.clone();
        for (name, value) in own {
            if name.is_empty() || name.contains('=') {
                return Err(TextError::Name(name.clone()));
            }
            all.insert(name.clone().into_bytes(), value.bytes()?);
        }
        all.remove(&PADDING[..PADDING.len() - 1]);
        let entries = all
            .iter()
            .map(|(name, value)| {
                let entry = [name.as_slice(), b"=", value.as_slice()].concat();
                CString::new(entry.clone())
                    .map_err(|_| TextError::Zero(String::from_utf8_lossy(&entry).into_owned()))
            })
            .collect::<Result<Vec<_>, _>>()?;
        let mut pointers: Vec<_> = entries.iter().map(|entry| entry.as_ptr()).collect();
        pointers.extend([std::ptr::null(); 2]);
        let mut padding = PADDING.to_vec();
        padding.resize(PADDING.len() + LARGEST_PADDING + 1, b'x');
        let end = padding.len() - 1;
        Ok(Self { _entries: entries, pointers, padding, end })
    }

    /// The block for execve, with so many bytes in BECALM_PADDING; without the variable when none are asked for.
    pub fn with_padding(&mut self, size: usize) -> &[*const libc::c_char] {
        let last = self.pointers.len() - 2;
        // Only the end moves: filling the whole of it again would take longer than starting some programs.
        self.padding[self.end] = b'x';
        self.end = PADDING.len() + size.min(LARGEST_PADDING);
        self.padding[self.end] = 0;
        self.pointers[last] = if size == 0 { std::ptr::null() } else { self.padding.as_ptr().cast() };
        &self.pointers
    }
}

/// A command ready to start.
pub struct Program {
    pub path: CString,
    arguments: Vec<CString>,
    argv: Vec<*const libc::c_char>,
    pub directory: CString,
}

impl Program {
    /// Find a command's program and check that it can be started from its directory.
    pub fn find(
        command: &[Text],
        directory: Option<&Text>,
        own: &BTreeMap<String, Text>,
        base: &Surroundings,
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
            None => base.environment.get(b"PATH".as_slice()).cloned().unwrap_or_else(|| USUAL_PATH.to_vec()),
        };
        let path = resolve(&name.bytes()?, &search, &directory, base)?;
        Ok(Self::of(c_path(&path)?, arguments, c_path(&directory)?))
    }

    /// The same program, started by another one: `path`, with `before` in front of this program's path and arguments.
    pub fn behind(self, path: CString, before: impl IntoIterator<Item = CString>) -> Self {
        let words = before.into_iter().chain([self.path]).chain(self.arguments);
        Self::of(path, words.collect(), self.directory)
    }

    fn of(path: CString, arguments: Vec<CString>, directory: CString) -> Self {
        let mut argv: Vec<_> = arguments.iter().map(|argument| argument.as_ptr()).collect();
        argv.push(std::ptr::null());
        Self { path, arguments, argv, directory }
    }

    /// Argument pointers, ended by null.
    pub fn argv(&self) -> &[*const libc::c_char] {
        &self.argv
    }

    /// Why execve(2) failed on this program, in words.
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

/// Check that an input file can be opened by the user who will; gives its absolute path.
pub fn input_file(text: &Text, base: &Surroundings) -> Result<CString, ProgramError> {
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

/// The file that execvp(3) would run.
fn resolve(
    name: &[u8],
    search: &[u8],
    directory: &Path,
    base: &Surroundings,
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
    Err(refused
        .unwrap_or_else(|| ProgramError::NotInPath(shown, String::from_utf8_lossy(search).into_owned())))
}

/// Ok, or why not; Err(None) when there is no such file.
fn executable(path: &Path, base: &Surroundings) -> Result<(), Option<String>> {
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

/// The interpreter that a script's first line names.
fn interpreter(path: &CStr) -> Option<String> {
    let mut head = [0_u8; 256];
    let length = fs::File::open(OsStr::from_bytes(path.to_bytes())).ok()?.read(&mut head).ok()?;
    let line = head[..length].strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    Some(String::from_utf8_lossy(line).split_ascii_whitespace().next()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base() -> Surroundings {
        Surroundings::new(BTreeMap::from([(b"PATH".to_vec(), b"/bin:/usr/bin".to_vec())]), "/".into(), None)
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

    #[test]
    fn padding_has_the_size_asked_for() {
        let mut environment = Environment::new(&base(), &BTreeMap::new()).unwrap();
        for size in [1, 100, 4096] {
            let block = environment.with_padding(size);
            let last = unsafe { CStr::from_ptr(block[block.len() - 2]) };
            assert_eq!(last.to_bytes().len(), PADDING.len() + size);
        }
        let block = environment.with_padding(0);
        assert!(block[block.len() - 2].is_null(), "no padding, no variable");
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
        let base = Surroundings::new(BTreeMap::new(), "/".into(), Some(user));
        assert_eq!(base.environment[b"HOME".as_slice()], b"/h");
        assert_eq!(base.environment[b"USER".as_slice()], b"ada");
    }
}
