//! Reading of small files of `/proc` and `/sys` below a root directory: the result is a value or a reason.
//!
//! Files may be missing, refused, empty, cut off, huge or not text; none of that causes a panic, and none of
//! it reads as zero.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use becalm_settings::unmounted;
use serde_json::{Map, Value};

use crate::refusal::refusal;

/// A fact, or the reason why it is not known.
pub type Known<T> = Result<T, String>;

/// The largest size of a file read here, above any machine seen: `/proc/cpuinfo` of 1024 CPUs has 2 MiB.
const LONGEST: u64 = 8 << 20;

/// The files of one machine: the running one (`live`, root "/"), or a directory that looks like one.
pub struct Machine {
    root: PathBuf,
    /// Whether system calls report on this machine, too, and not only files.
    pub live: bool,
}

impl Machine {
    /// Use the machine whose files are below `root`.
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), live: root == Path::new("/") }
    }

    /// Return where a path without its leading slash is found.
    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// Return the file's bytes.
    pub fn bytes(&self, path: &str) -> Known<Vec<u8>> {
        let mut bytes = Vec::new();
        let result = self.open(path).and_then(|file| file.take(LONGEST).read_to_end(&mut bytes));
        match result {
            Ok(_) => Ok(bytes),
            Err(error) => Err(refusal(path, &error)),
        }
    }

    /// Return the file as text; bytes that are not UTF-8 become replacement characters.
    pub fn text(&self, path: &str) -> Known<String> {
        Ok(String::from_utf8_lossy(&self.bytes(path)?).into_owned())
    }

    /// Return the file's text without the white space around it. An empty file is a missing fact.
    pub fn line(&self, path: &str) -> Known<String> {
        match self.text(path)?.trim_matches(|c: char| c.is_whitespace() || c == '\0') {
            "" => Err(format!("/{path} is empty")),
            text => Ok(text.to_owned()),
        }
    }

    /// Return the file as one number.
    pub fn number<T: FromStr>(&self, path: &str) -> Known<T> {
        let line = self.line(path)?;
        line.parse()
            .map_err(|_| format!("/{path} holds {:?}, which is not the expected number", short(&line)))
    }

    /// Return the choice in brackets, as in "always [madvise] never".
    pub fn choice(&self, path: &str) -> Known<String> {
        let line = self.line(path)?;
        let chosen = line.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
        match chosen {
            Some((word, _)) => Ok(word.to_owned()),
            None => Err(format!("/{path} holds {:?}, with nothing in brackets", short(&line))),
        }
    }

    /// Return the names in a directory, sorted.
    pub fn names(&self, path: &str) -> Known<Vec<String>> {
        let entries = fs::read_dir(self.path(path)).map_err(|error| refusal(path, &error))?;
        let mut names: Vec<String> =
            entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort_unstable();
        Ok(names)
    }

    /// Return the numbers n of the entries "{prefix}n" in a directory, ascending.
    pub fn numbered(&self, path: &str, prefix: &str) -> Known<Vec<u32>> {
        let mut numbers: Vec<u32> =
            self.names(path)?.iter().filter_map(|name| name.strip_prefix(prefix)?.parse().ok()).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// Return whether such a file or directory exists.
    pub fn exists(&self, path: &str) -> bool {
        self.path(path).exists()
    }

    /// Check by opening: lockdown and read-only mounts do not show in permission bits.
    pub fn opens(&self, path: &str) -> Known<()> {
        let mut byte = [0];
        self.open(path)
            .and_then(|mut file| file.read(&mut byte))
            .map(|_| ())
            .map_err(|error| refusal(path, &error))
    }

    /// Check that this process may write the file, without opening it: opening some devices already has an
    /// effect.
    pub fn writable(&self, path: &str) -> Known<()> {
        if !self.live {
            return self.recorded_writable(path);
        }
        let full =
            std::ffi::CString::new(format!("/{path}")).map_err(|_| format!("/{path} is not a path"))?;
        // SAFETY: the string is live and ended by zero; the call only asks.
        match unsafe { libc::faccessat(libc::AT_FDCWD, full.as_ptr(), libc::W_OK, libc::AT_EACCESS) } {
            0 => Ok(()),
            _ => {
                let error = io::Error::last_os_error();
                Err(match error.raw_os_error() {
                    Some(libc::EACCES) => format!("/{path} cannot be written by this user"),
                    Some(libc::EROFS) => format!("/{path} is mounted read-only"),
                    _ => refusal(path, &error),
                })
            }
        }
    }

    /// Check by the recorded user and mounts, since recorded files have no owner.
    fn recorded_writable(&self, path: &str) -> Known<()> {
        if !self.exists(path) {
            return Err(format!("/{path} does not exist"));
        }
        let mounts = self.text("proc/self/mounts").unwrap_or_default();
        let mount = mounts.lines().filter_map(|line| {
            let mut words = line.split_whitespace().skip(1);
            let (point, options) = (words.next()?, words.nth(1)?);
            Path::new(&format!("/{path}")).starts_with(point).then_some((point.len(), options))
        });
        let read_only = mount.max().is_some_and(|(_, options)| options.split(',').any(|word| word == "ro"));
        match self.effective_uid() {
            _ if read_only => Err(format!("/{path} is mounted read-only")),
            Ok(0) => Ok(()),
            _ => Err(format!("/{path} cannot be written by this user")),
        }
    }

    /// Return the value of a "Name:   value" line, as in `/proc/self/status` and `/proc/meminfo`.
    pub fn field(&self, path: &str, name: &str) -> Known<String> {
        let text = self.text(path)?;
        field(&text, name).map(str::to_owned).ok_or_else(|| format!("/{path} has no line {name:?}"))
    }

    /// Return the effective user of this process, or of the one that recorded the files.
    pub fn effective_uid(&self) -> Known<u32> {
        let line = self.field("proc/self/status", "Uid")?;
        let effective = line.split_whitespace().nth(1).and_then(|word| word.parse().ok());
        effective.ok_or_else(|| format!("/proc/self/status holds the user ids {:?}", short(&line)))
    }

    fn open(&self, path: &str) -> io::Result<File> {
        if self.live {
            if let Some(file) = unmounted::open(&format!("/{path}"), libc::O_RDONLY | libc::O_NONBLOCK, 0) {
                return file;
            }
        }
        // Opening must not hang on a FIFO that somebody put in place of a file.
        OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(self.path(path))
    }
}

