package coderun

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

// isolated returns a runner that keeps programs apart, or skips the test.
func isolated(t *testing.T) *Runner {
	t.Helper()
	r := New(Limits{})
	if !r.isolated {
		t.Skip("this system lets no user have a network and processes of his own")
	}
	return r
}

func TestAnIsolatedProgramHasANetworkOfItsOwnThatIsEmpty(t *testing.T) {
	shells(t)
	r := isolated(t)
	var devices []string
	for line := range strings.Lines(writes(t, r, "python", "cat /proc/net/dev")) {
		if name, _, ok := strings.Cut(line, ":"); ok {
			devices = append(devices, strings.TrimSpace(name))
		}
	}
	if len(devices) != 1 || devices[0] != "lo" {
		t.Errorf("it has the devices %q, want lo alone", devices)
	}
	if routes := writes(t, r, "python", "cat /proc/net/route"); strings.Count(routes, "\n") > 1 {
		t.Errorf("it has routes:\n%s", routes)
	}
}

func TestSpacesOfAProgramAreItsOwnIfItIsIsolated(t *testing.T) {
	shells(t)
	for kind, r := range kinds(Limits{}) {
		for _, space := range []string{"net", "pid", "ipc", "user"} {
			mine, err := os.Readlink("/proc/self/ns/" + space)
			if err != nil {
				t.Skip(err)
			}
			its := strings.TrimSpace(writes(t, r, "python", "readlink /proc/self/ns/"+space))
			if own := its != mine; own != r.isolated {
				t.Errorf("%s: its space %s is %s, ours %s", kind, space, its, mine)
			}
		}
	}
}

func TestAnIsolatedProgramReachesNoOtherProcess(t *testing.T) {
	shells(t)
	us := strconv.Itoa(os.Getpid())
	for kind, r := range kinds(Limits{}) {
		if reached := run(t, r, "python", "kill -0 "+us); reached == r.isolated {
			t.Errorf("%s: it reached us: %t", kind, reached)
		}
	}
	// A process of its own it reaches.
	if !run(t, isolated(t), "python", "sleep 20 & kill -0 $! && kill $!") {
		t.Error("a program does not reach its child")
	}
}

// It runs as who it was, so that it reads the same files as without isolation.
func TestAProgramIsTheSameUser(t *testing.T) {
	shells(t)
	want := strconv.Itoa(os.Getuid()) + " " + strconv.Itoa(os.Getgid()) + "\n"
	for kind, r := range kinds(Limits{}) {
		if got := writes(t, r, "python", `echo "$(id -u) $(id -g)"`); got != want {
			t.Errorf("%s: it is %q, want %q", kind, got, want)
		}
	}
}

// The bound is there for everybody, and the system does not keep the superuser to it.
func TestTheNumberOfProcessesIsBounded(t *testing.T) {
	shells(t)
	r := isolated(t)
	if !r.counts {
		t.Skip("this system counts the processes of a user, not those of a program")
	}
	const read = `ulimit -u 2>/dev/null || ulimit -p`
	if got := writes(t, r, "python", read); got != "1024\n" {
		t.Errorf("the bound is %q", got)
	}
	if others := (&Runner{limits: r.limits, isolated: true}); writes(t, others, "python", read) == "1024\n" {
		t.Error("the bound is there without being asked for")
	}
	if os.Getuid() == superuser || !testenv.Long() {
		t.Skip("the superuser has no bound on processes, and for others it takes seconds to reach it")
	}
	const many = `i=0; while [ $i -lt %d ]; do sleep 20 & i=$((i+1)); done; exit 0`
	if !run(t, r, "python", fmt.Sprintf(many, 100)) {
		t.Error("100 processes are too many")
	}
	if run(t, r, "python", fmt.Sprintf(many, mostProcesses)) {
		t.Errorf("%d processes beside the shell are not too many", mostProcesses)
	}
}
