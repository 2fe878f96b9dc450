// The same in C++, with a guard that times a scope, and a thread with a ring of its own:
// c++ -O2 -std=c++11 -pthread -I ../include regions.cpp -o regions && ./regions sort.regions
#include "becalm_regions.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

enum Name { SORT, FILL };
static const char *const names[] = {"sort", "fill"};

// Keeps the time from where it is made to the end of its scope.
class Region {
public:
    Region(becalm_ring &ring, Name name) : ring(ring), name(name), from(becalm_begin()) {}
    ~Region() { becalm_ring_push(&ring, name, from, becalm_end()); }
    Region(const Region &) = delete;

private:
    becalm_ring &ring;
    Name name;
    becalm_stamp from;
};

static void work(becalm_ring &ring) {
    std::vector<unsigned> values(300);
    for (int turn = 0; turn < 5000; turn++) {
        {
            Region region(ring, FILL);
            unsigned next = 1;
            for (auto &value : values) value = next = next * 1664525u + 1013904223u;
        }
        Region region(ring, SORT);
        std::sort(values.begin(), values.end());
    }
}

int main(int argc, char **argv) {
    becalm_clock clock;
    if (argc != 2 || becalm_clock_init(&clock) != 0) {
        std::fputs(argc != 2 ? "name a file\n" : "no clock of this processor can be used\n", stderr);
        return 1;
    }
    // Made before the threads run, so that nothing is allocated while something is timed.
    std::vector<becalm_record> memory[2] = {std::vector<becalm_record>(10000), std::vector<becalm_record>(10000)};
    becalm_ring rings[2];
    for (int each = 0; each < 2; each++) becalm_ring_init(&rings[each], memory[each].data(), 10000, 1);
    std::thread other(work, std::ref(rings[1]));
    work(rings[0]);
    other.join();
    becalm_regions file;
    becalm_regions_open(&file, argv[1], &clock, names, 2);
    for (unsigned each = 0; each < 2; each++) becalm_regions_flush(&file, &rings[each], each);
    // Errors stay: the last call has the first one.
    if (int error = becalm_regions_close(&file)) {
        std::fprintf(stderr, "%s: %s\n", argv[1], std::strerror(error));
        return 2;
    }
    std::printf("%s: see it with becalm import %s\n", argv[1], argv[1]);
}
