/* becalm_counters.h: counters of cycles, instructions and other events of this thread, next to the time of becalm_clock.h.
 * For C99 and C++ under Linux; it needs only becalm_clock.h in the same directory.
 *
 *     static const int events[] = {BECALM_CYCLES, BECALM_INSTRUCTIONS, BECALM_CACHE_MISSES};
 *     becalm_counters counters;
 *     uint64_t before[3], after[3];
 *     if (becalm_counters_open(&counters, events, 3) != 0) ...      // an errno, such as ENOENT: no such counter
 *     becalm_counters_read(&counters, before);                      // counters enclose the clock
 *     becalm_stamp from = becalm_begin();
 *     work();
 *     becalm_stamp to = becalm_end();
 *     becalm_counters_read(&counters, after);
 *     becalm_counters_close(&counters);
 *
 * The counts are those of this thread in user mode. Where the kernel lets user space read a counter (x86-64: rdpmc; Armv8:
 * cycles by pmccntr_el0, with kernel.perf_user_access=1) there is no system call, and reads are ordered with the
 * surrounding code. Otherwise `system_calls` is 1, and each read is a system call of microseconds, which is too long for
 * short regions. Most virtual machines have no counters (ENOENT), and containers may forbid them (EACCES, EPERM:
 * kernel.perf_event_paranoid). Page faults are available everywhere.
 *
 * Licence: Apache-2.0 or MIT, at your choice.
 */
#ifndef BECALM_COUNTERS_H
#define BECALM_COUNTERS_H

#include "becalm_clock.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#elif defined(__STRICT_ANSI__)
/* The declaration that strict standards hide. */
extern long syscall(long number, ...);
#endif

enum { BECALM_MOST_COUNTERS = 8 };

/* The events that every kernel knows (perf_event_open(2)); becalm_counters_add opens others. */
enum {
    BECALM_CYCLES,
    BECALM_INSTRUCTIONS,
    BECALM_CACHE_REFERENCES,
    BECALM_CACHE_MISSES,
    BECALM_BRANCHES,
    BECALM_BRANCH_MISSES,
    BECALM_PAGE_FAULTS
};

typedef struct {
    int many;
    int system_calls; /* 1: reading at least one of them needs a system call */
    int descriptor[BECALM_MOST_COUNTERS];
    struct perf_event_mmap_page *page[BECALM_MOST_COUNTERS]; /* NULL: read by a system call */
} becalm_counters;

static inline void becalm_counters_close(becalm_counters *counters) {
    while (counters->many > 0) {
        int last = --counters->many;
        if (counters->page[last]) munmap(counters->page[last], (size_t)sysconf(_SC_PAGESIZE));
        close(counters->descriptor[last]);
    }
}

/* Read a counter as the processor returns it. Return 0 if user space cannot read it. */
static inline int becalm_raw_(uint32_t index, uint64_t *value) {
#if defined(__x86_64__)
    uint32_t low, high;
    __asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(index - 1));
    *value = (uint64_t)high << 32 | low;
    return 1;
#elif defined(__aarch64__)
    if (index != 32) return 0;
    __asm__ volatile("mrs %0, pmccntr_el0" : "=r"(*value));
    return 1;
#else
    (void)index, (void)value;
    return 0;
#endif
}

/* Wait until code before this has finished, before code after it begins. */
static inline void becalm_order_(void) {
#if defined(__x86_64__)
    __asm__ volatile("lfence" : : : "memory");
#elif defined(__aarch64__)
    __asm__ volatile("isb" : : : "memory");
#endif
}

