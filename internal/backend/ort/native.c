//go:build cgo

#include "native.h"

#include <stdlib.h>
#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

enum {
	GetErrorMessage = 2,
	Run = 9,
	CreateTensorAsOrtValue = 48,
	CreateTensorWithDataAsOrtValue = 49,
	GetTensorMutableData = 51,
	FillStringTensor = 52,
	GetStringTensorDataLength = 53,
	GetStringTensorContent = 54,
	GetTensorElementType = 60,
	GetDimensionsCount = 61,
	GetDimensions = 62,
	GetTensorTypeAndShape = 65,
	CreateMemoryInfo = 68,
	CreateCpuMemoryInfo = 69,
	ReleaseStatus = 93,
	ReleaseTensorTypeAndShapeInfo = 99,
	CreateAllocator = 131,
	RunWithBinding = 133,
	SetCustomCreateThread = 196,
	SetCustomJoinThread = 198,
	DeviceAllocator = 0, // OrtAllocatorType
	SeverityFatal = 4,  // OrtLoggingLevel
	ArenaAllocator = 1, // OrtAllocatorType
	DefaultMemory = 0,  // OrtMemType
	Texts = 8,          // ONNXTensorElementDataType
	MemcpyDefault = 4,  // cudaMemcpyKind
};

const char *error_message(table api, status s) {
	return ((const char *(*)(status))api[GetErrorMessage])(s);
}

void release_status(table api, status s) { ((void (*)(status))api[ReleaseStatus])(s); }

status run_bound(table api, void *session, void *options, void *binding) {
	return ((status (*)(void *, const void *, const void *))api[RunWithBinding])(session, options, binding);
}

// ONNX Runtime allocates the outputs that are NULL, in the processor's memory.
status run_session(table api, void *session, void *options, const char *const *in, void *const *inputs, size_t n_in,
	const char *const *out, size_t n_out, void **outputs) {
	return ((status (*)(void *, const void *, const char *const *, void *const *, size_t, const char *const *, size_t, void **))api[Run])(
		session, options, in, inputs, n_in, out, n_out, outputs);
}

status describe_tensor(table api, void *value, tensor_view *to) {
	void *info;
	status s = ((status (*)(const void *, void **))api[GetTensorTypeAndShape])(value, &info);
	if (s) return s;
	s = ((status (*)(const void *, int *))api[GetTensorElementType])(info, &to->type);
	if (!s) s = ((status (*)(const void *, size_t *))api[GetDimensionsCount])(info, &to->axes);
	size_t most = sizeof to->shape / sizeof *to->shape;
	if (!s) s = ((status (*)(const void *, int64_t *, size_t))api[GetDimensions])(info, to->shape, to->axes < most ? to->axes : most);
	((void (*)(void *))api[ReleaseTensorTypeAndShapeInfo])(info);
	to->data = NULL;
	return s || to->type == Texts ? s : contents(api, value, &to->data);
}

status fill_texts(table api, void *value, const char *const *texts, size_t n) {
	return ((status (*)(void *, const char *const *, size_t))api[FillStringTensor])(value, texts, n);
}

status texts_length(table api, void *value, size_t *bytes) {
	return ((status (*)(const void *, size_t *))api[GetStringTensorDataLength])(value, bytes);
}

status texts_content(table api, void *value, void *to, size_t bytes, size_t *offsets, size_t n) {
	return ((status (*)(const void *, void *, size_t, size_t *, size_t))api[GetStringTensorContent])(value, to, bytes, offsets, n);
}

status call_pointers(table api, int f, void *a, void *b) {
	return ((status (*)(void *, void *))api[f])(a, b);
}

status call_number(table api, int f, void *a, int number) {
	return ((status (*)(void *, int))api[f])(a, number);
}

status call_texts(table api, int f, void *a, const char *b, const char *c) {
	return ((status (*)(void *, const char *, const char *))api[f])(a, b, c);
}

status call_extent(table api, int f, void *a, const char *name, int64_t extent) {
	return ((status (*)(void *, const char *, int64_t))api[f])(a, name, extent);
}

status create_environment(table api, int f, void *threads, void **env) {
	if (threads)
		return ((status (*)(int, const char *, const void *, void **))api[f])(SeverityFatal, "mlperf", threads, env);
	return ((status (*)(int, const char *, void **))api[f])(SeverityFatal, "mlperf", env);
}

status processor_memory(table api, void **info) {
	return ((status (*)(int, int, void **))api[CreateCpuMemoryInfo])(ArenaAllocator, DefaultMemory, info);
}

status memory_of(table api, const char *name, int device, void **info) {
	return ((status (*)(const char *, int, int, int, void **))api[CreateMemoryInfo])(name, DeviceAllocator, device, DefaultMemory, info);
}

