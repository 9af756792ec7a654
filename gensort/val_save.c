/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writing a summary file: 280 bytes, checked to the last step, for a distributed sort may rest
 * its proof on it. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "val_save.h"
#include "val_say.h"

static bool report(const struct val_save *s, const char *what, int err)
{
	val_say_error(what, s->name, err);
	return false;
}

/* The same regular file as the input: emptying it would destroy what is to be judged. */
static bool is_input(const struct stat *st, int input)
{
	struct stat in;

	return S_ISREG(st->st_mode) && fstat(input, &in) == 0 && in.st_dev == st->st_dev &&
	       in.st_ino == st->st_ino;
}

static bool refuse(struct val_save *s, const char *what, int err)
{
	close(s->fd);
	return report(s, what, err);
}

bool val_save_open(struct val_save *s, const char *name, int input)
{
	struct stat st;

	s->name = name;
	s->fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	if (s->fd < 0) {
		val_say_reason(name, errno);
		return false;
	}
	if (fstat(s->fd, &st) < 0)
		return refuse(s, "cannot examine", errno);
	if (is_input(&st, input))
		return refuse(s, "summary file is the input", 0);
	s->regular = S_ISREG(st.st_mode);
	if (s->regular && ftruncate(s->fd, 0) < 0)
		return refuse(s, "cannot empty", errno);
	return true;
}

static int write_all(int fd, const unsigned char *p, size_t n)
{
	while (n > 0) {
		ssize_t done = write(fd, p, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done < 0 ? errno : EIO;
		p += done;
		n -= (size_t)done;
	}
	return 0;
}

bool val_save_finish(struct val_save *s, const struct val_summary *sum)
{
	unsigned char bytes[VAL_SUMMARY_BYTES];
	int err = 0;

	if (sum) {
		val_encode(sum, bytes);
		err = write_all(s->fd, bytes, sizeof bytes);
		if (err == 0 && s->regular && fsync(s->fd) < 0)
			err = errno;
		if (err != 0 && s->regular && ftruncate(s->fd, 0) < 0)
			report(s, "cannot empty", errno);
	}
	if (close(s->fd) < 0 && errno != EINTR && err == 0)
		err = errno;
	return err == 0 || report(s, "cannot write", err);
}
