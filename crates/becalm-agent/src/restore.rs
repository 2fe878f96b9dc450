//! `becalm-agent restore`: put back what a killed becalm left, without a conversation. A machine does this as it starts.

use std::path::Path;
use std::process::ExitCode;

use becalm_core::boot::running;
use becalm_core::knob::tree::Tree;

use crate::machine::Machine;

/// Put back and say what could not be, a line each. Exit code 0: all is as it was; 3: something is not.
///
/// `at_start`: a boot entry that the machine has just started by belongs to a study that goes on, and stays.
pub fn run(root: &Path, force: bool, at_start: bool) -> ExitCode {
    let who = std::env::var("USER").unwrap_or_else(|_| "the system".to_owned());
    let restored = root
        .canonicalize()
        .map_err(|error| format!("The directory {} cannot be used: {error}.", root.display()))
        .and_then(|root| {
            let tree = Tree::new(&root);
            let entry = !at_start || running::mark(&tree).is_none();
            Machine::new(tree, who).restore(force, entry).map_err(|failure| failure.message)
        });
    let open = match restored {
        Ok(answer) => {
            if let Some(sentence) = answer["sentence"].as_str().filter(|sentence| !sentence.is_empty()) {
                println!("{sentence}");
            }
            let sentences = answer["unsettled"].as_array().into_iter().flatten();
            sentences.filter_map(|sentence| sentence.as_str().map(str::to_owned)).collect()
        }
        Err(sentence) => vec![sentence],
    };
    for sentence in &open {
        eprintln!("becalm-agent: {sentence}");
    }
    if open.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(3)
    }
}
