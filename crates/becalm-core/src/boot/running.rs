//! The command line of the running kernel, and whether it is becalm's.

use super::MARK;
use crate::knob::tree::Tree;

/// Return the words of the kernel's command line.
pub fn words(tree: &Tree) -> Vec<String> {
    let line = tree.read("/proc/cmdline").unwrap_or_default();
    line.split_ascii_whitespace().map(str::to_owned).collect()
}

/// Return the mark of becalm's entry that started this kernel.
pub fn mark(tree: &Tree) -> Option<String> {
    words(tree).iter().find_map(|word| word.strip_prefix(MARK)).map(str::to_owned)
}

/// Return the file of the running kernel, as the loader names it, without its directory.
pub fn image(tree: &Tree) -> Option<String> {
    let words = words(tree);
    let path = words.iter().find_map(|word| word.strip_prefix("BOOT_IMAGE="))?;
    path.rsplit('/').next().map(str::to_owned)
}
