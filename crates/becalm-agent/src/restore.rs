//! `becalm-agent restore` restores what a killed becalm left, without a conversation. A machine runs it as it
//! starts.

use std::process::ExitCode;

use becalm_core::boot::running;
use becalm_core::knob::played::machine;
use becalm_core::time::AnyClock;

use crate::machine::Machine;
use crate::options::Restore;

/// Restore everything, and report what could not be restored, one line each. The exit code is 0 if everything
/// is as before and 3 if not. Interrupts that are still on their way back, or cannot go back, are reported
/// but do not cause 3, since this was announced before they were moved.
pub fn run(options: &Restore) -> ExitCode {
    let root = &options.root;
    let who = std::env::var("USER").unwrap_or_else(|_| "the system".to_owned());
    let restored = root
        .canonicalize()
        .map_err(|error| format!("The directory {} cannot be used: {error}.", root.display()))
        .and_then(|root| {
            let tree = machine(&root);
            let entry = !options.at_start || running::mark(&tree).is_none();
            let mut machine = Machine::new(
                tree,
                Box::new(move || who.clone()),
                (options.interrupt_wait, AnyClock::System),
                None,
            );
            machine.restore(options.force, false, entry).map_err(|failure| failure.message)
        });
    let open = match restored {
        Ok(answer) => {
            if let Some(sentence) = answer["sentence"].as_str().filter(|sentence| !sentence.is_empty()) {
                println!("{sentence}");
            }
            for sentence in
                answer["elsewhere"].as_array().into_iter().flatten().filter_map(|each| each.as_str())
            {
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
