package priority

import (
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/mlperf-go/mlperf/internal/machine/cgroup"
)

// Priorities are a matter of the whole process, and so are these variables. Several tests may run at once.
var (
	raised atomic.Bool
	mu     sync.Mutex
	users  int // of Raise that have not restored
	stop   chan struct{}
	ended  chan struct{}
)

// program is the name of the program's threads: that of the main thread, on which packages are initialised.
var program = threadName()

const (
	// mark (SCHED_RESET_ON_FORK) has everything that a raised thread starts, programs too, begin as ordinary. It also tells
	// threads that were raised from those of a program that was started as a real-time one.
	mark   = 0x40000000
	policy = unix.SCHED_FIFO | mark
	// lowest is the lowest real-time priority: it is above all ordinary threads.
	lowest = 1
	// period is how often threads that have been born since are raised.
	period = 100 * time.Millisecond
)

// tasks has a folder for each thread of the process.
const tasks = "/proc/self/task"

// spare is how many threads more than processors the runtime is to start before the traffic, for goroutines that block in the kernel.
const spare = 4

// startThreads has the runtime start threads until n are idle. One that it starts during the traffic is an ordinary thread at first,
// and whatever goroutine it hands over waits until the system has let it run.
func startThreads(n int) {
	var started, ended sync.WaitGroup
	release := make(chan struct{})
	started.Add(n)
	for range n {
		ended.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			started.Done()
			<-release
		})
	}
	started.Wait()
	close(release)
	ended.Wait()
}

// Raise makes the ordinary threads of the program that have its name real-time ones (SCHED_FIFO, priority 1), and those that are
// born later within a tenth of a second, until restore is called. Without the privilege all threads stay ordinary.
func Raise() (restore func()) {
	mu.Lock()
	defer mu.Unlock()
	if users++; users == 1 {
		startThreads(runtime.GOMAXPROCS(0) + spare)
		raised.Store(true)
		threads := map[int]bool{}
		raiseNew(threads)
		stop, ended = make(chan struct{}), make(chan struct{})
		go keepRaising(threads)
	}
	return sync.OnceFunc(func() {
		mu.Lock()
		defer mu.Unlock()
		if users--; users == 0 {
			raised.Store(false)
			close(stop)
			<-ended
		}
	})
}

var reserved atomic.Int32 // processors, by Reserve

// Reserve claims a processor for the calling thread, which is to spin at a real-time priority, until release is called. It refuses
// where that would leave no processor that the process may use to its ordinary threads: Go's scheduler waits for those without giving
// way, and would wait forever for one that never runs.
func Reserve() (release func(), ok bool) {
	n := reserved.Add(1)
	if float64(n)+1 > usable() {
		reserved.Add(-1)
		return nil, false
	}
	return sync.OnceFunc(func() { reserved.Add(-1) }), true
}

// Crowded reports whether the process may no longer use a processor more than those that are reserved: its affinity was changed. It
// allocates nothing.
func Crowded() bool { return affinity() <= int(reserved.Load()) }

// usable is how many processors' worth of time the process may have, by the affinity of the calling thread and by its control groups.
func usable() float64 {
	n := float64(affinity())
	if quota := cgroup.CPUQuota("/"); quota > 0 {
		n = min(n, quota)
	}
	return n
}

func affinity() int {
	var set unix.CPUSet
	if unix.SchedGetaffinity(0, &set) != nil { // more processors than the set has room for
		return runtime.NumCPU()
	}
	return set.Count()
}

// keepRaising raises new threads until stop is closed, then lowers all raised threads.
func keepRaising(threads map[int]bool) {
	defer close(ended)
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			raiseNew(threads)
		case <-stop:
			for thread := range threads {
				if policyOf(thread) == policy { // not a later thread of the same number
					lower(thread)
				}
			}
			return
		}
	}
}

// raiseNew raises the ordinary threads that have the program's name, and adds them to threads.
func raiseNew(threads map[int]bool) {
	for thread := range threadsOf(unix.SCHED_NORMAL) {
		if !ours(thread) || setPolicy(thread, policy, lowest) != 0 {
			continue
		}
		threads[thread] = true
		if !ours(thread) { // it has begun to compute at this moment
			lower(thread)
		}
	}
}

// threadsOf yields the process's threads that have the policy, with the mark or without.
func threadsOf(policy int) iter.Seq[int] {
	return func(yield func(int) bool) {
		list, _ := os.ReadDir(tasks)
		for _, entry := range list {
			if thread, _ := strconv.Atoi(entry.Name()); policyOf(thread)&^mark == policy && !yield(thread) {
				return
			}
		}
	}
}

