/* The least that can lie between the runs of a program: waitpid, vfork and what leads to execve, nothing else.
 *
 *   between COUNT PROGRAM [ARGUMENT...]   prints two sums in ns (CLOCK_MONOTONIC_RAW): of the runs, and of the COUNT - 1
 *                                         times between them
 *
 * A run begins just before execve and ends when waitpid has returned. Output of the program goes to /dev/null.
 */
#define _DEFAULT_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile long long begun;

static long long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(int argc, char **argv)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (argc < 3 || null < 0)
		return 2;
	long long ran = 0, between = 0, ended = 0;
	for (long left = atol(argv[1]); left > 0; left--) {
		pid_t pid = vfork();
		if (pid < 0)
			return 1;
		if (pid == 0) {
			dup2(null, STDOUT_FILENO);
			dup2(null, STDERR_FILENO);
			begun = now();
			execvp(argv[2], argv + 2);
			_exit(127);
		}
		int status;
		if (waitpid(pid, &status, 0) < 0 || status != 0)
			return 1;
		if (ended)
			between += begun - ended;
		ended = now();
		ran += ended - begun;
	}
	printf("%lld %lld\n", ran, between);
	return 0;
}
