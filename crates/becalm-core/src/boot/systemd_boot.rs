//! The loader systemd-boot: an entry's file next to that of the default, and the firmware's variable
//! LoaderEntryOneShot, which the loader removes before it starts anything (bootctl(1), set-oneshot;
//! systemd.io/BOOT_LOADER_INTERFACE).

use super::bls;
use super::efi;
use super::entry::{with, Entry};
use super::plan::{Request, Write};
use crate::knob::tree::Tree;

/// The mount points of the partitions with entries (systemd-gpt-auto-generator(8), bootctl(1)).
const PARTITIONS: &[&str] = &["/efi", "/boot", "/boot/efi"];

/// The bit 3 of LoaderFeatures: the loader knows LoaderEntryOneShot.
const ONE_SHOT: u8 = 1 << 3;

/// The keys of an entry that decide what is started; those that decide its place among others are left out.
const COPIED: &[&str] = &["linux", "initrd", "devicetree", "devicetree-overlay", "architecture"];

/// The version from which on the menu is in the order of `bls::in_menu`, and its first entry starts when none
/// is named.
const SORTED: u32 = 252;

/// A sort key after all others.
const SORT_KEY: &str = "zzzz-becalm";

/// Return whether systemd-boot has started this machine: it leaves its name.
pub fn here(tree: &Tree) -> bool {
    variable(tree, "LoaderInfo").is_some_and(|name| name.starts_with("systemd-boot"))
}

fn variable(tree: &Tree, name: &str) -> Option<String> {
    efi::text(tree, &efi::path(name)).ok().flatten().filter(|text| !text.is_empty())
}

/// Return the entry and its choice for one start. The error is a reason in words.
pub fn entry(tree: &Tree, request: &Request, words: &[String]) -> Result<Entry, String> {
    let features = efi::bytes(tree, &efi::path("LoaderFeatures")).ok().flatten();
    if features.is_some_and(|bits| bits.first().is_none_or(|low| low & ONE_SHOT == 0)) {
        return Err("this systemd-boot is too old to take a choice for one start".to_owned());
    }
    let shot = efi::path("LoaderEntryOneShot");
    if let Some(other) = efi::text(tree, &shot).map_err(|error| format!("{shot} cannot be read: {error}"))? {
        return Err(format!("somebody has already chosen {other:?} for it, with bootctl set-oneshot"));
    }
    let mut remarks = Vec::new();
    let own = format!("becalm-{}", request.mark);
    let (directory, found) = default(tree, &own, &mut remarks)?;
    let kernel = found.kernel()?;
    let partition = directory.trim_end_matches("/loader/entries");
    if !tree.exists(&format!("{partition}/{}", kernel.trim_start_matches('/'))) {
        return Err(format!("the kernel of its default entry, {kernel}, is not in {partition}"));
    }
    let name = format!("{own}.conf");
    let mut text = format!(
        "# Written by becalm for one start; `becalm reset` removes it.\ntitle becalm, for one start ({})\n",
        request.mark
    );
    if found.first("sort-key").is_some() {
        text.push_str(&format!("sort-key {SORT_KEY}\n"));
    }
    for key in COPIED {
        found.all(key).iter().for_each(|value| text.push_str(&format!("{key} {value}\n")));
    }
    text.push_str(&format!("options {}\n", with(&found.options(), words)));
    let writes = vec![
        Write::File { path: format!("{directory}/{name}"), text },
        Write::Firmware { path: shot, value: name.clone() },
    ];
    Ok(Entry { name, default: found.id.clone(), kernel: kernel.to_owned(), writes, remarks })
}

/// Return the kernel that starts by default: each entry has it in a directory of its version, so this is the
/// whole path.
pub fn kernel(tree: &Tree) -> Result<String, String> {
    let (_, found) = default(tree, "", &mut Vec::new())?;
    Ok(found.kernel()?.to_owned())
}

