/* The least that starting and waiting for a program can cost: posix_spawn and waitpid, COUNT times, nothing else.
 *
 *   spawn COUNT PROGRAM [ARGUMENT...]   prints the nanoseconds all of it took (CLOCK_MONOTONIC_RAW)
 *
 * Output of the program goes to /dev/null, as the tools that are compared with this do it.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static long long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	posix_spawn_file_actions_t actions;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	long long begun = now();
	for (long left = atol(argv[1]); left > 0; left--) {
		pid_t pid;
		int status;
		int error = posix_spawn(&pid, argv[2], &actions, NULL, argv + 2, environ);
		if (error) {
			fprintf(stderr, "spawn: %s: %s\n", argv[2], strerror(error));
			return 1;
		}
		if (waitpid(pid, &status, 0) < 0 || status != 0)
			return 1;
	}
	printf("%lld\n", now() - begun);
	return 0;
}
