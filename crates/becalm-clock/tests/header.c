/* Tests the arithmetic of becalm_clock.h on the cases of the crate's tests. Exits with the number of the failed case. */
#include "becalm_clock.h"

static double quantum_of(const int64_t *given, int many) {
    int64_t copy[64];
    int index;
    for (index = 0; index < many; index++) copy[index] = given[index];
    return becalm_quantum(copy, many);
}

/* Return whether a ring of four keeps these of `pushed` records, from this one on. */
static int keeps(int drop_oldest, uint32_t pushed, uint64_t kept, uint32_t first) {
    becalm_record memory[4];
    becalm_ring ring;
    becalm_stamp at;
    uint32_t id;
    at.ticks = 1, at.processor = 0;
    becalm_ring_init(&ring, memory, 4, drop_oldest);
    for (id = 0; id < pushed; id++) becalm_ring_push(&ring, id, at, at);
    if (becalm_ring_kept(&ring) != kept || becalm_ring_dropped(&ring) != pushed - kept) return 0;
    for (id = 0; id < kept; id++)
        if (becalm_ring_at(&ring, id)->id != first + id) return 0;
    return 1;
}

int main(void) {
    /* A scaled counter: 25, 26 and 27 are all one step, and reads within one may differ by rounding. */
    const int64_t scaled[] = {1, 25, 26, 1, 27, 52, 51, 78, 0, 1, 26};
    const int64_t even[] = {54, 56, 58, 60, 54, 62, 70};
    const int64_t every[] = {27, 28, 29, 30, 35, 41};
    const int64_t alike[] = {52, 52, 104, 52};
    becalm_clock clock;
    becalm_stamp from, to;
    double found = quantum_of(scaled, 11);
    if (!(found > 25.5 && found < 26.5)) return 1;
    if (quantum_of(even, 7) != 2) return 2;
    if (quantum_of(every, 6) != 1) return 3;
    if (quantum_of(alike, 4) != 0 || quantum_of(alike, 0) != 0) return 4;
    clock.multiplier = (uint64_t)1 << 31; /* 2 GHz */
    if (becalm_ns(&clock, 54) != 27 || becalm_ns(&clock, -54) != -27) return 5;
    if (becalm_ns(&clock, INT64_C(20000000000000000)) != INT64_C(10000000000000000)) return 6;
    from.ticks = 140, to.ticks = 100;
    if (becalm_ticks(from, to) != -40) return 7;
    from.ticks = UINT64_MAX, to.ticks = 9;
    if (becalm_ticks(from, to) != 10) return 8;
    if (!keeps(1, 3, 3, 0) || !keeps(1, 4, 4, 0) || !keeps(1, 6, 4, 2) || !keeps(1, 8, 4, 4)) return 9;
    if (!keeps(0, 3, 3, 0) || !keeps(0, 6, 4, 0)) return 10;
    clock.multiplier = (uint64_t)(1e9 / 24e6 * 4294967296.0 + 0.5); /* 24 MHz, as on many Armv8 processors: an hour */
    found = (double)becalm_ns(&clock, INT64_C(24000000) * 3600);
    if (found < 3.6e12 - 3600 || found > 3.6e12 + 3600) return 11;
#if defined(__x86_64__) && defined(__linux__)
    /* A process that may not read the counter gets an error and is not killed. This is last, since it cannot be undone. */
    if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV) == 0 && becalm_clock_init(&clock) != -1) return 12;
#endif
    return 0;
}