/// Return the entry that starts when nothing is chosen for one start, and its directory.
fn default(tree: &Tree, own: &str, remarks: &mut Vec<String>) -> Result<(String, bls::Entry), String> {
    let directories: Vec<String> = PARTITIONS
        .iter()
        .map(|each| format!("{each}/loader/entries"))
        .filter(|each| tree.exists(each))
        .collect();
    let mut entries: Vec<(String, bls::Entry)> = directories
        .iter()
        .flat_map(|directory| {
            bls::entries(tree, directory).into_iter().map(|entry| (directory.clone(), entry))
        })
        .collect();
    entries.sort_by(|(_, one), (_, other)| bls::in_menu(one, other));
    if entries.is_empty() {
        return Err("there are no entries in /efi, /boot or /boot/efi, below loader/entries: its kernels have their options inside, or that partition is not mounted".to_owned());
    }
    let configured = PARTITIONS.iter().find_map(|each| {
        let text = tree.read(&format!("{each}/loader/loader.conf")).ok()?;
        let line = text
            .lines()
            .rev()
            .find_map(|line| line.trim().strip_prefix("default")?.strip_prefix([' ', '\t']));
        line.map(|value| value.trim().to_owned())
    });
    let booted = variable(tree, "LoaderEntrySelected");
    let wanted = match variable(tree, "LoaderEntryDefault").or(configured) {
        Some(name) if name == "@saved" => variable(tree, "LoaderEntryLastBooted").or_else(|| booted.clone()),
        other => other,
    };
    // Of several entries that match the pattern the first in the menu starts. A pattern that matches our own
    // name, too, counts as none: then our entry must come after the default, which only its sort key ensures.
    let pattern = wanted.as_deref().map(|name| name.strip_suffix(".conf").unwrap_or(name));
    let pattern = pattern.filter(|pattern| !like(own, pattern));
    let named = pattern.and_then(|pattern| entries.iter().find(|(_, entry)| like(&entry.id, pattern)));
    let sorted = variable(tree, "LoaderInfo").is_some_and(|info| version(&info) >= Some(SORTED));
    let behind = |entry: &bls::Entry| entry.first("sort-key").is_some_and(|key| key < SORT_KEY);
    let first = entries.first().filter(|(_, entry)| sorted && behind(entry));
    let (directory, entry) = named.or(first).ok_or(
        "no default entry is named, so a new one could become it. Name one: bootctl set-default ENTRY (bootctl list \
         shows them)",
    )?;
    let booted = booted.map(|name| name.trim_end_matches(".conf").to_owned());
    if let Some(booted) = booted.filter(|booted| *booted != entry.id && !booted.starts_with("becalm-")) {
        remarks.push(format!("The default entry is {}; the machine now runs with {booted}.", entry.id));
    }
    Ok((directory.clone(), entry.clone()))
}

/// Return the number in "systemd-boot 252.22-1~deb12u1".
fn version(info: &str) -> Option<u32> {
    info.split(' ').nth(1)?.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
}

/// Return whether a name matches a pattern with `*` and `?` (the part of fnmatch(3) that loader.conf uses).
fn like(name: &str, pattern: &str) -> bool {
    let (name, pattern) = (name.as_bytes(), pattern.as_bytes());
    let (mut at, mut star) = ((0, 0), None);
    while at.0 < name.len() {
        match pattern.get(at.1) {
            Some(b'*') => {
                star = Some(at);
                at.1 += 1;
            }
            Some(letter) if *letter == b'?' || *letter == name[at.0] => at = (at.0 + 1, at.1 + 1),
            _ => match &mut star {
                Some((name_at, pattern_at)) => {
                    *name_at += 1;
                    at = (*name_at, *pattern_at + 1);
                }
                None => return false,
            },
        }
    }
    pattern[at.1..].iter().all(|letter| *letter == b'*')
}

#[cfg(test)]
mod tests {
    use super::{like, version};

    #[test]
    fn versions_of_the_loader() {
        assert_eq!(version("systemd-boot 252.22-1~deb12u1"), Some(252));
        assert_eq!(version("systemd-boot 255"), Some(255));
        assert_eq!(version("systemd-boot"), None);
    }

    #[test]
    fn patterns_of_loader_conf() {
        for (name, pattern, fits) in [
            ("debian-6.1", "debian-6.1", true),
            ("debian-6.1", "debian-*", true),
            ("debian-6.1", "*6.?", true),
            ("debian-6.1", "*", true),
            ("a-b-c", "a*b*d", false),
            ("debian-6.1", "ubuntu*", false),
            ("", "", true),
            ("x", "", false),
        ] {
            assert_eq!(like(name, pattern), fits, "{name} {pattern}");
        }
    }
}
