//! The fuzzer without libFuzzer.
//!
//! - `becalm-fuzz [--seconds N] [--seed N] [TARGET…]` runs all or some targets one after another, in N
//!   seconds together.
//! - `becalm-fuzz --input FILE TARGET` runs a target once with this input.
//! - `becalm-fuzz --list` lists the targets.

use std::process::ExitCode;
use std::time::Duration;

use becalm_fuzz::{runner, Target, TARGETS};

fn main() -> ExitCode {
    match options(std::env::args().skip(1)) {
        Ok(Command::List) => {
            TARGETS.iter().for_each(|target| println!("{:<14} {}", target.name, target.what));
            ExitCode::SUCCESS
        }
        Ok(Command::Once { target, input }) => match std::fs::read(&input) {
            Ok(bytes) => {
                println!("{}: {:016x}", target.name, (target.run)(&bytes));
                drop(std::fs::remove_dir_all(becalm_fuzz::machine::scratch(std::process::id())));
                ExitCode::SUCCESS
            }
            Err(error) => refuse(&format!("{input} cannot be read: {error}")),
        },
        Ok(Command::All { targets, seconds, seed }) => all(&targets, seconds, seed),
        Err(sentence) => refuse(&sentence),
    }
}

enum Command {
    List,
    Once { target: &'static Target, input: String },
    All { targets: Vec<&'static Target>, seconds: f64, seed: u64 },
}

fn refuse(sentence: &str) -> ExitCode {
    eprintln!("becalm-fuzz: {sentence}");
    ExitCode::from(2)
}

fn options(mut words: impl Iterator<Item = String>) -> Result<Command, String> {
    let (mut targets, mut seconds, mut seed, mut input) = (Vec::new(), 60.0, 1, None);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
        match word.as_str() {
            "--list" => return Ok(Command::List),
            "--seconds" => seconds = value()?.parse().map_err(|_| "--seconds takes a number".to_owned())?,
            "--seed" => seed = value()?.parse().map_err(|_| "--seed takes a whole number".to_owned())?,
            "--input" => input = Some(value()?),
            name => targets.push(
                TARGETS
                    .iter()
                    .find(|target| target.name == name)
                    .ok_or_else(|| format!("There is no target {name:?}. --list shows all."))?,
            ),
        }
    }
    match (input, targets.as_slice()) {
        (None, []) => Ok(Command::All { targets: TARGETS.iter().collect(), seconds, seed }),
        (None, _) => Ok(Command::All { targets, seconds, seed }),
        (Some(input), &[target]) => Ok(Command::Once { target, input }),
        (Some(_), _) => Err("--input is for one target".to_owned()),
    }
}

fn all(targets: &[&Target], seconds: f64, seed: u64) -> ExitCode {
    let each = Duration::from_secs_f64(seconds / targets.len() as f64);
    let mut failed = false;
    for target in targets {
        let outcome = runner::run(target, seed, each);
        println!(
            "{:<14} {:>8} inputs, {:>5} different results",
            target.name, outcome.inputs, outcome.results
        );
        if let Some((how, path)) = outcome.failure {
            failed = true;
            println!("{} {how}. Again: cargo run --manifest-path fuzz/Cargo.toml --no-default-features -- --input {} {}", target.name, path.display(), target.name);
        }
    }
    ExitCode::from(u8::from(failed))
}
