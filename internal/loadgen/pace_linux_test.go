package loadgen

import (
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// threadState is what a pacer changes of its thread.
type threadState struct {
	policy   uintptr
	nice     int
	slack    uintptr // of timers, ns
	slice    uint64  // ns; 0 where the kernel does not tell
	realtime uint32  // priority
}

func currentThread(t *testing.T) threadState {
	t.Helper()
	var s threadState
	var errno syscall.Errno
	if s.policy, _, errno = syscall.RawSyscall(syscall.SYS_SCHED_GETSCHEDULER, 0, 0, 0); errno != 0 {
		t.Fatal(errno)
	}
	if s.slack, _, errno = syscall.RawSyscall(syscall.SYS_PRCTL, prGetTimerSlack, 0, 0); errno != 0 {
		t.Fatal(errno)
	}
	s.nice = niceness(syscall.Gettid())
	attr, _ := getAttr()
	s.slice, s.realtime = attr.runtime, attr.priority
	return s
}

// onThread runs f on a thread of its own, which ends with it.
func onThread(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked
		f()
	}()
	<-done
}

func TestAPacerGivesItsThreadBackAsItWas(t *testing.T) {
	raise := func(raise func() (string, func(), bool)) func() (func(), bool) {
		return func() (func(), bool) {
			_, restore, ok := raise()
			return restore, ok
		}
	}
	pacer := func(gap time.Duration, priority bool) func() (func(), bool) {
		return func() (func(), bool) {
			p := NewPacer(DefaultSpin, priority)
			p.Begin(gap)
			return p.End, true
		}
	}
	for name, change := range map[string]func() (func(), bool){
		"a pacer":                    pacer(time.Second, true),
		"a pacer that never sleeps":  pacer(time.Microsecond, true),
		"a pacer of normal priority": pacer(time.Second, false),
		"the priority of real time":  raise(raiseRealTime),
		"the nice value":             raise(raiseNice),
		"the slice of the scheduler": raise(shortenSlice),
	} {
		for _, nice := range []int{0, 3} { // as the program was started
			onThread(func() {
				if err := syscall.Setpriority(syscall.PRIO_PROCESS, syscall.Gettid(), nice); err != nil {
					t.Fatal(err)
				}
				before := currentThread(t)
				if before.nice != nice {
					t.Fatalf("nice %d, want %d", before.nice, nice)
				}
				restore, ok := change()
				if !ok {
					t.Logf("%s: the system does not permit it", name)
					return
				}
				if during := currentThread(t); during == before {
					t.Errorf("%s changes nothing of %+v", name, before)
				}
				restore()
				if after := currentThread(t); after != before {
					t.Errorf("%s: the thread is %+v afterwards, and was %+v", name, after, before)
				}
			})
		}
	}
}

func TestThePriorityDependsOnWhetherTheThreadSleeps(t *testing.T) {
	permitted := func(raise func() (string, func(), bool)) (ok bool) {
		onThread(func() {
			var restore func()
			if _, restore, ok = raise(); ok {
				restore()
			}
		})
		return ok
	}
	const normal = "normal: the system permits nothing better"
	names := func(raises ...func() (string, func(), bool)) string {
		for _, raise := range raises {
			if permitted(raise) {
				var name string
				onThread(func() { name, _, _ = raise() })
				return name
			}
		}
		return normal
	}
	for _, test := range []struct {
		gap      time.Duration
		priority bool
		want     string
	}{
		{time.Second, true, names(raiseRealTime, raiseNice, shortenSlice)},
		{DefaultSpin, true, names(raiseRealTime, raiseNice, shortenSlice)},
		{closestGap, true, names(raiseRealTime, raiseNice, shortenSlice)},
		{closestGap - 1, true, names(raiseNice, shortenSlice)}, // its breaks would be longer than many gaps
		{0, true, names(raiseNice, shortenSlice)},
		{time.Second, false, "normal"},
	} {
		onThread(func() {
			p := NewPacer(DefaultSpin, test.priority)
			got := p.Begin(test.gap)
			state := currentThread(t)
			p.End()
			if got != test.want {
				t.Errorf("Begin(%v) = %q, want %q", test.gap, got, test.want)
			}
			if realTime := state.policy&^schedResetOnFork == schedFIFO; realTime != (got == "SCHED_FIFO") {
				t.Errorf("%q, but the policy is %d", got, state.policy)
			}
			if state.slack != 1 && state.policy&^schedResetOnFork != schedFIFO { // real-time threads have none
				t.Errorf("the timer slack is %d ns, want 1", state.slack)
			}
			if strings.HasPrefix(got, "nice") != (state.nice == raisedNice) {
				t.Errorf("%q, but the nice value is %d", got, state.nice)
			}
		})
	}
}

