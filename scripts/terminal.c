/* SPDX-License-Identifier: GPL-3.0-or-later */
/* terminal COLUMNS SIGNAL TEXT COMMAND... - for tests: run COMMAND on a terminal of this width.
 * When the screen shows the regular expression TEXT, send SIGNAL to COMMAND: a number, 0 for none,
 * or "^C" to type Control-C. When COMMAND ends, print the lines of the screen, and the number of
 * columns in use until TEXT appeared. The status is 77 if no pseudo terminal can be opened. */
#include <pty.h>
#include <regex.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LINES = 200, WIDTH = 600 };

static struct {
	char line[LINES][WIDTH];
	size_t row, at, widest;
	bool seen;
} screen;

static void show(char c)
{
	if (c == '\r')
		screen.at = 0;
	else if (c == '\n')
		screen.row += screen.row + 1 < LINES;
	else if (screen.at + 1 < WIDTH) {
		char *line = screen.line[screen.row];
		for (size_t i = strlen(line); i < screen.at; i++)
			line[i] = ' ';
		line[screen.at++] = c;
		if (!screen.seen && screen.at > screen.widest)
			screen.widest = screen.at;
	}
}

static bool shows(const regex_t *text)
{
	for (size_t i = 0; i <= screen.row; i++)
		if (regexec(text, screen.line[i], 0, NULL, 0) == 0)
			return true;
	return false;
}

int main(int argc, char **argv)
{
	regex_t text;
	int fd, ended;
	char b[4096];
	if (argc < 5 || regcomp(&text, argv[3], REG_EXTENDED | REG_NOSUB) != 0)
		return 2;
	const struct winsize size = { .ws_row = 24, .ws_col = (unsigned short)atoi(argv[1]) };
	const pid_t pid = forkpty(&fd, NULL, NULL, &size);
	if (pid < 0)
		return 77;
	if (pid == 0) {
		execvp(argv[4], argv + 4);
		_exit(127);
	}
	for (ssize_t n; (n = read(fd, b, sizeof b)) > 0;) {
		for (ssize_t i = 0; i < n; i++)
			show(b[i]);
		if (screen.seen || !shows(&text))
			continue;
		screen.seen = true;
		if (strcmp(argv[2], "^C") == 0) {
			if (write(fd, "\003", 1) != 1)
				return 1;
		} else if (atoi(argv[2]) > 0)
			kill(pid, atoi(argv[2]));
	}
	if (waitpid(pid, &ended, 0) != pid)
		return 1;
	for (size_t i = 0; i <= screen.row; i++) {
		char *line = screen.line[i];
		for (size_t n = strlen(line); n > 0 && line[n - 1] == ' '; n--)
			line[n - 1] = '\0';
		if (line[0])
			puts(line);
	}
	printf("columns %zu, %s, status %d\n", screen.widest, screen.seen ? "seen" : "not seen",
	       WIFSIGNALED(ended) ? -WTERMSIG(ended) : WEXITSTATUS(ended));
	return 0;
}
