//! systemd-boot: an entry's file beside the default one's, and the firmware's variable LoaderEntryOneShot, which the
//! loader removes before it starts anything (bootctl(1), set-oneshot; systemd.io/BOOT_LOADER_INTERFACE).

use super::bls;
use super::efi;
use super::loader::{with, Entry};
use super::plan::{Request, Write};
use super::running;
use crate::knob::tree::Tree;

/// Where the partitions with entries are mounted (systemd-gpt-auto-generator(8), bootctl(1)).
const PARTITIONS: &[&str] = &["/efi", "/boot", "/boot/efi"];

/// LoaderFeatures, bit 3: the loader knows LoaderEntryOneShot.
const ONE_SHOT: u8 = 1 << 3;

/// Keys of an entry that say what is started; those that say where it stands among others are left out.
const COPIED: &[&str] = &["linux", "initrd", "devicetree", "devicetree-overlay", "architecture"];

/// Whether systemd-boot has started this machine: it leaves its name.
pub fn here(tree: &Tree) -> bool {
    variable(tree, "LoaderInfo").is_some_and(|name| name.starts_with("systemd-boot"))
}

fn variable(tree: &Tree, name: &str) -> Option<String> {
    efi::text(tree, &efi::path(name)).ok().flatten().filter(|text| !text.is_empty())
}

/// The entry and its choice for one start. The error is a reason in words.
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
    let (directory, found) = default(tree, &mut remarks)?;
    let kernel = found.kernel()?;
    let partition = directory.trim_end_matches("/loader/entries");
    if !tree.exists(&format!("{partition}/{}", kernel.trim_start_matches('/'))) {
        return Err(format!("the kernel of its default entry, {kernel}, is not in {partition}"));
    }
    // Where nothing is said, the loader takes the entry that comes first, or in versions before 250 last, among names
    // and sort keys: this one is at the other end of each.
    let name = format!("0-becalm-{}.conf", request.mark);
    let mut text = format!(
        "# Written by becalm for one start; `becalm reset` removes it.\ntitle becalm, for one start ({})\n",
        request.mark
    );
    if found.first("sort-key").is_some() {
        text.push_str("sort-key zzzz-becalm\n");
    }
    for key in COPIED {
        found.all(key).iter().for_each(|value| text.push_str(&format!("{key} {value}\n")));
    }
    text.push_str(&format!("options {}\n", with(&found.options(), words)));
    let writes = vec![
        Write::File { path: format!("{directory}/{name}"), text },
        Write::Firmware { path: shot, value: name.clone() },
    ];
    Ok(Entry { name, default: found.title(), writes, remarks })
}

/// The entry that starts when nothing is chosen for one start, and the directory it is in.
fn default(tree: &Tree, remarks: &mut Vec<String>) -> Result<(String, bls::Entry), String> {
    let directories: Vec<String> = PARTITIONS
        .iter()
        .map(|each| format!("{each}/loader/entries"))
        .filter(|each| tree.exists(each))
        .collect();
    let entries: Vec<(String, bls::Entry)> = directories
        .iter()
        .flat_map(|directory| {
            bls::entries(tree, directory).into_iter().map(|entry| (directory.clone(), entry))
        })
        .collect();
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
    let matches = |pattern: &str| {
        let pattern = pattern.strip_suffix(".conf").unwrap_or(pattern);
        entries.iter().find(|(_, entry)| like(&entry.id, pattern))
    };
    if let Some(found) = wanted.as_deref().and_then(matches) {
        return Ok(found.clone());
    }
    // Our own entry has come up: what it was made from is the default.
    let own = |(_, entry): &&(String, bls::Entry)| !entry.id.starts_with("0-becalm-");
    let found = booted.as_deref().and_then(matches).filter(own).or_else(|| {
        match entries.iter().filter(own).collect::<Vec<_>>()[..] {
            [only] => Some(only),
            _ => running_one(tree, &entries),
        }
    });
    let found = found.ok_or("no default entry is named, neither in loader.conf nor with bootctl set-default, and which one has started cannot be told")?;
    remarks.push(format!(
        "No default entry is named, so becalm's is made from the one that runs: {:?}.",
        found.1.title()
    ));
    Ok(found.clone())
}

/// The entry whose options the running kernel has.
fn running_one<'a>(tree: &Tree, entries: &'a [(String, bls::Entry)]) -> Option<&'a (String, bls::Entry)> {
    let words = running::words(tree);
    let has = |(_, entry): &&(String, bls::Entry)| {
        let options = entry.options();
        !options.is_empty()
            && options.split_ascii_whitespace().all(|option| words.iter().any(|word| word == option))
    };
    let mut fitting = entries.iter().filter(has);
    fitting.next().filter(|_| fitting.next().is_none())
}

/// Whether a name is like a pattern with `*` and `?` (fnmatch(3), as far as loader.conf is written).
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
    use super::like;

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
