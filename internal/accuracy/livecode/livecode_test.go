package livecode

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/accuracy/coderun"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

func needPython(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not installed")
	}
}

// forks judges each job in a fork of one Python process, because starting Python takes longer than judging, and prints the
// outputs.
const forks = `
import json, os, sys, tempfile
judge = {}
exec(open("judge.py").read().removesuffix("main()\n"), judge)
exec(judge["PRELUDE"], {})
outputs = []
for job in json.load(sys.stdin):
    output, end = os.pipe()
    if os.fork() == 0:
        file = tempfile.TemporaryFile()
        file.write(json.dumps(job).encode())
        file.seek(0)
        os.dup2(file.fileno(), 0)
        os.dup2(end, 1)
        sys.stdin = open(0, closefd=False)
        judge["main"]()
    os.close(end)
    outputs.append(output)
print(json.dumps([os.fdopen(output).read() for output in outputs]))
`

// The programs have all habits about inputs, outputs and results that the official grader lets pass or fail.
func TestVerdictsEqualTheOfficialGrader(t *testing.T) {
	needPython(t)
	golden := testenv.JSON[struct { // make_verdicts.py
		Cases []struct {
			Name, Code, Function string
			Tests                [][2]string
			Passes               bool
		}
	}](t, "testdata/verdicts.json")
	var jobs []job
	for _, c := range golden.Cases {
		j := job{Secret: "secret", Code: c.Code, Function: c.Function, Seconds: 1}
		if c.Passes {
			j.Seconds = seconds // a busy machine may take longer than a second
		}
		for _, io := range c.Tests {
			j.Inputs, j.Outputs = append(j.Inputs, io[0]), append(j.Outputs, io[1])
		}
		jobs = append(jobs, j)
	}
	input, err := json.Marshal(jobs)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "python3", "-c", forks)
	cmd.Stdin = bytes.NewReader(input)
	output, err := cmd.Output()
	var outputs []string
	if err := errors.Join(err, json.Unmarshal(output, &outputs)); err != nil || len(outputs) != len(golden.Cases) {
		t.Fatal(len(outputs), err)
	}
	for i, c := range golden.Cases {
		if passes := outputs[i] == "secret"; passes != c.Passes {
			t.Errorf("a program that %s: passes %t, want %t:\n%s", c.Name, passes, c.Passes, c.Code)
		}
	}
}

const (
	onePlusTwo  = `[{"input": "1 2\n", "output": "3\n", "testtype": "stdin"}]`
	fourPlusOne = `[{"input": "4 1\n", "output": "5\n", "testtype": "stdin"}]`
	call        = `[{"input": "1\n2", "output": "3", "testtype": "functional"}]`
	// compressed is fourPlusOne in the form of the published files: base64.b64encode(zlib.compress(pickle.dumps(…))).
	compressed = "eJxrYJlqxwABPVbR1UqZeQWlJUpWCkomCoYxeUo6Ckr5pSVQIVOIQElqcUlJZUEqSKi4JCUzT6k2dooeALHGFKE="
)

// row returns a line of a file.
func row(t testing.TB, id, public, private, metadata string) string {
	t.Helper()
	line, err := json.Marshal(map[string]string{"question_title": "A", "question_id": id,
		"public_test_cases": public, "private_test_cases": private, "metadata": metadata})
	if err != nil {
		t.Fatal(err)
	}
	return string(line) + "\n"
}

