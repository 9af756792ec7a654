/* SPDX-License-Identifier: GPL-3.0-or-later */
/* keysort < RECORDS > SORTED: a small stable sort for the tests, by the 10-byte key in the order of
 * memcmp. It shares nothing with the programs of the project. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct entry {
	unsigned char key[10];
	unsigned place;
};

static int by_key(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int order = memcmp(x->key, y->key, sizeof x->key);

	return order ? order : (x->place > y->place) - (x->place < y->place);
}

static unsigned char *slurp(size_t *size)
{
	size_t room = 1 << 20, n;
	unsigned char *p = malloc(room);

	for (*size = 0; p && (n = fread(p + *size, 1, room - *size, stdin)) > 0;) {
		*size += n;
		if (*size == room)
			p = realloc(p, room *= 2);
	}
	return p;
}

int main(void)
{
	size_t size, n;
	unsigned char *data = slurp(&size);
	struct entry *order = malloc(sizeof *order * (size / 100 + 1));

	if (!data || !order || size % 100)
		return 1;
	n = size / 100;
	for (size_t i = 0; i < n; i++) {
		memcpy(order[i].key, data + 100 * i, sizeof order[i].key);
		order[i].place = (unsigned)i;
	}
	qsort(order, n, sizeof *order, by_key);
	for (size_t i = 0; i < n; i++)
		if (fwrite(data + 100 * (size_t)order[i].place, 100, 1, stdout) != 1)
			return 1;
	free(order);
	free(data);
	return fclose(stdout) != 0;
}
