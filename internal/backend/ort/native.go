//go:build cgo

package ort

/*
#cgo linux LDFLAGS: -ldl
#include <stddef.h>
#include <stdint.h>

// ONNX Runtime's C interface is a table of functions. New versions only append to it, so that a
// number stands for the same function in every version from the one that brought it. The
// numbers are the places of the members of OrtApi in onnxruntime_c_api.h.
typedef void (*function)(void);
typedef const function *table;
typedef void *status; // NULL: success

enum {
	GetErrorMessage = 2,
	ReleaseStatus = 93,
	RunWithBinding = 133,
};

static const char *error_message(table api, status s) {
	return ((const char *(*)(status))api[GetErrorMessage])(s);
}

static void release_status(table api, status s) {
	((void (*)(status))api[ReleaseStatus])(s);
}

static status run_bound(table api, void *session, void *options, void *binding) {
	return ((status (*)(void *, const void *, const void *))api[RunWithBinding])(session, options, binding);
}

// The base of the interface: the only function that a library exports by name returns it.
typedef struct {
	table (*get)(uint32_t version);
	const char *(*version)(void);
} base;

#ifdef _WIN32
#include <windows.h>

static table find_table(const char *path, uint32_t version) {
	HMODULE library = GetModuleHandleA(path);
	base *(*get)(void) = library ? (base *(*)(void))GetProcAddress(library, "OrtGetApiBase") : NULL;
	return get ? get()->get(version) : NULL;
}
#else
#include <dlfcn.h>

// The library is open already, and whoever opened it keeps it so.
static table find_table(const char *path, uint32_t version) {
	void *library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
	if (!library) return NULL;
	base *(*get)(void) = (base *(*)(void))dlsym(library, "OrtGetApiBase");
	table api = get ? get()->get(version) : NULL;
	dlclose(library);
	return api;
}
#endif

#include <stdlib.h>
*/
import "C"

import (
	"errors"
	"fmt"
	"reflect"
	"unsafe"

	onnx "github.com/yalue/onnxruntime_go"
)

// A native is the C interface of an open library, for what the binding lacks: bound runs with
// run options.
type native struct{ table C.table }

// apiVersion is the version of the interface that the binding asks for too.
const apiVersion = 24

// nativeOf returns the interface of a library that the binding has opened.
func nativeOf(path string) (native, error) {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	n := native{C.find_table(name, apiVersion)}
	if n.table == nil {
		return native{}, fmt.Errorf("ONNX Runtime library %s does not give its interface a second time", path)
	}
	return n, nil
}

// check makes an error of a status.
func (n native) check(s C.status) error {
	if s == nil {
		return nil
	}
	defer C.release_status(n.table, s)
	return errors.New(readable(C.GoString(C.error_message(n.table, s))))
}

// runBound runs a session with what is bound, heeding run options.
func (n native) runBound(session, options, binding unsafe.Pointer) error {
	return n.check(C.run_bound(n.table, session, options, binding))
}

// The binding keeps ONNX Runtime's own pointers to itself. They are read by name, so that a
// version of it that arranges them differently is noticed at once (TestORTPointers).

func sessionPointer(s *onnx.DynamicAdvancedSession) unsafe.Pointer {
	return inside(s, "s", "ortSession")
}
func bindingPointer(b *onnx.IoBinding) unsafe.Pointer  { return inside(b, "o") }
func optionsPointer(o *onnx.RunOptions) unsafe.Pointer { return inside(o, "o") }

func inside(v any, fields ...string) unsafe.Pointer {
	at := reflect.ValueOf(v)
	for _, name := range fields {
		at = at.Elem().FieldByName(name)
	}
	return at.UnsafePointer()
}
