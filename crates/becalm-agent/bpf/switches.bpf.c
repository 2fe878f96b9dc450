// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
//
// Context switches on each CPU with two counters, recorded in the kernel for the detector of sweet spots.
//
// `make bpf` compiles it into the agent, which loads nothing else (crates/becalm-agent/src/bpf.rs). On each switch of
// tasks, and where one task goes on for a window on each tick of a clock, a record with both counts of this CPU is put
// into one ring for all CPUs; forks, execs and exits are reported between them. Structures of the kernel are found by its own types
// (BTF, "CO-RE"), so one object serves all kernels from 5.18, where `sched_switch` began to say in which state a task leaves.

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

// The largest number of CPUs of a kernel; the agent lowers it to the number of possible CPUs.
#define MOST_CPUS 8192

enum { SWITCH = 1, TICK = 2, FORK = 3, EXEC = 4, EXIT = 5 };
enum { PREEMPTED = 1, UNCOUNTED = 4 };

// A record, which crates/becalm-core/src/source/switches/bpf.rs reads.
struct record {
	__u64 time_ns; // CLOCK_MONOTONIC
	__u32 cpu;
	__u16 kind;
	__u16 flags;
	__s32 process; // the task that leaves, is read, forks, executes or exits
	__s32 task;
	__s32 other_process; // the task that comes, or is new
	__s32 other_task;
	__u64 enabled_ns;
	__u64 running_ns;
	__u64 references;
	__u64 misses;
	__u64 lost; // on this CPU since the beginning
};

struct task_struct {
	int pid;
	int tgid;
} __attribute__((preserve_access_index));

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} records SEC(".maps");

// Whether each CPU is recorded.
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MOST_CPUS);
	__type(key, __u32);
	__type(value, __u32);
} recorded SEC(".maps");

// The number of records dropped for lack of room.
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} lost SEC(".maps");

// The counters of each CPU, opened by the agent.
struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(max_entries, MOST_CPUS);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} references SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(max_entries, MOST_CPUS);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} misses SEC(".maps");

// Reserve a record of this CPU. NULL if the CPU is not recorded, or if there is no room, which is counted.
static __always_inline struct record *room(__u16 kind)
{
	__u32 cpu = bpf_get_smp_processor_id();
	__u32 zero = 0;
	__u32 *on = bpf_map_lookup_elem(&recorded, &cpu);
	__u64 *missing = bpf_map_lookup_elem(&lost, &zero);
	struct record *record;

	if (!on || !*on || !missing)
		return 0;
	record = bpf_ringbuf_reserve(&records, sizeof(*record), 0);
	if (!record) {
		__sync_fetch_and_add(missing, 1);
		return 0;
	}
	__builtin_memset(record, 0, sizeof(*record));
	record->time_ns = bpf_ktime_get_ns();
	record->cpu = cpu;
	record->kind = kind;
	record->lost = *missing;
	return record;
}

// Read both counts. A counter that cannot be read makes both unknown; they are never reported as zero.
static __always_inline void count(struct record *record)
{
	struct bpf_perf_event_value first = {}, second = {};

	if (bpf_perf_event_read_value(&references, BPF_F_CURRENT_CPU, &first, sizeof(first)) ||
	    bpf_perf_event_read_value(&misses, BPF_F_CURRENT_CPU, &second, sizeof(second))) {
		record->flags |= UNCOUNTED;
		return;
	}
	record->references = first.counter;
	record->misses = second.counter;
	// Both belong to one group, which is scheduled as a whole.
	record->enabled_ns = first.enabled;
	record->running_ns = first.running;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(switched, _Bool preempt, struct task_struct *prev, struct task_struct *next, unsigned int prev_state)
{
	struct record *record = room(SWITCH);

	if (!record)
		return 0;
	count(record);
	record->process = prev->tgid;
	record->task = prev->pid;
	record->other_process = next->tgid;
	record->other_task = next->pid;
	if (preempt || !prev_state)
		record->flags |= PREEMPTED;
	// The agent polls, so a record wakes nobody.
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	return 0;
}

SEC("perf_event")
int ticked(void *context)
{
	struct record *record = room(TICK);
	__u64 both;

	if (!record)
		return 0;
	count(record);
	both = bpf_get_current_pid_tgid();
	record->process = both >> 32;
	record->task = (__u32)both;
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(forked, struct task_struct *parent, struct task_struct *child)
{
	struct record *record = room(FORK);

	if (!record)
		return 0;
	record->process = parent->tgid;
	record->task = parent->pid;
	record->other_process = child->tgid;
	record->other_task = child->pid;
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(executed, struct task_struct *task)
{
	struct record *record = room(EXEC);

	if (!record)
		return 0;
	record->process = task->tgid;
	record->task = task->pid;
	// No counts are read here: the name takes their place.
	bpf_get_current_comm(&record->enabled_ns, 16);
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	return 0;
}

// This runs before the parent is notified, so that a recording that ends with a program includes its end (kernel/exit.c, do_exit).
SEC("tp_btf/sched_process_exit")
int BPF_PROG(exited, struct task_struct *task)
{
	struct record *record = room(EXIT);

	if (!record)
		return 0;
	record->process = task->tgid;
	record->task = task->pid;
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	return 0;
}

char permitted[] SEC("license") = "Dual BSD/GPL";
