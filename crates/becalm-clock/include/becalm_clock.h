/* becalm_clock.h: a timer for very short code in C99 and C++, based on the processor's own counter, in one file.
 *
 *     becalm_clock clock;
 *     if (becalm_clock_init(&clock) != 0) return 1;            // detects, calibrates (0.1 s), measures its own cost
 *     becalm_stamp from = becalm_begin();
 *     work();
 *     becalm_stamp to = becalm_end();
 *     if (from.processor == to.processor)
 *         printf("%lld ns\n", (long long)becalm_ns(&clock, becalm_ticks(from, to)));
 *
 * Reads are ordered with the surrounding code: code before a read has finished, and code after it has not begun.
 * x86-64: `rdtscp; lfence`, since rdtscp waits for everything before it and lfence holds back what follows (Intel SDM 2B
 * RDTSCP, 2A LFENCE; AMD64 APM 3). Armv8: `isb; mrs cntvct_el0; isb`. Elsewhere: CLOCK_MONOTONIC_RAW. `cpuid` is never
 * used, since it traps in virtual machines. Nothing is subtracted and nothing is clamped. Only becalm_clock_init makes
 * system calls; nothing allocates. With a strict standard (-std=c99) this file must be included first, since it asks the
 * C library for POSIX.
 *
 * Licence: Apache-2.0 or MIT, at your choice.
 */
#ifndef BECALM_CLOCK_H
#define BECALM_CLOCK_H

#if defined(__STRICT_ANSI__) && !defined(_POSIX_C_SOURCE) && !defined(_XOPEN_SOURCE) && !defined(_GNU_SOURCE)
#define _POSIX_C_SOURCE 200809L
#endif
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#if !defined(CLOCK_MONOTONIC)
#error "becalm_clock.h needs POSIX: include it before other headers, or compile with -std=gnu99 or -D_POSIX_C_SOURCE=200809L"
#endif
#if defined(__x86_64__)
#include <cpuid.h>
#if defined(__linux__)
#include <sys/prctl.h>
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* A read: raw ticks, and the processor's number where the read reports it (x86-64 under Linux), otherwise 0. */
typedef struct {
    uint64_t ticks;
    uint32_t processor;
} becalm_stamp;

/* The flags of a clock. */
enum {
    BECALM_SYSTEM = 1,    /* reads use the operating system's clock: the processor's counter cannot be used */
    BECALM_INVARIANT = 2, /* the counter is reported to run at a constant rate, whatever the core does */
    BECALM_HYPERVISOR = 4,/* this is a virtual machine */
    BECALM_TRAPPED = 8    /* a hypervisor emulates each read: nothing short can be timed */
};

/* The properties of the clock. `quantum` is the step by which the counter advances, in ticks; 0 if it is not known.
 * Costs are the ticks of an empty region; their mean excludes the longest twentieth. */
typedef struct {
    const char *source;
    double hz;
    double ppm; /* the bound on the error of the frequency, in parts per million */
    double quantum;
    int64_t smallest_cost;
    int64_t median_cost;
    double mean_cost;
    unsigned flags;
    uint64_t multiplier; /* converts ticks to ns, as a fixed-point number with 32 fractional bits */
    uint64_t opened_ns;  /* the time of becalm_system_ns when becalm_clock_init began */
} becalm_clock;

/* ---- reads ------------------------------------------------------------------------------------------------------ */