/// Return the value of a "Name: value" or "name\t: value" line.
pub fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then_some(value.trim())
    })
}

/// Return the beginning of a text that may be long, for a message.
pub fn short(text: &str) -> String {
    text.chars().take(60).collect()
}

/// Count the CPUs of a list such as "0-3,8"; None if it is not such a list.
pub fn cpu_count(list: &str) -> Option<u64> {
    list.trim().split(',').filter(|part| !part.trim().is_empty()).try_fold(0_u64, |sum, part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u64, u64) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        sum.checked_add(last.checked_sub(first)?.checked_add(1)?)
    })
}

/// One subject of the facts: values by name; a missing one is null and has its reason under `missing`.
#[derive(Default)]
pub struct Subject {
    values: Map<String, Value>,
    missing: Map<String, Value>,
}

impl Subject {
    /// Add a fact, or the reason why there is none.
    pub fn put<T: Into<Value>>(&mut self, name: &str, fact: Known<T>) {
        let value = match fact {
            Ok(value) => value.into(),
            Err(reason) => {
                self.missing.insert(name.to_owned(), reason.into());
                Value::Null
            }
        };
        self.values.insert(name.to_owned(), value);
    }

    /// Return the subject as JSON.
    pub fn finish(mut self) -> Value {
        self.values.insert("missing".to_owned(), self.missing.into());
        self.values.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus_are_counted_or_refused() {
        for (list, count) in [("0", Some(1)), ("0-3,8", Some(5)), ("0-3, 8\n", Some(5)), ("", Some(0))] {
            assert_eq!(cpu_count(list), count, "{list:?}");
        }
        for bad in ["3-1", "a", "0-", "-1", "0-18446744073709551615", "0x3"] {
            assert_eq!(cpu_count(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn refusals_name_the_file() {
        let machine = Machine::new(Path::new("/nonexistent"));
        assert_eq!(machine.line("proc/x").unwrap_err(), "/proc/x does not exist");
        assert_eq!(machine.names("proc").unwrap_err(), "/proc does not exist");
    }
}
