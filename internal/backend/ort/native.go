//go:build cgo

package ort

/*
#cgo linux LDFLAGS: -ldl -lpthread
#include <stdlib.h>
#include "native.h"
*/
import "C"

import (
	"debug/elf"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"unsafe"

	onnx "github.com/yalue/onnxruntime_go"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/fileio"
	format "github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A native is the C interface of an open library, for calls that the binding lacks.
//
// The interface is a table of functions. New versions of ONNX Runtime only append to it, so a number stands for the same function
// in every version from the one that added it. The numbers are the places of the members of OrtApi in onnxruntime_c_api.h.
type native struct {
	table     C.table
	processor unsafe.Pointer // OrtMemoryInfo of the processor's memory
}

const (
	fnCreateEnv                  = 3
	fnReleaseEnv                 = 92
	fnDefaultAllocator           = 78 // GetAllocatorWithDefaultOptions
	fnReleaseMemoryInfo          = 94
	fnReleaseValue               = 96
	fnCreateEnvWithThreadPools   = 119
	fnDisablePerSessionThreads   = 120
	fnCreateThreadingOptions     = 121
	fnReleaseThreadingOptions    = 122
	fnAddFreeDimensionOverride   = 124 // …ByName
	fnReleaseAllocator           = 132
	fnBindInput                  = 136
	fnBindOutput                 = 137
	fnCreateAndRegisterAllocator = 144
	fnSetGlobalIntraThreads      = 147
	fnSetGlobalInterThreads      = 148
	fnSetGlobalSpinControl       = 149
	fnAddRunConfigEntry          = 165
	fnSetGlobalAffinity          = 227
	fnRegisterCustomOps          = 228 // …Library_V2
	fnSetLoadCancellation        = 293
)

// apiVersion is the version of the interface; the binding asks for the same.
const apiVersion = 24

// trimHeap gives the memory that C has freed back to the system. ResNet-50's session leaves 100 MB behind of what it needed to
// optimize the model.
func trimHeap() { C.trim_heap() }

// nativeOf opens a library and returns its interface. The library stays open.
func nativeOf(path string) (native, error) {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	n := native{table: C.find_table(name, apiVersion)}
	if n.table == nil {
		return native{}, fmt.Errorf("ONNX Runtime library %s does not give version %d of its interface", path, apiVersion)
	}
	if err := n.check(C.processor_memory(n.table, &n.processor)); err != nil {
		return native{}, err
	}
	return n, nil
}

// check turns a status into an error.
func (n native) check(s C.status) error {
	if s == nil {
		return nil
	}
	defer C.release_status(n.table, s)
	return errors.New(readable(C.GoString(C.error_message(n.table, s))))
}

// runBound runs a session with a binding and run options. It allocates nothing.
func (n native) runBound(session, options, binding unsafe.Pointer) error {
	return n.check(C.run_bound(n.table, session, options, binding))
}

// A portNames has the names of a session's inputs or outputs in C's form.
type portNames []*C.char

func namesOf(ports []backend.Port) (names portNames) {
	for _, p := range ports {
		names = append(names, C.CString(p.Name))
	}
	return names
}

func (p portNames) free() {
	for _, name := range p {
		C.free(unsafe.Pointer(name))
	}
}

// run runs a session. Where an output is nil, it becomes one that ONNX Runtime allocates, also if the run fails.
func (n native) run(session, options unsafe.Pointer, in portNames, inputs []unsafe.Pointer, out portNames, outputs []unsafe.Pointer) error {
	return n.check(C.run_session(n.table, session, options, unsafe.SliceData(in), unsafe.SliceData(inputs), C.size_t(len(inputs)),
		unsafe.SliceData(out), C.size_t(len(outputs)), unsafe.SliceData(outputs)))
}

// tensorOf describes a tensor of ONNX Runtime over its own memory; texts are copied.
func (n native) tensorOf(value unsafe.Pointer) (t tensor.Tensor, err error) {
	var view C.tensor_view
	if err := n.check(C.describe_tensor(n.table, value, &view)); err != nil {
		return t, err
	}
	elem := format.ElemType(view._type)
	kind := elem.DType()
	switch {
	case kind == tensor.Invalid:
		return t, fmt.Errorf("a tensor of %v is not supported", elem)
	case int(view.axes) > len(view.shape):
		return t, fmt.Errorf("a tensor of %d axes is not supported", view.axes)
	}
	var shape tensor.Shape
	for _, extent := range view.shape[:view.axes] {
		shape = append(shape, int64(extent))
	}
	if kind == tensor.String {
		texts := make([]string, shape.Len())
		return tensor.OfStrings(texts, shape...), n.texts(value, texts)
	}
	return tensor.FromBytes(kind, unsafe.Slice((*byte)(view.data), shape.Len()*int64(kind.Size())), shape...)
}

// setTexts copies texts into a tensor of ONNX Runtime.
func (n native) setTexts(value unsafe.Pointer, texts []string) error {
	list := make([]*C.char, len(texts))
	for i, text := range texts {
		list[i] = C.CString(text)
		defer C.free(unsafe.Pointer(list[i]))
	}
	return n.check(C.fill_texts(n.table, value, unsafe.SliceData(list), C.size_t(len(list))))
}

// texts copies the texts of a tensor of ONNX Runtime, whose number is that of to.
func (n native) texts(value unsafe.Pointer, to []string) error {
	var bytes C.size_t
	if err := n.check(C.texts_length(n.table, value, &bytes)); err != nil {
		return err
	}
	content, begins := make([]byte, bytes), make([]C.size_t, len(to), len(to)+1)
	if err := n.check(C.texts_content(n.table, value, unsafe.Pointer(unsafe.SliceData(content)), bytes, unsafe.SliceData(begins),
		C.size_t(len(to)))); err != nil {
		return err
	}
	begins = append(begins, bytes)
	for i := range to {
		to[i] = string(content[begins[i]:begins[i+1]])
	}
	return nil
}

// call calls a function of up to two pointers.
func (n native) call(function C.int, a, b unsafe.Pointer) error {
	return n.check(C.call_pointers(n.table, function, a, b))
}

// setNumber calls a function that takes an object and a number.
func (n native) setNumber(function C.int, object unsafe.Pointer, number int) error {
	return n.check(C.call_number(n.table, function, object, C.int(number)))
}

// setText calls a function that takes an object and a text.
func (n native) setText(function C.int, object unsafe.Pointer, text string) error {
	s := C.CString(text)
	defer C.free(unsafe.Pointer(s))
	return n.call(function, object, unsafe.Pointer(s))
}

// setEntry adds an entry to the configuration of runs.
func (n native) setEntry(options unsafe.Pointer, key, value string) error {
	k, v := C.CString(key), C.CString(value)
	defer C.free(unsafe.Pointer(k))
	defer C.free(unsafe.Pointer(v))
	return n.check(C.call_texts(n.table, fnAddRunConfigEntry, options, k, v))
}

// setExtent fixes the extent of all free axes of a name.
func (n native) setExtent(options unsafe.Pointer, axis string, extent int64) error {
	name := C.CString(axis)
	defer C.free(unsafe.Pointer(name))
	return n.check(C.call_extent(n.table, fnAddFreeDimensionOverride, options, name, C.int64_t(extent)))
}

// ordinaryThreads gives the threads of a session the ordinary scheduling policy.
func (n native) ordinaryThreads(options unsafe.Pointer) error {
	return n.check(C.set_thread_functions(n.table, options))
}

// joinEnvironment returns the environment of the process. If there is none yet it makes one, with threads for all sessions if
// threads has options for them.
func (n native) joinEnvironment(threads unsafe.Pointer) (env unsafe.Pointer, err error) {
	function := C.int(fnCreateEnv)
	if threads != nil {
		function = fnCreateEnvWithThreadPools
	}
	err = n.check(C.create_environment(n.table, function, threads, &env))
	return env, err
}

// release calls a function that frees an object.
func (n native) release(function C.int, object unsafe.Pointer) {
	C.call_release(n.table, function, object)
}

// shareAllocator gives an environment an allocator for the processor's memory, which sessions may share.
func (n native) shareAllocator(env unsafe.Pointer) error {
	return n.check(C.call_texts(n.table, fnCreateAndRegisterAllocator, env, (*C.char)(n.processor), nil))
}

// memoryOf describes the memory of a device by ONNX Runtime's name for it, Cuda for example.
func (n native) memoryOf(name string, device int) (info unsafe.Pointer, err error) {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	err = n.check(C.memory_of(n.table, text, C.int(device), &info))
	return info, err
}

// allocator returns a session's allocator for a kind of memory.
func (n native) allocator(session, info unsafe.Pointer) (allocator unsafe.Pointer, err error) {
	err = n.check(C.create_allocator(n.table, session, info, &allocator))
	return allocator, err
}

// newTensor makes a value of a tensor's type and shape in an allocator's memory.
func (n native) newTensor(allocator unsafe.Pointer, like tensor.Tensor) (value unsafe.Pointer, err error) {
	shape := append(make([]int64, 0, 8), like.Shape...)
	err = n.check(C.create_tensor(n.table, allocator, (*C.int64_t)(unsafe.SliceData(shape)), C.size_t(len(shape)), C.int(onnxType(like.Type)), &value))
	return value, err
}

// tensorOver makes a value over memory of the kind that info describes.
func (n native) tensorOver(info, data unsafe.Pointer, like tensor.Tensor) (value unsafe.Pointer, err error) {
	shape := append(make([]int64, 0, 8), like.Shape...)
	bytes := like.Shape.Len() * int64(like.Type.Size())
	err = n.check(C.tensor_over(n.table, info, data, C.size_t(bytes), (*C.int64_t)(unsafe.SliceData(shape)), C.size_t(len(shape)),
		C.int(onnxType(like.Type)), &value))
	return value, err
}

// bindValue connects a value with a port; function is that of BindInput or BindOutput.
func (n native) bindValue(function int, binding unsafe.Pointer, port string, value unsafe.Pointer) error {
	name := C.CString(port)
	defer C.free(unsafe.Pointer(name))
	return n.check(C.bind_value(n.table, C.int(function), binding, name, value))
}

// contents returns the address of a tensor's numbers, which may be in a device's memory.
func (n native) contents(value unsafe.Pointer) (data unsafe.Pointer, err error) {
	err = n.check(C.contents(n.table, value, &data))
	return data, err
}

// A memoryCopier copies bytes between a device's memory and the processor's. The zero value is for memory that the processor
// can reach itself.
type memoryCopier struct{ cudaMemcpy, cudaSynchronize unsafe.Pointer }

// cudaRuntimes are the libraries of CUDA that can copy, the newest first.
var cudaRuntimes = []string{"libcudart.so.13", "libcudart.so.12", "cudart64_13.dll", "cudart64_12.dll"}

// cudaCopier finds CUDA's functions. The device's own library has loaded it already.
func cudaCopier() (memoryCopier, error) {
	for _, library := range cudaRuntimes {
		c := memoryCopier{functionOf(library, "cudaMemcpy"), functionOf(library, "cudaDeviceSynchronize")}
		if c.cudaMemcpy != nil && c.cudaSynchronize != nil {
			return c, nil
		}
	}
	return memoryCopier{}, fmt.Errorf("CUDA's runtime library was not found, one of %s: install the CUDA toolkit, or add its folder to LD_LIBRARY_PATH",
		strings.Join(cudaRuntimes[:2], ", "))
}

// functionOf returns a function of a library that the system's loader finds; nil: there is none.
func functionOf(library, function string) unsafe.Pointer {
	from, name := C.CString(library), C.CString(function)
	defer C.free(unsafe.Pointer(from))
	defer C.free(unsafe.Pointer(name))
	return C.find_function(from, name)
}

// loadNeeded loads the libraries that a library needs and that lie beside it, or in NVIDIA's wheels of the same Python environment
// (site-packages/nvidia/cublas/lib, site-packages/tensorrt_libs). The providers of CUDA and TensorRT have no RUNPATH, but the loader
// takes a library that is loaded already for the one of that name. NVIDIA's own have a RUNPATH to their folder and to those of the
// other wheels. What cannot be loaded is reported when the provider is.
func loadNeeded(library string) {
	file, err := elf.Open(library)
	if err != nil {
		return // not there, or not Linux
	}
	defer file.Close()
	needed, _ := file.ImportedLibraries()
	beside := filepath.Dir(library)
	folders := []string{beside}
	if packages := filepath.Dir(filepath.Dir(beside)); filepath.Base(beside) == "capi" {
		for _, wheel := range fileio.Glob(filepath.Join(packages, "nvidia"), "*") {
			folders = append(folders, filepath.Join(wheel, "lib"))
		}
		folders = append(folders, filepath.Join(packages, "tensorrt_libs"))
	}
	for _, name := range needed {
		for _, folder := range folders {
			path := C.CString(filepath.Join(folder, name))
			C.load_library(path)
			C.free(unsafe.Pointer(path))
		}
	}
}

// wait returns when all copies are done.
func (c memoryCopier) wait() error {
	if code := C.wait_for_device(c.cudaSynchronize); code != 0 {
		return fmt.Errorf("CUDA failure %d while copies were waited for", int(code))
	}
	return nil
}

func (c memoryCopier) copy(to, from unsafe.Pointer, bytes int) error {
	if code := C.copy_bytes(c.cudaMemcpy, to, from, C.size_t(bytes)); code != 0 {
		return fmt.Errorf("CUDA failure %d while %d bytes were copied", int(code), bytes)
	}
	return nil
}

// The binding does not export ONNX Runtime's pointers. These functions read its fields by name, so that they fail at once with a
// version of the binding that has other fields.

func sessionPointer(s *onnx.DynamicAdvancedSession) unsafe.Pointer {
	return inside(s, "s", "ortSession")
}
func bindingPointer(b *onnx.IoBinding) unsafe.Pointer      { return inside(b, "o") }
func runOptionsPointer(o *onnx.RunOptions) unsafe.Pointer  { return inside(o, "o") }
func optionsPointer(o *onnx.SessionOptions) unsafe.Pointer { return inside(o, "o") }

func inside(v any, fields ...string) unsafe.Pointer {
	at := reflect.ValueOf(v)
	for _, name := range fields {
		at = at.Elem().FieldByName(name)
	}
	return at.UnsafePointer()
}