static inline uint64_t becalm_system_ns(void) {
    struct timespec time;
#if defined(CLOCK_MONOTONIC_RAW)
    clock_gettime(CLOCK_MONOTONIC_RAW, &time);
#else
    clock_gettime(CLOCK_MONOTONIC, &time);
#endif
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static inline becalm_stamp becalm_read(void) {
    becalm_stamp stamp;
#if defined(__x86_64__)
    uint32_t low, high;
    __asm__ volatile("rdtscp\n\tlfence" : "=a"(low), "=d"(high), "=c"(stamp.processor) : : "memory");
    stamp.ticks = (uint64_t)high << 32 | low;
#elif defined(__aarch64__)
    __asm__ volatile("isb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(stamp.ticks) : : "memory");
    stamp.processor = 0;
#else
    stamp.ticks = becalm_system_ns();
    stamp.processor = 0;
#endif
    return stamp;
}

/* Read the clock at the beginning and at the end of a region. */
static inline becalm_stamp becalm_begin(void) { return becalm_read(); }
static inline becalm_stamp becalm_end(void) { return becalm_read(); }

/* Return the ticks between two reads; negative if the counter went backwards. */
static inline int64_t becalm_ticks(becalm_stamp from, becalm_stamp to) { return (int64_t)(to.ticks - from.ticks); }

/* Convert ticks to ns by multiplications and shifts. The product of 128 bits is computed in parts, since ISO C has no such
 * type. The multiplier is split, too, since it has more than 32 bits below 1 GHz. */
static inline int64_t becalm_ns(const becalm_clock *clock, int64_t ticks) {
    uint64_t size = ticks < 0 ? 0 - (uint64_t)ticks : (uint64_t)ticks;
    uint64_t part = clock->multiplier & 0xffffffffu;
    uint64_t low = (size & 0xffffffffu) * part >> 32;
    int64_t ns = (int64_t)(size * (clock->multiplier >> 32) + (size >> 32) * part + low);
    return ticks < 0 ? -ns : ns;
}

/* ---- the properties of the clock -------------------------------------------------------------------------------- */

enum { BECALM_READS = 4096 };

static inline int becalm_compare_(const void *one, const void *other) {
    int64_t a = *(const int64_t *)one, b = *(const int64_t *)other;
    return (a > b) - (a < b);
}

/* Return the step near a guess of which all differences, in ascending order, are multiples to within a tick; or 0. */
static inline double becalm_fitted_(const int64_t *sorted, int many, double guess) {
    double low = 0, high = 0, products = 0, squares = 0, last = 0;
    int multiples = 0, index;
    for (index = 0; index < many; index++) {
        double difference = (double)sorted[index];
        double step = high > 0 ? (low + high) / 2 : guess;
        double allowed = step < 8 ? step / 8 : 1;
        double multiple = (double)(uint64_t)(difference / step + 0.5);
        if (multiple > 64 && multiples >= 3) break;
        if (multiple < 1) return 0;
        if ((difference - allowed) / multiple > low) low = (difference - allowed) / multiple;
        if (high == 0 || (difference + allowed) / multiple < high) high = (difference + allowed) / multiple;
        if (low > high) return 0;
        products += multiple * difference;
        squares += multiple * multiple;
        multiples += multiple != last;
        last = multiple;
    }
    return multiples < 3 ? 0 : products / squares < 1 ? 1 : products / squares;
}

/* Sort the differences, and return the largest step of which all are multiples, in ticks; 0 if it is not known. It is not
 * the greatest common divisor: a scaled counter mixes steps of 25, 26 and 27 ticks. */
static inline double becalm_quantum(int64_t *differences, int many) {
    int pass, first = 0;
    qsort(differences, (size_t)many, sizeof *differences, becalm_compare_);
    for (pass = 1; pass >= 0; pass--) {
        /* The first pass skips differences within one step, caused by rounding; only long steps allow them. */
        int64_t parts;
        for (first = 0; first < many && differences[first] <= pass; first++) {
        }
        for (parts = 1; first < many && parts <= differences[first]; parts++) {
            double guess = (double)differences[first] / (double)parts, found;
            if (pass == 1 && guess < 8) break;
            found = becalm_fitted_(differences + first, many - first, guess);
            if (found > 0) return found;
        }
    }
    return 0;
}

/* Return the tightest of 100 reads of the system's clock between two of the counter, with the middle and width of these. */
static inline uint64_t becalm_bracket_(uint64_t *middle, uint64_t *width) {
    uint64_t best = 0;
    int turn;
    *width = ~(uint64_t)0;
    for (turn = 0; turn < 100; turn++) {
        uint64_t before = becalm_begin().ticks, ns = becalm_system_ns(), after = becalm_end().ticks;
        if (after - before < *width) {
            *width = after - before;
            *middle = before + *width / 2;
            best = ns;
        }
    }
    return best;
}

/* Return whether a read of the counter raises SIGSEGV in this process: prctl(2), PR_GET_TSC. */
static inline int becalm_forbidden_(void) {
#if defined(__x86_64__) && defined(__linux__)
    int mode = 0;
    return prctl(PR_GET_TSC, &mode) == 0 && mode == PR_TSC_SIGSEGV;
#else
    return 0;
#endif
}

/* Detect the counter, calibrate it for a tenth of a second, and measure the clock's own cost. Return 0, or -1 if the
 * processor's counter cannot be used (x86-64 without rdtscp, or forbidden by PR_SET_TSC) or does not run: then becalm_begin
 * and becalm_end must not be used. Several threads must not call this at the same time. */
static inline int becalm_clock_init(becalm_clock *clock) {
    static int64_t values[BECALM_READS];
    uint64_t first, last = 0, wide, wide_last, ns, ns_last;
    int turn, many = 0;
    clock->flags = 0;
    clock->quantum = 0;
#if defined(__x86_64__)
    {
        unsigned a = 0, b = 0, c = 0, d = 0;
        clock->source = "rdtscp;lfence";
        if (!__get_cpuid(0x80000001u, &a, &b, &c, &d) || !(d >> 27 & 1)) return -1;
        if (becalm_forbidden_()) return -1;
        if (__get_cpuid(0x80000007u, &a, &b, &c, &d) && (d >> 8 & 1)) clock->flags |= BECALM_INVARIANT;
        if (__get_cpuid(1, &a, &b, &c, &d) && (c >> 31 & 1)) clock->flags |= BECALM_HYPERVISOR;
    }
#elif defined(__aarch64__)
    clock->source = "isb;cntvct_el0;isb";
    clock->flags |= BECALM_INVARIANT;
#else
    clock->source = "clock_gettime(CLOCK_MONOTONIC_RAW)";
    clock->flags |= BECALM_SYSTEM;
#endif
    clock->opened_ns = becalm_system_ns();
    ns = becalm_bracket_(&first, &wide);
    while (becalm_system_ns() - ns < 100000000u) {
    }
    ns_last = becalm_bracket_(&last, &wide_last);
    if (last <= first || ns_last <= ns) return -1;
    clock->hz = (double)(last - first) * 1e9 / (double)(ns_last - ns);
    clock->ppm = ((double)(wide + wide_last) / 2 + 1) / (double)(last - first) * 1e6 + 1e6 / (double)(ns_last - ns);
    clock->multiplier = (uint64_t)(1e9 / clock->hz * 4294967296.0 + 0.5);
    for (turn = 0; turn < 2 * BECALM_READS && many < BECALM_READS; turn++) {
        becalm_stamp from = becalm_begin(), to = becalm_end();
        if (from.processor == to.processor) values[many++] = becalm_ticks(from, to);
    }
    qsort(values, (size_t)many, sizeof *values, becalm_compare_);
    clock->smallest_cost = many ? values[0] : 0;
    clock->median_cost = many ? values[many / 2] : 0;
    clock->mean_cost = 0;
    for (turn = 0; turn < many - many / 20; turn++) clock->mean_cost += (double)values[turn] / (many - many / 20);
    if (clock->smallest_cost > 300 && !(clock->flags & BECALM_SYSTEM)) clock->flags |= BECALM_TRAPPED;
    for (many = 0, turn = 0; turn < BECALM_READS; turn++) {
        becalm_stamp from = becalm_begin(), to;
        volatile int spent = 0;
        /* Delays of many lengths: equal differences would all be multiples of a step that is too large. */
        while (spent < turn % 251) spent = spent + 1;
        to = becalm_end();
        if (from.processor == to.processor && becalm_ticks(from, to) >= 0) values[many++] = becalm_ticks(from, to);
    }
    clock->quantum = becalm_quantum(values, many);
    return 0;
}

/* ---- regions in memory that the caller provides, one ring per thread ------------------------------------------------ */

typedef struct {
    uint32_t id; /* the caller's number for the region */
    becalm_stamp begin, end;
} becalm_record;

typedef struct {
    becalm_record *memory;
    uint64_t capacity;
    uint64_t next;
    uint64_t pushed;
    int drop_oldest; /* when full: 0 keeps the first records, 1 the last ones */
} becalm_ring;

static inline void becalm_ring_init(becalm_ring *ring, becalm_record *memory, uint64_t capacity, int drop_oldest) {
    ring->memory = memory;
    ring->capacity = capacity;
    ring->next = ring->pushed = 0;
    ring->drop_oldest = drop_oldest;
}

static inline void becalm_ring_push(becalm_ring *ring, uint32_t id, becalm_stamp begin, becalm_stamp end) {
    ring->pushed++;
    if (ring->next == ring->capacity) {
        if (!ring->drop_oldest || ring->capacity == 0) return;
        ring->next = 0;
    }
    ring->memory[ring->next].id = id;
    ring->memory[ring->next].begin = begin;
    ring->memory[ring->next].end = end;
    ring->next++;
}

/* Return the number of records kept, and the number dropped. */
static inline uint64_t becalm_ring_kept(const becalm_ring *ring) {
    return ring->pushed < ring->capacity ? ring->pushed : ring->capacity;
}

static inline uint64_t becalm_ring_dropped(const becalm_ring *ring) { return ring->pushed - becalm_ring_kept(ring); }

/* Return the record with an index below becalm_ring_kept, in the order in which they were pushed. */
static inline const becalm_record *becalm_ring_at(const becalm_ring *ring, uint64_t index) {
    uint64_t first = ring->drop_oldest && ring->pushed > ring->capacity ? ring->next : 0;
    return &ring->memory[(first + index) % ring->capacity];
}

#ifdef __cplusplus
}
#endif
#endif
