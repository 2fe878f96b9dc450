//! The menu of GRUB as grub-mkconfig writes it: entries, submenus, and which of them starts by default.
//!
//! This reads generated text line by line; it does not interpret GRUB's language. Text that it does not
//! understand is an error in words, never a guess.

/// One line of the menu.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    pub title: String,
    pub id: Option<String>,
    /// Whether it starts without a password even if GRUB has one.
    pub unrestricted: bool,
    /// Whether it is in an `if`, so that it may not exist.
    conditional: bool,
    pub what: What,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// The lines that are run, unchanged.
    Entry(String),
    Submenu(Vec<Item>),
}

/// A menu that was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Menu {
    items: Vec<Item>,
    /// The lines outside of entries, each with the number of `if`s around it.
    outside: Vec<(usize, String)>,
}

/// The kinds of blocks that a line may be in.
enum Open {
    Entry(Item, String, usize),
    Submenu(Item, Vec<Item>),
    /// A function or another group.
    Group,
}

/// Parse a grub.cfg.
pub fn parse(text: &str) -> Result<Menu, String> {
    let mut menu = Menu::default();
    let mut open: Vec<Open> = Vec::new();
    let mut depth = 0_usize;
    for line in text.lines() {
        let word = line.trim();
        if let Some(Open::Entry(_, body, nested)) = open.last_mut() {
            if word == "}" && *nested == 0 {
                if let Some(Open::Entry(mut item, body, _)) = open.pop() {
                    item.what = What::Entry(body);
                    put(&mut menu, &mut open, item)?;
                }
                continue;
            }
            *nested = nested.saturating_add(usize::from(word.ends_with('{') && !word.starts_with('#')));
            *nested = nested.saturating_sub(usize::from(word == "}"));
            body.push_str(line);
            body.push('\n');
            continue;
        }
        let begins = |name: &str| word.strip_prefix(name).is_some_and(|rest| rest.starts_with([' ', '\t']));
        if (begins("menuentry") || begins("submenu")) && word.ends_with('{') {
            let item = header(word, depth > 0)?;
            open.push(match begins("submenu") {
                true => Open::Submenu(item, Vec::new()),
                false => Open::Entry(item, String::new(), 0),
            });
        } else if word == "}" {
            match open.pop() {
                Some(Open::Submenu(mut item, items)) => {
                    item.what = What::Submenu(items);
                    put(&mut menu, &mut open, item)?;
                }
                Some(_) => {}
                None => return Err("it has a } too many".to_owned()),
            }
        } else {
            if !word.starts_with('#') && word.ends_with('{') {
                open.push(Open::Group);
            }
            let count = |name: &str| word.split([' ', '\t', ';']).filter(|each| *each == name).count();
            if !word.starts_with('#') {
                depth = (depth + count("if")).saturating_sub(count("fi"));
            }
            if !open.iter().any(|each| matches!(each, Open::Group)) {
                menu.outside.push((depth, word.to_owned()));
            }
        }
    }
    match open.is_empty() {
        true => Ok(menu),
        false => Err("it lacks a } at its end".to_owned()),
    }
}

fn put(menu: &mut Menu, open: &mut [Open], item: Item) -> Result<(), String> {
    match open.last_mut() {
        None => menu.items.push(item),
        Some(Open::Submenu(_, items)) => items.push(item),
        Some(_) => return Err(format!("the entry {:?} stands inside a function", item.title)),
    }
    Ok(())
}

/// Parse a line such as `menuentry 'Title' --class debian $menuentry_id_option 'id' {`.
fn header(line: &str, conditional: bool) -> Result<Item, String> {
    let words = words(line).ok_or_else(|| format!("a quotation mark is not closed in: {line}"))?;
    let title = words.get(1).cloned().unwrap_or_default();
    let id = words
        .iter()
        .position(|word| matches!(word.as_str(), "--id" | "$menuentry_id_option" | "${menuentry_id_option}"));
    Ok(Item {
        title,
        id: id.and_then(|at| words.get(at + 1).cloned()),
        unrestricted: words.iter().any(|word| word == "--unrestricted"),
        conditional,
        what: What::Entry(String::new()),
    })
}