// ours reports whether a thread has the program's name.
func ours(thread int) bool {
	name, err := os.ReadFile(filepath.Join(tasks, strconv.Itoa(thread), "comm"))
	return err == nil && strings.TrimSuffix(string(name), "\n") == unix.ByteSliceToString(program[:])
}

// LowerMonitor has the thread with which Go's runtime watches goroutines (sysmon) run after all others, until restore is called. That
// makes ordinary threads of those, too, that the monitor started meanwhile. Where the process may use one processor only, it does
// nothing: an engine that computes would keep the monitor from running, and with it all that waits for the monitor.
func LowerMonitor() (restore func()) {
	thread := monitor()
	if thread == 0 || usable() < 2 || policyOf(thread)&^mark != unix.SCHED_NORMAL {
		return func() {}
	}
	low := unix.SCHED_BATCH
	if mayLeaveIdle() {
		low = unix.SCHED_IDLE
	}
	startThreads(runtime.GOMAXPROCS(0) + spare) // those that the monitor starts have its policy
	if setPolicy(thread, low, 0) != 0 {
		return func() {}
	}
	return func() {
		for thread := range threadsOf(low) {
			if ours(thread) {
				setPolicy(thread, unix.SCHED_NORMAL, 0)
			}
		}
	}
}

// monitor is the thread that the runtime starts first: the one behind the main thread. 0: not known.
func monitor() int {
	dir, err := os.Open(tasks) // in the order of birth, unlike os.ReadDir
	if err != nil {
		return 0
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(2)
	if len(names) < 2 {
		return 0
	}
	thread, _ := strconv.Atoi(names[1])
	return thread
}

// mayLeaveIdle reports whether a thread may become an ordinary one again after SCHED_IDLE, which Linux allows with a privilege.
var mayLeaveIdle = sync.OnceValue(func() bool {
	may := make(chan bool)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		may <- setPolicy(0, unix.SCHED_IDLE, 0) == 0 && setPolicy(0, unix.SCHED_NORMAL, 0) == 0
	}()
	return <-may
})

// Computing is what a thread was before Compute.
type Computing struct {
	name   [16]byte
	raised bool
}

// Compute ties the goroutine to its thread, which is an ordinary one and has the given name (of at most 15 bytes) until End. The
// threads that it starts have that name too. Compute allocates nothing.
func Compute(name string) Computing {
	runtime.LockOSThread()
	c := Computing{name: threadName()}
	var own [16]byte
	copy(own[:15], name)
	setThreadName(&own) // first: a thread with the program's name may be raised at any moment
	if raised.Load() && policyOf(0) == policy {
		c.raised = true
		lower(0)
	}
	return c
}

// End gives the thread back as it was.
func (c *Computing) End() {
	if c.raised {
		setPolicy(0, policy, lowest)
		if !raised.Load() { // all threads have become ordinary, perhaps without this one
			lower(0)
		}
	}
	setThreadName(&c.name)
	runtime.UnlockOSThread()
}

// The calls that follow never block, and take less than a microsecond. Thread 0 is the calling one.

// policyOf returns the policy of a thread with its mark, or −1 if the thread has ended.
func policyOf(thread int) int {
	p, _, e := syscall.RawSyscall(unix.SYS_SCHED_GETSCHEDULER, uintptr(thread), 0, 0)
	if e != 0 {
		return -1
	}
	return int(p)
}

// setPolicy leaves the nice value of an ordinary thread as it is.
func setPolicy(thread, policy int, priority int32) syscall.Errno {
	_, _, e := syscall.RawSyscall(unix.SYS_SCHED_SETSCHEDULER, uintptr(thread), uintptr(policy), uintptr(unsafe.Pointer(&priority)))
	return e
}

// lower makes a thread an ordinary one again, and leaves the mark: a thread that starts another at the very moment in which both change
// would pass on SCHED_FIFO without the mark.
func lower(thread int) { setPolicy(thread, unix.SCHED_NORMAL|mark, 0) }

func threadName() (name [16]byte) {
	syscall.RawSyscall(syscall.SYS_PRCTL, unix.PR_GET_NAME, uintptr(unsafe.Pointer(&name)), 0)
	return name
}

func setThreadName(name *[16]byte) {
	syscall.RawSyscall(syscall.SYS_PRCTL, unix.PR_SET_NAME, uintptr(unsafe.Pointer(name)), 0)
}
