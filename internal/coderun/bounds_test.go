//go:build unix

package coderun

import (
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestLimitsThatAreNotGivenAreThoseOfTheReference(t *testing.T) {
	usual := Limits{Time: 20 * time.Second, Compile: 100 * time.Second, Memory: 4294967296}
	for _, c := range []struct {
		name        string
		given, want Limits
	}{
		{"none", Limits{}, usual},
		{"less than none", Limits{Time: -1, Compile: -time.Hour, Memory: -1 << 40}, usual},
		{"the least", Limits{1, 1, 1}, Limits{1, 1, 1}},
		{"one of them", Limits{Compile: time.Hour}, Limits{usual.Time, time.Hour, usual.Memory}},
		{"the others", Limits{Time: time.Hour, Memory: math.MaxInt64}, Limits{time.Hour, usual.Compile, math.MaxInt64}},
	} {
		if got := New(c.given).limits; got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// The shell tells what bounds it has: seconds, blocks of 512 bytes, files, blocks of core files, and KiB of memory.
const bounds = `ulimit -t; ulimit -f; ulimit -n; ulimit -c; `

func TestAProgramSeesItsBounds(t *testing.T) {
	shells(t)
	seconds := func(limit int) string { return strconv.Itoa((limit + 2) * runtime.NumCPU()) }
	for kind, r := range kinds(Limits{Time: 7900 * time.Millisecond, Memory: 6 << 30}) {
		want := seconds(7) + "\n131072\n256\n0\n6291456\n"
		if got := writes(t, r, "python", bounds+"ulimit -v"); got != want {
			t.Errorf("%s: bounds are %q, want %q", kind, got, want)
		}
		// node reserves more than it uses, so that it is what it can write to that is bounded.
		if got := writes(t, r, "javascript", bounds+"ulimit -d"); got != want {
			t.Errorf("%s: bounds of node are %q, want %q", kind, got, want)
		}
	}
	r := New(Limits{Compile: 50 * time.Second, Time: 3 * time.Second})
	// What the compiler has is in what it writes, which tells the rest.
	got := writes(t, r, "typescript", `echo "echo compiler $(ulimit -t); echo program $(ulimit -t)" > main.js; echo 'ulimit -t' >> main.js`)
	if want := "compiler " + seconds(50) + "\nprogram " + seconds(50) + "\n" + seconds(3) + "\n"; got != want {
		t.Errorf("a compiler and its program had %q, want %q", got, want)
	}
}

func TestATimeOfAProgramTakesThePlaceOfTheLimit(t *testing.T) {
	shells(t)
	r := New(Limits{Time: time.Nanosecond})
	if run(t, r, "python", "exit 0") {
		t.Error("a program passes in a nanosecond")
	}
	var out strings.Builder
	passed, err := r.Run(t.Context(), Program{Language: "python", Code: "ulimit -t", Time: time.Minute, Output: &out})
	if want := strconv.Itoa(62*runtime.NumCPU()) + "\n"; err != nil || !passed || out.String() != want {
		t.Errorf("with a minute: passes %t, %v, bound %q, want %q", passed, err, out.String(), want)
	}
}

func TestProgramsThatDoNotEndAreEnded(t *testing.T) {
	shells(t)
	for kind, r := range kinds(Limits{Time: 20 * time.Millisecond, Compile: 20 * time.Millisecond}) {
		for _, c := range []struct{ name, language, code string }{
			{"one that sleeps", "python", "sleep 20"},
			{"one that does not want to end", "python", "trap '' TERM INT HUP; while :; do sleep 20; done"},
			{"one that works", "python", "while :; do :; done"},
			{"one whose child goes on", "python", "sleep 20 & wait"},
			{"one that does not end well", "python", "trap 'exit 0' TERM EXIT; sleep 20"},
			{"its compiler", "typescript", "echo > main.js; sleep 20"},
		} {
			start := time.Now()
			if run(t, r, c.language, c.code) {
				t.Errorf("%s, %s: it passes", kind, c.name)
			}
			if took := time.Since(start); took > 10*time.Second {
				t.Errorf("%s, %s: it took %v", kind, c.name, took)
			}
		}
	}
}

func TestAFileHasAnEnd(t *testing.T) {
	shells(t)
	r := New(Limits{})
	// The place is behind 64 MiB but for one byte, and then one further.
	if !run(t, r, "python", "printf x | dd of=f bs=1 seek=67108863 2>/dev/null") {
		t.Error("64 MiB do not fit")
	}
	if run(t, r, "python", "printf x | dd of=f bs=1 seek=67108864 2>/dev/null") {
		t.Error("64 MiB and a byte fit")
	}
}

func TestMemoryHasAnEnd(t *testing.T) {
	shells(t)
	r := New(Limits{Memory: 256 << 20})
	// dd asks for a buffer of its block's size.
	for size, want := range map[string]bool{"1M": true, "400M": false} {
		for _, language := range []string{"python", "javascript"} {
			if got := run(t, r, language, "dd if=/dev/null of=/dev/null count=1 bs="+size+" 2>/dev/null"); got != want {
				t.Errorf("%s: a buffer of %s: passes %t, want %t", language, size, got, want)
			}
		}
	}
}

func TestAProgramHasTheEnvironmentOfNobody(t *testing.T) {
	shells(t)
	t.Setenv("SECRET_KEY", "x")
	for kind, r := range kinds(Limits{}) {
		got := map[string]string{}
		for line := range strings.Lines(writes(t, r, "python", "env")) {
			name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
			got[name] = value
		}
		delete(got, "_") // some shells' own
		delete(got, "OLDPWD")
		delete(got, "SHLVL")
		folder := got["PWD"]
		if !strings.HasPrefix(filepath.Base(folder), "mlperf-program-") {
			t.Errorf("%s: it runs in %q", kind, folder)
		}
		want := map[string]string{"PATH": os.Getenv("PATH"), "HOME": folder, "TMPDIR": folder, "PWD": folder, "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}
		for name, value := range want {
			if got[name] != value {
				t.Errorf("%s: %s is %q, want %q", kind, name, got[name], value)
			}
			delete(got, name)
		}
		if len(got) > 0 {
			t.Errorf("%s: there is %q too", kind, got)
		}
	}
}
