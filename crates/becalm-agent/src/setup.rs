//! The setup of this process as the agent: a subreaper that ignores terminal signals and has private
//! descriptors.

use std::fs::OpenOptions;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use becalm_core::exec::spawner::Spawner;
use becalm_core::exec::tree::adopt_orphans;
use becalm_core::exec::user::{choose, lookup, User};
use becalm_core::knob::played::machine;
use becalm_core::source::file::Place;
use becalm_core::source::group::Around;
use becalm_core::source::perf_events::USUAL;

use crate::conversation::{signals, Conversation};
use crate::input::Input;
use crate::machine::Machine;
use crate::measure::Runner;
use crate::options::Options;
use crate::outlet::Outlet;
use crate::output::Output;
use crate::root_helper::Helper;
use crate::script::Script;
use crate::session::Session;
use crate::spool::Spool;

/// Return a session that is ready to serve.
///
/// # Errors
/// Returns a sentence about what failed.
pub fn session(options: Options) -> Result<Session, String> {
    let failed = |what: &str| {
        let what = what.to_owned();
        move |error: io::Error| format!("{what}: {error}.")
    };
    let script = options.script.as_deref().map(Script::read).transpose();
    let script = script.map_err(|error| format!("{error}."))?;
    // The helper must not become our child, so this precedes adopting orphans.
    let helper = options.helper.as_deref().map(Helper::start).transpose();
    let helper = helper.map_err(failed("sudo, which starts becalm-helper, cannot be started"))?;
    adopt_orphans().map_err(failed("Becoming the parent of orphans failed"))?;
    let signals = signals().map_err(failed("Signals could not be set up"))?;
    let root = options.root.unwrap_or_else(|| "/".into());
    let root =
        root.canonicalize().map_err(failed(&format!("The directory {} cannot be used", root.display())))?;
    // A scripted run reads nothing that a group would count.
    let group = (options.group && script.is_none()).then(|| Around::new(&Place::new(&root)));
    let directory = group.as_ref().and_then(|(around, _)| around.directory());
    // Programs start with the size that the spawner has now, so this precedes everything that allocates more.
    let spawners = Spawner::twins(directory.as_ref().map(AsRawFd::as_raw_fd))
        .map_err(failed("The process that starts programs could not be created"))?;
    let user = choose(options.user.as_deref()).map_err(|error| error.to_string())?;
    let own = |fd: Option<RawFd>| fd.map(private).transpose();
    let stdout = own(options.stdout).map_err(failed("--stdout-fd is not an open descriptor"))?;
    let stderr = own(options.stderr).map_err(failed("--stderr-fd is not an open descriptor"))?;
    let mut spool = None;
    if let Some(file) = own(options.spool).map_err(failed("--spool-fd is not an open descriptor"))? {
        spool = Some(Spool::of(file.into()).map_err(failed("--spool-fd cannot be used"))?);
    }
    if let Some(path) = &options.spool_path {
        let opened = Spool::open(path, user.as_ref());
        spool = Some(opened.map_err(failed(&format!("The spool file {} cannot be opened", path.display())))?);
    }
    if let Some(path) = &options.spool_memory {
        let mapped = Spool::shared(path);
        spool = Some(mapped.map_err(failed(&format!("The memory {} cannot be used", path.display())))?);
    }
    let helper = helper.map(|helper| helper.greeted(signals.as_raw_fd())).transpose();
    let helper = helper.map_err(|failure| failure.message)?;
    let null = OpenOptions::new().read(true).write(true).open("/dev/null").map_err(failed("/dev/null"))?;
    let runner = Runner::new(spawners, null.into(), (stdout, stderr), script)
        .map_err(failed("A pipe or mapping failed"))?;
    let clock = runner.clock.clone();
    let outlet = Outlet::new(libc::STDOUT_FILENO).map_err(failed("Standard output cannot be written to"))?;
    Ok(Session::new(
        Conversation::new(
            Input::new(libc::STDIN_FILENO),
            Output::new(outlet, spool),
            signals,
            options.silence,
        ),
        (runner, options.count.unwrap_or(USUAL), group),
        Machine::new(machine(&root), who(user.as_ref()), (options.interrupt_wait, clock), helper),
        user,
    ))
}

/// Return a function that names the user for the journal: by default this process's own, whose look-up may
/// run other programs.
fn who(user: Option<&User>) -> Box<dyn Fn() -> String> {
    let name = user.map(|user| user.name.clone());
    Box::new(move || {
        // SAFETY: cannot fail.
        let number = unsafe { libc::getuid() }.to_string();
        let found = || lookup(&number).map_or_else(|| format!("user {number}"), |user| user.name);
        name.clone().unwrap_or_else(found)
    })
}

/// Take over an inherited descriptor so that no workload inherits it.
fn private(fd: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: only sets a flag; fails on a descriptor that is not open. The caller passed it to us.
    unsafe {
        if libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(OwnedFd::from_raw_fd(fd))
    }
}