/* Read a counter through the kernel's page, again if the kernel moves the event. Return 0 if it cannot be read now. */
static inline int becalm_of_page_(const struct perf_event_mmap_page *page, uint64_t *value) {
    const volatile struct perf_event_mmap_page *now = page;
    for (;;) {
        uint32_t lock = now->lock, index;
        uint64_t raw = 0;
        int64_t offset;
        unsigned shift;
        __asm__ volatile("" : : : "memory");
        index = now->index;
        offset = now->offset;
        shift = 64u - now->pmc_width;
        if (!now->cap_user_rdpmc || index == 0 || !becalm_raw_(index, &raw)) return 0;
        __asm__ volatile("" : : : "memory");
        if (now->lock != lock) continue;
        /* The counter is signed and narrower than 64 bits. */
        *value = (uint64_t)(offset + ((int64_t)(raw << shift) >> shift));
        return 1;
    }
}

/* Add an event with a type and a code as in perf_event_open(2). Return 0 or an errno. */
static inline int becalm_counters_add(becalm_counters *counters, uint32_t type, uint64_t config) {
    struct perf_event_attr attributes;
    struct perf_event_mmap_page *page;
    uint64_t value;
    int at = counters->many;
    void *mapped;
    if (at == BECALM_MOST_COUNTERS) return E2BIG;
    memset(&attributes, 0, sizeof attributes);
    attributes.type = type;
    attributes.size = sizeof attributes;
    attributes.config = config;
    attributes.exclude_kernel = attributes.exclude_hv = 1;
#if defined(__aarch64__)
    /* drivers/perf/arm_pmuv3.c: 64 bits, and access from user space. */
    if (type == PERF_TYPE_HARDWARE && config == PERF_COUNT_HW_CPU_CYCLES) attributes.config1 = 3;
#endif
    counters->descriptor[at] =
        (int)syscall(SYS_perf_event_open, &attributes, 0, -1, at > 0 ? counters->descriptor[0] : -1, PERF_FLAG_FD_CLOEXEC);
    if (counters->descriptor[at] < 0) return errno;
    mapped = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, counters->descriptor[at], 0);
    page = mapped == MAP_FAILED ? NULL : (struct perf_event_mmap_page *)mapped;
    if (page && !becalm_of_page_(page, &value)) {
        munmap(page, (size_t)sysconf(_SC_PAGESIZE));
        page = NULL;
    }
    counters->page[at] = page;
    if (!page) counters->system_calls = 1;
    counters->many++;
    return 0;
}

/* Start counting these events. Return 0, or an errno with nothing open. They form one group: all are counted or none. */
static inline int becalm_counters_open(becalm_counters *counters, const int *events, int many) {
    static const uint32_t hardware[] = {PERF_COUNT_HW_CPU_CYCLES,          PERF_COUNT_HW_INSTRUCTIONS,
                                        PERF_COUNT_HW_CACHE_REFERENCES,    PERF_COUNT_HW_CACHE_MISSES,
                                        PERF_COUNT_HW_BRANCH_INSTRUCTIONS, PERF_COUNT_HW_BRANCH_MISSES};
    int index, error = 0;
    memset(counters, 0, sizeof *counters);
    for (index = 0; index < many && error == 0; index++) {
        if (events[index] == BECALM_PAGE_FAULTS)
            error = becalm_counters_add(counters, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
        else if (events[index] >= BECALM_CYCLES && events[index] <= BECALM_BRANCH_MISSES)
            error = becalm_counters_add(counters, PERF_TYPE_HARDWARE, hardware[events[index]]);
        else error = EINVAL;
    }
    if (error != 0) becalm_counters_close(counters);
    return error;
}

/* Read the counts, one per event. Return 0, or an errno if one cannot be read. */
static inline int becalm_counters_read(const becalm_counters *counters, uint64_t *values) {
    int index;
    becalm_order_();
    for (index = 0; index < counters->many; index++) {
        if (counters->page[index] && becalm_of_page_(counters->page[index], &values[index])) continue;
        if (read(counters->descriptor[index], &values[index], 8) != 8) return errno ? errno : EIO;
    }
    becalm_order_();
    return 0;
}

#ifdef __cplusplus
}
#endif
#endif
