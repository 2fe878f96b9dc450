//! The loader GRUB: an entry in `custom.cfg` next to the menu, which the menu itself reads (41_custom), and
//! `next_entry` in the environment block, which the menu uses up before it starts anything (00_header,
//! grub-reboot(8)).
//!
//! The menu itself is only read. On Debian and Ubuntu the lines of the default entry are copied unchanged,
//! with the words added to the kernel's; on Fedora and RHEL the default is a file of the Boot Loader
//! Specification (`bls`), and the entry is written as GRUB's command blscfg would.

use super::bls;
use super::entry::{with, Entry};
use super::grub_env::Block;
use super::grub_menu::{self, What};
use super::mount;
use super::plan::{Request, Write};
use super::running;
use crate::knob::tree::Tree;

/// The directories of GRUB's menu. On some machines with UEFI it is on the firmware's own partition, by
/// vendor.
const DIRECTORIES: &[&str] = &["/boot/grub", "/boot/grub2"];
const VENDORS: &str = "/boot/efi/EFI";
const BLS: &str = "/boot/loader/entries";

/// The name of GRUB's variable for the choice of one start.
const NEXT: &str = "next_entry";

/// The default entry, of which the new one is a copy.
struct Default {
    title: String,
    unrestricted: bool,
    /// The lines of the new entry.
    body: String,
}

impl Default {
    /// Return the kernels that its lines start, as GRUB names them.
    fn kernels(&self) -> impl Iterator<Item = &str> {
        self.body.lines().filter_map(|line| {
            let mut words = line.split_ascii_whitespace();
            words.next().filter(|command| command.starts_with("linux")).and_then(|_| words.next())
        })
    }
}

fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Return whether GRUB has started this machine: there is a menu, and GRUB has passed its file's name to the
/// kernel.
pub fn here(tree: &Tree) -> bool {
    directory(tree).is_some() && running::image(tree).is_some()
}

/// Return the directory of the menu that GRUB shows. A menu that only refers to another one has no choice for
/// one start.
fn directory(tree: &Tree) -> Option<String> {
    let vendors = tree.names(VENDORS).into_iter().map(|name| format!("{VENDORS}/{name}"));
    let all: Vec<String> = DIRECTORIES.iter().map(|each| (*each).to_owned()).chain(vendors).collect();
    let text = |directory: &&String| tree.read(&format!("{directory}/grub.cfg")).ok();
    let chooses = |directory: &&String| text(directory).is_some_and(|text| text.contains(NEXT));
    all.iter().find(chooses).or_else(|| all.iter().find(|each| text(each).is_some())).cloned()
}

/// Return the entry and its choice for one start. The error is a reason in words.
pub fn entry(tree: &Tree, request: &Request, words: &[String]) -> Result<Entry, String> {
    let directory = directory(tree).ok_or("GRUB has no menu in /boot/grub or /boot/grub2")?;
    let (config, custom, env) = files(&directory);
    let text = tree.read(&config).map_err(|error| format!("{config} cannot be read: {error}"))?;
    let menu =
        grub_menu::parse(&text).map_err(|reason| format!("{config} cannot be understood: {reason}"))?;
    if !text.contains("custom.cfg") {
        return Err(format!("{config} does not read custom.cfg, as the part 41_custom of GRUB's menu does"));
    }
    let choice = menu.choice().map_err(|reason| format!("{config}: {reason}"))?;
    if let Some(obstacle) = mount::obstacle(tree, &real(tree, &env)?) {
        return Err(obstacle);
    }
    let block = Block::read(tree, &env).map_err(|reason| {
        format!("GRUB remembers a choice for one start in {env}, but {reason}. `grub-editenv {env} create` makes one")
    })?;
    if let Some(other) = block.get(NEXT).filter(|other| !other.is_empty()) {
        return Err(format!("somebody has already chosen {other:?} for it, with grub-reboot"));
    }
    let present = own(tree, &custom)?;
    if let Some(line) =
        present.lines().find(|line| line.trim_start().trim_start_matches("set ").starts_with("default="))
    {
        return Err(format!(
            "{custom} chooses the default entry itself, which would undo a choice for one start: {line}"
        ));
    }
    let found = copied(tree, &menu, &text, &chosen(&choice, &block)?, words)
        .map_err(|reason| format!("{config}: {reason}"))?;
    let password = |line: &str| line.starts_with("set superusers=");
    let locked = menu.always_says(password)
        || present.lines().any(|line| password(line.trim()))
        || tree.exists(&format!("{directory}/user.cfg"));
    if locked && !found.unrestricted {
        return Err(format!(
            "GRUB asks for a password before it starts {:?}, which nobody would enter at a restart",
            found.title
        ));
    }
    let remarks = check(tree, &found)?.into_iter().collect();
    let kernel = found.kernels().last().map_or_else(String::new, |path| name_of(path).to_owned());
    let name = format!("becalm-{}", request.mark);
    let text = lines(&found, &name);
    let writes = vec![
        part(&custom, &present, tree.exists(&custom), &text, &request.mark),
        Write::Variable {
            path: env,
            name: NEXT.to_owned(),
            value: name.clone(),
            before: block.get(NEXT).map(str::to_owned),
        },
    ];
    Ok(Entry { name, default: found.title, kernel, writes, remarks })
}

