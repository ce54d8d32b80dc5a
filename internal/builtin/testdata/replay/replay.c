// replay repeats runs of models that were recorded (ort_replay_test.go), in the same order and with the
// same inputs, over ONNX Runtime's C interface and with nothing between them: the independent yardstick
// of the benchmarks for models that take many runs for a sample. They compile it with the system's
// compiler:
//
//	cc -O2 -o replay replay.c -ldl && replay LIBRARY RECORDING
//
// It goes through the recording twice, and prints the seconds of the second time. A recording is a
// sequence of little-endian numbers: sessions (threads, the model's file, names of inputs, names of
// outputs), sizes of buffers, and runs (session, inputs, outputs; of each its buffer, ONNX's number of
// its type, its extents, and what was written there since it was seen last, which is nothing for
// what a run before has left there). No header of ONNX Runtime is needed: its functions are
// numbered (OrtApi).
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

static FILE *recording;

static void bytes(void *to, size_t n) {
	if (n && fread(to, n, 1, recording) != 1) {
		fprintf(stderr, "the recording is cut off\n");
		exit(1);
	}
}

static int64_t number(void) {
	int64_t v;
	bytes(&v, sizeof v);
	return v;
}

static char *text(void) {
	int64_t n = number();
	char *s = calloc(n + 1, 1);
	bytes(s, n);
	return s;
}

typedef struct {
	void *handle;
	int64_t inputs, outputs;
	const char **input, **output;
} session;

typedef struct {
	char *to, *from;
	size_t size;
} change;

typedef struct {
	session *of;
	void **inputs, **outputs;
	change *changes;
} run;

static const char **names(int64_t *n) {
	*n = number();
	const char **list = calloc(*n, sizeof *list);
	for (int64_t i = 0; i < *n; i++) list[i] = text();
	return list;
}

static void *memory;
static char **buffers;

// value makes a value over a buffer, and keeps what is to be written there before.
static void *value(change *c) {
	int64_t buffer = number(), type = number(), rank = number(), dims[8], size = number();
	for (int64_t i = 0; i < rank; i++) dims[i] = number();
	void *v;
	CALL(49, memory, buffers[buffer], (size_t)size, dims, (size_t)rank, (int)type, &v);
	c->size = number();
	c->to = buffers[buffer];
	c->from = malloc(c->size);
	bytes(c->from, c->size);
	return v;
}

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

int main(int argc, char **argv) {
	if (argc != 3 || !(recording = fopen(argv[2], "rb"))) return 2;
	void *library = dlopen(argv[1], RTLD_NOW);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	base *(*get)(void) = (base *(*)(void))dlsym(library, "OrtGetApiBase");
	api = get()->get(24);
	void *env;
	CALL(3, 4, "replay", &env);
	CALL(69, 1, 0, &memory);

	int64_t n = number();
	session *sessions = calloc(n, sizeof *sessions);
	for (int64_t i = 0; i < n; i++) {
		void *options;
		CALL(10, &options);
		CALL(24, options, (int)number());
		char *model = text();
		sessions[i].input = names(&sessions[i].inputs);
		sessions[i].output = names(&sessions[i].outputs);
		CALL(7, env, model, options, &sessions[i].handle);
	}
	n = number();
	buffers = calloc(n, sizeof *buffers);
	for (int64_t i = 0; i < n; i++) {
		size_t size = number();
		buffers[i] = aligned_alloc(64, (size + 63) / 64 * 64 + 64);
		memset(buffers[i], 0, size);
	}
	n = number();
	run *runs = calloc(n, sizeof *runs);
	for (int64_t i = 0; i < n; i++) {
		session *s = runs[i].of = &sessions[number()];
		runs[i].inputs = calloc(s->inputs, sizeof(void *));
		runs[i].outputs = calloc(s->outputs, sizeof(void *));
		runs[i].changes = calloc(s->inputs, sizeof(change));
		change none;
		for (int64_t k = 0; k < s->inputs; k++) runs[i].inputs[k] = value(&runs[i].changes[k]);
		for (int64_t k = 0; k < s->outputs; k++) runs[i].outputs[k] = value(&none);
	}

	double began = 0;
	for (int turn = 0; turn < 2; turn++) {
		began = now();
		for (int64_t i = 0; i < n; i++) {
			run *r = &runs[i];
			session *s = r->of;
			for (int64_t k = 0; k < s->inputs; k++) memcpy(r->changes[k].to, r->changes[k].from, r->changes[k].size);
			CALL(9, s->handle, NULL, s->input, r->inputs, (size_t)s->inputs, s->output, (size_t)s->outputs, r->outputs);
		}
	}
	printf("%.6f\n", now() - began);
	return 0;
}
