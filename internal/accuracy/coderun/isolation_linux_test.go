package coderun

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

func TestIsolatedProgramsHaveTheirOwnNamespaces(t *testing.T) {
	shells(t)
	user := strconv.Itoa(os.Getuid()) + " " + strconv.Itoa(os.Getgid())
	for kind, r := range runners(unchanged) {
		for _, space := range []string{"net", "pid", "ipc", "user"} {
			mine, err := os.Readlink("/proc/self/ns/" + space)
			if err != nil {
				t.Skip(err)
			}
			if _, got := run(t, r, "python", "readlink /proc/self/ns/"+space); (strings.TrimSpace(got) != mine) != r.isolated {
				t.Errorf("%s: namespace %s is %s, ours %s", kind, space, got, mine)
			}
		}
		if _, got := run(t, r, "python", `echo "$(id -u) $(id -g)"`); strings.TrimSpace(got) != user {
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
