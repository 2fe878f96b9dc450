/* Tests becalm_regions.h on records with known lengths: writes a file to argv[1], which the Python reader then reads. Exits
 * with the number of the failed case. */
#include "becalm_regions.h"

static const char *const names[] = {"even", "odd"};

static void push(becalm_ring *ring, uint32_t from, uint32_t many) {
    uint32_t turn;
    for (turn = from; turn < from + many; turn++) {
        becalm_stamp begin, end;
        begin.ticks = 10000 + 1000 * (uint64_t)turn, begin.processor = 5;
        end.ticks = begin.ticks + (turn == 9 ? 10u : 900u + turn), end.processor = turn == 7 ? 4 : 5;
        if (turn == 8) end.ticks = begin.ticks - 3;
        becalm_ring_push(ring, turn % 2, begin, end);
    }
}

int main(int argc, char **argv) {
    static becalm_record memory[1200];
    static char longest[65537];
    const char *too_long[1];
    becalm_clock clock;
    becalm_ring ring;
    becalm_regions file;
    FILE *other;
    if (argc != 3 || becalm_clock_init(&clock) != 0) return 77;
    clock.smallest_cost = 50;
    becalm_ring_init(&ring, memory, 1200, 0);
    push(&ring, 0, 1203);
    if (becalm_regions_open(&file, argv[1], &clock, names, 2) != 0) return 1;
    if (becalm_regions_flush(&file, &ring, 9) != 0 || becalm_ring_kept(&ring) != 0) return 2;
    if (becalm_regions_flush(&file, &ring, 9) != 0) return 3;
    becalm_ring_init(&ring, memory, 10, 1);
    push(&ring, 100, 14);
    if (becalm_regions_flush(&file, &ring, 10) != 0) return 4;
    becalm_ring_init(&ring, memory, 0, 0);
    push(&ring, 100, 4);
    if (becalm_regions_flush(&file, &ring, 11) != 0) return 5;
    if (becalm_regions_close(&file) != 0) return 6;
    if (becalm_regions_close(&file) != 0) return 7;
    /* A file that is not one of regions is kept. */
    other = fopen(argv[2], "we");
    if (!other || fputs("my thesis", other) < 0 || fclose(other) != 0) return 8;
    if (becalm_regions_open(&file, argv[2], &clock, names, 2) != EEXIST) return 9;
    if (becalm_regions_flush(&file, &ring, 0) != EEXIST || becalm_regions_close(&file) != EEXIST) return 10;
    memset(longest, 'x', 65536);
    too_long[0] = longest;
    if (becalm_regions_open(&file, argv[1], &clock, too_long, 1) != EINVAL) return 11;
    return 0;
}
