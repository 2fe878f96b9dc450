// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
//
// Who ran on a CPU while a task of the measured programs waited in its queue, and who sent and received over the
// network, counted in the kernel.
//
// `make bpf` compiles it into the agent (crates/becalm-agent/src/bpf/waits.rs). Each CPU has a log of the last tasks that
// ran there. When a task of the programs gets the CPU, or is moved to another one while it waits, the log tells who ran
// since it became runnable; their times are added up by process. Nothing is sent to user space until the agent asks.
// Needs Linux 5.18, as switches.bpf.c does: `sched_switch` with the state of the task that leaves, and the CPU of a task
// in its thread_info.
//
// Bytes of the network are those that processes hand over to sockets and take from them, of IPv4 and IPv6, without
// those of the machine to itself. Linux 6.3 and later have tracepoints for both (include/trace/events/sock.h); before,
// functions are traced at their end (net/ipv4/af_inet.c, net/ipv6/af_inet6.c), which needs CONFIG_FUNCTION_TRACER.

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_endian.h>

// The largest number of CPUs of a kernel; the agent lowers it to the number of possible CPUs.
#define MOST_CPUS 8192

// The entries of a log, a power of two: one span less is known, since each needs the end of the one before. A wait that
// began before the oldest is unknown from there on.
#define REMEMBERED 64

#define NAME_BYTES 16

// The places in `totals`: times in ns, then bytes of the network.
enum { OWN = 0, IDLE = 1, UNKNOWN = 2, OWN_RECEIVED = 3, OWN_SENT = 4, REST_BYTES = 5, TOTALS = 6 };

// Families of addresses, and a flag of recvmsg(2): the bytes stay in the queue (include/linux/socket.h).
#define AF_INET 2
#define AF_INET6 10
#define MSG_PEEK 2

struct thread_info {
	__u32 cpu;
} __attribute__((preserve_access_index));

struct task_struct {
	struct thread_info thread_info;
	int pid;
	int tgid;
	char comm[NAME_BYTES];
} __attribute__((preserve_access_index));

struct in6_addr {
	union {
		__be32 u6_addr32[4];
	} in6_u;
} __attribute__((preserve_access_index));

struct sock_common {
	__be32 skc_daddr;
	__be32 skc_rcv_saddr;
	unsigned short skc_family;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
} __attribute__((preserve_access_index));

struct sock {
	struct sock_common __sk_common;
} __attribute__((preserve_access_index));

struct socket {
	struct sock *sk;
} __attribute__((preserve_access_index));

// A task that ran until `end_ns`, from the end of the one before it.
struct span {
	__u64 end_ns;
	__u32 process;
	__u32 unused;
	char name[NAME_BYTES];
};

struct log {
	struct span ended[REMEMBERED];
	// The task that runs, and since when.
	__u64 begun_ns;
	__u32 process;
	// The number of tasks that have ended their time here.
	__u32 count;
	char name[NAME_BYTES];
};

// The time of a process, which crates/becalm-agent/src/bpf/waits.rs reads.
struct charged {
	__u64 ns;
	char name[NAME_BYTES];
};

// The bytes of a process over the network, which crates/becalm-agent/src/bpf/waits.rs reads.
struct traffic {
	__u64 received;
	__u64 sent;
	char name[NAME_BYTES];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MOST_CPUS);
	__type(key, __u32);
	__type(value, struct log);
} logs SEC(".maps");

// The processes that start programs; what they fork is a program.
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16);
	__type(key, __u32);
	__type(value, __u32);
} starters SEC(".maps");

// The programs' processes.
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, __u32);
} programs SEC(".maps");

// When each waiting task of the programs became runnable.
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, __u64);
} waiting SEC(".maps");

// The others that ran meanwhile.
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, struct charged);
} others SEC(".maps");

// The others that used the network.
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, struct traffic);
} traffics SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TOTALS);
	__type(key, __u32);
	__type(value, __u64);
} totals SEC(".maps");

static __always_inline int is_program(__u32 process)
{
	return bpf_map_lookup_elem(&programs, &process) != 0;
}

static __always_inline void add(__u32 place, __u64 amount)
{
	__u64 *total = bpf_map_lookup_elem(&totals, &place);

	if (total)
		__sync_fetch_and_add(total, amount);
}

