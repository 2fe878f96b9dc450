//! Process 1 of a guest: the agent's own executable is the `/init` of the initramfs (docs/how-to/guest.md).
//!
//! It creates the directory tree that programs expect, loads the requested kernel modules, mounts a disk and
//! enables swap (`storage`), brings up the interfaces (`interface`), starts the agent proper on the second
//! serial port and reaps orphans. When the agent ends, the machine is switched off. The agent is its child
//! and not process 1 itself, because an agent kills every orphan it receives (`exec::tree::sweep`), and its
//! guard must not be anybody's child.

use std::ffi::{CStr, CString};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::mem;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use crate::{interface, storage};

/// The port at which becalm listens. The first one is the kernel's console.
const PORT: &str = "/dev/ttyS1";
/// The file with one module per line, in the order of loading: its file, then its parameters. becalm writes
/// it.
const MODULES: &str = "/etc/becalm/modules";
/// The file with one interface per line, in the format of `interface::connect`. becalm writes it; a guest
/// without a network has none.
const NETWORK: &str = "/etc/becalm/network";
/// The file with the mount point of the disk. becalm writes it; a guest without a disk has none.
const DISK: &str = "/etc/becalm/disk";
/// The file with the size of swap in bytes. becalm writes it; a guest without swap has none.
const SWAP: &str = "/etc/becalm/swap";
/// The file with the arguments of `becalm-agent serve`, one per line. becalm writes it.
const ARGUMENTS: &str = "/etc/becalm/serve";

/// The file systems to mount: type, mount point, options, and whether the guest cannot do without it.
const MOUNTS: [(&CStr, &str, &CStr, bool); 9] = [
    (c"proc", "/proc", c"", true),
    (c"sysfs", "/sys", c"", true),
    (c"devtmpfs", "/dev", c"mode=0755", true),
    (c"devpts", "/dev/pts", c"mode=0620,gid=5,ptmxmode=0666", false),
    (c"tmpfs", "/dev/shm", c"mode=1777", false),
    (c"tmpfs", "/run", c"mode=0755", false),
    (c"tmpfs", "/tmp", c"mode=1777", false),
    (c"cgroup2", "/sys/fs/cgroup", c"", false),
    (c"debugfs", "/sys/kernel/debug", c"", false),
];

/// Return whether this process is process 1 of a guest. In a container the agent may have that id, too, but
/// not that name.
pub fn is_ours() -> bool {
    std::process::id() == 1 && std::env::args_os().next().is_some_and(|name| name == "/init")
}

/// Boot, serve one conversation, and switch the machine off.
pub fn boot() -> ! {
    if let Err(sentence) = life() {
        say(&sentence);
    }
    // SAFETY: sync has no arguments, and process 1 may call reboot(2). With QEMU's -no-reboot either call
    // ends the guest.
    unsafe {
        libc::sync();
        libc::reboot(libc::RB_POWER_OFF);
        libc::reboot(libc::RB_AUTOBOOT);
    }
    std::process::exit(3)
}

fn life() -> Result<(), String> {
    for (kind, place, options, needed) in MOUNTS {
        match mount(kind, place, options) {
            Err(error) if needed => {
                return Err(format!("{} cannot be mounted on {place}: {error}.", kind.to_string_lossy()))
            }
            // A kernel without debugfs or cgroups can be measured on, too; the agent's facts report it.
            _ => {}
        }
    }
    controllers();
    // Programs that connect to themselves need the loopback interface.
    interface::up("lo").map_err(|error| format!("The loopback interface cannot be brought up: {error}."))?;
    // SAFETY: a live buffer of that length.
    unsafe { libc::sethostname(c"guest".as_ptr(), 5) };
    for line in fs::read_to_string(MODULES).unwrap_or_default().lines() {
        let (file, parameters) = line.split_once(' ').unwrap_or((line, ""));
        load(file, parameters).map_err(|error| format!("The module {file} cannot be loaded: {error}."))?;
    }
    // Drivers may be among the modules, so this comes after them.
    for (file, prepare) in
        [(DISK, storage::mount_disk as fn(&str) -> Result<(), String>), (SWAP, storage::swap_on)]
    {
        for line in fs::read_to_string(file).unwrap_or_default().lines() {
            prepare(line)?;
        }
    }
    for line in fs::read_to_string(NETWORK).unwrap_or_default().lines() {
        interface::connect(line)?;
    }
    let status = serve()?;
    if status.success() {
        return Ok(());
    }
    Err(format!("The agent ended: {status}."))
}

/// Write a line to the console, where becalm looks for reasons.
fn say(sentence: &str) {
    drop(writeln!(io::stderr(), "becalm-init: {sentence}"));
}

