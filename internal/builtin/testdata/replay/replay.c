// replay repeats runs of models that were recorded (ort_replay_test.go), in the same order and with the
// same inputs, over ONNX Runtime's C interface and with nothing between them: the independent yardstick
// of the benchmarks for models that take many runs for a sample. They compile it with the system's
// compiler:
//
//	cc -O2 -o replay replay.c -ldl && replay LIBRARY RECORDING
//
// It goes through the recording, the warm-up too, and prints the seconds since the traffic began. Values
// are made when they are first used and kept, as in the recorded program. A recording is a
// sequence of little-endian numbers: sessions (threads, the model's file, names of inputs, names of
// outputs), sizes of buffers, and runs with the number of those of the warm-up (session, inputs, outputs; of
// each its buffer, ONNX's number of its type, its extents, and what was written there since it was seen last,
// which is nothing for what a run before has left there). No header of ONNX Runtime is needed: its functions are
// numbered (OrtApi).
#include <dlfcn.h>
#include <stddef.h>
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

typedef struct value {
	int64_t buffer, type, rank, dims[8], size;
	void *made;
	struct value *before;
} value;

typedef struct {
	session *of;
	value **inputs, **outputs;
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

static value *last;

// read_value reads a value over a buffer, which others may have used, and what is to be written there before.
static value *read_value(change *c) {
	value read = {0}, *v = last;
	read.buffer = number(), read.type = number(), read.rank = number(), read.size = number();
	for (int64_t i = 0; i < read.rank; i++) read.dims[i] = number();
	while (v && memcmp(v, &read, offsetof(value, made))) v = v->before;
	if (!v) {
		v = malloc(sizeof *v);
		*v = read;
		v->before = last;
		last = v;
	}
	c->size = number();
	c->to = buffers[read.buffer];
	c->from = malloc(c->size);
	bytes(c->from, c->size);
	return v;
}

// handles has those of values, which it makes of new ones.
static void handles(void **to, value **from, int64_t n) {
	for (int64_t i = 0; i < n; i++) {
		value *v = from[i];
		if (!v->made) CALL(49, memory, buffers[v->buffer], (size_t)v->size, v->dims, (size_t)v->rank, (int)v->type, &v->made);
		to[i] = v->made;
	}
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
	int64_t warm_up = number(), most = 0;
	run *runs = calloc(n, sizeof *runs);
	for (int64_t i = 0; i < n; i++) {
		session *s = runs[i].of = &sessions[number()];
		runs[i].inputs = calloc(s->inputs, sizeof(value *));
		runs[i].outputs = calloc(s->outputs, sizeof(value *));
		runs[i].changes = calloc(s->inputs, sizeof(change));
		change none;
		for (int64_t k = 0; k < s->inputs; k++) runs[i].inputs[k] = read_value(&runs[i].changes[k]);
		for (int64_t k = 0; k < s->outputs; k++) runs[i].outputs[k] = read_value(&none);
		if (most < s->inputs + s->outputs) most = s->inputs + s->outputs;
	}

	void **inputs = calloc(most, sizeof *inputs), **outputs = calloc(most, sizeof *outputs);
	double began = 0;
	for (int64_t i = 0; i < n; i++) {
		run *r = &runs[i];
		session *s = r->of;
		if (i == warm_up) began = now();
		for (int64_t k = 0; k < s->inputs; k++) memcpy(r->changes[k].to, r->changes[k].from, r->changes[k].size);
		handles(inputs, r->inputs, s->inputs);
		handles(outputs, r->outputs, s->outputs);
		CALL(9, s->handle, NULL, s->input, inputs, (size_t)s->inputs, s->output, (size_t)s->outputs, outputs);
	}
	printf("%.6f\n", now() - began);
	return 0;
}
