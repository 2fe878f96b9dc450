//! Entries of the Boot Loader Specification: a file each, below `loader/entries` of the boot partition, with
//! a key and a value per line (uapi-group.org, "Boot Loader Specification", type 1). systemd-boot and the
//! GRUB of Fedora and RHEL read them.

use std::cmp::Ordering;

use crate::knob::tree::Tree;

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The file's name without `.conf` and without a count of tries (`+3-1`).
    pub id: String,
    /// Whether its count of tries is used up: then it comes after all others.
    exhausted: bool,
    /// Keys and values in the file's order; some keys occur more than once.
    lines: Vec<(String, String)>,
}

/// Return all entries below a directory, by name.
pub fn entries(tree: &Tree, directory: &str) -> Vec<Entry> {
    let read = |name: String| {
        let stem = name.strip_suffix(".conf")?;
        let text = tree.read(&format!("{directory}/{name}")).ok()?;
        Some(parse(stem, &text))
    };
    tree.names(directory).into_iter().filter_map(read).collect()
}

fn parse(stem: &str, text: &str) -> Entry {
    let line = |line: &str| {
        let line = line.trim();
        let (key, value) = line.split_once([' ', '\t'])?;
        (!line.starts_with('#')).then(|| (key.to_owned(), value.trim().to_owned()))
    };
    let counted = stem.rsplit_once('+').filter(|(_, count)| {
        !count.is_empty() && count.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
    });
    let id = counted.map_or(stem, |(id, _)| id).to_owned();
    let exhausted = counted.is_some_and(|(_, count)| count.split('-').next() == Some("0"));
    Entry { id, exhausted, lines: text.lines().filter_map(line).collect() }
}

impl Entry {
    /// Return all values of a key.
    pub fn all(&self, key: &str) -> Vec<&str> {
        self.lines.iter().filter(|(name, _)| name == key).map(|(_, value)| value.as_str()).collect()
    }

    /// Return the first value of a key.
    pub fn first(&self, key: &str) -> Option<&str> {
        self.all(key).first().copied()
    }

    /// Return the title that the menu shows.
    pub fn title(&self) -> String {
        self.first("title").unwrap_or(&self.id).to_owned()
    }

    /// Return the kernel's options, as one line.
    pub fn options(&self) -> String {
        self.all("options").join(" ")
    }

    /// Return the kernel, if the entry names one and not another program that contains its options.
    pub fn kernel(&self) -> Result<&str, String> {
        let title = self.title();
        match (self.first("linux"), self.first("efi").or(self.first("uki"))) {
            (Some(kernel), _) => Ok(kernel),
            (None, Some(image)) => Err(format!(
                "its default entry, {title:?}, starts {image}, a program that has its options inside"
            )),
            (None, None) => Err(format!("its default entry, {title:?}, names no kernel")),
        }
    }
}

/// Compare as systemd-boot's menu does: sort keys ascending, then the newest version first; entries without a
/// key after those that have one, by name (systemd-boot(7); versions before 250 reverse the list and start
/// with its last).
pub fn in_menu(one: &Entry, other: &Entry) -> Ordering {
    let tries = one.exhausted.cmp(&other.exhausted);
    let by_key = || match (one.first("sort-key"), other.first("sort-key")) {
        (Some(a), Some(b)) => {
            let machine = |entry: &Entry| entry.first("machine-id").unwrap_or_default().to_owned();
            let version = |entry: &Entry| entry.first("version").unwrap_or_default().to_owned();
            a.cmp(b)
                .then_with(|| machine(one).cmp(&machine(other)))
                .then_with(|| compare(&version(other), &version(one)))
        }
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => Ordering::Equal,
    };
    tries.then_with(by_key).then_with(|| compare(&other.id, &one.id))
}

