/* Time the sum of 500 numbers 10,000 times: cc -O2 -std=c99 -I ../include region.c (or c++). */
#include "becalm_clock.h"

#include <stdio.h>

int main(void) {
    static int64_t ticks[10000];
    uint64_t values[500];
    volatile uint64_t sum;
    becalm_clock clock;
    int index, many = 0;
    if (becalm_clock_init(&clock) != 0) {
        fputs("no clock of this processor can be used\n", stderr);
        return 1;
    }
    for (index = 0; index < 500; index++) values[index] = (uint64_t)index;
    for (index = 0; index < 10000; index++) {
        int each;
        becalm_stamp from = becalm_begin(), to;
        for (sum = 0, each = 0; each < 500; each++) sum = sum + values[each];
        to = becalm_end();
        if (from.processor == to.processor) ticks[many++] = becalm_ticks(from, to);
    }
    qsort(ticks, (size_t)many, sizeof *ticks, becalm_compare_);
    printf("source %s\nhz %.0f\nppm %.3f\nquantum %.3f\n", clock.source, clock.hz, clock.ppm, clock.quantum);
    printf("smallest_cost %lld\nmedian_cost %lld\nflags %u\n", (long long)clock.smallest_cost,
           (long long)clock.median_cost, clock.flags);
    printf("smallest_ns %lld\nmedian_ns %lld\n", (long long)becalm_ns(&clock, ticks[0]),
           (long long)becalm_ns(&clock, ticks[many / 2]));
    return 0;
}
