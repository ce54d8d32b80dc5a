// cloop runs a model in a loop over ONNX Runtime's C interface, and prints how long the runs took:
// the independent yardstick of the benchmarks. They compile it with the system's compiler:
//
//	cc -O2 -o cloop cloop.c -ldl && cloop LIBRARY MODEL INPUT OUTPUT SAMPLES N THREADS SECONDS TYPE DIMS… / DIMS…
//
// SAMPLES is a file of N float32 tensors of the first DIMS, which are those of INPUT; the second are
// those of OUTPUT, whose elements take up to 8 bytes: TYPE is ONNX's number of theirs. Each run takes a
// sample at random. No header of ONNX Runtime is needed: its functions are numbered (OrtApi).
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

int main(int argc, char **argv) {
	if (argc < 11) return 2;
	const char *input = argv[3], *output = argv[4];
	int n = atoi(argv[6]), threads = atoi(argv[7]), type = atoi(argv[9]);
	double seconds = atof(argv[8]);
	int64_t dims[2][8];
	int rank[2] = {0, 0}, which = 0;
	for (int i = 10; i < argc; i++) {
		if (!strcmp(argv[i], "/")) which++;
		else dims[which][rank[which]++] = atoll(argv[i]);
	}
	size_t size = 4, out_size = type == 7 ? 8 : 4;
	for (int i = 0; i < rank[0]; i++) size *= dims[0][i];
	for (int i = 0; i < rank[1]; i++) out_size *= dims[1][i];

	void *library = dlopen(argv[1], RTLD_NOW);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	base *(*get)(void) = (base *(*)(void))dlsym(library, "OrtGetApiBase");
	api = get()->get(24);
	void *env, *options, *session, *memory, *result, **samples = malloc(n * sizeof *samples);
	CALL(3, 4, "cloop", &env);
	CALL(10, &options);
	CALL(24, options, threads);
	CALL(7, env, argv[2], options, &session);
	CALL(69, 1, 0, &memory);
	char *data = malloc(size * n), *out = malloc(out_size);
	FILE *f = fopen(argv[5], "rb");
	if (!f || fread(data, size, n, f) != (size_t)n) return 1;
	for (int i = 0; i < n; i++)
		CALL(49, memory, data + i * size, size, dims[0], (size_t)rank[0], 1, &samples[i]);
	CALL(49, memory, out, out_size, dims[1], (size_t)rank[1], type, &result);

	double *times = malloc(1000000 * sizeof *times), end = now() + seconds * 1e3;
	int runs = 0;
	srand(1);
	for (int i = 0; i < 20; i++) CALL(9, session, NULL, &input, &samples[i % n], (size_t)1, &output, (size_t)1, &result);
	while (now() < end && runs < 1000000) {
		void *sample = samples[rand() % n];
		double start = now();
		CALL(9, session, NULL, &input, &sample, (size_t)1, &output, (size_t)1, &result);
		times[runs++] = now() - start;
	}
	qsort(times, runs, sizeof *times, ascending);
	printf("%.4f %.4f %.4f %d\n", times[runs / 2], times[runs * 9 / 10], times[runs * 99 / 100], runs);
	return 0;
}
