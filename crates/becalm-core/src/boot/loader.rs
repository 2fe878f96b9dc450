//! The table of boot loaders. One more is one file and one row.

use super::plan::{Plan, Request};
use super::words::key;
use super::{grub, guard, systemd_boot, BootError};
use crate::facts::read::Machine;
use crate::facts::virtualisation;
use crate::knob::tree::Tree;

/// A loader's own part of a plan.
pub struct Entry {
    /// The entry's name, as the loader knows it.
    pub name: String,
    pub default: String,
    pub writes: Vec<super::plan::Write>,
    pub remarks: Vec<String>,
}

/// One boot loader.
pub struct Loader {
    pub name: &'static str,
    /// Whether it has started this machine.
    pub here: fn(&Tree) -> bool,
    /// An entry with these words, and what chooses it for one start. The error is a reason in words.
    pub entry: fn(&Tree, &Request, &[String]) -> Result<Entry, String>,
}

/// In the order in which they are looked for: systemd-boot says by itself that it was there.
pub const LOADERS: &[Loader] = &[
    Loader { name: "systemd-boot", here: systemd_boot::here, entry: systemd_boot::entry },
    Loader { name: "GRUB", here: grub::here, entry: grub::entry },
];

/// All that will be written for one boot. Reads only.
pub fn plan(tree: &Tree, request: &Request) -> Result<Plan, BootError> {
    let unsupported = BootError::Unsupported;
    let about = virtualisation::collect(&Machine::new(&tree.path("/")));
    if about["container"].is_object() {
        return Err(unsupported("this is a container, which starts with its host".to_owned()));
    }
    let loader = LOADERS.iter().find(|loader| (loader.here)(tree)).ok_or_else(|| {
        unsupported(
            "neither GRUB nor systemd-boot has started it, as far as can be seen. Boot settings can be tried in a guest"
                .to_owned(),
        )
    })?;
    if let Some(reason) = guard::obstacle(tree) {
        return Err(unsupported(reason));
    }
    let mut words = request.parameters.clone();
    words.extend(guard::words(tree, &request.mark));
    let entry = (loader.entry)(tree, request, &words).map_err(unsupported)?;
    let mut writes = guard::writes(tree, &request.mark, request.limit_s);
    writes.extend(entry.writes);
    let mut remarks = entry.remarks;
    remarks.push(guard::remark(tree));
    Ok(Plan {
        loader: loader.name.to_owned(),
        entry: entry.name,
        mark: request.mark.clone(),
        default: entry.default,
        parameters: request.parameters.clone(),
        limit_s: request.limit_s,
        writes,
        remarks,
    })
}

/// Kernel options with these words: those of the same name give way, and ours stand before what is meant for the first
/// process (behind `--`).
pub fn with(options: &str, words: &[String]) -> String {
    let ours = |word: &str| words.iter().any(|each| key(each) == key(word));
    // Split at single blanks, so that what is quoted keeps its own.
    let mut kept: Vec<&str> =
        options.split(' ').filter(|word| word.is_empty() || !ours(word.trim())).collect();
    let at = kept.iter().position(|word| *word == "--").unwrap_or(kept.len());
    for (number, word) in words.iter().enumerate() {
        kept.insert(at + number, word);
    }
    kept.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_join_the_options_and_replace_their_like() {
        let words = ["isolcpus=1".to_owned(), "panic=10".to_owned()];
        assert_eq!(with("root=UUID=1 ro  quiet", &words), "root=UUID=1 ro  quiet isolcpus=1 panic=10");
        assert_eq!(with("isolcpus=2 ro panic=-1 x", &words), "ro x isolcpus=1 panic=10");
        assert_eq!(with("ro -- single", &words), "ro isolcpus=1 panic=10 -- single");
        assert_eq!(
            with("dyndbg=\"file a +p  panic\" ro", &words),
            "dyndbg=\"file a +p  panic\" ro isolcpus=1 panic=10"
        );
        assert_eq!(with("", &words), " isolcpus=1 panic=10");
    }
}
