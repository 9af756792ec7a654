/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A binary heap of files, with the place of each file in the heap. */
#include "file_heap.h"

status file_heap_open(file_heap *h, mem *m, size_t files, file_before before, const void *of,
		      err *e)
{
	*h = (file_heap){ .before = before, .of = of };
	if (files > UINT32_MAX - 1)
		return err_set(e, ST_REFUSED, "too many inputs for one merge");
	h->file = mem_array(m, files, sizeof *h->file, "inputs", e);
	h->place = mem_array(m, files, sizeof *h->place, "inputs", e);
	for (size_t i = 0; h->place && i < files; i++)
		h->place[i] = 0;
	return h->file && h->place ? ST_OK : ST_RESOURCE;
}

void file_heap_close(file_heap *h, mem *m)
{
	mem_free(m, h->file);
	mem_free(m, h->place);
	*h = (file_heap){ 0 };
}

static void heap_set(file_heap *h, uint32_t i, uint32_t file)
{
	h->file[i] = file;
	h->place[file] = i + 1;
}

/* Put the file at place i, or above it if the file comes before its parent there. */
static void heap_rise(file_heap *h, uint32_t i, uint32_t file)
{
	for (; i > 0 && h->before(h->of, file, h->file[(i - 1) / 2]); i = (i - 1) / 2)
		heap_set(h, i, h->file[(i - 1) / 2]);
	heap_set(h, i, file);
}

/* Put the file at place i, or below it if a child there comes first. Return the file's place. */
static uint32_t heap_sink(file_heap *h, uint32_t i, uint32_t file)
{
	for (uint32_t child; (child = 2 * i + 1) < h->n; i = child) {
		if (child + 1 < h->n && h->before(h->of, h->file[child + 1], h->file[child]))
			child++;
		if (!h->before(h->of, h->file[child], file))
			break;
		heap_set(h, i, h->file[child]);
	}
	heap_set(h, i, file);
	return i;
}

void file_heap_put(file_heap *h, uint32_t file, bool in)
{
	const uint32_t place = h->place[file];
	if (in && !place) {
		heap_rise(h, h->n++, file);
	} else if (in) {
		heap_rise(h, heap_sink(h, place - 1, file), file);
	} else if (place) {
		const uint32_t last = h->file[--h->n];
		h->place[file] = 0;
		if (last != file)
			heap_rise(h, heap_sink(h, place - 1, last), last);
	}
}

bool file_heap_first(const file_heap *h, uint32_t *file)
{
	if (h->n > 0)
		*file = h->file[0];
	return h->n > 0;
}
