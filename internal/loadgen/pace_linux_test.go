package loadgen

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mlperf-go/mlperf/internal/machine/priority"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// threadState is what a pacer changes of its thread.
type threadState struct {
	unix.SchedAttr
	slack int // of timers, ns
}

func currentThread(t *testing.T) threadState {
	t.Helper()
	attr, err := unix.SchedGetAttr(0, 0)
	testenv.Must(t, err)
	slack, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	testenv.Must(t, err)
	return threadState{*attr, slack}
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

// permitted reports whether the system grants one of the priorities.
func permitted(i int) (ok bool) {
	onThread(func() {
		attr, err := unix.SchedGetAttr(0, 0)
		if err == nil {
			priorities[i].raise(attr)
			ok = unix.SchedSetAttr(0, attr, 0) == nil
		}
	})
	return ok
}

func TestPacerRaisesAndRestoresItsThread(t *testing.T) {
	strongest := func(choices ...int) string {
		for _, i := range choices {
			if permitted(i) {
				return priorities[i].name
			}
		}
		return "normal: the system permits nothing better"
	}
	for _, test := range []struct {
		gap      time.Duration
		priority bool
		want     string
	}{
		{time.Second, true, strongest(0, 1, 2)},
		{closestGap, true, strongest(0, 1, 2)},
		{closestGap - 1, true, strongest(1, 2)}, // breaks would be longer than many gaps
		{time.Second, false, "normal"},
	} {
		for _, nice := range []int{0, 3} { // as the program was started
			onThread(func() {
				testenv.Must(t, unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), nice))
				before := currentThread(t)
				p := NewPacer(DefaultSpin, test.priority)
				got := p.Begin(test.gap)
				during := currentThread(t)
				p.End()
				after := currentThread(t)
				after.Flags = before.Flags // the mark of SCHED_FLAG_RESET_ON_FORK stays
				if after != before {
					t.Errorf("gap %v: the thread is %+v afterwards, and was %+v", test.gap, after, before)
				}
				realTime, raised, breaks := during.Policy == unix.SCHED_FIFO, during.Nice == -10, p.(*sleepPacer).budget != nil
				if got != test.want || realTime != (got == "SCHED_FIFO") || breaks != realTime || raised != strings.HasPrefix(got, "nice") {
					t.Errorf("Begin(%v) = %q, want %q; the thread is %+v", test.gap, got, test.want, during)
				}
				if during.slack != 1 && !realTime { // real-time threads have none
					t.Errorf("the timer slack is %d ns, want 1", during.slack)
				}
			})
		}
	}
}

// All real-time threads of the program have one priority, and an issue thread for which no processor is left is none of them.
func TestOtherThreadsOfRealTimeOnes(t *testing.T) {
	// thread runs steps on a thread of its own, one after the other, and returns how it is after each.
	thread := func() (step func(f func()) threadState) {
		steps, states := make(chan func()), make(chan threadState)
		go func() {
			runtime.LockOSThread() // and never unlocked
			for f := range steps {
				f()
				states <- currentThread(t)
			}
		}()
		t.Cleanup(func() { close(steps) })
		return func(f func()) threadState { steps <- f; return <-states }
	}
	first, second := thread(), thread()
	one, two := NewPacer(DefaultSpin, true), NewPacer(DefaultSpin, true)
	before := second(func() {})
	var got string
	issuing := first(func() { got = one.Begin(time.Second) })
	defer first(func() { one.End() })
	if got != "SCHED_FIFO" {
		t.Skipf("the issue thread has the priority %q", got)
	}
	if raised := second(func() {}); raised.Policy != unix.SCHED_FIFO || raised.Priority != issuing.Priority {
		t.Errorf("another thread is %+v, the issue thread %+v", raised, issuing)
	}
	for {
		release, ok := priority.Reserve()
		if !ok {
			break
		}
		defer release()
	}
	if during := second(func() { two.Begin(time.Second) }); during.Policy != unix.SCHED_NORMAL {
		t.Errorf("without a processor an issue thread is %+v", during)
	}
	first(func() { one.End(); one = TimerPacer{} }) // the program's threads become ordinary ones
	if after := second(func() { two.End() }); after.Policy != before.Policy || after.Nice != before.Nice {
		t.Errorf("the thread is %+v afterwards, and was %+v", after, before)
	}
}