/// Return the words of a line, as GRUB splits them (GRUB manual, "Quoting").
pub fn words(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match letters.next()? {
                        '\'' => break,
                        inside => word.push(inside),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match letters.next()? {
                        '"' => break,
                        '\\' => word.push(letters.next()?),
                        inside => word.push(inside),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(letters.next()?),
            ' ' | '\t' => words.extend(word.take()),
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    Some(words)
}

impl Menu {
    /// Return whether a line outside of entries satisfies this.
    pub fn says(&self, what: impl Fn(&str) -> bool) -> bool {
        self.outside.iter().any(|(_, line)| what(line))
    }

    /// Return whether a line that is always run satisfies this.
    pub fn always_says(&self, what: impl Fn(&str) -> bool) -> bool {
        self.outside.iter().any(|(depth, line)| *depth == 0 && what(line))
    }

    /// Return the default as the menu writes it: the choice when nothing is chosen for one start.
    pub fn choice(&self) -> Result<String, String> {
        let asks = |line: &str| line.starts_with("if ") && line.contains("${next_entry}");
        let at = self.outside.iter().position(|(_, line)| asks(line));
        let at = at.ok_or("it never asks for a choice for one start (next_entry)")?;
        let set =
            |line: &str| line.strip_prefix("set default=").map(|value| value.trim_matches('"').to_owned());
        let mut otherwise = self.outside[at..].iter().skip_while(|(_, line)| line != "else");
        let value =
            otherwise.find_map(|(_, line)| set(line)).ok_or("it does not say what starts by default")?;
        match otherwise.find(|(depth, line)| *depth == 0 && set(line).is_some()) {
            Some((_, line)) => Err(format!(
                "it chooses its default once more, which would undo the choice for one start: {line}"
            )),
            None => Ok(value),
        }
    }

    /// Return the entry of a choice: a number from 0 on, a title or an id, and after `>` one in a submenu.
    pub fn find(&self, choice: &str) -> Result<&Item, String> {
        let mut items = &self.items;
        let mut steps = steps(choice).into_iter();
        loop {
            // A choice of a submenu starts its first entry.
            let item = one(items, &steps.next().unwrap_or_else(|| "0".to_owned()))?;
            match &item.what {
                What::Entry(_) => return Ok(item),
                What::Submenu(inside) => items = inside,
            }
        }
    }
}

fn one<'a>(items: &'a [Item], part: &str) -> Result<&'a Item, String> {
    if let Some(item) = items.iter().find(|item| item.id.as_deref() == Some(part) || item.title == part) {
        return Ok(item);
    }
    let missing = || format!("its default entry, {part:?}, is not in the menu");
    let number: usize = part.parse().map_err(|_| missing())?;
    if items.iter().take(number + 1).any(|item| item.conditional) {
        return Err(format!(
            "which entry has the number {part} depends on the machine; name the default by its id"
        ));
    }
    items.get(number).ok_or_else(missing)
}

/// Split a choice: "a>b" are two steps, "a>>b" is one with a > in it (GRUB manual, "default").
fn steps(choice: &str) -> Vec<String> {
    choice.replace(">>", "\0").split('>').map(|part| part.replace('\0', ">")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "\
if [ \"${next_entry}\" ] ; then
   set default=\"${next_entry}\"
   set next_entry=
   save_env next_entry
else
   set default=\"${saved_entry}\"
fi
function load_video {
  if [ x$feature = xy ]; then
    insmod all_video
  fi
}
";
    const BODY: &str = "\
menuentry 'Debian GNU/Linux' --class debian $menuentry_id_option 'simple' {
\tload_video
\tif [ x$grub_platform = xxen ]; then insmod xzio; fi
\tlinux\t/vmlinuz root=UUID=1 ro  quiet
}
submenu 'Advanced options for it'\\''s' $menuentry_id_option 'advanced' {
\tmenuentry \"6.1 > 5.10\" --id 'old' --unrestricted {
\t\tlinux /old
\t}
}
if [ \"$grub_platform\" = \"efi\" ]; then
\tmenuentry 'UEFI Firmware Settings' --id 'uefi' {
\t\tfwsetup
\t}
fi
menuentry 'Last' {
\tchainloader +1
}
";

    fn body(item: &Item) -> &str {
        match &item.what {
            What::Entry(body) => body,
            What::Submenu(_) => panic!("{item:?}"),
        }
    }

    #[test]
    fn entries_are_found_as_grub_finds_them() {
        let menu = parse(&format!("{HEAD}{BODY}")).unwrap();
        assert_eq!(menu.choice().unwrap(), "${saved_entry}");
        for choice in ["0", "simple", "Debian GNU/Linux"] {
            assert!(
                body(menu.find(choice).unwrap()).contains("/vmlinuz root=UUID=1 ro  quiet\n"),
                "{choice}"
            );
        }
        for choice in ["1", "1>0", "advanced>old", "Advanced options for it's>6.1 >> 5.10", "advanced"] {
            let item = menu.find(choice).unwrap();
            assert_eq!((body(item), item.unrestricted), ("\t\tlinux /old\n", true), "{choice}");
        }
        assert_eq!(menu.find("Last").unwrap().title, "Last");
        for choice in ["3", "2", "7", "nothing", "advanced>1"] {
            assert!(menu.find(choice).is_err(), "{choice}");
        }
    }

    #[test]
    fn a_menu_that_would_undo_a_choice_is_refused() {
        let body = BODY;
        assert!(parse(&body.replace("''s'", "''s")).is_err(), "a quotation mark is open");
        assert!(parse(&format!("{HEAD}set default=2\n{body}")).unwrap().choice().is_err());
        let counting = "if [ -n \"${boot_counter}\" ]; then\n  set default=1\nfi\n";
        assert!(parse(&format!("{HEAD}{counting}{body}")).unwrap().choice().is_ok());
        assert!(parse(body).unwrap().choice().is_err());
    }

    #[test]
    fn braces_must_match() {
        assert!(parse("menuentry 'x' {\n").is_err());
        assert!(parse("}\n").is_err());
        assert!(parse("function f {\nmenuentry 'x' {\n}\n}\n").is_err());
    }
}
