//go:build unix

package livecode

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/accuracy/coderun"
)

// pythons puts a folder before the others in which commands are looked for, with a python3 of the shell: it keeps
// what it reads in a file, and does what a script says, to which the secret is known.
func pythons(t *testing.T, script string) (job func() map[string]any) {
	t.Helper()
	dir := t.TempDir()
	kept := filepath.Join(dir, "job")
	text := "#!/bin/sh\ncat > " + kept + "\nsecret=$(sed 's/.*\"secret\":\"\\([A-Z0-9]*\\)\".*/\\1/' " + kept + ")\n" + script + "\n"
	if err := os.WriteFile(filepath.Join(dir, "python3"), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	return func() map[string]any {
		t.Helper()
		data, err := os.ReadFile(kept)
		if err != nil {
			t.Fatal(err)
		}
		var job map[string]any
		if err := json.Unmarshal(data, &job); err != nil {
			t.Fatal(err)
		}
		return job
	}
}

func TestAProgramPassesIfItsJudgeTellsTheSecret(t *testing.T) {
	for _, c := range []struct {
		name, script string
		want         bool
	}{
		{"the secret", `printf %s "$secret"`, true},
		{"nothing", ":", false},
		{"another word", "printf passed", false},
		{"a part of the secret", `printf %.10s "$secret"`, false},
		{"the secret and more", `printf %s "$secret$secret"`, false},
		{"the secret behind something", `printf "x%s" "$secret"`, false},
		{"much, and the secret at its end", `head -c 1000000 /dev/zero; printf %s "$secret"`, false},
		{"the secret among complaints", `printf %s "$secret" >&2`, false},
		{"the secret, and a bad end", `printf %s "$secret"; exit 3`, true}, // judge.py knows what a bad end is
	} {
		pythons(t, c.script)
		p := problem{tests: []test{{Input: "1\n", Output: "2\n"}}}
		if passes, err := p.judge(t.Context(), coderun.New(coderun.Limits{}), "pass", 1); passes != c.want || err != nil {
			t.Errorf("it writes %s: passes %t, %v, want %t", c.name, passes, err, c.want)
		}
	}
}

func TestTheJudgeIsToldAllOfAProblem(t *testing.T) {
	job := pythons(t, ":")
	r := coderun.New(coderun.Limits{})
	p := problem{function: "add", tests: []test{{Input: "1\n2", Output: "3"}, {Input: "\"ä\u2028\"", Output: "<&>"}}}
	secrets := map[any]bool{}
	for _, function := range []string{"add", ""} {
		p.function = function
		if _, err := p.judge(t.Context(), r, "def add(a, b):\n    return a + b\n", 7); err != nil {
			t.Fatal(err)
		}
		got := job()
		secret, _ := got["secret"].(string)
		if len(secret) < 26 || secrets[secret] {
			t.Errorf("the secret %q is short, or was there before", secret)
		}
		secrets[secret] = true
		delete(got, "secret")
		want := map[string]any{"code": "def add(a, b):\n    return a + b\n", "seconds": 7.0, "function": any(nil),
			"inputs": []any{"1\n2", "\"ä\u2028\""}, "outputs": []any{"3", "<&>"}}
		if function != "" {
			want["function"] = function
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the job (-want +got):\n%s", diff)
		}
	}
}

// All tests together have a second more each than a test, and five (check_correctness). What a process may use of the
// processors follows from that, which the shell tells.
func TestAProgramHasTimeForAllOfItsTests(t *testing.T) {
	for _, c := range []struct{ tests, seconds, want int }{
		{1, 60, 66},
		{3, 60, 188},
		{40, 6, 285},
		{2, 1, 9},
	} {
		pythons(t, `[ $(ulimit -t) = `+strconv.Itoa((c.want+2)*runtime.NumCPU())+` ] && printf %s "$secret"`)
		p := problem{tests: make([]test, c.tests)}
		if passes, err := p.judge(t.Context(), coderun.New(coderun.Limits{}), "pass", c.seconds); !passes || err != nil {
			t.Errorf("%d tests of %d s: it has not %d s, %v", c.tests, c.seconds, c.want, err)
		}
	}
}

func TestJudgingEndsInTheMiddle(t *testing.T) {
	pythons(t, `printf %s "$secret"; sleep 20`)
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, errors.New("enough"))
	defer cancel()
	start := time.Now()
	p := problem{tests: make([]test, 1)}
	passes, err := p.judge(ctx, coderun.New(coderun.Limits{}), "pass", seconds)
	if passes || err == nil || err.Error() != "enough" || time.Since(start) > 10*time.Second {
		t.Errorf("judge = %t, %v after %v", passes, err, time.Since(start))
	}
}

func TestJudgingWithoutPythonSaysSo(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	p := problem{tests: make([]test, 1)}
	if passes, err := p.judge(t.Context(), coderun.New(coderun.Limits{}), "pass", seconds); passes || err == nil || !strings.Contains(err.Error(), "python3 is not installed") {
		t.Errorf("judge = %t, %v", passes, err)
	}
}

// A file may change between finding a problem and judging by it.
func TestAProblemThatIsNoLongerThereIsAnError(t *testing.T) {
	dir := folder(t, map[string]string{"test.jsonl": row(t, "a", onePlusTwo, "[]", "{}") + row(t, "b", onePlusTwo, "[]", "{}")})
	tests := open(t, dir, 1)
	if err := os.Truncate(filepath.Join(dir, "test.jsonl"), 150); err != nil {
		t.Fatal(err)
	}
	if _, err := tests.Judge(t.Context(), nil, "b", "pass"); err == nil {
		t.Error("a problem is judged that is no longer there")
	}
}