/// Compare names as versions, as RPM does: the GRUB of Fedora and RHEL lists the greatest first (rpm,
/// lib/rpmvercmp.c).
pub fn compare(one: &str, other: &str) -> Ordering {
    let (mut one, mut other) = (one, other);
    loop {
        let apart = |letter: char| !letter.is_ascii_alphanumeric() && letter != '~';
        (one, other) = (one.trim_start_matches(apart), other.trim_start_matches(apart));
        // A tilde is older than anything, even than the end.
        match (one.strip_prefix('~'), other.strip_prefix('~')) {
            (Some(rest), Some(others)) => {
                (one, other) = (rest, others);
                continue;
            }
            (Some(_), None) => return Ordering::Less,
            (None, Some(_)) => return Ordering::Greater,
            (None, None) => {}
        }
        if one.is_empty() || other.is_empty() {
            return one.len().cmp(&other.len());
        }
        let digits = one.starts_with(|letter: char| letter.is_ascii_digit());
        let same = |letter: char| if digits { letter.is_ascii_digit() } else { letter.is_ascii_alphabetic() };
        let end = |text: &str| text.find(|letter| !same(letter)).unwrap_or(text.len());
        let (a, b) = (&one[..end(one)], &other[..end(other)]);
        if b.is_empty() {
            // Numbers are newer than letters.
            return if digits { Ordering::Greater } else { Ordering::Less };
        }
        let order = match digits {
            true => {
                let (a, b) = (a.trim_start_matches('0'), b.trim_start_matches('0'));
                a.len().cmp(&b.len()).then_with(|| a.cmp(b))
            }
            false => a.cmp(b),
        };
        if order != Ordering::Equal {
            return order;
        }
        (one, other) = (&one[end(one)..], &other[end(other)..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_as_fedora_writes_it() {
        let text = "title Fedora Linux (6.5.6-300.fc39.x86_64) 39\nversion 6.5.6-300.fc39.x86_64\n\
                    linux /vmlinuz-6.5.6\ninitrd /initramfs-6.5.6.img $tuned_initrd\n# a comment\n\
                    options root=UUID=1 ro\noptions rhgb quiet\ngrub_arg --unrestricted\n";
        let entry = parse("abc-6.5.6+3-1", text);
        assert_eq!(entry.id, "abc-6.5.6");
        assert_eq!(entry.kernel(), Ok("/vmlinuz-6.5.6"));
        assert_eq!(entry.options(), "root=UUID=1 ro rhgb quiet");
        assert_eq!(entry.all("initrd"), ["/initramfs-6.5.6.img $tuned_initrd"]);
        assert_eq!(parse("a+b", "").id, "a+b");
        assert!(parse("x", "efi /EFI/Linux/x.efi").kernel().is_err());
    }

    #[test]
    fn the_menu_begins_with_the_newest() {
        let entry = |id: &str, key: &str, version: &str| parse(id, &format!("{key}\nversion {version}\n"));
        let mut menu = [
            entry("z", "", "9"),
            entry("a-6.1.0-9", "sort-key debian", "6.1.0-9"),
            entry("a-6.1.0-18", "sort-key debian", "6.1.0-18"),
            entry("arch+0-3", "sort-key arch", "1"),
            entry("becalm-1", "sort-key zzzz-becalm", ""),
            entry("a", "", ""),
        ];
        menu.sort_by(in_menu);
        let names: Vec<&str> = menu.iter().map(|entry| entry.id.as_str()).collect();
        assert_eq!(names, ["a-6.1.0-18", "a-6.1.0-9", "becalm-1", "z", "a", "arch"]);
    }

    #[test]
    fn versions_are_compared_as_rpm_does() {
        // These are from rpm's own tests (tests/rpmvercmp.at).
        for (one, other, order) in [
            ("1.0", "1.0", Ordering::Equal),
            ("1.0", "2.0", Ordering::Less),
            ("2.0.1a", "2.0.1", Ordering::Greater),
            ("5.5p1", "5.5p10", Ordering::Less),
            ("10xyz", "10.1xyz", Ordering::Less),
            ("xyz10", "xyz10.1", Ordering::Less),
            ("xyz.4", "8", Ordering::Less),
            ("5.5p2", "5.6p1", Ordering::Less),
            ("6.0.rc1", "6.0", Ordering::Greater),
            ("10b2", "10a1", Ordering::Greater),
            ("10.0001", "10.0039", Ordering::Less),
            ("4.999.9", "5.0", Ordering::Less),
            ("20101121", "20101122", Ordering::Less),
            ("2_0", "2.0", Ordering::Equal),
            ("1.0~rc1", "1.0", Ordering::Less),
            ("1.0~rc1~git123", "1.0~rc1", Ordering::Less),
        ] {
            assert_eq!(compare(one, other), order, "{one} {other}");
            assert_eq!(compare(other, one), order.reverse(), "{other} {one}");
        }
    }
}
