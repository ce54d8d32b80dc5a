// A fake of ONNX Runtime with CUDA and TensorRT for a machine that has neither.
//
// It passes all calls to the real library that FAKE_LIBRARY names, except those that add the two devices: these write their
// arguments to the file FAKE_LOG, one call a line, and succeed, or fail with the text of FAKE_CUDA_FAILS or
// FAKE_TENSORRT_FAILS. The processor computes in place of the devices. Profiles say that all nodes ran on FAKE_PROVIDER, except
// those of the operator FAKE_LEFT. The device's memory is the processor's.
//
// The numbers are the places of the members of OrtApi in onnxruntime_c_api.h; see native.go.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <glob.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void (*function)(void);
typedef void *status;

enum {
	CreateStatus = 0,
	EnableProfiling = 14,
	CreateMemoryInfo = 68,
	ReleaseSession = 95,
	BindInput = 136,
	AppendTensorRT = 170,
	CreateTensorRTOptions = 171,
	UpdateTensorRTOptions = 172,
	ReleaseTensorRTOptions = 174,
	AppendCUDA = 204,
	CreateCUDAOptions = 205,
	UpdateCUDAOptions = 206,
	ReleaseCUDAOptions = 208,
	Members = 415, // of version 24
	Failure = 1,
	Version = 24,
};

typedef struct {
	const function *(*get)(uint32_t);
	const char *(*version)(void);
} base;

static const base *real;
static const function *api;
static function fake[512];
static char profile[4096];

static void note(const char *text) {
	FILE *log = fopen(getenv("FAKE_LOG"), "a");
	if (!log) abort();
	fputs(text, log);
	fputc('\n', log);
	fclose(log);
}

static status fails(const char *variable) {
	const char *text = getenv(variable);
	return text && *text ? ((status (*)(int, const char *))api[CreateStatus])(Failure, text) : NULL;
}

static status create_options(void **out) {
	*out = malloc(1);
	return NULL;
}

static void release_options(void *options) { free(options); }

static status update(const char *device, const char *const *keys, const char *const *values, size_t n) {
	char line[1024];
	for (size_t i = 0; i < n; i++) {
		snprintf(line, sizeof line, "%s %s=%s", device, keys[i], values[i]);
		note(line);
	}
	return NULL;
}

static status update_cuda(void *o, const char *const *k, const char *const *v, size_t n) {
	status s = fails("FAKE_CUDA_FAILS");
	return s ? s : update("cuda", k, v, n);
}

static status update_tensorrt(void *o, const char *const *k, const char *const *v, size_t n) {
	status s = fails("FAKE_TENSORRT_FAILS");
	return s ? s : update("tensorrt", k, v, n);
}

static status append_cuda(void *o, const void *cuda) {
	note("cuda appended");
	return NULL;
}

static status append_tensorrt(void *o, const void *trt) {
	note("tensorrt appended");
	return NULL;
}

static status memory(const char *name, int type, int device, int kind, void **out) {
	char line[64];
	snprintf(line, sizeof line, "memory %s %d", name, device);
	note(line);
	return ((status (*)(const char *, int, int, int, void **))api[CreateMemoryInfo])(strcmp(name, "Cuda") ? name : "Cpu", type, 0, kind, out);
}

static status bind_input(void *binding, const char *name, const void *value) {
	char line[256];
	snprintf(line, sizeof line, "bound %s", name);
	note(line);
	return ((status (*)(void *, const char *, const void *))api[BindInput])(binding, name, value);
}

static status enable_profiling(void *options, const char *prefix) {
	snprintf(profile, sizeof profile, "%s", prefix);
	return ((status (*)(void *, const char *))api[EnableProfiling])(options, prefix);
}

// rewrite puts the fake provider into the lines of a profile.
static void rewrite(const char *path) {
	const char *provider = getenv("FAKE_PROVIDER"), *left = getenv("FAKE_LEFT"), *cpu = "CPUExecutionProvider";
	char operator[128], other[4096], line[65536];
	if (!provider) return;
	snprintf(operator, sizeof operator, "\"op_name\" : \"%s\"", left ? left : "");
	snprintf(other, sizeof other, "%s.new", path);
	FILE *in = fopen(path, "r"), *out = fopen(other, "w");
	if (!in || !out) abort();
	while (fgets(line, sizeof line, in)) {
		char *at = strstr(line, cpu);
		if (!at || strstr(line, operator)) {
			fputs(line, out);
			continue;
		}
		fwrite(line, 1, at - line, out);
		fputs(provider, out);
		fputs(at + strlen(cpu), out);
	}
	fclose(in);
	fclose(out);
	rename(other, path);
}

static void release_session(void *session) {
	((void (*)(void *))api[ReleaseSession])(session);
	if (!*profile) return;
	char pattern[5000];
	glob_t found;
	snprintf(pattern, sizeof pattern, "%s*.json", profile);
	if (glob(pattern, 0, NULL, &found) == 0)
		for (size_t i = 0; i < found.gl_pathc; i++) rewrite(found.gl_pathv[i]);
	globfree(&found);
	*profile = 0;
}

static const function *get(uint32_t version) {
	if (version != Version) return real->get(version);
	if (api) return fake;
	api = real->get(version);
	memcpy(fake, api, Members * sizeof *fake);
	fake[EnableProfiling] = (function)enable_profiling;
	fake[CreateMemoryInfo] = (function)memory;
	fake[ReleaseSession] = (function)release_session;
	fake[BindInput] = (function)bind_input;
	fake[AppendTensorRT] = (function)append_tensorrt;
	fake[CreateTensorRTOptions] = (function)create_options;
	fake[UpdateTensorRTOptions] = (function)update_tensorrt;
	fake[ReleaseTensorRTOptions] = (function)release_options;
	fake[AppendCUDA] = (function)append_cuda;
	fake[CreateCUDAOptions] = (function)create_options;
	fake[UpdateCUDAOptions] = (function)update_cuda;
	fake[ReleaseCUDAOptions] = (function)release_options;
	return fake;
}

static const char *version(void) { return real->version(); }

const base *OrtGetApiBase(void) {
	static const base ours = {get, version};
	if (!real) {
		void *library = dlopen(getenv("FAKE_LIBRARY"), RTLD_NOW);
		const base *(*find)(void) = library ? (const base *(*)(void))dlsym(library, "OrtGetApiBase") : NULL;
		if (!find) abort();
		real = find();
	}
	return &ours;
}