// Add time to who ran. The idle task is process 0.
static __always_inline void charge(__u32 process, const char *name, __u64 ns)
{
	struct charged *charged;
	struct charged new = {};

	if (!process) {
		add(IDLE, ns);
		return;
	}
	if (is_program(process)) {
		add(OWN, ns);
		return;
	}
	charged = bpf_map_lookup_elem(&others, &process);
	if (!charged) {
		__builtin_memcpy(new.name, name, NAME_BYTES);
		// It fails where another CPU was first, and where the table is full.
		bpf_map_update_elem(&others, &process, &new, BPF_NOEXIST);
		charged = bpf_map_lookup_elem(&others, &process);
	}
	if (charged)
		__sync_fetch_and_add(&charged->ns, ns);
	else
		add(UNKNOWN, ns);
}

// Add up who ran on the CPU of a log from `since` to `now`.
static __always_inline void attribute(struct log *log, __u64 since, __u64 now)
{
	__u64 end = now;
	int i;

	if (since >= now)
		return;
	// The agent began to look after the task began to wait.
	if (!log->begun_ns) {
		add(UNKNOWN, now - since);
		return;
	}
	if (log->begun_ns < end) {
		__u64 begin = log->begun_ns > since ? log->begun_ns : since;

		charge(log->process, log->name, end - begin);
		end = begin;
	}
	for (i = 1; i < REMEMBERED; i++) {
		__u32 at = (log->count - i) & (REMEMBERED - 1);
		struct span *span = &log->ended[at];
		__u64 begin = log->ended[(at - 1) & (REMEMBERED - 1)].end_ns;

		if (end <= since || !span->end_ns || !begin)
			break;
		if (begin < since)
			begin = since;
		if (begin < end) {
			charge(span->process, span->name, end - begin);
			end = begin;
		}
	}
	if (end > since)
		add(UNKNOWN, end - since);
}

// A task of the programs became runnable. `flags`: of the update, for a number that is known already.
static __always_inline int woken(struct task_struct *task, __u64 flags)
{
	__u32 thread = task->pid;
	__u64 now;

	if (!is_program(task->tgid))
		return 0;
	now = bpf_ktime_get_ns();
	bpf_map_update_elem(&waiting, &thread, &now, flags);
	return 0;
}