// open opens a release of the files in order.
func open(t *testing.T, files ...string) (*Tests, error) {
	t.Helper()
	dir := t.TempDir()
	for i, text := range files {
		if err := os.WriteFile(filepath.Join(dir, FileName(i)), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tests, err := Open(t.Context(), dir, len(files))
	if err == nil {
		t.Cleanup(func() {
			if err := tests.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	return tests, err
}

func TestProgramsRunOnAllTests(t *testing.T) {
	needPython(t)
	tests, err := open(t, row(t, "text", onePlusTwo, compressed, "{}")+row(t, "call", call, "[]", `{"func_name": "add"}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		id, code string
		want     bool
	}{
		{"text", "print(sum(map(int, input().split())))", true},
		{"text", "print(3)", false},
		{"text", "import os\nfor f in range(64):\n    try: os.write(f, b'x' * 26)\n    except OSError: pass\nos._exit(0)", false},
		{"call", "def add(a, b):\n    return a + b", true},
	} {
		if passes, err := tests.Judge(t.Context(), runner(t), c.id, c.code); passes != c.want || err != nil {
			t.Errorf("%q: passes %t, %v, want %t", c.code, passes, err, c.want)
		}
	}
}

func runner(t *testing.T) *coderun.Runner {
	t.Helper()
	r, err := coderun.New(true)
	testenv.Must(t, err)
	return r
}

// A shell takes the place of Python here.
func TestOnlyTheSecretPasses(t *testing.T) {
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	testenv.Must(t, os.Chmod(filepath.Dir(dir), 0o755)) // programs of the superuser reach it
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	tests, err := open(t, row(t, "a", onePlusTwo, "[]", "{}"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		script string
		want   bool
	}{
		{`printf %s "$secret"`, true},
		{`printf %.10s "$secret"`, false},
		{`printf %s "$secret$secret"`, false},
		{`head -c 1000000 /dev/zero; printf %s "$secret"`, false},
		{`printf %s "$secret" >&2`, false},
		// All tests together have a second more than each, and five (check_correctness); coderun limits the time on all CPUs to two more.
		{`[ $(ulimit -t) = ` + strconv.Itoa(68*runtime.NumCPU()) + ` ] && printf %s "$secret"`, true},
	} {
		script := "#!/bin/sh\nsecret=$(sed 's/.*\"secret\":\"\\([A-Z0-9]*\\)\".*/\\1/')\n" + c.script + "\n"
		if err := os.WriteFile(filepath.Join(dir, "python3"), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		if passes, err := tests.Judge(t.Context(), runner(t), "a", "pass"); passes != c.want || err != nil {
			t.Errorf("%s: passes %t, %v, want %t", c.script, passes, err, c.want)
		}
	}
}

func TestProblemsOfARelease(t *testing.T) {
	first := row(t, "a", onePlusTwo, compressed, "{}") + "\n" + row(t, "b", call, "[]", `{"func_name": "add"}`)
	second := strings.TrimSuffix(row(t, "a", fourPlusOne, "[]", "{}")+row(t, "c", call, "[]", `{"func_name": null}`), "\n")
	one, err := open(t, first)
	two, err2 := open(t, first, second)
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		tests *Tests
		id    string
		want  problem
	}{
		{"public tests come before private ones", one, "a", problem{"", []test{{"1 2\n", "3\n", "stdin"}, {"4 1\n", "5\n", "stdin"}}}},
		{"a function has a name", one, "b", problem{"add", []test{{"1\n2", "3", "functional"}}}},
		{"the later of two problems counts", two, "a", problem{"", []test{{"4 1\n", "5\n", "stdin"}}}},
		{"the last line needs no end", two, "c", problem{"", []test{{"1\n2", "3", "functional"}}}},
	} {
		got, err := c.tests.problem(c.id)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if diff := cmp.Diff(c.want, *got, cmp.AllowUnexported(problem{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
	if _, err := one.Judge(t.Context(), nil, "c", "pass"); !errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), `"c"`) {
		t.Errorf("a problem of another release: %v", err)
	}
	if passes, err := one.Judge(t.Context(), nil, "a", ""); passes || err != nil {
		t.Errorf("without a program: %t, %v", passes, err)
	}
}

func TestErrorsNameTheirPlace(t *testing.T) {
	good := row(t, "a", onePlusTwo, "[]", "{}")
	for want, file := range map[string]string{
		"test.jsonl: line 1: expected an object of JSON": "[]\n",
		"line 2":                             good + good[:40],
		"no question_id":                     "{}\n",
		"question_id is 7: must be a string": `{"question_id": 7}` + "\n",
		"line 1: a: public_test_cases: neither JSON nor compressed":     row(t, "a", "{}", "[]", "{}"),
		"line 1: a: private_test_cases: neither JSON nor compressed":    row(t, "a", onePlusTwo, "%%", "{}"),
		"private_test_cases: decompressing":                             row(t, "a", onePlusTwo, compressed[:40], "{}"),
		"private_test_cases: the pickle holds int64, expected a string": row(t, "a", onePlusTwo, "eJxrYPFm1wMAA7IBBQ==", "{}"),
		`testtype of test 0 is "x": must be stdin or functional`:        row(t, "a", `[{"testtype": "x"}]`, "[]", "{}"),
		"no tests": row(t, "a", "[]", "[]", "{}"),
		"metadata": row(t, "a", onePlusTwo, "[]", ""),
	} {
		tests, err := open(t, file)
		if err == nil {
			_, err = tests.Judge(t.Context(), nil, "a", "pass")
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if _, err := Open(t.Context(), t.TempDir(), 1); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "test.jsonl") {
		t.Errorf("an empty folder: %v", err)
	}
}

func FuzzParseProblem(f *testing.F) {
	f.Add([]byte(row(f, "a", onePlusTwo, compressed, `{"func_name": "f"}`)))
	f.Add([]byte(`{"question_id": "a", "public_test_cases": "[]"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		if id, err := questionID(line); err == nil && id == "" {
			t.Error("a problem without a name")
		}
		if p, err := parseProblem(line); err == nil && len(p.tests) == 0 {
			t.Error("a problem without tests")
		}
	})
}
