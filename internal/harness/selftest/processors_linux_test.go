package selftest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// TestFewProcessors: whatever processors the system gives, a test ends, and so does one that is interrupted. Where a thread at
// real-time priority has the only processor and waits for another thread, neither happens, and only SIGKILL ends the program.
func TestFewProcessors(t *testing.T) {
	const few, one, half = "FEW_PROCESSORS_TEST", "one", "half"
	if os.Getenv(few) != "" {
		testFewProcessors(t)
		return
	}
	for _, where := range []string{one, half, "busy"} {
		t.Run(where, func(t *testing.T) {
			child := exec.Command(os.Args[0], "-test.run", "^TestFewProcessors$", "-test.v")
			child.Env = append(os.Environ(), few+"="+where)
			runtime.LockOSThread() // and never unlocked: a child has the limits of the thread that starts it, which ends with the test
			switch where {
			case one:
				var set unix.CPUSet
				testenv.Must(t, unix.SchedGetaffinity(0, &set))
				for cpu := 0; set.Count() > 1; cpu++ {
					set.Clear(cpu)
				}
				testenv.Must(t, unix.SchedSetaffinity(0, &set))
			case half:
				halfProcessor(t)
			default:
				for range runtime.NumCPU() {
					loop := exec.Command("sh", "-c", "while :; do :; done")
					testenv.Must(t, loop.Start())
					defer func() { _ = loop.Process.Kill(); _ = loop.Wait() }()
				}
			}
			timer := time.AfterFunc(20*time.Second, func() { _ = child.Process.Kill() })
			out, err := child.CombinedOutput()
			if timer.Stop(); err != nil || !strings.Contains(string(out), "--- PASS") {
				t.Errorf("%v:\n%s", err, out)
			}
		})
	}
}

func testFewProcessors(t *testing.T) {
	type load struct {
		scenario loadgen.Scenario
		qps      float64
	}
	for _, l := range []load{{loadgen.SingleStream, 15000}, {loadgen.MultiStream, 15000}, {loadgen.Offline, 15000}, {loadgen.Server, 1000}, {loadgen.Server, 15000}, {loadgen.Server, 23000}} {
		test := Test{Scenario: l.scenario, TargetQPS: l.qps, Duration: 200 * time.Millisecond}
		if _, err := test.Run(t.Context()); err != nil {
			t.Errorf("%v at %v/s: %v", l.scenario, l.qps, err)
		}
		if l.scenario == loadgen.Offline { // is over before
			continue
		}
		ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt)
		time.AfterFunc(50*time.Millisecond, func() { _ = syscall.Kill(os.Getpid(), syscall.SIGINT) })
		test.Duration = time.Minute
		if _, err := test.Run(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%v at %v/s, interrupted: %v", l.scenario, l.qps, err)
		}
		stop()
	}
}

// halfProcessor puts the calling thread into a control group that may have half of a processor's time, until the test ends.
func halfProcessor(t *testing.T) {
	group := fmt.Sprintf("/sys/fs/cgroup/cpu/mlperf-test-%d", os.Getpid())
	if err := os.Mkdir(group, 0o755); err != nil {
		t.Skipf("no control group for half a processor: %v", err)
	}
	enter := func(group string) error {
		return os.WriteFile(filepath.Join(group, "tasks"), []byte(fmt.Sprint(unix.Gettid())), 0o644)
	}
	t.Cleanup(func() { _ = enter(filepath.Dir(group)); _ = os.Remove(group) })
	for file, value := range map[string]string{"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "50000"} {
		if err := os.WriteFile(filepath.Join(group, file), []byte(value), 0o644); err != nil {
			t.Skipf("no control group for half a processor: %v", err)
		}
	}
	if err := enter(group); err != nil {
		t.Skipf("no control group for half a processor: %v", err)
	}
}