status create_allocator(table api, void *session, void *info, void **allocator) {
	return ((status (*)(const void *, const void *, void **))api[CreateAllocator])(session, info, allocator);
}

status create_tensor(table api, void *allocator, const int64_t *shape, size_t axes, int type, void **value) {
	return ((status (*)(void *, const int64_t *, size_t, int, void **))api[CreateTensorAsOrtValue])(allocator, shape, axes, type, value);
}

status tensor_over(table api, void *info, void *data, size_t bytes, const int64_t *shape, size_t axes, int type, void **value) {
	return ((status (*)(const void *, void *, size_t, const int64_t *, size_t, int, void **))api[CreateTensorWithDataAsOrtValue])(info, data, bytes, shape, axes, type, value);
}

status bind_value(table api, int f, void *binding, const char *name, void *value) {
	return ((status (*)(void *, const char *, const void *))api[f])(binding, name, value);
}

status contents(table api, void *value, void **data) {
	return ((status (*)(void *, void **))api[GetTensorMutableData])(value, data);
}

// CUDA finds out by itself which of two addresses is on a device (cudaMemcpyDefault), and waits until
// the copy is done.
int copy_bytes(void *cuda_memcpy, void *to, const void *from, size_t bytes) {
	if (cuda_memcpy) return ((int (*)(void *, const void *, size_t, int))cuda_memcpy)(to, from, bytes, MemcpyDefault);
	memmove(to, from, bytes);
	return 0;
}

// CUDA returns from a copy within a device, and from a small one to it, before it is done, and the streams of
// ONNX Runtime do not wait for that.
int wait_for_device(void *cuda_synchronize) {
	return cuda_synchronize ? ((int (*)(void))cuda_synchronize)() : 0;
}

void call_release(table api, int f, void *object) { ((void (*)(void *))api[f])(object); }

// The base of the interface: the only function that a library exports by name returns it.
typedef struct {
	table (*get)(uint32_t version);
	const char *(*version)(void);
} base;

#ifdef _WIN32
#include <windows.h>

table find_table(const char *path, uint32_t version) {
	HMODULE library = LoadLibraryA(path);
	base *(*get)(void) = library ? (base *(*)(void))GetProcAddress(library, "OrtGetApiBase") : NULL;
	return get ? get()->get(version) : NULL;
}

status set_thread_functions(table api, void *options) { return NULL; }

void *load_library(const char *path) { return LoadLibraryA(path); }

void *find_function(const char *library, const char *name) {
	HMODULE found = load_library(library);
	return found ? (void *)GetProcAddress(found, name) : NULL;
}
#else
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

table find_table(const char *path, uint32_t version) {
	void *library = dlopen(path, RTLD_LAZY);
	base *(*get)(void) = library ? (base *(*)(void))dlsym(library, "OrtGetApiBase") : NULL;
	table api = get ? get()->get(version) : NULL;
	if (library && !api) dlclose(library);
	return api;
}

void *load_library(const char *path) { return dlopen(path, RTLD_LAZY); }

void *find_function(const char *library, const char *name) {
	void *found = load_library(library);
	return found ? dlsym(found, name) : NULL;
}

// Threads of an engine compute. Whatever the thread that starts them has been given in order to be
// in time, they are of the ordinary policy, and as nice as the process.
typedef struct {
	void (*work)(void *);
	void *argument;
	pthread_t id;
} thread;

static void *thread_main(void *p) {
	thread *t = p;
#ifdef __linux__
	setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, getpid()));
#endif
	t->work(t->argument);
	return NULL;
}

static void *create_thread(void *unused, void (*work)(void *), void *argument) {
	(void)unused;
	thread *t = malloc(sizeof *t);
	if (!t) return NULL;
	t->work = work;
	t->argument = argument;
	struct sched_param ordinary = {0};
	pthread_attr_t attributes;
	pthread_attr_init(&attributes);
	pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attributes, SCHED_OTHER);
	pthread_attr_setschedparam(&attributes, &ordinary);
	int failed = pthread_create(&t->id, &attributes, thread_main, t);
	pthread_attr_destroy(&attributes);
	if (failed) {
		free(t);
		return NULL;
	}
	return t;
}

static void join_thread(const void *handle) {
	thread *t = (thread *)handle;
	pthread_join(t->id, NULL);
	free(t);
}

status set_thread_functions(table api, void *options) {
	status s = ((status (*)(void *, void *))api[SetCustomCreateThread])(options, (void *)create_thread);
	if (s) return s;
	return ((status (*)(void *, void *))api[SetCustomJoinThread])(options, (void *)join_thread);
}
#endif

void trim_heap(void) {
#ifdef __GLIBC__
	malloc_trim(0);
#endif
}
