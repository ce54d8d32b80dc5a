//go:build cgo && linux && (amd64 || arm64)

package ort

import (
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

// kernelAction is the kernel's struct sigaction on both processors.
type kernelAction struct {
	handler  uintptr
	flags    uint64
	restorer uintptr
	mask     uint64
}

const onStack = 0x08000000 // SA_ONSTACK

func sigaction(t *testing.T, sig syscall.Signal, next *kernelAction) (now kernelAction) {
	t.Helper()
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(next)), uintptr(unsafe.Pointer(&now)), 8, 0, 0)
	if errno != 0 {
		t.Fatal(errno)
	}
	return now
}

// What CUDA does is to install a handler without SA_ONSTACK. The test takes the flag from Go's
// own handler, which has the same effect: Go ends the program if a signal then arrives. It is not
// SIGINT, which shells have programs in the background ignore.
func TestReplacedSignalHandlersAreGivenBack(t *testing.T) {
	before := sigaction(t, syscall.SIGUSR1, nil)
	if before.flags&onStack == 0 {
		t.Fatalf("Go's handler has the flags %#x, without SA_ONSTACK", before.flags)
	}
	changed := keepSignals(func() {
		bad := before
		bad.flags &^= onStack
		sigaction(t, syscall.SIGUSR1, &bad)
	})
	if after := sigaction(t, syscall.SIGUSR1, nil); changed != 1 || after.handler != before.handler || after.flags != before.flags {
		t.Errorf("changed %d handlers; SIGUSR1 has %+v, want %+v", changed, after, before)
	}
	if n := keepSignals(func() {}); n != 0 {
		t.Errorf("put back %d handlers though none was replaced", n)
	}

	// And the signal arrives.
	arrived := make(chan os.Signal, 1)
	signal.Notify(arrived, syscall.SIGUSR1)
	defer signal.Stop(arrived)
	testenv.Must(t, syscall.Kill(os.Getpid(), syscall.SIGUSR1))
	select {
	case <-arrived:
	case <-time.After(5 * time.Second):
		t.Error("SIGUSR1 did not arrive")
	}
}

// A thread whose stack for signals was replaced, by memory that may be freed, has its own again.
func TestReplacedSignalStackIsGivenBack(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	type stack struct {
		at    uintptr
		flags int32
		size  uintptr
	}
	sigaltstack := func(next *stack) (now stack) {
		t.Helper()
		if _, _, errno := unix.RawSyscall(unix.SYS_SIGALTSTACK, uintptr(unsafe.Pointer(next)), uintptr(unsafe.Pointer(&now)), 0); errno != 0 {
			t.Fatal(errno)
		}
		return now
	}
	memory, err := unix.Mmap(-1, 0, 64<<10, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	testenv.Must(t, err)
	before := sigaltstack(nil)
	keepSignals(func() { sigaltstack(&stack{at: uintptr(unsafe.Pointer(&memory[0])), size: uintptr(len(memory))}) })
	testenv.Must(t, unix.Munmap(memory))
	if after := sigaltstack(nil); after != before || before.at == 0 {
		t.Errorf("the stack for signals is %+v, want %+v", after, before)
	}
}