/// Mount a file system; a directory that already contains something (files of a workload) stays as it is.
fn mount(kind: &CStr, place: &str, options: &CStr) -> io::Result<()> {
    fs::create_dir_all(place)?;
    let sticky = options.to_bytes() == b"mode=1777";
    if kind == c"tmpfs" && fs::read_dir(place)?.next().is_some() {
        return fs::set_permissions(place, fs::Permissions::from_mode(if sticky { 0o1777 } else { 0o755 }));
    }
    let place = CString::new(Path::new(place).as_os_str().as_bytes())?;
    // SAFETY: all four strings end with a zero and live.
    let done =
        unsafe { libc::mount(kind.as_ptr(), place.as_ptr(), kind.as_ptr(), 0, options.as_ptr().cast()) };
    if done == 0 {
        return Ok(());
    }
    Err(io::Error::last_os_error())
}

/// Enable every controller of the kernel for groups below the root (cgroups(7)).
fn controllers() {
    let group = Path::new("/sys/fs/cgroup");
    for name in
        fs::read_to_string(group.join("cgroup.controllers")).unwrap_or_default().split_ascii_whitespace()
    {
        drop(fs::write(group.join("cgroup.subtree_control"), format!("+{name}")));
    }
}

fn load(file: &str, parameters: &str) -> io::Result<()> {
    let opened = File::open(file)?;
    let parameters = CString::new(parameters)?;
    // SAFETY: a live descriptor and a string that ends with a zero.
    let done = unsafe { libc::syscall(libc::SYS_finit_module, opened.as_raw_fd(), parameters.as_ptr(), 0) };
    let error = io::Error::last_os_error();
    if done == 0 || error.raw_os_error() == Some(libc::EEXIST) {
        return Ok(());
    }
    Err(error)
}

/// Start the agent on the port, and reap processes until it ends.
fn serve() -> Result<ExitStatus, String> {
    let failed = |what: &'static str| move |error: io::Error| format!("{what}: {error}.");
    let port = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NOCTTY | libc::O_CLOEXEC)
        .open(PORT)
        .map_err(failed("The serial port /dev/ttyS1 cannot be opened"))?;
    raw(&port).map_err(failed("The serial port /dev/ttyS1 cannot be made raw"))?;
    let stdin = port.try_clone().map_err(failed("The serial port cannot be shared"))?;
    let mut agent = Command::new("/init");
    agent.arg("serve").stdin(stdin).stdout(port);
    if let Some(memory) = spool() {
        agent.arg("--spool-memory").arg(memory);
    }
    agent.args(fs::read_to_string(ARGUMENTS).unwrap_or_default().lines());
    agent.env_clear().env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    agent.env("HOME", "/root").env("USER", "root").env("TERM", "linux");
    let agent = agent.spawn().map_err(failed("The agent cannot be started"))?;
    loop {
        let mut status = 0;
        // SAFETY: a live variable for the status. Only this loop reaps the agent.
        let ended = unsafe { libc::waitpid(-1, &mut status, 0) };
        if ended == agent.id() as libc::pid_t {
            return Ok(std::os::unix::process::ExitStatusExt::from_raw(status));
        }
        let error = io::Error::last_os_error();
        if ended < 0 && error.kind() != io::ErrorKind::Interrupted {
            return Err(format!("Waiting for the agent failed: {error}."));
        }
    }
}

/// Return the memory that this machine shares with its host: the second region of QEMU's device
/// `ivshmem-plain`.
fn spool() -> Option<PathBuf> {
    let mut devices = fs::read_dir("/sys/bus/pci/devices").ok()?.flatten().map(|entry| entry.path());
    let is = |device: &Path, name: &str, value: &str| {
        fs::read_to_string(device.join(name)).is_ok_and(|text| text.trim() == value)
    };
    let device = devices.find(|device| is(device, "vendor", "0x1af4") && is(device, "device", "0x1110"))?;
    fs::write(device.join("enable"), "1").ok()?;
    Some(device.join("resource2")).filter(|memory| memory.exists())
}

/// Make the port transparent for all bytes in both directions; a read waits for one byte (termios(3)).
fn raw(port: &File) -> io::Result<()> {
    // SAFETY: the structure is filled by tcgetattr before it is read.
    unsafe {
        let mut mode: libc::termios = mem::zeroed();
        if libc::tcgetattr(port.as_raw_fd(), &mut mode) != 0 {
            return Err(io::Error::last_os_error());
        }
        libc::cfmakeraw(&mut mode);
        // There is no modem to wait for or to hang up.
        mode.c_cflag &= !(libc::HUPCL | libc::CRTSCTS | libc::CBAUD);
        mode.c_cflag |= libc::CLOCAL | libc::CREAD | libc::B115200;
        (mode.c_cc[libc::VMIN], mode.c_cc[libc::VTIME]) = (1, 0);
        if libc::tcsetattr(port.as_raw_fd(), libc::TCSANOW, &mode) != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}
