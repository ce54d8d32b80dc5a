package priority

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// onThread starts a goroutine on a thread of its own that calls f, and returns the thread's number. The thread ends with the test.
func onThread(t *testing.T, f func()) (thread int) {
	t.Helper()
	started, release, ended := make(chan int), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		runtime.LockOSThread() // and never unlocked
		f()
		started <- unix.Gettid()
		<-release
	}()
	t.Cleanup(func() { close(release); <-ended })
	return <-started
}

// mayRaise skips a test where the system permits no real-time threads.
func mayRaise(t *testing.T) {
	t.Helper()
	var e error
	onThread(t, func() {
		if errno := setPolicy(0, policy, lowest); errno != 0 {
			e = errno
		}
		lower(0)
	})
	if e != nil {
		t.Skipf("the system permits no real-time threads: %v", e)
	}
}

// realTimeThreads are the program's threads that are not ordinary.
func realTimeThreads(t *testing.T) (threads []int) {
	t.Helper()
	list, err := os.ReadDir(tasks)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range list {
		thread, _ := strconv.Atoi(entry.Name())
		if p := policyOf(thread); p > 0 && p != mark {
			threads = append(threads, thread)
		}
	}
	return threads
}

func TestRaise(t *testing.T) {
	mayRaise(t)
	idle := onThread(t, func() {})
	computing := onThread(t, func() { Compute("engine") })
	restore, other := Raise(), Raise()
	if policyOf(idle) != policy || policyOf(os.Getpid()) != policy {
		t.Errorf("a thread and the main thread have policies %#x and %#x, want %#x", policyOf(idle), policyOf(os.Getpid()), policy)
	}
	later := onThread(t, func() {})
	for end := time.Now().Add(10 * time.Second); policyOf(later) != policy; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("a thread that is born later is never raised")
		}
	}
	if policyOf(computing)&^mark != unix.SCHED_NORMAL {
		t.Errorf("a thread that computes is raised: %#x", policyOf(computing))
	}
	restore()
	restore() // counts once
	if policyOf(idle) != policy {
		t.Error("the end of one test restores the threads of another")
	}
	other()
	if left := realTimeThreads(t); len(left) > 0 {
		t.Errorf("threads %v stay raised", left)
	}
}

func TestStartThreads(t *testing.T) {
	threads := func() int {
		list, err := os.ReadDir(tasks)
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	n := threads() + 3
	startThreads(n)
	if got := threads(); got < n {
		t.Errorf("%d threads, want %d at least", got, n)
	}
}

// A thread that starts another while it is being raised or lowered must not pass on its priority.
func TestThreadsThatAreBornMeanwhileAreOrdinary(t *testing.T) {
	mayRaise(t)
	for range 1000 {
		var one sync.WaitGroup
		one.Go(func() {
			runtime.LockOSThread() // the thread ends with the goroutine, so the runtime starts another while restore waits
			if p := policyOf(0); p&^mark != unix.SCHED_NORMAL {
				t.Errorf("a new thread has policy %#x", p)
			}
			Raise()()
		})
		one.Wait()
	}
}

func TestRaisedThreadComputes(t *testing.T) {
	mayRaise(t)
	restore := Raise()
	var during, after int
	var name [16]byte
	onThread(t, func() {
		setPolicy(0, policy, lowest) // as Raise does within a tenth of a second
		c := Compute("a name of more than fifteen bytes")
		during, name = policyOf(0), threadName()
		c.End()
		after = policyOf(0)
		if threadName() != program {
			t.Errorf("afterwards the thread is called %q", threadName())
		}
	})
	if during != unix.SCHED_NORMAL|mark || after != policy || unix.ByteSliceToString(name[:]) != "a name of more " {
		t.Errorf("a thread called %q has policy %#x while it computes, and %#x afterwards", name, during, after)
	}

	onThread(t, func() { // the traffic ends while it computes
		setPolicy(0, policy, lowest)
		c := Compute("engine")
		restore()
		c.End()
		after = policyOf(0)
	})
	if after&^mark != unix.SCHED_NORMAL {
		t.Errorf("a thread that computed until after the traffic has policy %#x", after)
	}
}

// The monitor is the thread that wakes up again and again while a goroutine runs and no other is ready.
func TestLowerMonitor(t *testing.T) {
	if usable() < 2 {
		t.Skip("one processor: the monitor stays as it is")
	}
	thread := monitor()
	wakeUps := func() (n int) {
		status, _ := os.ReadFile(fmt.Sprintf("%s/%d/status", tasks, thread))
		_, after, _ := strings.Cut(string(status), "\nvoluntary_ctxt_switches:")
		_, _ = fmt.Sscan(after, &n)
		return n
	}
	before := wakeUps()
	for end := time.Now().Add(10 * time.Second); wakeUps() < before+50; {
		if time.Now().After(end) {
			t.Fatalf("thread %d does not wake up while a goroutine runs", thread)
		}
	}
	Raise()() // an earlier test leaves its mark
	restore := LowerMonitor()
	low := policyOf(thread)
	if low != unix.SCHED_IDLE && low != unix.SCHED_BATCH {
		t.Errorf("the monitor has policy %#x", low)
	}
	LowerMonitor()()                                      // of a second test, which leaves it to the first
	child := onThread(t, func() { setPolicy(0, low, 0) }) // as if the monitor had started it
	restore()
	if p, c := policyOf(thread), policyOf(child); p != unix.SCHED_NORMAL || c != unix.SCHED_NORMAL {
		t.Errorf("afterwards the monitor has policy %#x, and a thread that it started %#x", p, c)
	}
}

// On one processor a monitor behind all others might never run.
func TestLowerMonitorOnOneProcessor(t *testing.T) {
	onThread(t, func() {
		var one unix.CPUSet
		if err := unix.SchedGetaffinity(0, &one); err != nil {
			t.Error(err)
		}
		for cpu := 0; one.Count() > 1; cpu++ {
			one.Clear(cpu)
		}
		if err := unix.SchedSetaffinity(0, &one); err != nil {
			t.Error(err)
		}
		restore := LowerMonitor()
		if p := policyOf(monitor()); p&^mark != unix.SCHED_NORMAL {
			t.Errorf("the monitor has policy %#x", p)
		}
		restore()
	})
}

func TestComputeAllocatesNothing(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() {
		c := Compute("engine")
		c.End()
	}); n != 0 {
		t.Errorf("Compute allocates %v times", n)
	}
}
