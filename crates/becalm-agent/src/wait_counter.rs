//! The waits of programs for a CPU and the bytes sent and received over the network, counted in the kernel, and the
//! interface of what counts them.

/// The waits of the programs' tasks for a CPU, by who ran on it meanwhile.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct CountedWaits {
    /// Process, name of its first task that was seen, and time in ns, the longest first.
    pub by_process: Vec<(u32, String, u64)>,
    /// Time in which another task of the programs ran, ns.
    pub own_ns: u64,
    /// Time in which the CPU was idle: it was about to take the task, or a quota held the task back, ns.
    pub idle_ns: u64,
    /// Time from before the oldest task of the kernel's log or before counting began, or of more processes than its
    /// table holds, ns.
    pub unknown_ns: u64,
}

/// The bytes that processes sent and received over the network.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct NetworkTraffic {
    /// Process, name of a task of it, bytes received and sent, the most first.
    pub by_process: Vec<(u32, String, u64, u64)>,
    /// The bytes that the programs received and sent.
    pub own: (u64, u64),
    /// The bytes of further processes.
    pub rest_bytes: u64,
}

/// A counter of the waits of programs and of the traffic of all processes.
pub trait WaitCounter {
    /// Count the waits of all processes that these start from now on: they are the programs.
    fn begin(&mut self, starters: [u32; 3]);

    /// Return the waits that have ended since the last call.
    fn take(&mut self) -> CountedWaits;

    /// Return the traffic since the last call; None if this kernel does not let it be counted.
    fn traffic(&mut self) -> Option<NetworkTraffic>;
}
