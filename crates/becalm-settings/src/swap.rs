//! Swap areas: those that are on, with their priorities, and switching them (swapon(2), /proc/swaps).
//!
//! A priority that the kernel has chosen is negative: -2 for the first area that was switched on, -3 for the
//! next (enable_swap_info in mm/swapfile.c). The areas get the same priorities again because they are
//! switched off from the lowest to the highest, and on again in the opposite order.

use std::ffi::CString;
use std::io;

use super::tree::Tree;

pub const OFF: &str = "off";

pub const SWAPS: &str = "/proc/swaps";

/// swapon(2): the priority is in the low 15 bits.
const FLAG_PREFER: i32 = 0x8000;

/// Return the areas that are on, with their priorities, in the order to switch them off: the last one listed
/// first, but automatic priorities from the lowest up.
pub fn areas(tree: &Tree) -> io::Result<Vec<(String, i32)>> {
    let text = tree.read(SWAPS)?;
    let line = |line: &str| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        Some((unescape(fields.first()?), fields.last()?.parse().ok()?))
    };
    let mut areas: Vec<(String, i32)> = text.lines().skip(1).filter_map(line).collect();
    areas.reverse();
    let mut automatic: Vec<(String, i32)> = areas.iter().filter(|area| area.1 < 0).cloned().collect();
    automatic.sort_by_key(|area| area.1);
    let slots = areas.iter_mut().filter(|area| area.1 < 0);
    slots.zip(automatic).for_each(|(slot, area)| *slot = area);
    Ok(areas)
}

/// Return an area's priority, or "off".
pub fn read(tree: &Tree, area: &str) -> io::Result<String> {
    let found = areas(tree)?.into_iter().find(|(name, _)| name == area);
    Ok(found.map_or(OFF.to_owned(), |(_, priority)| priority.to_string()))
}

/// Switch an area off, or on with a priority.
pub fn write(tree: &Tree, area: &str, value: &str) -> io::Result<()> {
    if read(tree, area)? == value {
        return Ok(());
    }
    let path = CString::new(area).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?;
    let result = if value == OFF {
        // SAFETY: a live string.
        unsafe { libc::swapoff(path.as_ptr()) }
    } else {
        let priority: i32 = value.parse().map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?;
        let flags = if priority >= 0 { FLAG_PREFER | (priority & 0x7fff) } else { 0 };
        // SAFETY: a live string.
        unsafe { libc::swapon(path.as_ptr(), flags) }
    };
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Decode a path: the kernel writes space, tab, newline and backslash as three octal digits.
pub fn unescape(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((head, tail)) = rest.split_once('\\') {
        out.push_str(head);
        match tail.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                out.push(byte as char);
                rest = &tail[3..];
            }
            None => {
                out.push('\\');
                rest = tail;
            }
        }
    }
    out + rest
}
