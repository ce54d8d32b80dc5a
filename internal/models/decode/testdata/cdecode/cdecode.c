// cdecode has a decoder make token after token in a loop over ONNX Runtime's C interface, and prints how
// long a step took (the median, ms) and the last token: the independent yardstick of the benchmarks,
// which compile it with the system's compiler:
//
//	cc -O2 -o cdecode cdecode.c -ldl && cdecode LIBRARY MODEL THREADS LAYERS HEADS SIZE ROWS CONTEXT PROMPT TOKENS
//
// The model is one of the built-in decoders. The prompt has PROMPT tokens, 16 + 7i modulo 97. No header of
// ONNX Runtime is needed: its functions are numbered (OrtApi).
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef void *status;
typedef void (*const *table)(void);
typedef struct { table (*get)(uint32_t); } base;
static table api;
#define CALL(number, ...) ok(((status (*)())api[number])(__VA_ARGS__))
enum { FLOAT = 1, INT32 = 6, INT64 = 7 };

static void ok(status s) {
	if (!s) return;
	fprintf(stderr, "%s\n", ((const char *(*)(status))api[2])(s));
	exit(1);
}

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static int ascending(const void *a, const void *b) {
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void *memory;

static void *tensor(void *data, size_t size, int type, int rank, int64_t a, int64_t b, int64_t c, int64_t d) {
	int64_t dims[4] = {a, b, c, d};
	void *value;
	CALL(49, memory, data, size, dims, (size_t)rank, type, &value);
	return value;
}

int main(int argc, char **argv) {
	if (argc < 11) return 2;
	int threads = atoi(argv[3]), layers = atoi(argv[4]), prompt = atoi(argv[9]), tokens = atoi(argv[10]);
	int64_t heads = atoll(argv[5]), size = atoll(argv[6]), rows = atoll(argv[7]), context = atoll(argv[8]);
	void *library = dlopen(argv[1], RTLD_NOW);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	base *(*get)(void) = (base *(*)(void))dlsym(library, "OrtGetApiBase");
	api = get()->get(24);
	void *env, *options, *session, *reading, *stepping;
	CALL(3, 4, "cdecode", &env);
	CALL(10, &options);
	CALL(24, options, threads);
	CALL(7, env, argv[2], options, &session);
	CALL(69, 1, 0, &memory);
	CALL(134, session, &reading);
	CALL(134, session, &stepping);

	int64_t *ids = malloc(8 * prompt), last = prompt - 1, next;
	int32_t length = prompt - 1, total = prompt;
	for (int i = 0; i < prompt; i++) ids[i] = 16 + 7 * i % 97;
	float *scores = malloc(4 * rows);
	CALL(136, reading, "input_ids", tensor(ids, 8 * prompt, INT64, 2, 1, prompt, 0, 0));
	CALL(136, stepping, "input_ids", tensor(&next, 8, INT64, 2, 1, 1, 0, 0));
	void *values[] = {
		tensor(&last, 8, INT64, 1, 1, 0, 0, 0), tensor(&length, 4, INT32, 1, 1, 0, 0, 0), tensor(&total, 4, INT32, 1, 1, 0, 0, 0),
		tensor(&next, 8, INT64, 1, 1, 0, 0, 0), tensor(scores, 4 * rows, FLOAT, 2, 1, rows, 0, 0),
	};
	const char *names[] = {"last_rows", "seqlens_k", "total_sequence_length", "next_token", "logits"};
	void *both[] = {reading, stepping};
	for (int b = 0; b < 2; b++)
		for (int i = 0; i < 5; i++) CALL(i < 3 ? 136 : 137, both[b], names[i], values[i]);
	size_t bytes = 4 * heads * context * size;
	for (int layer = 0; layer < layers; layer++)
		for (int k = 0; k < 2; k++) {
			char name[64];
			void *cache = tensor(calloc(1, bytes), bytes, FLOAT, 4, 1, heads, context, size);
			for (int b = 0; b < 2; b++) {
				snprintf(name, sizeof name, "past_key_values.%d.%s", layer, k ? "value" : "key");
				CALL(136, both[b], name, cache);
				snprintf(name, sizeof name, "present.%d.%s", layer, k ? "value" : "key");
				CALL(137, both[b], name, cache);
			}
		}

	CALL(133, session, NULL, reading);
	double *times = malloc(tokens * sizeof *times);
	last = 0;
	for (int i = 0; i < tokens; i++) {
		length++;
		total++;
		double start = now();
		CALL(133, session, NULL, stepping);
		times[i] = now() - start;
	}
	qsort(times, tokens, sizeof *times, ascending);
	printf("%.4f %lld\n", times[tokens / 2], (long long)next);
	return 0;
}
