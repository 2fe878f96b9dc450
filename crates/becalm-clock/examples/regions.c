/* Time two regions of a program, 20,000 times each, and write them to a file that `becalm import` reads:
 * cc -O2 -std=c99 -I ../include regions.c -o regions && ./regions parse.regions */
#include "becalm_regions.h"

enum { SUM, COPY };
static const char *const names[] = {"sum", "copy"};
static becalm_record memory[40000];

int main(int argc, char **argv) {
    static uint64_t values[500], copies[500];
    volatile uint64_t sum;
    becalm_clock clock;
    becalm_ring ring;
    becalm_regions file;
    int turn, each, error;
    if (argc != 2 || becalm_clock_init(&clock) != 0) {
        fputs(argc != 2 ? "name a file\n" : "no clock of this processor can be used\n", stderr);
        return 1;
    }
    becalm_ring_init(&ring, memory, 40000, 0);
    for (each = 0; each < 500; each++) values[each] = (uint64_t)each;
    for (turn = 0; turn < 20000; turn++) {
        becalm_stamp from = becalm_begin();
        for (sum = 0, each = 0; each < 500; each++) sum = sum + values[each];
        becalm_ring_push(&ring, SUM, from, becalm_end());

        from = becalm_begin();
        memcpy(copies, values, sizeof copies);
        becalm_ring_push(&ring, COPY, from, becalm_end());
    }
    error = becalm_regions_open(&file, argv[1], &clock, names, 2);
    if (error == 0) error = becalm_regions_flush(&file, &ring, 0);
    if (error == 0) error = becalm_regions_close(&file);
    if (error != 0) {
        fprintf(stderr, "%s: %s\n", argv[1], strerror(error));
        return 2;
    }
    printf("%s: see it with becalm import %s\n", argv[1], argv[1]);
    return 0;
}
