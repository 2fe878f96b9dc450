//! The program `becalm-helper`, which root runs for an agent that is not root
//! (docs/explanation/threat-model.md).
//!
//! It has a table of what may be set, with journal, lock and guard, and nothing else: it starts no program,
//! accepts no argument and no path, reads from its environment only who called sudo, and checks every value.
//! It exchanges lines of JSON on standard input and output. When its input closes, a signal asks it to end or
//! nobody reads its output, all settings are restored.

use std::io;
use std::process::ExitCode;
use std::rc::Rc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use becalm_helper::caller;
use becalm_helper::conversation::Conversation;
use becalm_helper::request::{parse, LONGEST, VERSION};
use becalm_helper::server::Server;
use becalm_settings::failure::Failure;
use becalm_settings::guard::GuardContext;
use becalm_settings::held::Held;
use becalm_settings::tree::Tree;
use serde_json::json;

/// The time that interrupts may take to return, unless `hello` has another.
const INTERRUPT_WAIT: Duration = Duration::from_secs(60);

fn main() -> ExitCode {
    if std::env::args_os().len() > 1 {
        eprintln!(
            "becalm-helper {} takes no arguments: becalm starts it and speaks JSON with it.",
            env!("CARGO_PKG_VERSION")
        );
        return ExitCode::from(2);
    }
    let uid = match caller::caller() {
        Ok(uid) => uid,
        Err(sentence) => return refuse(&sentence, 2),
    };
    // SAFETY: cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        return refuse("it is for root: becalm starts it through sudo", 3);
    }
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let context = GuardContext { patience: INTERRUPT_WAIT, now: Rc::new(now), after: || () };
    let held = Held::new(Tree::running(), Box::new(move || caller::name(uid)), context);
    let mut server = Server::new(held, uid);
    let served = serve(&mut server);
    let open = server.end();
    for sentence in &open {
        eprintln!("becalm-helper: {sentence}");
    }
    match served {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => refuse(&error.to_string(), 3),
        _ if open.is_empty() => ExitCode::SUCCESS,
        _ => ExitCode::from(3),
    }
}

fn serve(server: &mut Server) -> io::Result<()> {
    let mut talk = Conversation::open()?;
    let greeting =
        json!({"becalm-helper": env!("CARGO_PKG_VERSION"), "protocol": VERSION, "pid": std::process::id()});
    if !talk.send(&greeting)? {
        return Ok(());
    }
    while let Some(line) = talk.line()? {
        let request = match line {
            Some(line) => parse(&line),
            None => Err(Failure::new("protocol", format!("A request is at most {LONGEST} bytes long."))),
        };
        let answer = server.answer(request);
        if !talk.send(&answer)? || server.is_over() {
            break;
        }
    }
    Ok(())
}

fn refuse(sentence: &str, code: u8) -> ExitCode {
    eprintln!("becalm-helper: {sentence}.");
    ExitCode::from(code)
}
