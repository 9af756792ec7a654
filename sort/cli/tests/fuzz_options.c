/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fuzzer of hetsort's command line and of the names in it. A command line of any words is refused
 * with a message, or every option is within its bounds. The same words have the same result again.
 * The input is words ended by zero bytes. */
#include "../../../scripts/fuzz.h"
#include "io/file.h"
#include "cli/options.h"

static void check_refused(status rc, const err *e)
{
	fuzz_check(rc == e->code && e->text[0] && fuzz_clean(e->text));
}

/* Only a name with %r differs between ranks. */
static void check_name(const char *pattern)
{
	err e = { ST_OK, "" };
	char *one = name_expand(pattern, 1, &e), *two = name_expand(pattern, 222, &e);
	char *word = name_expand(pattern, RANK_MANIFEST, &e);
	fuzz_check(!one == !two && !one == !word);
	if (one)
		fuzz_check((strcmp(one, two) != 0) == name_is_per_rank(pattern));
	else
		check_refused(ST_REFUSED, &e);
	free(one);
	free(two);
	free(word);
}

/* Every field lies in the record, and the text of the key stands for the same key. */
static void check_key(const layout *l)
{
	char text[KEY_TEXT_BYTES];
	layout again;
	fuzz_check(l->key_bytes >= 1 && l->fields <= KEY_FIELDS_MAX);
	fuzz_check(l->fields ? l->key_bytes <= KEY_FIELDS_BYTES_MAX
			     : l->key_off < l->record_bytes &&
				       l->key_bytes <= l->record_bytes - l->key_off);
	for (uint32_t i = 0; i < l->fields; i++)
		fuzz_check(l->field[i].bytes >= 1 && l->field[i].bytes <= l->record_bytes &&
			   l->field[i].off <= l->record_bytes - l->field[i].bytes);
	fuzz_check(layout_parse(&again, l->record_bytes, layout_key_text(l, text), NULL) == ST_OK);
	fuzz_check(memcmp(&again, l, sizeof again) == 0);
}

static void check_sort(const settings *o)
{
	const layout *l = &o->lay;
	fuzz_check((o->ninputs > 0) == !o->files0_from && (o->output || o->explain));
	fuzz_check(l->record_bytes >= 1 && l->record_bytes <= MAX_RECORD_BYTES);
	check_key(l);
	fuzz_check(o->exchange_threads <= 2 && o->ranks >= 0 && o->ranks <= 65536 &&
		   o->threads <= 1024 && o->max_message >= 1 && o->max_message <= 256 << 20);
	fuzz_check(!o->memory.bytes || !o->memory.micropercent);
	fuzz_check(o->memory.micropercent <= 100000000 && o->tmpdirs <= MAX_TMPDIRS);
	fuzz_check(plan_names[o->plan] && strategy_names[o->strategy]);
	for (size_t i = 0; i < o->ninputs; i++)
		check_name(o->inputs[i]);
	if (o->output)
		check_name(o->output);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_line l;
	settings o, again;
	err e = { ST_OK, "" };
	fuzz_words(&l, data, size);
	const status rc = options_parse(&o, l.argc, l.argv, &e);
	if (rc != ST_OK) {
		check_refused(rc, &e);
		fuzz_check(rc == ST_REFUSED);
	} else if (o.wish == WISH_SORT) {
		check_sort(&o);
		/* argv was put in order by the first time */
		fuzz_check(options_parse(&again, l.argc, l.argv, &e) == ST_OK);
		fuzz_check(again.sum == o.sum);
	}
	free(l.text);
	return 0;
}
