//! The scheduler's features: a file with one word for each, its name when it is on and NO_ and its name when
//! it is off (kernel/sched/debug.c, sched_feat_show and sched_feat_write).

use std::io;

use super::tree::Tree;

/// The places of the file: since 5.13, and before.
pub const FILES: [&str; 2] = ["/sys/kernel/debug/sched/features", "/sys/kernel/debug/sched_features"];

/// Return whether a feature is on or off; None if this kernel does not have it.
pub fn shown(text: &str, name: &str) -> Option<&'static str> {
    text.split_ascii_whitespace().find_map(|word| match word.strip_prefix("NO_") {
        _ if word == name => Some("on"),
        Some(off) if off == name => Some("off"),
        _ => None,
    })
}

/// Return whether a feature is on or off now.
pub fn read(tree: &Tree, path: &str, name: &str) -> io::Result<String> {
    let found = shown(&tree.read(path)?, name).map(str::to_owned);
    found.ok_or_else(|| io::Error::from_raw_os_error(libc::ENOENT))
}

/// Switch a feature on or off.
pub fn write(tree: &Tree, path: &str, name: &str, value: &str) -> io::Result<()> {
    let word = if value == "on" { name.to_owned() } else { format!("NO_{name}") };
    tree.write(path, &word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::Place;

    #[test]
    fn a_feature_is_its_name_or_that_with_no_before_it() {
        let text = "PLACE_LAG NO_NEXT_BUDDY NO_HRTICK \n";
        assert_eq!(shown(text, "PLACE_LAG"), Some("on"));
        assert_eq!(shown(text, "NEXT_BUDDY"), Some("off"));
        assert_eq!(shown(text, "LAG"), None);
    }

    #[test]
    fn a_directory_shows_the_word_that_was_written_and_all_others_as_before() {
        let root = std::env::temp_dir().join(format!("becalm-features-{}", std::process::id()));
        let tree = Tree::new(&root);
        let path = FILES[0];
        let write = |name: &str, value| {
            Place::Feature { path: path.to_owned(), name: name.to_owned() }.write(&tree, value)
        };
        std::fs::create_dir_all(tree.path(path).parent().unwrap()).unwrap();
        let before = "PLACE_LAG NO_NEXT_BUDDY NO_HRTICK \n";
        std::fs::write(tree.path(path), before).unwrap();
        write("NEXT_BUDDY", "on").unwrap();
        write("PLACE_LAG", "off").unwrap();
        assert_eq!(tree.bytes(path).unwrap(), b"NO_PLACE_LAG NEXT_BUDDY NO_HRTICK \n");
        assert_eq!(read(&tree, path, "NEXT_BUDDY").unwrap(), "on");
        assert!(write("NO_SUCH", "on").is_err());
        write("NEXT_BUDDY", "off").unwrap();
        write("PLACE_LAG", "on").unwrap();
        assert_eq!(tree.bytes(path).unwrap(), before.as_bytes());
        drop(std::fs::remove_dir_all(&root));
    }
}
