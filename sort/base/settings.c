/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The words for the choices of a sort, in the order of their enums. */
#include "settings.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

const char *const plan_names[] = { "equal",      "linear", "nlogn", "taylor",
				   "asymptotic", "online", NULL };
const char *const strategy_names[] = { "merge", "distribute", NULL };
const char *const scatter_names[] = { "equal", "speed", "balanced", "dynamic", NULL };
const char *const io_names[] = { "auto", "uring", "threads", NULL };
const char *const direct_names[] = { "auto", "always", "never", NULL };

static const strategy_kind strategies[] = {
	[BY_MERGING] = { .sorts_first = true, .keeps_runs = true },
	[BY_DISTRIBUTING] = { .sorts_first = false, .keeps_runs = false },
};

const strategy_kind *settings_strategy(const settings *o)
{
	return &strategies[o->strategy];
}

uint64_t settings_sum(const settings *o)
{
	XXH3_state_t h;
	const uint64_t part[] = { o->plan,
				  o->strategy,
				  o->lay.record_bytes,
				  o->lay.key_off,
				  o->lay.key_bytes,
				  o->exchange_threads,
				  o->max_message,
				  o->timeout_s,
				  o->stable,
				  o->force,
				  o->fsync,
				  o->explain,
				  o->ninputs,
				  o->calibrate,
				  o->from_root,
				  o->scatter,
				  o->adapt.on,
				  o->resume,
				  (uint64_t)o->emulate };
	const char *const text[] = { HETSORT_VERSION, o->output ? o->output : "",
				     o->manifest ? o->manifest : "", o->speeds ? o->speeds : "",
				     o->workdir ? o->workdir : "" };
	XXH3_64bits_reset(&h);
	XXH3_64bits_update(&h, part, sizeof part);
	for (size_t i = 0; i < sizeof text / sizeof *text; i++)
		XXH3_64bits_update(&h, text[i], strlen(text[i]) + 1);
	for (size_t i = 0; i < o->ninputs; i++)
		XXH3_64bits_update(&h, o->inputs[i], strlen(o->inputs[i]) + 1);
	return XXH3_64bits_digest(&h);
}
