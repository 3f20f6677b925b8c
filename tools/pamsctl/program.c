// SPDX-License-Identifier: GPL-2.0
/* program - runs another program and takes what it prints */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pamsctl.h"

int program_run(const char * const words[], bool errors, char *output, size_t room)
{
	posix_spawn_file_actions_t actions;
	char rest[512];
	size_t length = 0;
	ssize_t got;
	int ends[2], status, err;
	pid_t pid;

	output[0] = 0;
	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
	if (errors)
		posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
	else
		posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null",
						 O_WRONLY, 0);
	err = posix_spawnp(&pid, words[0], &actions, NULL,
			   (char **)(uintptr_t)words, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	/* what has no room is read, too: nobody writes into a closed pipe */
	while (!err) {
		bool fits = length < room - 1;

		got = read(ends[0], fits ? output + length : rest,
			   fits ? room - 1 - length : sizeof(rest));
		if (got <= 0)
			break;
		length += fits ? got : 0;
	}
	close(ends[0]);
	output[length] = 0;
	if (err)
		return -err;
	if (waitpid(pid, &status, 0) != pid)
		return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : PROGRAM_KILLED + WTERMSIG(status);
}
