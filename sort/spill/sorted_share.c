/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sorted_share.h"

void sorted_share_free(mem *m, sorted_share *d)
{
	memory_share *in = &d->memory;
	sorted_memory_close(&in->seq);
	if (in->mapped)
		mem_drop(m, in->map.bytes);
	mapped_close(&in->map);
	reader_close(in->mapped);
	mem_free(m, in->sample.recs);
	mem_free(m, in->raw);
	sorted_disk_close(&d->disk, m);
	sorted_files_close(d->files);
	mem_free(m, d->cut);
	*d = (sorted_share){ 0 };
}
