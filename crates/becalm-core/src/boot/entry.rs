//! The part of a plan that depends on the boot loader: an entry, and its kernel options.

use super::plan::Write;
use super::words::key;

/// The part of a plan that is the loader's own.
pub struct Entry {
    /// The entry's name in the loader.
    pub name: String,
    pub default: String,
    /// Its kernel, as `Loader::kernel` returns it.
    pub kernel: String,
    pub writes: Vec<Write>,
    pub remarks: Vec<String>,
}

/// Return kernel options with these words: they replace those of the same name, and precede what is meant for
/// the first process (after `--`).
pub fn with(options: &str, words: &[String]) -> String {
    let ours = |word: &str| words.iter().any(|each| key(each) == key(word));
    // The text is split at single blanks, so that quoted text keeps its own.
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
