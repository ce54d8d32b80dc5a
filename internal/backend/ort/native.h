// ONNX Runtime's C interface, as far as it is called past the binding: see native.go.
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef void (*function)(void);
typedef const function *table;
typedef void *status; // NULL: success

// A tensor as ONNX Runtime describes it. Of more axes only the number is told.
typedef struct {
	int type;
	size_t axes;
	int64_t shape[32];
	void *data; // NULL: texts, or no elements
} tensor_view;

const char *error_message(table api, status s);
void release_status(table api, status s);
status run_session(table api, void *session, void *options, const char *const *in, void *const *inputs, size_t n_in,
	const char *const *out, size_t n_out, void **outputs);
status describe_tensor(table api, void *value, tensor_view *to);
status fill_texts(table api, void *value, const char *const *texts, size_t n);
status texts_length(table api, void *value, size_t *bytes);
status texts_content(table api, void *value, void *to, size_t bytes, size_t *offsets, size_t n);
status run_bound(table api, void *session, void *options, void *binding);
status call_pointers(table api, int f, void *a, void *b);
status call_number(table api, int f, void *a, int number);
status call_texts(table api, int f, void *a, const char *b, const char *c);
status call_extent(table api, int f, void *a, const char *name, int64_t extent);
status create_environment(table api, int f, void *threads, void **env);
status processor_memory(table api, void **info);
status set_thread_functions(table api, void *options);
status memory_of(table api, const char *name, int device, void **info);
status create_allocator(table api, void *session, void *info, void **allocator);
status create_tensor(table api, void *allocator, const int64_t *shape, size_t axes, int type, void **value);
status tensor_over(table api, void *info, void *data, size_t bytes, const int64_t *shape, size_t axes, int type, void **value);
status bind_value(table api, int f, void *binding, const char *name, void *value);
status contents(table api, void *value, void **data);
void *load_library(const char *path);
void *find_function(const char *library, const char *name);
int wait_for_device(void *cuda_synchronize);
int copy_bytes(void *cuda_memcpy, void *to, const void *from, size_t bytes);
void call_release(table api, int f, void *object);
table find_table(const char *path, uint32_t version);
void trim_heap(void);