// TestARealTimeThreadIsNeverStopped has threads that are always behind, and looks for a second
// in which they leave less to others than Linux would take: 50 ms.
func TestARealTimeThreadIsNeverStopped(t *testing.T) {
	for _, runs := range []time.Duration{time.Microsecond, 100 * time.Microsecond, 2500 * time.Microsecond, 30 * time.Millisecond} {
		b := &budget{debt: mostCredit}
		var now, slept time.Duration
		var window []time.Duration // what it had slept, every 10 ms
		for now < 5*time.Second {
			now += runs
			if b.ran(now); b.spent() {
				rest := b.debt
				now += rest
				slept += rest
				b.slept(now)
			}
			for time.Duration(len(window))*10*time.Millisecond <= now {
				window = append(window, slept)
			}
		}
		for i := 100; i < len(window); i++ {
			if left := window[i] - window[i-100]; left < 70*time.Millisecond {
				t.Fatalf("a thread that runs for %v at a time sleeps %v of the second before %v", runs, left, time.Duration(i)*10*time.Millisecond)
			}
		}
	}
}

func TestAThreadThatSleepsAnywayTakesNoBreaks(t *testing.T) {
	b := &budget{debt: mostCredit}
	for now := time.Duration(0); now < 2*time.Second; {
		now += 200 * time.Microsecond
		if b.ran(now); b.spent() {
			t.Fatalf("a break at %v", now)
		}
		now += 800 * time.Microsecond
		b.slept(now)
		if b.debt < mostCredit {
			t.Fatalf("a credit of %v", -b.debt)
		}
	}
	if (*budget)(nil).spent() {
		t.Error("a thread without a budget takes breaks")
	}
}

func TestWhatARaisedThreadStartsIsOrdinary(t *testing.T) {
	for name, raise := range map[string]func() (string, func(), bool){"real time": raiseRealTime, "nice": raiseNice} {
		onThread(func() {
			_, restore, ok := raise()
			if !ok {
				t.Logf("%s: the system does not permit it", name)
				return
			}
			defer restore()
			stat, err := exec.Command("cat", "/proc/self/stat").Output() // forked from this thread
			if err != nil {
				t.Fatal(err)
			}
			fields := strings.Fields(string(stat)) // proc(5): 19 is the nice value, 41 the policy, counted from 1
			if fields[18] != "0" || fields[40] != "0" {
				t.Errorf("%s: what the thread starts has nice %s and policy %s", name, fields[18], fields[40])
			}
		})
	}
}

func TestAThreadThatIsARealTimeOneStaysWhatItIs(t *testing.T) {
	onThread(func() {
		priority := int32(7)
		if _, _, errno := syscall.RawSyscall(syscall.SYS_SCHED_SETSCHEDULER, 0, schedRR, uintptr(unsafe.Pointer(&priority))); errno != 0 {
			t.Skipf("the system permits no real-time threads: %v", errno)
		}
		before := currentThread(t)
		p := NewPacer(DefaultSpin, true)
		if got := p.Begin(time.Second); got != "real-time, as the program was started" {
			t.Errorf("Begin = %q", got)
		}
		during := currentThread(t)
		p.End()
		if after := currentThread(t); during.policy != before.policy || during.realtime != before.realtime || after.policy != before.policy || after.realtime != 7 {
			t.Errorf("before %+v, during %+v, after %+v", before, during, after)
		}
	})
}
