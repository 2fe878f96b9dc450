//! The user that a workload runs as: never with more rights than the user who asked for it.
//!
//! The agent is linked statically, so it cannot load the C library's name services; it calls the system's own
//! `getent` and `id`, and reads `/etc/passwd` and `/etc/group` where they are missing (as in a minimal
//! guest).

use std::fs;
use std::process::{Command, Stdio};

/// A user with the groups that a login would have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    pub uid: u32,
    pub gid: u32,
    pub groups: Vec<libc::gid_t>,
    pub name: String,
    pub home: String,
    pub shell: String,
}

/// The reason why there is no such user.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum UserError {
    #[error("There is no user {0:?} on this machine.")]
    Unknown(String),
    #[error("Only root may run programs as another user. Run becalm as root, or leave --user {0} out.")]
    NotRoot(String),
    #[error(
        "Through sudo programs run as who called it, {caller}, and never as {asked}: a right to start becalm must not be one \
         to be anybody. Leave --user out, or log in as root."
    )]
    NotCaller { asked: String, caller: String },
    #[error("The rights of {name} cannot be taken on: {error}.")]
    Rights { name: String, error: String },
}

/// The variables in which programs that make a user root name that user: sudo(8), pkexec(1).
const CALLERS: [&str; 2] = ["SUDO_UID", "PKEXEC_UID"];

/// Return the number of the user who had sudo or pkexec start this process; None for root itself.
pub fn caller() -> Option<String> {
    // SAFETY: cannot fail.
    let root = unsafe { libc::geteuid() } == 0;
    CALLERS.iter().filter(|_| root).find_map(|name| std::env::var(name).ok()).filter(|uid| uid != "0")
}

/// Return the user to run workloads as: `asked` (--user), else the one who called sudo, else None for the
/// agent's own.
pub fn choose(asked: Option<&str>) -> Result<Option<User>, UserError> {
    let find = |name: &str| lookup(name).ok_or_else(|| UserError::Unknown(name.to_owned()));
    let caller = caller().as_deref().map(find).transpose()?;
    let asked = asked.map(find).transpose()?;
    // SAFETY: cannot fail.
    let own = unsafe { libc::geteuid() };
    match (asked, caller) {
        (Some(asked), Some(caller)) if asked.uid != caller.uid => {
            Err(UserError::NotCaller { asked: asked.name, caller: caller.name })
        }
        (Some(asked), None) if asked.uid != own && own != 0 => Err(UserError::NotRoot(asked.name)),
        (asked, caller) => Ok(caller.or(asked).filter(|user| user.uid != own)),
    }
}

/// Make this process one of a user, for good.
pub fn become_user(user: &User) -> Result<(), UserError> {
    // SAFETY: a live list of the given length; the rest are numbers. The C library sets them of all threads.
    let done = unsafe {
        libc::setgroups(user.groups.len(), user.groups.as_ptr()) == 0
            && libc::setresgid(user.gid, user.gid, user.gid) == 0
            && libc::setresuid(user.uid, user.uid, user.uid) == 0
            // Otherwise its own files of /proc would belong to root (prctl(2), PR_SET_DUMPABLE).
            && libc::prctl(libc::PR_SET_DUMPABLE, 1, 0, 0, 0) == 0
    };
    let error = || std::io::Error::last_os_error().to_string();
    done.then_some(()).ok_or_else(|| UserError::Rights { name: user.name.clone(), error: error() })
}

/// Find a user by name or number.
pub fn lookup(name: &str) -> Option<User> {
    let line = ask("/usr/bin/getent", &["passwd", "--", name])
        .or_else(|| fs::read_to_string("/etc/passwd").ok().and_then(|text| find_line(&text, name)))?;
    let mut user = parse(line.trim_end())?;
    user.groups = ask("/usr/bin/id", &["-G", "--", &user.name])
        .and_then(|text| text.split_ascii_whitespace().map(|id| id.parse().ok()).collect())
        .unwrap_or_else(|| groups_of(&user, &fs::read_to_string("/etc/group").unwrap_or_default()));
    Some(user)
}

