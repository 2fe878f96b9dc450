//! The reason why the kernel refuses a file, in words that help the user.

use std::io;

/// Explain why a file could not be read.
pub(crate) fn refusal(path: &str, error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::ENOTDIR) => format!("/{path} does not exist"),
        Some(libc::EACCES) => format!("/{path} may not be read by this user (EACCES)"),
        Some(libc::EPERM) => {
            format!("/{path} is refused by the kernel, whoever asks (EPERM): a lockdown or a sandbox")
        }
        Some(code) => format!("/{path} cannot be read: {}", errno_words(code)),
        None => format!("/{path} cannot be read: {error}"),
    }
}

/// Return an errno with its meaning, from strerror(3).
pub fn errno_words(code: i32) -> String {
    let text = io::Error::from_raw_os_error(code).to_string();
    let words = text.split(" (os error").next().unwrap_or_default();
    format!("{words} (errno {code})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_name_the_reason_and_the_file() {
        assert_eq!(errno_words(libc::ENOSPC), "No space left on device (errno 28)");
        let words = |code| refusal("proc/x", &io::Error::from_raw_os_error(code));
        assert_eq!(words(libc::ENOENT), "/proc/x does not exist");
        assert!(words(libc::EPERM).contains("lockdown"));
        assert_eq!(words(libc::EISDIR), "/proc/x cannot be read: Is a directory (errno 21)");
    }
}
