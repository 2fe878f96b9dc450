//! The agent's command line (docs/reference/protocol.md, "Start and end").

use std::ffi::OsString;
use std::os::fd::RawFd;
use std::path::PathBuf;
use std::time::Duration;

use becalm_core::source::perf_events::{find, Pair, EVENTS, SOFTWARE_EVENTS};

/// The command of the agent.
#[derive(Debug, PartialEq)]
pub enum Command {
    Serve(Options),
    /// Restore settings that were left on a machine.
    Restore(Restore),
    /// Start a program several times at once.
    Copies(crate::copies::Copies),
    /// Generate a known load.
    Load(crate::load::Options),
    /// Evaluate the timers of the machine.
    Clock(becalm_core::clock::request::Request),
    /// Measure how soon woken threads run.
    Wakeups(becalm_core::wakeups::Wakeups),
    /// Run a built-in kernel.
    Kernel(crate::kernel::Asked),
    /// Print the engine's tables.
    Tables,
    Version,
    /// Print the optional parts that are compiled in.
    Features,
}

/// The options of `restore`.
#[derive(Debug, PartialEq, Eq)]
pub struct Restore {
    pub root: PathBuf,
    /// Whether to restore values that others have changed since, too.
    pub force: bool,
    /// Whether the machine has just started: a boot entry that it was started with stays.
    pub at_start: bool,
    pub interrupt_wait: Duration,
}

/// The options of `serve`.
#[derive(Debug, PartialEq, Eq)]
pub struct Options {
    pub user: Option<String>,
    pub stdout: Option<RawFd>,
    pub stderr: Option<RawFd>,
    pub spool: Option<RawFd>,
    pub spool_path: Option<PathBuf>,
    /// The memory of a device that outlives this machine.
    pub spool_memory: Option<PathBuf>,
    pub root: Option<PathBuf>,
    /// The number of seconds without input after which becalm counts as gone.
    pub silence: Option<u32>,
    /// The longest wait, in the background, until interrupts are back on their CPUs.
    pub interrupt_wait: Duration,
    /// The events counted in place of cycles and instructions.
    pub count: Option<Pair>,
    /// Whether to create a control group for programs at once and not when they are first observed.
    pub group: bool,
    /// The helper that sudo starts to change settings if this process is not root.
    pub helper: Option<PathBuf>,
    /// The script with figures that are reported in place of the machine's, for tests.
    pub script: Option<PathBuf>,
}

/// The default wait for interrupts: an idle device may raise none for a minute. The waiting process sleeps
/// between looks that take microseconds.
const INTERRUPT_WAIT: Duration = Duration::from_secs(60);

impl Default for Options {
    fn default() -> Self {
        Self {
            user: None,
            stdout: None,
            stderr: None,
            spool: None,
            spool_path: None,
            spool_memory: None,
            root: None,
            silence: None,
            interrupt_wait: INTERRUPT_WAIT,
            count: None,
            group: false,
            helper: None,
            script: None,
        }
    }
}

const USAGE: &str = "usage: becalm-agent serve [--user NAME|UID] [--stdout-fd N] [--stderr-fd N] \
                     [--spool-fd N | --spool PATH | --spool-memory PATH] [--root DIR] [--silence SECONDS] [--interrupt-wait SECONDS] [--count EVENT,EVENT] [--group] [--helper PATH] [--script FILE]. It is \
                     started by becalm and speaks JSON. Or: becalm-agent restore [--root DIR] [--force] [--at-start] \
                     [--interrupt-wait SECONDS]";

/// Parse the command line.
///
/// # Errors
/// Returns a sentence about invalid arguments.
pub fn parse(arguments: impl Iterator<Item = OsString>) -> Result<Command, String> {
    let mut arguments = arguments;
    match arguments.next().as_deref().and_then(|word| word.to_str()) {
        Some("serve") => {}
        Some("restore") => return restore(arguments),
        Some("copies") => return crate::copies::parse(arguments).map(Command::Copies),
        Some("clock") => return crate::clock::parse(arguments).map(Command::Clock),
        Some("load") => return crate::load::parse(arguments).map(Command::Load),
        Some("wakeups") => return crate::wakeups::parse(arguments).map(Command::Wakeups),
        Some("kernel") => return crate::kernel::parse(arguments).map(Command::Kernel),
        Some("tables") => return Ok(Command::Tables),
        Some("--version") => return Ok(Command::Version),
        Some("--features") => return Ok(Command::Features),
        _ => return Err(USAGE.to_owned()),
    }
    let mut options = Options::default();
    while let Some(name) = arguments.next() {
        if name == "--group" {
            options.group = true;
            continue;
        }
        let value = arguments.next().ok_or_else(|| format!("{} needs a value; {USAGE}", name.display()))?;
        let text = value.to_str().map(str::to_owned);
        let descriptor = || {
            let number = text.as_deref().and_then(|text| text.parse::<RawFd>().ok()).filter(|fd| *fd > 2);
            number
                .ok_or_else(|| format!("{} takes an open descriptor above 2, not {value:?}.", name.display()))
        };
        match name.to_str() {
            Some("--user") => options.user = text,
            Some("--stdout-fd") => options.stdout = Some(descriptor()?),
            Some("--stderr-fd") => options.stderr = Some(descriptor()?),
            Some("--spool-fd") => options.spool = Some(descriptor()?),
            Some("--spool") => options.spool_path = Some(value.into()),
            Some("--spool-memory") => options.spool_memory = Some(value.into()),
            Some("--root") => options.root = Some(value.into()),
            Some("--helper") => options.helper = Some(value.into()),
            Some("--script") => options.script = Some(value.into()),
            Some("--silence") => {
                let seconds =
                    text.as_deref().and_then(|text| text.parse().ok()).filter(|seconds| *seconds > 0);
                options.silence =
                    Some(seconds.ok_or_else(|| format!("--silence takes seconds, not {value:?}."))?);
            }
            Some("--interrupt-wait") => options.interrupt_wait = wait(text.as_deref())?,
            Some("--count") => options.count = Some(pair(text.as_deref())?),
            _ => return Err(format!("{} is not an option; {USAGE}", name.display())),
        }
    }
    Ok(Command::Serve(options))
}