// TestRealTimeThreadIsNeverStopped has threads that are always behind, and looks for a second
// in which they leave less to others than Linux would take: 50 ms.
func TestRealTimeThreadIsNeverStopped(t *testing.T) {
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

func TestSleepingThreadTakesNoBreaks(t *testing.T) {
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
}

func TestRaisedThreadStartsOrdinaryProcesses(t *testing.T) {
	for _, realTime := range []bool{true, false} {
		onThread(func() {
			name, _, restore := raisePriority(realTime)
			defer restore()
			stat, err := exec.Command("cat", "/proc/self/stat").Output() // forked from this thread
			testenv.Must(t, err)
			fields := strings.Fields(string(stat)) // proc(5): 19 is the nice value, 41 the policy, counted from 1
			if fields[18] != "0" || fields[40] != "0" {
				t.Errorf("%s: what the thread starts has nice %s and policy %s", name, fields[18], fields[40])
			}
		})
	}
}

func TestProgramWithPriority(t *testing.T) {
	for i, p := range priorities[:2] {
		if !permitted(i) {
			t.Skipf("the system does not permit %s", p.name)
		}
		onThread(func() {
			before := currentThread(t)
			var stat []byte
			WithPriority(p.name, func() { stat, _ = exec.Command("cat", "/proc/self/stat").Output() })
			fields := strings.Fields(string(stat))                      // as above
			want := []string{fmt.Sprint(before.Nice, " 1"), "-10 0"}[i] // a real-time thread keeps its nice value
			if got := fields[18] + " " + fields[40]; got != want {
				t.Errorf("%s: nice value and policy of a program are %s", p.name, got)
			}
			if after := currentThread(t); after != before {
				t.Errorf("%s: the thread is %+v afterwards, and was %+v", p.name, after, before)
			}
		})
	}
}

func TestRealTimeThreadStaysRealTime(t *testing.T) {
	onThread(func() {
		if err := unix.SchedSetAttr(0, &unix.SchedAttr{Policy: unix.SCHED_RR, Priority: 7}, 0); err != nil {
			t.Skipf("the system permits no real-time threads: %v", err)
		}
		before := currentThread(t)
		p := NewPacer(DefaultSpin, true)
		if got := p.Begin(time.Second); got != "real-time, as the program was started" {
			t.Errorf("Begin = %q", got)
		}
		during := currentThread(t)
		p.End()
		if after := currentThread(t); during.SchedAttr != before.SchedAttr || after.SchedAttr != before.SchedAttr {
			t.Errorf("before %+v, during %+v, after %+v", before, during, after)
		}
	})
}

// Without a schedule the runtime's monitor is held back until the last answer, which in Offline comes long after the query was issued.
func TestMonitorIsHeldBack(t *testing.T) {
	monitor := func() string { // the process's second thread
		dir, err := os.Open("/proc/self/task")
		testenv.Must(t, err)
		defer dir.Close()
		names, err := dir.Readdirnames(2)
		testenv.Must(t, err)
		stat, err := os.ReadFile("/proc/self/task/" + names[1] + "/stat")
		testenv.Must(t, err)
		return strings.Fields(string(stat))[40] // policy, see proc(5)
	}
	ordinary := monitor()
	for _, scenario := range []Scenario{SingleStream, Offline} {
		var policy string
		mustRun(t, nullSUT(func(q Query) {
			go func() {
				for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
					if policy = monitor(); policy != ordinary {
						break
					}
				}
				answer(q)
			}()
		}), samples(), quick(scenario, count(1)), Options{})
		if policy == ordinary || monitor() != ordinary {
			t.Errorf("%v: the monitor has policy %s before the answer and %s after the test; before it was %s", scenario, policy, monitor(), ordinary)
		}
	}
}
