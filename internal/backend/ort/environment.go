//go:build cgo

package ort

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"

	onnx "github.com/yalue/onnxruntime_go"
)

// environment is the ONNX Runtime environment of this process. It is a variable because the binding keeps its library,
// environment and allocator in package variables, so that the engines that use them must be counted for the process too.
var environment = sharedEnvironment{users: map[*Engine]struct{}{}}

type sharedEnvironment struct {
	mu      sync.Mutex
	path    string
	version string
	native  native
	env     unsafe.Pointer // OrtEnv
	pool    *Pool          // threads of all sessions; nil: each has its own
	// allocator is set once sessions can share one.
	allocator bool
	// users are the open engines. The map keeps them, and through them all sessions and values, from the garbage collector until
	// they are closed: it ends the program when it finds a value whose memory is still pinned.
	users map[*Engine]struct{}
	// keep is set once the environment must stay open: a device's own library started threads and exit handlers, whose code must
	// not be unloaded.
	keep bool
}

// A Pool has the threads that all sessions of a process share.
type Pool struct {
	IntraThreads int    // threads inside operators; 0: ONNX Runtime decides
	InterThreads int    // operators at once; 0: ONNX Runtime decides
	NoSpinning   bool   // idle threads sleep at once
	Affinity     string // of the threads, in ONNX Runtime's notation
}

// acquire opens the library, or joins the engines that have it open already.
func (e *sharedEnvironment) acquire(user *Engine, path string, pool *Pool) (version string, n native, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.path == "":
		if err := e.open(path, pool); err != nil {
			return "", native{}, err
		}
	case e.path != path:
		return "", native{}, fmt.Errorf("this process uses the ONNX Runtime library %s already, and can use only one", e.path)
	case pool != nil && (e.pool == nil || *e.pool != *pool):
		return "", native{}, errors.New("this process has opened ONNX Runtime already, with other threads")
	}
	e.users[user] = struct{}{}
	return e.version, e.native, nil
}

// open opens the library. ONNX Runtime has one environment in a process, and the first call that asks for it says which threads
// it has: that is ours if there is a pool, else the binding's.
func (e *sharedEnvironment) open(path string, pool *Pool) (err error) {
	var n native
	var env unsafe.Pointer
	if pool != nil {
		if n, err = nativeOf(path); err != nil {
			return err
		}
		keepSignals(func() { env, err = n.pooledEnvironment(*pool) })
		if err != nil {
			return fmt.Errorf("starting the threads of all sessions: %w", err)
		}
	}
	keepSignals(func() {
		onnx.SetSharedLibraryPath(path)
		// ONNX Runtime prints each error that it also returns, unless its log has fatal errors only.
		err = onnx.InitializeEnvironment(onnx.WithLogLevelFatal())
	})
	if err != nil {
		return fmt.Errorf("opening ONNX Runtime library %s: %s", path, readable(err.Error()))
	}
	if pool == nil {
		if n, err = nativeOf(path); err == nil {
			env, err = n.joinEnvironment(nil)
		}
		if err != nil {
			return errors.Join(err, onnx.DestroyEnvironment())
		}
	}
	// Only after success: after a failed start the text of GetVersion is in a library that is unloaded.
	e.path, e.version, e.native, e.env, e.pool = path, onnx.GetVersion(), n, env, pool
	return nil
}

// pooledEnvironment makes the environment of the process with a pool of threads.
func (n native) pooledEnvironment(p Pool) (env unsafe.Pointer, err error) {
	var threads unsafe.Pointer
	if err := n.call(fnCreateThreadingOptions, unsafe.Pointer(&threads), nil); err != nil {
		return nil, err
	}
	defer n.release(fnReleaseThreadingOptions, threads)
	err = errors.Join(
		n.setNumber(fnSetGlobalIntraThreads, threads, p.IntraThreads),
		n.setNumber(fnSetGlobalInterThreads, threads, p.InterThreads),
	)
	if p.NoSpinning {
		err = errors.Join(err, n.setNumber(fnSetGlobalSpinControl, threads, 0))
	}
	if p.Affinity != "" {
		err = errors.Join(err, n.setText(fnSetGlobalAffinity, threads, p.Affinity))
	}
	if err != nil {
		return nil, err
	}
	return n.joinEnvironment(threads)
}

// shareAllocator gives the environment an allocator that sessions can share.
func (e *sharedEnvironment) shareAllocator() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.allocator {
		return nil
	}
	err := e.native.shareAllocator(e.env)
	e.allocator = err == nil
	return err
}

// release drops an engine, and closes the environment after the last one.
func (e *sharedEnvironment) release(user *Engine) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.users, user)
	if len(e.users) > 0 || e.keep {
		return nil
	}
	e.native.release(fnReleaseMemoryInfo, e.native.processor)
	e.native.release(fnReleaseEnv, e.env)
	e.path, e.version, e.native, e.env, e.pool, e.allocator = "", "", native{}, nil, nil, false
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
