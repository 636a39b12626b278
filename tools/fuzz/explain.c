// SPDX-License-Identifier: GPL-2.0
/*
 * Errors in words (lib/spi/error.c): any record and any event into any buffer,
 * which is cut as snprintf() would cut it.
 */
#include "../../lib/spi/error.c"

#include "fuzz.h"

#define LONG 1024

static void same(const char *whole, int length, const char *buf, int cut,
		 size_t size)
{
	must(length > 0 && length < LONG && strlen(whole) == (size_t)length);
	must(cut == length);
	if (!size)
		return;
	must(strlen(buf) == (size < (size_t)length ? size - 1 :
			     (size_t)length < size ? (size_t)length : size - 1));
	must(!strncmp(buf, whole, strlen(buf)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	struct bgdma_record record = { 0 };
	struct bgdma_event event = { 0 };
	size_t room = (size_t)take(&in, 1);
	char *buf = malloc(room);
	char whole[LONG];
	int length;

	must(buf || !room);
	if (take(&in, 1) & 1) {
		take_into(&in, &record, sizeof(record));
		length = bgdma_explain_record(&record, whole, sizeof(whole));
		same(whole, length, buf,
		     bgdma_explain_record(&record, buf, room), room);
		must(bgdma_code_errno(record.code) <= 0);
		must(!record.code == !bgdma_code_errno(record.code));
	} else {
		take_into(&in, &event, sizeof(event));
		length = bgdma_explain_event(&event, whole, sizeof(whole));
		same(whole, length, buf,
		     bgdma_explain_event(&event, buf, room), room);
	}
	free(buf);
	return 0;
}
