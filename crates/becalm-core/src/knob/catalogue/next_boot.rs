//! Knobs of words of the kernel's command line, at the next boot.

use super::super::draft::Draft;
use super::super::effect::supported;
use super::super::row::{Act, Boot, Knob};
use super::super::tree::Tree;

/// A knob of the boot.
#[derive(Debug)]
pub struct AtBoot(pub Boot);

impl Act for AtBoot {
    fn state(&self, tree: &Tree, knob: &Knob) -> Result<String, String> {
        supported(tree, knob)?;
        Ok(given(&tree.read("/proc/cmdline").unwrap_or_default(), self.0.words))
    }

    fn resolve(&self, _draft: &mut Draft, _knob: &'static Knob, _value: &str) -> Result<(), String> {
        Err("it is set at boot, and this host does not reboot during a study".to_owned())
    }

    fn boot(&self) -> Option<&Boot> {
        Some(&self.0)
    }
}

/// Return the value of the first of these words that is on the kernel's command line.
fn given(line: &str, words: &[&str]) -> String {
    let given: Vec<&str> = line.split_ascii_whitespace().collect();
    for word in words {
        match word.strip_suffix("{}") {
            Some(key) => {
                if let Some(value) = given.iter().find_map(|each| each.strip_prefix(key)) {
                    return value.to_owned();
                }
            }
            None if given.contains(word) => return "off".to_owned(),
            None => {}
        }
    }
    "not set".to_owned()
}