fn restore(mut arguments: impl Iterator<Item = OsString>) -> Result<Command, String> {
    let root = PathBuf::from("/");
    let mut options = Restore { root, force: false, at_start: false, interrupt_wait: INTERRUPT_WAIT };
    while let Some(name) = arguments.next() {
        match name.to_str() {
            Some("--force") => options.force = true,
            Some("--at-start") => options.at_start = true,
            Some("--root") => {
                options.root =
                    arguments.next().ok_or_else(|| format!("--root needs a value; {USAGE}"))?.into();
            }
            Some("--interrupt-wait") => {
                options.interrupt_wait = wait(arguments.next().as_deref().and_then(|word| word.to_str()))?;
            }
            _ => return Err(format!("{} is not an option; {USAGE}", name.display())),
        }
    }
    Ok(Command::Restore(options))
}

/// Parse two events separated by a comma.
fn pair(text: Option<&str>) -> Result<Pair, String> {
    let found =
        text.and_then(|text| text.split_once(',')).and_then(|(one, two)| Some([find(one)?, find(two)?]));
    found.ok_or_else(|| {
        let known =
            EVENTS.iter().chain(&SOFTWARE_EVENTS).map(|event| event.name).collect::<Vec<_>>().join(", ");
        format!("--count takes two events of {known}, not {:?}.", text.unwrap_or_default())
    })
}

/// Parse a time in seconds, with fractions.
fn wait(text: Option<&str>) -> Result<Duration, String> {
    let seconds = text.and_then(|text| text.parse::<f64>().ok());
    let wait = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    wait.ok_or_else(|| format!("--interrupt-wait takes seconds, not {:?}.", text.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &[&str]) -> Result<Command, String> {
        parse(words.iter().map(OsString::from))
    }

    #[test]
    fn valid_command_lines_are_parsed() {
        let Ok(Command::Serve(options)) =
            of(&["serve", "--user", "ada", "--group", "--spool-fd", "7", "--silence", "60"])
        else {
            panic!()
        };
        assert_eq!((options.user.as_deref(), options.spool), (Some("ada"), Some(7)));
        assert_eq!((options.silence, options.count, options.group), (Some(60), None, true));
        let Ok(Command::Serve(options)) = of(&["serve", "--count", "task-clock,page-faults"]) else {
            panic!()
        };
        assert_eq!(
            options.count.map(|pair| pair.map(|event| event.name)),
            Some(["task-clock", "page-faults"])
        );
        let Ok(Command::Serve(options)) = of(&["serve", "--script", "/x"]) else { panic!() };
        assert_eq!((options.script, options.root), (Some("/x".into()), None));
        assert_eq!(of(&["--version"]), Ok(Command::Version));
        assert_eq!(of(&["--features"]), Ok(Command::Features));
        assert_eq!(of(&["tables"]), Ok(Command::Tables));
        let plain =
            Restore { root: "/".into(), force: false, at_start: false, interrupt_wait: INTERRUPT_WAIT };
        assert_eq!(of(&["restore"]), Ok(Command::Restore(plain)));
        let (root, interrupt_wait) = ("/x".into(), Duration::from_millis(200));
        let forced = Command::Restore(Restore { root, force: true, at_start: true, interrupt_wait });
        let words = ["restore", "--force", "--root", "/x", "--at-start", "--interrupt-wait", "0.2"];
        assert_eq!(of(&words), Ok(forced));
    }

    #[test]
    fn invalid_command_lines_are_rejected() {
        for bad in [
            &[][..],
            &["run"],
            &["serve", "--user"],
            &["serve", "--script"],
            &["serve", "--spool-fd", "x"],
            &["serve", "--spool-fd", "1"],
            &["serve", "--shell", "x"],
            &["restore", "--root"],
            &["restore", "now"],
            &["serve", "--silence", "0"],
            &["serve", "--silence", "soon"],
            &["serve", "--count", "cycles"],
            &["serve", "--count", "cycles,heat"],
            &["serve", "--interrupt-wait", "-1"],
            &["restore", "--interrupt-wait", "1e400"],
            &["restore", "--interrupt-wait"],
        ] {
            assert!(of(bad).is_err(), "{bad:?}");
        }
    }
}