// One that is woken again while it waits has waited since the first time.
SEC("tp_btf/sched_wakeup")
int BPF_PROG(wakes, struct task_struct *task)
{
	return woken(task, BPF_NOEXIST);
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(begins, struct task_struct *task)
{
	// The number may have been that of a task that ended.
	return woken(task, BPF_ANY);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(switches, _Bool preempt, struct task_struct *prev, struct task_struct *next, unsigned int prev_state)
{
	__u64 now = bpf_ktime_get_ns();
	__u32 cpu = bpf_get_smp_processor_id();
	__u32 prev_thread = prev->pid, next_thread = next->pid;
	struct log *log = bpf_map_lookup_elem(&logs, &cpu);
	__u64 *since;
	struct span *span;

	if (!log)
		return 0;
	span = &log->ended[log->count & (REMEMBERED - 1)];
	span->end_ns = now;
	span->process = prev->tgid;
	__builtin_memcpy(span->name, prev->comm, NAME_BYTES);
	log->count++;
	log->begun_ns = now;
	log->process = next->tgid;
	__builtin_memcpy(log->name, next->comm, NAME_BYTES);

	since = bpf_map_lookup_elem(&waiting, &next_thread);
	if (since) {
		attribute(log, *since, now);
		bpf_map_delete_elem(&waiting, &next_thread);
	}
	if (prev_thread && is_program(prev->tgid)) {
		if (preempt || !prev_state)
			bpf_map_update_elem(&waiting, &prev_thread, &now, BPF_ANY);
		else
			// It was woken before it had left.
			bpf_map_delete_elem(&waiting, &prev_thread);
	}
	return 0;
}

// A task that waits goes to another CPU: until now it has waited for those of this one.
SEC("tp_btf/sched_migrate_task")
int BPF_PROG(migrates, struct task_struct *task, int target)
{
	__u32 thread = task->pid;
	__u32 cpu = task->thread_info.cpu;
	__u64 now;
	__u64 *since = bpf_map_lookup_elem(&waiting, &thread);
	struct log *log = bpf_map_lookup_elem(&logs, &cpu);

	if (!since || !log)
		return 0;
	now = bpf_ktime_get_ns();
	attribute(log, *since, now);
	bpf_map_update_elem(&waiting, &thread, &now, BPF_ANY);
	return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(forks, struct task_struct *parent, struct task_struct *child)
{
	__u32 above = parent->tgid, process = child->tgid, one = 1;

	if (process == above)
		return 0;
	if (is_program(above) || bpf_map_lookup_elem(&starters, &above))
		bpf_map_update_elem(&programs, &process, &one, BPF_ANY);
	else
		// The number may have been that of a program.
		bpf_map_delete_elem(&programs, &process);
	return 0;
}

static __always_inline int is_loopback(__be32 address)
{
	return bpf_ntohl(address) >> 24 == 127;
}

// Whether a socket is connected to another address than its own and none of loopback, or to none.
static __always_inline int is_external(struct sock *sk)
{
	struct sock_common *common = &sk->__sk_common;
	__be32 last;

	if (common->skc_family == AF_INET)
		return !is_loopback(common->skc_daddr) && !is_loopback(common->skc_rcv_saddr) &&
		       (!common->skc_daddr || common->skc_daddr != common->skc_rcv_saddr);
	if (common->skc_family != AF_INET6)
		return 0;
	last = common->skc_v6_daddr.in6_u.u6_addr32[3];
	// An IPv4 address in the form of IPv6 (::ffff:127.0.0.1), or ::1.
	if (!common->skc_v6_daddr.in6_u.u6_addr32[0] && !common->skc_v6_daddr.in6_u.u6_addr32[1] &&
	    (is_loopback(last) || last == bpf_htonl(1)))
		return 0;
	return !last || last != common->skc_v6_rcv_saddr.in6_u.u6_addr32[3] ||
	       common->skc_v6_daddr.in6_u.u6_addr32[2] != common->skc_v6_rcv_saddr.in6_u.u6_addr32[2] ||
	       common->skc_v6_daddr.in6_u.u6_addr32[1] != common->skc_v6_rcv_saddr.in6_u.u6_addr32[1] ||
	       common->skc_v6_daddr.in6_u.u6_addr32[0] != common->skc_v6_rcv_saddr.in6_u.u6_addr32[0];
}

// The current process has sent or received a number of bytes, or has failed if that is negative.
static __always_inline int count_bytes(struct sock *sk, int bytes, int sent)
{
	__u32 process = bpf_get_current_pid_tgid() >> 32;
	struct traffic *traffic;
	struct traffic new = {};

	if (bytes <= 0 || !is_external(sk))
		return 0;
	if (is_program(process)) {
		add(sent ? OWN_SENT : OWN_RECEIVED, bytes);
		return 0;
	}
	traffic = bpf_map_lookup_elem(&traffics, &process);
	if (!traffic) {
		bpf_get_current_comm(new.name, NAME_BYTES);
		bpf_map_update_elem(&traffics, &process, &new, BPF_NOEXIST);
		traffic = bpf_map_lookup_elem(&traffics, &process);
	}
	if (traffic)
		__sync_fetch_and_add(sent ? &traffic->sent : &traffic->received, bytes);
	else
		add(REST_BYTES, bytes);
	return 0;
}

SEC("tp_btf/sock_send_length")
int BPF_PROG(sends, struct sock *sk, int bytes, int flags)
{
	return count_bytes(sk, bytes, 1);
}

SEC("tp_btf/sock_recv_length")
int BPF_PROG(receives, struct sock *sk, int bytes, int flags)
{
	return flags & MSG_PEEK ? 0 : count_bytes(sk, bytes, 0);
}

// Without these tracepoints.
SEC("fexit/inet_sendmsg")
int BPF_PROG(sends4, struct socket *socket, void *message, __u64 size, int bytes)
{
	return count_bytes(socket->sk, bytes, 1);
}

SEC("fexit/inet6_sendmsg")
int BPF_PROG(sends6, struct socket *socket, void *message, __u64 size, int bytes)
{
	return count_bytes(socket->sk, bytes, 1);
}

// sendfile(2) uses this function instead until Linux 6.4, and passes no tracepoint there.
SEC("fexit/inet_sendpage")
int BPF_PROG(sends_page, struct socket *socket, void *page, int offset, __u64 size, int flags, int bytes)
{
	return count_bytes(socket->sk, bytes, 1);
}

SEC("fexit/inet_recvmsg")
int BPF_PROG(receives4, struct socket *socket, void *message, __u64 size, int flags, int bytes)
{
	return flags & MSG_PEEK ? 0 : count_bytes(socket->sk, bytes, 0);
}

SEC("fexit/inet6_recvmsg")
int BPF_PROG(receives6, struct socket *socket, void *message, __u64 size, int flags, int bytes)
{
	return flags & MSG_PEEK ? 0 : count_bytes(socket->sk, bytes, 0);
}

char permitted[] SEC("license") = "Dual BSD/GPL";
