package coderun

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

func TestIsolatedProgramsHaveTheirOwnNamespaces(t *testing.T) {
	shells(t)
	for kind, r := range runners(t, unchanged) {
		for _, space := range []string{"net", "pid", "ipc", "uts", "user"} {
			mine, err := os.Readlink("/proc/self/ns/" + space)
			if err != nil {
				t.Skip(err)
			}
			if _, got := run(t, r, "python", "readlink /proc/self/ns/"+space); (strings.TrimSpace(got) != mine) != r.isolated {
				t.Errorf("%s: namespace %s is %s, ours %s", kind, space, got, mine)
			}
		}
		user := strconv.Itoa(os.Getuid()) + " " + strconv.Itoa(os.Getgid())
		if r.isolated && os.Getuid() == superuser {
			user = "65534 65534"
		}
		if _, got := run(t, r, "python", `echo "$(id -u) $(id -G)"`); strings.TrimSpace(got) != user {
			t.Errorf("%s: user and group are %s, want %s", kind, got, user)
		}
		limit := ""
		if r.counted {
			limit = "1024\n"
		}
		if _, got := run(t, r, "python", `ulimit -u 2>/dev/null || ulimit -p`); limit != "" && got != limit || limit == "" && got == "1024\n" {
			t.Errorf("%s: at most %s processes, want %s", kind, got, limit)
		}
	}
}

// TestSuperuser runs programs that the superuser starts and that would change the machine.
func TestSuperuser(t *testing.T) {
	shells(t)
	r := newRunner(t)
	if os.Getuid() != superuser || !r.isolated {
		t.Skip("needs the superuser, and namespaces")
	}
	r.disk = 1 << 20
	open, temp := public(t), public(t)
	testenv.Must(t, os.Chmod(open, 0o777))
	t.Setenv("TMPDIR", temp)
	name, err := os.Hostname()
	testenv.Must(t, err)
	for _, c := range []struct{ what, code string }{
		{"writes to a folder that is open to all", "echo x > " + open + "/file"},
		{"names the host by /proc", "echo model > /proc/sys/kernel/hostname"},
		{"has a writable /proc/sys", "! grep -q ' /proc/sys proc ro' /proc/self/mounts"},
		{"writes to /sys", "echo 1 > /sys/kernel/mm/ksm/run"},
		{"writes to /dev/shm", "echo x > /dev/shm/mlperf-test"},
		{"fills the disk", "for i in 1 2 3; do head -c 500000 /dev/zero > $i || exit 1; done"},
		{"renames its folder", "cd /; mv $HOME " + open + "/renamed"},
		{"finds its caller", "kill -0 " + strconv.Itoa(os.Getpid())},
		{"mounts", "mount -o remount,rw /"},
		{"reads what only the superuser may", "cat /etc/shadow"},
	} {
		if passed, out := run(t, r, "python", c.code); passed {
			t.Errorf("a program that %s passes: %s", c.what, out)
		}
	}
	if now, err := os.Hostname(); err != nil || now != name {
		t.Errorf("the host is %s, %v, was %s", now, err, name)
	}
	if passed, out := run(t, r, "python", "echo x > file && cat file"); !passed || out != "x\n" {
		t.Errorf("a program cannot use its folder: %q", out)
	}
	for _, dir := range []string{open, temp} {
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%v is left, %v", left, err)
		}
	}
}

// TestSuperuserWithoutIsolation has to ask for it. The test calls itself as a superuser without capabilities.
func TestSuperuserWithoutIsolation(t *testing.T) {
	if os.Getenv(killedEnv) != "" {
		_, safe := New(false)
		r, err := New(true)
		if !errors.Is(safe, ErrSuperuser) || err != nil || r.isolated {
			t.Errorf("New(false): %v, want %v; New(true): %v", safe, ErrSuperuser, err)
		}
		return
	}
	setpriv, err := exec.LookPath("setpriv")
	if err != nil || os.Getuid() != superuser {
		t.Skip("needs the superuser, and setpriv")
	}
	cmd := exec.CommandContext(t.Context(), setpriv, "--bounding-set=-all", "--inh-caps=-all", "--", os.Args[0], "-test.run=^TestSuperuserWithoutIsolation$")
	cmd.Env = append(os.Environ(), killedEnv+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
