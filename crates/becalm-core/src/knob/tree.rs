//! The files that knobs act on: those of the running machine, or of a directory that looks like its `/`.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::cpus::{self, Cpus};

pub const CPU: &str = "/sys/devices/system/cpu";

/// Where a played file is written before it takes its place; the directory is the lock's.
const ASIDE: &str = "/run/becalm/write";

/// A machine's files. System calls act only when it is `live`; on a directory their effect is played on its files.
#[derive(Debug, Clone)]
pub struct Tree {
    root: PathBuf,
    pub live: bool,
}

impl Tree {
    /// The machine whose `/` is `root`.
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), live: root == Path::new("/") }
    }

    /// Where a path of the machine is found.
    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// A file's text without the white space around it.
    pub fn read(&self, path: &str) -> io::Result<String> {
        let bytes = fs::read(self.path(path))?;
        Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
    }

    /// Write a value in one call, as the kernel's files want it. The file must exist.
    pub fn write(&self, path: &str, value: &str) -> io::Result<()> {
        if !self.live {
            return self.replace(path, self.played(path, value)?.as_bytes());
        }
        let mut file = OpenOptions::new().write(true).open(self.path(path))?;
        match file.write(value.as_bytes())? {
            written if written == value.len() => Ok(()),
            written => Err(io::Error::other(format!("only {written} of {} bytes were taken", value.len()))),
        }
    }

    /// On a directory: give a file other bytes at once, since no file of the kernel is ever half written.
    pub fn replace(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        let target = self.path(path);
        let beside = self.path(ASIDE);
        fs::write(&beside, bytes)?;
        if let Ok(now) = fs::metadata(&target) {
            fs::set_permissions(&beside, now.permissions())?;
        }
        fs::rename(&beside, &target)
    }

    /// On a directory: what the kernel would show after this was written. Brackets go to the word that is chosen.
    fn played(&self, path: &str, value: &str) -> io::Result<String> {
        let text = self.read(path)?;
        if chosen(&text) == text {
            return Ok(format!("{value}\n"));
        }
        let words: Vec<&str> = choices(&text).collect();
        if !words.contains(&value) {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        let (open, close) = if text.contains('[') { ('[', ']') } else { ('(', ')') };
        let spelled =
            |word: &&str| if *word == value { format!("{open}{word}{close}") } else { (*word).to_owned() };
        Ok(words.iter().map(spelled).collect::<Vec<_>>().join(" ") + "\n")
    }

    /// Whether there is such a file or directory.
    pub fn exists(&self, path: &str) -> bool {
        self.path(path).exists()
    }

    /// Names in a directory, sorted; none when it cannot be read.
    pub fn names(&self, path: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(path)).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort_unstable();
        names
    }

    /// Numbers n of the entries "{prefix}n" of a directory, ascending.
    pub fn numbered(&self, path: &str, prefix: &str) -> Vec<u32> {
        let mut numbers: Vec<u32> =
            self.names(path).iter().filter_map(|name| name.strip_prefix(prefix)?.parse().ok()).collect();
        numbers.sort_unstable();
        numbers
    }

    /// The CPUs that are present, and those of them that are online.
    pub fn cpus(&self) -> (Cpus, Cpus) {
        let present: Cpus = self.numbered(CPU, "cpu").into_iter().collect();
        let online =
            |cpu: &u32| self.read(&format!("{CPU}/cpu{cpu}/online")).map_or(true, |text| text != "0");
        let online = present.iter().copied().filter(online).collect();
        (present, online)
    }

    /// The CPUs that can be switched on and off.
    pub fn switchable_cpus(&self) -> Cpus {
        let present = self.numbered(CPU, "cpu").into_iter();
        present.filter(|cpu| self.exists(&format!("{CPU}/cpu{cpu}/online"))).collect()
    }

    /// The file of every single interrupt's mask.
    pub fn interrupt_masks(&self) -> Vec<String> {
        let paths =
            self.numbered("/proc/irq", "").into_iter().map(|irq| format!("/proc/irq/{irq}/smp_affinity"));
        paths.filter(|path| self.exists(path)).collect()
    }

    /// The first core: the hardware threads that share a core with the first CPU.
    pub fn first_core(&self) -> Cpus {
        self.core("first-core")
    }

    /// The CPUs of a value: a core by its name ("first-core", "last-core"), or a list.
    pub fn core(&self, value: &str) -> Cpus {
        let (_, online) = self.cpus();
        let one = match value {
            "first-core" => online.first().copied(),
            "last-core" => online.last().copied(),
            list => return cpus::parse(list).unwrap_or_default(),
        };
        let Some(one) = one else { return Cpus::from([0]) };
        let siblings = ["core_cpus_list", "thread_siblings_list"].iter().find_map(|name| {
            let text = self.read(&format!("{CPU}/cpu{one}/topology/{name}")).ok()?;
            cpus::parse(&text)
        });
        siblings.map_or(Cpus::from([one]), |set| set.intersection(&online).copied().collect())
    }

    /// The CPUs that the scheduler leaves alone since the boot.
    pub fn isolated(&self) -> Cpus {
        self.read(&format!("{CPU}/isolated")).ok().and_then(|text| cpus::parse(&text)).unwrap_or_default()
    }
}

/// The chosen word of "always [madvise] never" or "none voluntary (full)"; a text without any is the value itself.
pub fn chosen(text: &str) -> &str {
    let mut words = text.split_ascii_whitespace();
    words.find_map(|word| within(word, '[', ']').or_else(|| within(word, '(', ')'))).unwrap_or(text)
}

fn within(word: &str, open: char, close: char) -> Option<&str> {
    word.strip_prefix(open)?.strip_suffix(close)
}

/// All words of such a text.
pub fn choices(text: &str) -> impl Iterator<Item = &str> {
    text.split_ascii_whitespace().map(|word| word.trim_matches(['[', ']', '(', ')']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chosen_word_is_in_brackets_of_either_kind() {
        assert_eq!(chosen("always [madvise] never"), "madvise");
        assert_eq!(chosen("none voluntary (full)"), "full");
        assert_eq!(chosen("20"), "20");
        assert_eq!(choices("none (full)").collect::<Vec<_>>(), ["none", "full"]);
    }
}
