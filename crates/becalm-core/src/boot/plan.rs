//! The writes for one boot, as data. The same data is the record from which they are removed again.

use serde::{Deserialize, Serialize};

/// A request for a boot entry.
#[derive(Debug, Clone)]
pub struct Request {
    /// Words of the kernel's command line, checked by `words`.
    pub parameters: Vec<String>,
    /// Seconds after which the machine restarts by itself unless it was found healthy.
    pub limit_s: u32,
    /// The mark that distinguishes this entry from all others: eight hexadecimal digits.
    pub mark: String,
}

/// One write. Each can be undone from its own data, whatever has happened to the others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Write {
    /// A directory for the files that follow, which did not exist.
    Directory { path: String },
    /// A file that did not exist.
    File { path: String, text: String },
    /// A symbolic link that did not exist.
    Link { path: String, target: String },
    /// Our lines at the end of a file that may be an administrator's. `created`: there was no such file.
    Part { path: String, text: String, first: String, last: String, created: bool },
    /// A variable in GRUB's environment block, and its earlier value; arms the entry.
    Variable { path: String, name: String, value: String, before: Option<String> },
    /// A variable of the firmware that did not exist; arms the entry.
    Firmware { path: String, value: String },
}

impl Write {
    /// Return the file that is written.
    pub fn path(&self) -> &str {
        match self {
            Write::Directory { path }
            | Write::File { path, .. }
            | Write::Link { path, .. }
            | Write::Part { path, .. }
            | Write::Variable { path, .. }
            | Write::Firmware { path, .. } => path,
        }
    }

    /// Return whether it decides what the loader starts next.
    pub fn arms(&self) -> bool {
        matches!(self, Write::Variable { .. } | Write::Firmware { .. })
    }
}

/// All writes for one boot, in order; the one that arms the entry is the last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    pub loader: String,
    /// The entry's name in the loader.
    pub entry: String,
    pub mark: String,
    /// The title of the entry that it is copied from.
    pub default: String,
    pub parameters: Vec<String>,
    pub limit_s: u32,
    pub writes: Vec<Write>,
    /// Its kernel, as `Loader::kernel` returns it.
    pub kernel: String,
    /// Whether every start uses it, and not only the next one.
    pub kept: bool,
    /// Remarks for the user.
    pub remarks: Vec<String>,
}
