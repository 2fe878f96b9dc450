//! The cost of a measured run compared with only starting and waiting for the program: both ways,
//! interleaved.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::io;
use std::ptr;

use becalm_core::exec::account::{reap, run_queue};
use becalm_core::exec::late::Lateness;
use becalm_core::exec::now_ns;
use becalm_core::exec::poll::ready;
use becalm_core::exec::prepare::Preparation;
use becalm_core::exec::program::{BaseEnvironment, Environment, Program};
use becalm_core::exec::spawner::{Executable, SpawnRequest, Spawner};
use becalm_core::exec::stream::Stream;
use becalm_core::exec::tree::sweep;
use becalm_core::exec::watch::{watch, Woken};
use becalm_core::types::{Outcome, Row, Step, Text};

use crate::conversation::{Attention, Conversation};
use crate::protocol::{start_failure, Failure};

/// Measure the cost of `/bin/true` in ns, bare (posix_spawn and waitpid) and measured, `runs` times each;
/// fewer if an end is requested.
pub fn overhead(
    runs: u32,
    spawner: &mut Spawner,
    base: &BaseEnvironment,
    (stream, late): (&mut Stream, &Lateness),
    talk: &mut Conversation,
    null: i32,
) -> Result<(Vec<i64>, Vec<i64>), Failure> {
    let command = [Text::Plain("true".to_owned())];
    let none = BTreeMap::new();
    let program = Program::find(&command, None, &none, base)?;
    let environment = Environment::new(base, &none)?;
    let bare_environment = pointers(environment.entries());
    let bare_arguments = pointers(program.arguments.iter().map(CString::as_c_str));
    let settings = Preparation::default();
    let mut bare = Vec::new();
    let mut own = Vec::new();
    let mut line = Vec::new();
    for index in 0..runs {
        bare.push(bare_run(&program, &bare_arguments, &bare_environment)?);
        let begin_ns = now_ns();
        let request = SpawnRequest {
            executable: Executable::Program {
                path: &program.path,
                arguments: &program.arguments,
                environment: &environment,
                padding: 64,
                run: None,
            },
            settings: &settings,
            user: base.user.as_ref(),
            directory: Some(&program.directory),
            input: None,
            null,
            stdout: null,
            stderr: stream.write_end(),
        };
        let system =
            |error: io::Error| Failure::new("system", format!("Waiting for a program failed: {error}."));
        let failed = |error| start_failure(&error, |e| program.explain(e));
        let child = spawner.start(&request).map_err(failed)?;
        let end = loop {
            let woken = watch(&child, None, &mut [stream], &[], false, late).map_err(system)?;
            if let Woken::Ended(end) = woken {
                break end;
            }
        };
        let wait_ns = run_queue(child.pid).map(|queue| queue.wait_ns);
        let (status, usage) = reap(child.pid).map_err(system)?;
        let begun_ns = spawner.begun(&settings).map_err(failed)?.unwrap_or(child.asked_ns);
        let swept = sweep();
        // A measured block polls between two runs, too.
        let wanted = ready(&talk.interests()).map_err(system)?;
        line.clear();
        Row {
            seq: u64::from(index),
            step: Step(0, 0, 64, 0),
            started_ns: begun_ns,
            wall_ns: end.at(begun_ns) - begun_ns,
            usage: Some(usage),
            wait_ns,
            outcome: Outcome::Ok,
            status: Some(status),
            left_behind: swept.killed,
            metrics: None,
            cpu: None,
            apart_ns: None,
        }
        .write(&mut line);
        own.push(now_ns() - begin_ns);
        if wanted && talk.attend().map_err(system)? != Attention::Nothing {
            break;
        }
    }
    Ok((bare, own))
}

/// Return an array of strings for the C library.
fn pointers<'a>(texts: impl Iterator<Item = &'a CStr>) -> Vec<*const libc::c_char> {
    texts.map(CStr::as_ptr).chain([ptr::null()]).collect()
}

type Pointers = [*const libc::c_char];

fn bare_run(program: &Program, argv: &Pointers, envp: &Pointers) -> Result<i64, Failure> {
    let path: &CString = &program.path;
    let begin_ns = now_ns();
    let mut pid = 0;
    // SAFETY: path, arguments and environment are live and ended by null; no file actions or attributes.
    let result = unsafe {
        libc::posix_spawn(
            &mut pid,
            path.as_ptr(),
            ptr::null(),
            ptr::null(),
            argv.as_ptr().cast(),
            envp.as_ptr().cast(),
        )
    };
    if result != 0 {
        let error = io::Error::from_raw_os_error(result);
        return Err(Failure::new("not_executable", program.explain(&error)));
    }
    // SAFETY: our own child; its status does not matter.
    unsafe { libc::waitpid(pid, ptr::null_mut(), 0) };
    Ok(now_ns() - begin_ns)
}