/// Return the kernel that starts by default, whatever is chosen for the next start.
pub fn kernel(tree: &Tree) -> Result<String, String> {
    let (config, _, env) = files(&directory(tree).ok_or("GRUB has no menu")?);
    let text = tree.read(&config).map_err(|error| error.to_string())?;
    let menu = grub_menu::parse(&text)?;
    let block = Block::read(tree, &real(tree, &env)?)?;
    let found = copied(tree, &menu, &text, &chosen(&menu.choice()?, &block)?, &[])?;
    let path = found.kernels().last().ok_or("it names no kernel")?;
    Ok(name_of(path).to_owned())
}

/// Return the entry to copy with these words: the one of a choice.
fn copied(
    tree: &Tree,
    menu: &grub_menu::Menu,
    text: &str,
    choice: &str,
    words: &[String],
) -> Result<Default, String> {
    if menu.says(|line| line == "blscfg" || line.starts_with("blscfg ")) && !tree.names(BLS).is_empty() {
        return from_file(tree, choice, text, words);
    }
    from_menu(menu, choice, words)
}

/// Return the paths of the menu, of an administrator's additions to it, and of the environment block.
fn files(directory: &str) -> (String, String, String) {
    let file = |name: &str| format!("{directory}/{name}");
    (file("grub.cfg"), file("custom.cfg"), file("grubenv"))
}

/// Return a path without symbolic links, behind which GRUB's block is on some machines.
fn real(tree: &Tree, path: &str) -> Result<String, String> {
    tree.real(path).map_err(|error| {
        format!("GRUB remembers a choice for one start in {path}, but that cannot be read: {error}. `grub-editenv {path} create` makes one")
    })
}

/// Return the text of an administrator's custom.cfg, empty when there is none.
fn own(tree: &Tree, custom: &str) -> Result<String, String> {
    match tree.about(custom) {
        Err(_) => return Ok(String::new()),
        Ok(about) if !about.is_file() => return Err(format!("{custom} is not a plain file")),
        Ok(_) => {}
    }
    let bytes = tree.bytes(custom).map_err(|error| format!("{custom} cannot be read: {error}"))?;
    String::from_utf8(bytes).map_err(|_| format!("{custom} is not text in UTF-8"))
}

/// Return the default choice with GRUB's variables replaced, as the menu's first lines do it.
fn chosen(choice: &str, block: &Block) -> Result<String, String> {
    let saved = ["prev_saved_entry", "saved_entry"]
        .iter()
        .find_map(|name| block.get(name).filter(|value| !value.is_empty()));
    match choice {
        "${saved_entry}" => Ok(saved.unwrap_or("0").to_owned()),
        // GRUB starts the first entry when none is named.
        "" => Ok("0".to_owned()),
        other if other.contains('$') => {
            Err(format!("its default entry is {other:?}, which only GRUB can work out"))
        }
        other => Ok(other.to_owned()),
    }
}