fn ask(program: &str, arguments: &[&str]) -> Option<String> {
    let output =
        Command::new(program).args(arguments).stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !text.trim().is_empty()).then_some(text)
}

fn find_line(passwd: &str, name: &str) -> Option<String> {
    let matches = |line: &&str| {
        let mut fields = line.split(':');
        fields.next() == Some(name) || fields.nth(1) == Some(name)
    };
    passwd.lines().find(matches).map(str::to_owned)
}

/// Parse one line of passwd(5): name:password:UID:GID:comment:directory:shell.
fn parse(line: &str) -> Option<User> {
    let fields: Vec<&str> = line.split(':').collect();
    let [name, _, uid, gid, _, home, shell] = fields[..] else { return None };
    Some(User {
        uid: uid.parse().ok()?,
        gid: gid.parse().ok()?,
        groups: Vec::new(),
        name: name.to_owned(),
        home: home.to_owned(),
        shell: if shell.is_empty() { "/bin/sh".to_owned() } else { shell.to_owned() },
    })
}

/// Return the groups of a user from group(5): name:password:GID:members.
fn groups_of(user: &User, group: &str) -> Vec<libc::gid_t> {
    let mut groups = vec![user.gid];
    for line in group.lines() {
        let fields: Vec<&str> = line.split(':').collect();
        if let [_, _, gid, members] = fields[..] {
            if members.split(',').any(|member| member == user.name) {
                groups.extend(gid.parse::<libc::gid_t>().ok().filter(|gid| *gid != user.gid));
            }
        }
    }
    groups
}

impl User {
    /// Return whether this user may do what `bits` means (4 read, 2 write, 1 execute), by a file's mode,
    /// owner and group.
    pub fn allowed(&self, mode: u32, uid: u32, gid: u32, bits: u32) -> bool {
        if self.uid == 0 {
            return bits & 1 == 0 || mode & 0o111 != 0;
        }
        let shift = if uid == self.uid {
            6
        } else if gid == self.gid || self.groups.contains(&gid) {
            3
        } else {
            0
        };
        mode >> shift & bits == bits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSWD: &str = "root:x:0:0:root:/root:/bin/bash\nada:x:1000:1000:Ada,,,:/home/ada:\nbroken line\n";

    #[test]
    fn by_name_and_by_number() {
        assert_eq!(find_line(PASSWD, "ada"), find_line(PASSWD, "1000"));
        let ada = parse(&find_line(PASSWD, "ada").unwrap()).unwrap();
        assert_eq!(
            (ada.uid, ada.gid, ada.home.as_str(), ada.shell.as_str()),
            (1000, 1000, "/home/ada", "/bin/sh")
        );
        assert_eq!(find_line(PASSWD, "bob"), None);
        assert_eq!(parse("broken line"), None);
        assert_eq!(parse("a:x:notanumber:0:::"), None);
    }

    #[test]
    fn groups_from_the_file() {
        let ada = parse("ada:x:1000:1000::/home/ada:/bin/sh").unwrap();
        let group = "ada:x:1000:\naudio:x:29:bob,ada\nvideo:x:44:adams\nodd\n";
        assert_eq!(groups_of(&ada, group), [1000, 29]);
    }

    #[test]
    fn modes() {
        let ada = parse("ada:x:1000:1000::/:/bin/sh").unwrap();
        assert!(ada.allowed(0o755, 0, 0, 1));
        assert!(!ada.allowed(0o750, 0, 0, 1));
        assert!(ada.allowed(0o750, 0, 1000, 1));
        assert!(!ada.allowed(0o077, 1000, 0, 1), "the owner's bits count for the owner alone");
        let root = parse("root:x:0:0::/root:/bin/sh").unwrap();
        assert!(root.allowed(0o600, 1000, 1000, 4));
        assert!(!root.allowed(0o600, 1000, 1000, 1));
    }

    #[test]
    fn root_is_known_everywhere() {
        assert_eq!(lookup("0").map(|user| user.uid), Some(0));
        assert_eq!(lookup("no-such-user-here"), None);
    }
}
