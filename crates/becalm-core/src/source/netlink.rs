//! Generic netlink: requests to the kernel's families, and the attributes of their messages
//! (Documentation/userspace-api/netlink/intro.rst, include/uapi/linux/netlink.h, genetlink.h).

use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

/// The time that the kernel may take to answer; it does so within the call.
const PATIENCE: Duration = Duration::from_secs(2);

// include/uapi/linux/genetlink.h.
const GENL_ID_CTRL: u16 = 16;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;
const HEADER: usize = 16 + 4;

/// Return the number that the kernel has given to a family; the name ends with a zero byte. ENOENT when there
/// is none.
pub fn family(socket: &OwnedFd, buffer: &mut [u8], name: &[u8]) -> io::Result<u16> {
    let asked = (GENL_ID_CTRL, CTRL_CMD_GETFAMILY);
    let answer = ask(socket, buffer, asked, (CTRL_ATTR_FAMILY_NAME, name), false)?;
    let number = attribute(answer, CTRL_ATTR_FAMILY_ID).and_then(|value| u16_at(value, 0));
    number.ok_or_else(|| io::Error::from_raw_os_error(libc::EPROTO))
}

/// Send a request with one attribute; return the attributes of the answer. `acknowledged`: the answer is only
/// an acknowledgement, which has none.
pub fn ask<'b>(
    socket: &OwnedFd,
    buffer: &'b mut [u8],
    (family, command): (u16, u8),
    (kind, value): (u16, &[u8]),
    acknowledged: bool,
) -> io::Result<&'b [u8]> {
    let mut request = Vec::with_capacity(HEADER + 4 + value.len() + 3);
    let padded = value.len().next_multiple_of(4);
    request.extend(((HEADER + 4 + padded) as u32).to_ne_bytes());
    request.extend(family.to_ne_bytes());
    let flags = libc::NLM_F_REQUEST | if acknowledged { libc::NLM_F_ACK } else { 0 };
    request.extend((flags as u16).to_ne_bytes());
    // The kernel fills in or ignores the sequence number and the sender.
    request.extend([0; 8]);
    request.extend([command, 1, 0, 0]);
    request.extend(((4 + value.len()) as u16).to_ne_bytes());
    request.extend(kind.to_ne_bytes());
    request.extend(value);
    request.resize(HEADER + 4 + padded, 0);
    // SAFETY: a live buffer of that length.
    let sent = unsafe { libc::send(socket.as_raw_fd(), request.as_ptr().cast(), request.len(), 0) };
    if sent < 0 {
        return Err(io::Error::last_os_error());
    }
    let length = receive(socket.as_raw_fd(), buffer, 0)?;
    let broken = || io::Error::from_raw_os_error(libc::EPROTO);
    let (kind, body) = messages(&buffer[..length]).next().ok_or_else(broken)?;
    if kind == libc::NLMSG_ERROR as u16 {
        return match u32_at(body, 0).ok_or_else(broken)? as i32 {
            0 => Ok(&[]),
            code => Err(io::Error::from_raw_os_error(-code)),
        };
    }
    body.get(4..).ok_or_else(broken)
}

pub fn socket() -> io::Result<OwnedFd> {
    // SAFETY: asks for a new descriptor, which is ours.
    let made = unsafe {
        let fd = libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, libc::NETLINK_GENERIC);
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        OwnedFd::from_raw_fd(fd)
    };
    let patience = libc::timeval { tv_sec: PATIENCE.as_secs() as i64, tv_usec: 0 };
    set_option(&made, libc::SOL_SOCKET, libc::SO_RCVTIMEO, &patience)?;
    Ok(made)
}

pub fn set_option<T>(socket: &OwnedFd, level: i32, option: i32, value: &T) -> io::Result<()> {
    // SAFETY: a live value of that size.
    let done = unsafe {
        let value = std::ptr::from_ref(value).cast();
        libc::setsockopt(socket.as_raw_fd(), level, option, value, size_of::<T>() as libc::socklen_t)
    };
    if done != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Receive one datagram of the kernel; those of other processes are skipped.
pub fn receive(socket: RawFd, buffer: &mut [u8], flags: i32) -> io::Result<usize> {
    loop {
        // SAFETY: an all-zero address is valid; the buffer and the address are live and of the given sizes.
        let (length, sender) = unsafe {
            let mut sender: libc::sockaddr_nl = std::mem::zeroed();
            let mut size = size_of::<libc::sockaddr_nl>() as libc::socklen_t;
            let from = std::ptr::from_mut(&mut sender).cast();
            let length =
                libc::recvfrom(socket, buffer.as_mut_ptr().cast(), buffer.len(), flags, from, &mut size);
            (length, sender)
        };
        match usize::try_from(length) {
            Ok(length) if sender.nl_pid == 0 => return Ok(length),
            Ok(_) => {}
            Err(_) => return Err(io::Error::last_os_error()),
        }
    }
}

/// Return the messages of a datagram: the type, and what follows the header of netlink.
pub fn messages(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = u32_at(bytes, 0)? as usize;
        let found = (u16_at(bytes, 4)?, bytes.get(16..length)?);
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some(found)
    })
}

/// Return the value of the first attribute of a kind.
pub fn attribute(mut bytes: &[u8], kind: u16) -> Option<&[u8]> {
    loop {
        let length = usize::from(u16_at(bytes, 0)?);
        let value = bytes.get(4..length)?;
        // The two highest bits are flags (include/uapi/linux/netlink.h).
        if u16_at(bytes, 2)? & 0x3fff == kind {
            return Some(value);
        }
        bytes = bytes.get(length.next_multiple_of(4)..)?;
    }
}

pub fn u16_at(bytes: &[u8], place: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(place..place + 2)?.try_into().ok()?))
}

pub fn u32_at(bytes: &[u8], place: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(place..place + 4)?.try_into().ok()?))
}

pub fn u64_at(bytes: &[u8], place: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(place..place + 8)?.try_into().ok()?))
}