/// Return the default entry of a menu that contains its entries. Every line that starts a kernel gets the
/// words: some menus have two, with and without an initrd.
fn from_menu(menu: &grub_menu::Menu, choice: &str, words: &[String]) -> Result<Default, String> {
    let item = menu.find(choice)?;
    let What::Entry(body) = &item.what else { return Err(format!("{choice:?} is a submenu")) };
    let mut text = String::new();
    let mut kernels = 0;
    for line in body.lines() {
        let command = line.split_ascii_whitespace().next().unwrap_or_default();
        // With GRUB_SAVEDEFAULT an entry makes itself the default when somebody chooses it in the menu.
        if command == "savedefault" {
            continue;
        }
        if matches!(command, "linux" | "linuxefi" | "linux16") {
            if line.ends_with('\\') {
                return Err(format!("the kernel's line of {:?} continues on the next one", item.title));
            }
            kernels += 1;
            text.push_str(&with(line, words));
        } else {
            text.push_str(line);
        }
        text.push('\n');
    }
    if kernels == 0 {
        return Err(format!("its default entry, {:?}, does not start a Linux kernel directly", item.title));
    }
    Ok(Default { title: item.title.clone(), unrestricted: item.unrestricted, body: text })
}

/// Return the default entry where entries are files; by name, or by number in the order of versions.
fn from_file(tree: &Tree, choice: &str, menu: &str, words: &[String]) -> Result<Default, String> {
    let mut entries = bls::entries(tree, BLS);
    entries.sort_by(|one, other| bls::compare(&other.id, &one.id));
    let named = entries.iter().find(|entry| entry.id == choice || entry.title() == choice);
    let numbered = || entries.get(choice.parse::<usize>().ok()?);
    let entry =
        named.or_else(numbered).ok_or_else(|| format!("its default entry, {choice:?}, is not in {BLS}"))?;
    let mut body = String::new();
    if menu.contains("function load_video") {
        body.push_str("\tload_video\n");
    }
    body.push_str("\tset gfxpayload=keep\n\tinsmod gzio\n");
    body.push_str(&format!("\tlinux {} {}\n", entry.kernel()?, with(&entry.options(), words)));
    for (key, command) in [("initrd", "initrd"), ("devicetree", "devicetree")] {
        let values = entry.all(key);
        if !values.is_empty() {
            body.push_str(&format!("\t{command} {}\n", values.join(" ")));
        }
    }
    let unrestricted = entry.all("grub_arg").iter().any(|arguments| arguments.contains("--unrestricted"));
    Ok(Default { title: entry.title(), unrestricted, body })
}

/// Check that the kernel's file exists; return a remark when it is not the running one.
fn check(tree: &Tree, found: &Default) -> Result<Option<String>, String> {
    let mut kernel = String::new();
    for path in found.kernels() {
        kernel = name_of(path).to_owned();
        let plain = path.rsplit(')').next().unwrap_or(path);
        if ![plain.to_owned(), format!("/boot{plain}"), format!("/boot/{kernel}")]
            .iter()
            .any(|path| tree.exists(path))
        {
            return Err(format!("the kernel of its default entry, {path}, is not there"));
        }
    }
    let running = running::image(tree).filter(|running| *running != kernel);
    Ok(running.map(|running| {
        format!(
            "The default entry, {:?}, starts {kernel}; the kernel that runs now is {running}.",
            found.title
        )
    }))
}

/// Return the lines of the entry for custom.cfg. If its kernel cannot be loaded, GRUB would wait for a key:
/// it restarts instead.
fn lines(found: &Default, name: &str) -> String {
    let unrestricted = if found.unrestricted { " --unrestricted" } else { "" };
    format!(
        "menuentry 'becalm, for one start' --id '{name}'{unrestricted} {{\n{}\tif boot; then true; else reboot; fi\n}}\n",
        found.body
    )
}

fn part(custom: &str, present: &str, there: bool, entry: &str, mark: &str) -> Write {
    let first = format!("### BEGIN becalm {mark}: written for one start; `becalm reset` removes it ###");
    let last = format!("### END becalm {mark} ###");
    let apart = if present.is_empty() || present.ends_with('\n') { "" } else { "\n" };
    let text = format!("{apart}{first}\n{entry}{last}\n");
    Write::Part { path: custom.to_owned(), text, first, last, created: !there }
}
