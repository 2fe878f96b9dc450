//! The load weights of nice values (`sched_prio_to_weight` in kernel/sched/core.c): each step is a factor of
//! about 1.25.

use crate::workload::Class;

/// The load weight of nice 0, at which virtual time equals real time.
pub const NICE_0: u32 = 1024;

/// The load weight of SCHED_IDLE.
pub const IDLE: u32 = 3;

/// The load weights of nice -20 to 19.
const WEIGHTS: [u32; 40] = [
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904, 3906, 3121,
    2501, 1991, 1586, 1277, 1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, 110, 87, 70, 56, 45, 36, 29,
    23, 18, 15,
];

/// Return the load weight of a nice value, limited to -20 to 19.
pub fn of_nice(nice: i8) -> u32 {
    WEIGHTS[(nice.clamp(-20, 19) + 20) as usize]
}

/// Return the load weight of a task.
pub fn of(class: Class, nice: i8) -> u32 {
    if class == Class::Idle {
        IDLE
    } else {
        of_nice(nice)
    }
}

/// Convert a time in ns to virtual time.
pub fn virtual_ns(ns: u64, weight: u32) -> i64 {
    match weight {
        NICE_0 => ns as i64,
        weight => match ns.checked_mul(u64::from(NICE_0)) {
            Some(scaled) => (scaled / u64::from(weight)) as i64,
            None => (u128::from(ns) * u128::from(NICE_0) / u128::from(weight)) as i64,
        },
    }
}

/// Convert a part of a longer time to virtual time. `rest` carries the rounding remainder from part to part,
/// in `weight`ths of a ns.
pub fn virtual_part(ns: u64, weight: u32, rest: &mut u32) -> i64 {
    if weight == NICE_0 {
        return ns as i64;
    }
    let scaled = u128::from(ns) * u128::from(NICE_0) + u128::from(*rest);
    *rest = (scaled % u128::from(weight)) as u32;
    (scaled / u128::from(weight)) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nice_has_the_kernels_weights() {
        assert_eq!((of_nice(-20), of_nice(0), of_nice(19), of_nice(100)), (88761, 1024, 15, 15));
        assert_eq!(virtual_ns(1000, 1024), 1000);
        assert_eq!(virtual_ns(1000, 2048), 500);
        assert_eq!(virtual_ns(335, 335), 1024);
    }

    #[test]
    fn the_parts_of_a_time_add_up_to_it() {
        for weight in [3, 15, 1024, 3072, 88761] {
            let mut rest = 0;
            let parts: i64 = (0..1000).map(|_| virtual_part(7, weight, &mut rest)).sum();
            assert_eq!(parts, virtual_ns(7000, weight));
        }
    }
}
