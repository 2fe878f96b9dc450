/* Lets argv[2] processes write argv[1] at the same time: each file must have its own regions. Prints the path of each, and
 * exits with 77 if no clock can be used. */
#include "becalm_regions.h"

#include <sys/wait.h>

static const char *const names[] = {"own"};

int main(int argc, char **argv) {
    static becalm_record memory[1000];
    int many = argc == 3 ? atoi(argv[2]) : 0, gate[2], failed = 0, status, index;
    becalm_clock clock;
    if (many < 1 || pipe(gate) != 0) return 2;
    if (becalm_clock_init(&clock) != 0) return 77;
    for (index = 0; index < many; index++) {
        if (fork() == 0) {
            becalm_ring ring;
            becalm_regions file;
            char byte;
            becalm_ring_init(&ring, memory, 1000, 0);
            while (becalm_ring_kept(&ring) < 1000) {
                becalm_stamp from = becalm_begin();
                becalm_ring_push(&ring, 0, from, becalm_end());
            }
            /* All processes write at the same time. */
            close(gate[1]);
            if (read(gate[0], &byte, 1) != 0 || becalm_regions_open(&file, argv[1], &clock, names, 1) != 0) return 3;
            becalm_regions_flush(&file, &ring, 0);
            if (becalm_regions_close(&file) != 0) return 4;
            puts(file.path);
            return 0;
        }
    }
    close(gate[1]);
    while (wait(&status) > 0) failed |= status;
    return failed != 0;
}
