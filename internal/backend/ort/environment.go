//go:build cgo

package ort

import (
	"errors"
	"fmt"
	"sync"

	onnx "github.com/yalue/onnxruntime_go"
)

// environment is the one ONNX Runtime environment of this process. The binding keeps its
// library, environment and allocator in package variables, so who uses them has to be counted
// for the process too; this is why it is a variable.
var environment sharedEnvironment

type sharedEnvironment struct {
	mu      sync.Mutex
	path    string
	version string
	native  native
	// users are the open engines. They, and through them all sessions and values, are kept from
	// the garbage collector until they are closed: it ends the program when it finds a
	// value whose memory is still pinned.
	users map[*Engine]struct{}
	// keep is set once the environment cannot be taken down: a device's own library started
	// threads and exit handlers that must not be unloaded under them.
	keep bool
}

// acquire opens the library, or joins those who have it open already.
func (e *sharedEnvironment) acquire(user *Engine, path string) (version string, n native, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.path != "" && e.path != path {
		return "", native{}, fmt.Errorf("this process uses the ONNX Runtime library %s already, and can use only one", e.path)
	}
	if e.path == "" {
		if err := initialize(path); err != nil {
			return "", native{}, err
		}
		if n, err = nativeOf(path); err != nil {
			return "", native{}, errors.Join(err, onnx.DestroyEnvironment())
		}
		// Only after success: after a failed start the text that GetVersion returns is in a library
		// that is gone.
		e.path, e.version, e.native = path, onnx.GetVersion(), n
	}
	if e.users == nil {
		e.users = map[*Engine]struct{}{}
	}
	e.users[user] = struct{}{}
	return e.version, e.native, nil
}

func initialize(path string) error {
	var err error
	keepSignals(func() {
		onnx.SetSharedLibraryPath(path)
		// ONNX Runtime prints each error that it also returns; what it prints less of than "fatal" would
		// end up in the middle of our output.
		err = onnx.InitializeEnvironment(onnx.WithLogLevelFatal())
	})
	if err != nil {
		return fmt.Errorf("opening ONNX Runtime library %s: %s", path, readable(err.Error()))
	}
	return nil
}

// release gives up one use; after the last one the library is closed.
func (e *sharedEnvironment) release(user *Engine) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.users, user)
	if len(e.users) > 0 || e.keep {
		return nil
	}
	e.path, e.version, e.native = "", "", native{}
	if err := onnx.DestroyEnvironment(); err != nil {
		return fmt.Errorf("closing ONNX Runtime: %s", readable(err.Error()))
	}
	return nil
}

// keepForever leaves the environment open until the process ends.
func (e *sharedEnvironment) keepForever() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.keep = true
}
