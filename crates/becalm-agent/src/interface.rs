//! Network interfaces of a guest (docs/how-to/guest.md): `up` enables one, `connect` gives it an address and
//! a default route.
//!
//! The requests of netdevice(7) and rt(7) are used because most distribution kernels are built without
//! IP_PNP, so that the parameter `ip=` has no effect. `init` calls both.

use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};
use std::{fs, io, mem, ptr, thread};

/// The longest wait for a link, ten times what an emulated one takes.
const LINK_LIMIT: Duration = Duration::from_secs(10);

/// The kernel's structure of a route (struct rtentry, include/uapi/linux/route.h), which the libc crate lacks
/// for glibc.
#[repr(C)]
struct Route {
    pad1: libc::c_ulong,
    destination: libc::sockaddr,
    gateway: libc::sockaddr,
    mask: libc::sockaddr,
    flags: libc::c_ushort,
    pad2: libc::c_short,
    pad3: libc::c_ulong,
    pad4: *mut libc::c_void,
    metric: libc::c_short,
    device: *mut libc::c_char,
    mtu: libc::c_ulong,
    window: libc::c_ulong,
    round_trip: libc::c_ushort,
}

/// Enable an interface.
pub fn up(name: &str) -> io::Result<()> {
    let mut request = request(name)?;
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    call(libc::SIOCSIFFLAGS, &request)
}

/// Configure an interface from a line such as "eth0 10.0.2.15 255.255.255.0 10.0.2.2": its name, address,
/// mask, and the gateway of the default route.
pub fn connect(line: &str) -> Result<(), String> {
    let mut words = line.split_ascii_whitespace();
    let (Some(name), Some(own), Some(mask), Some(gateway), None) =
        (words.next(), address(words.next()), address(words.next()), address(words.next()), words.next())
    else {
        return Err(format!("This is not an interface with its address, mask and gateway: {line}."));
    };
    let failed = |what: &'static str| {
        move |error: io::Error| match error.raw_os_error() {
            Some(libc::ENODEV) => format!("There is no interface {name}: the kernel has no driver for it."),
            _ => format!("{name} {what}: {error}."),
        }
    };
    let mut request = request(name).map_err(failed("is not an interface"))?;
    request.ifr_ifru.ifru_addr = own;
    call(libc::SIOCSIFADDR, &request).map_err(failed("takes no address"))?;
    request.ifr_ifru.ifru_netmask = mask;
    call(libc::SIOCSIFNETMASK, &request).map_err(failed("takes no network mask"))?;
    up(name).map_err(failed("cannot be brought up"))?;
    let nothing = socket_address(Ipv4Addr::UNSPECIFIED);
    let route = Route {
        destination: nothing,
        gateway,
        mask: nothing,
        flags: libc::RTF_UP | libc::RTF_GATEWAY,
        // SAFETY: integers and pointers, which may all be zero.
        ..unsafe { mem::zeroed() }
    };
    call(libc::SIOCADDRT, &route).map_err(failed("has no way to its gateway"))?;
    carries(name)
}

/// Wait until an interface carries packets: the kernel takes up to a second for that (net/core/link_watch.c)
/// and drops packets sent before.
fn carries(name: &str) -> Result<(), String> {
    let state = format!("/sys/class/net/{name}/operstate");
    let began = Instant::now();
    while began.elapsed() < LINK_LIMIT {
        // Drivers that do not watch their link report it as unknown
        // (Documentation/networking/operstates.rst).
        if fs::read_to_string(&state).is_ok_and(|state| matches!(state.trim(), "up" | "unknown")) {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(10));
    }
    Err(format!("{name} was brought up, but its link stays down."))
}

fn address(word: Option<&str>) -> Option<libc::sockaddr> {
    word?.parse().ok().map(socket_address)
}

fn socket_address(address: Ipv4Addr) -> libc::sockaddr {
    let whole = libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: 0,
        sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(address.octets()) },
        sin_zero: [0; 8],
    };
    // SAFETY: both are 16 bytes, and sockaddr has no invalid values (ip(7)).
    unsafe { mem::transmute(whole) }
}

fn request(name: &str) -> io::Result<libc::ifreq> {
    if name.len() >= libc::IFNAMSIZ {
        return Err(io::Error::from_raw_os_error(libc::ENODEV));
    }
    // SAFETY: a structure of integers and bytes may be all zero; the name fits, with a zero behind it.
    unsafe {
        let mut request: libc::ifreq = mem::zeroed();
        ptr::copy_nonoverlapping(name.as_ptr().cast(), request.ifr_name.as_mut_ptr(), name.len());
        Ok(request)
    }
}

fn call<T>(number: libc::c_ulong, argument: &T) -> io::Result<()> {
    // SAFETY: the descriptor is new and owned; the argument is the structure that the request takes.
    unsafe {
        let socket = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        if socket < 0 {
            return Err(io::Error::last_os_error());
        }
        let socket = OwnedFd::from_raw_fd(socket);
        if libc::ioctl(socket.as_raw_fd(), number as _, ptr::from_ref(argument)) == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_line_is_rejected_before_any_request_to_the_kernel() {
        for line in [
            "",
            "eth0",
            "eth0 10.0.2.15 255.255.255.0",
            "eth0 10.0.2 255.0.0.0 10.0.2.2",
            "a 1.1.1.1 1.1.1.1 1.1.1.1 b",
        ] {
            assert!(connect(line).unwrap_err().starts_with("This is not an interface"), "{line}");
        }
    }

    #[test]
    fn a_missing_interface_is_reported() {
        // Without root the lack of permission is reported first.
        let expected = [Some(libc::ENODEV), Some(libc::EPERM)];
        for name in ["becalm-none", "a-name-that-is-longer-than-any"] {
            assert!(expected.contains(&up(name).unwrap_err().raw_os_error()));
            let message = connect(&format!("{name} 192.0.2.1 255.255.255.0 192.0.2.2")).unwrap_err();
            assert!(message.contains(name), "{message}");
        }
    }

    #[test]
    fn a_route_has_the_layout_of_the_kernel() {
        assert_eq!(
            (size_of::<Route>(), mem::offset_of!(Route, flags), mem::offset_of!(Route, device)),
            (120, 56, 88)
        );
    }
}
