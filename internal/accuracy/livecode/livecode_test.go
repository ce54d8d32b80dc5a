package livecode

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/accuracy/coderun"
	"github.com/mlperf-go/mlperf/internal/testenv"
	"github.com/mlperf-go/mlperf/internal/workerpool"
)

func runner(t *testing.T) *coderun.Runner {
	t.Helper()
	testenv.SkipLong(t, "runs programs")
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not installed")
	}
	return coderun.New(coderun.Limits{})
}

// TestVerdictsAreThoseOfTheOfficialGrader has programs with all habits that its ideas of an input,
// an output and a result let pass or fail.
func TestVerdictsAreThoseOfTheOfficialGrader(t *testing.T) {
	r := runner(t)
	data, err := os.ReadFile("testdata/verdicts.json") // make_verdicts.py
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Seconds int
		Cases   []struct {
			Name, Code, Function string
			Tests                [][2]string
			Passes               bool
		}
	}
	if err := json.Unmarshal(data, &golden); err != nil {
		t.Fatal(err)
	}
	if len(golden.Cases) < 100 {
		t.Fatalf("there are %d cases", len(golden.Cases))
	}
	err = workerpool.Each(t.Context(), 0, len(golden.Cases), func(ctx context.Context, i int) error {
		c := golden.Cases[i]
		p := problem{function: c.Function}
		for _, io := range c.Tests {
			p.tests = append(p.tests, test{Input: io[0], Output: io[1]})
		}
		limit := golden.Seconds
		if c.Passes {
			limit = seconds // on a busy machine a program may take longer than it did
		}
		passes, err := p.judge(ctx, r, c.Code, limit)
		if passes != c.Passes {
			t.Errorf("a program that %s: passes %t, want %t:\n%s", c.Name, passes, c.Passes, c.Code)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// What is not in the official grader's reach either: a program that says itself that it passes.
func TestAProgramCannotPassByItsOutput(t *testing.T) {
	r := runner(t)
	p := problem{tests: []test{{Input: "1\n", Output: "2\n"}}}
	for _, code := range []string{
		"import os\nfor f in range(3, 64):\n    try: os.write(f, b'x' * 26)\n    except OSError: pass",
		"import os\nos.write(1, b'passed')\nos._exit(0)",
		"import sys\nsys.exit(0)",
	} {
		if passes, err := p.judge(t.Context(), r, code, seconds); passes || err != nil {
			t.Errorf("%q: passes %t, %v", code, passes, err)
		}
	}
}

// packedByPython is fourPlusOne, as base64.b64encode(zlib.compress(pickle.dumps(…))) writes it, which the published files have.
const packedByPython = "eJxrYJlqxwABPVbR1UqZeQWlJUpWCkomCoYxeUo6Ckr5pSVQIVOIQElqcUlJZUEqSKi4JCUzT6k2dooeALHGFKE="

// packed is a text as private tests are packed.
func packed(t testing.TB, text string) string {
	t.Helper()
	var out bytes.Buffer
	encoder := base64.NewEncoder(base64.StdEncoding, &out)
	w := zlib.NewWriter(encoder)
	size := len(text)
	head := []byte{0x80, 4, 'X', byte(size), byte(size >> 8), byte(size >> 16), byte(size >> 24)}
	for _, part := range [][]byte{head, []byte(text), {'.'}} {
		if _, err := w.Write(part); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), encoder.Close()); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// row is a line of a file.
func row(t testing.TB, id, public, private, metadata string) string {
	t.Helper()
	line, err := json.Marshal(map[string]string{"question_title": "A", "question_id": id,
		"public_test_cases": public, "private_test_cases": private, "metadata": metadata})
	if err != nil {
		t.Fatal(err)
	}
	return string(line) + "\n"
}

const (
	onePlusTwo  = `[{"input": "1 2\n", "output": "3\n", "testtype": "stdin"}]`
	fourPlusOne = `[{"input": "4 1\n", "output": "5\n", "testtype": "stdin"}]`
	call        = `[{"input": "1\n2", "output": "3", "testtype": "functional"}]`
)

// folder has files by their names.
func folder(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func open(t *testing.T, dir string, release int) *Tests {
	t.Helper()
	tests, err := Open(t.Context(), dir, release)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tests.Close(); err != nil {
			t.Error(err)
		}
	})
	return tests
}

func TestProblemsOfAReleaseAreFound(t *testing.T) {
	dir := folder(t, map[string]string{
		"test.jsonl":  row(t, "a", onePlusTwo, packedByPython, "{}") + "\n" + row(t, "b", call, "[]", `{"func_name": "add"}`),
		"test2.jsonl": strings.TrimSuffix(row(t, "a", fourPlusOne, "[]", "{}")+row(t, "c", call, "[]", `{"func_name": null}`), "\n"),
		"test3.jsonl": "this is not read",
	})
	one, two := open(t, dir, 1), open(t, dir, 2)
	for _, c := range []struct {
		name  string
		tests *Tests
		id    string
		want  problem
	}{
		{"public tests come before private ones", one, "a", problem{"", []test{{"1 2\n", "3\n", "stdin"}, {"4 1\n", "5\n", "stdin"}}}},
		{"a function has a name", one, "b", problem{"add", []test{{"1\n2", "3", "functional"}}}},
		{"of two problems of a name the later counts", two, "a", problem{"", []test{{"4 1\n", "5\n", "stdin"}}}},
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

func TestAProgramIsRunOnAllTestsOfItsProblem(t *testing.T) {
	r := runner(t)
	tests := open(t, folder(t, map[string]string{"test.jsonl": row(t, "a", onePlusTwo, packed(t, fourPlusOne), "{}")}), 1)
	for code, want := range map[string]bool{"print(sum(map(int, input().split())))": true, "print(3)": false, "print(5)": false} {
		if passes, err := tests.Judge(t.Context(), r, "a", code); passes != want || err != nil {
			t.Errorf("%q: passes %t, %v, want %t", code, passes, err, want)
		}
	}
}

func TestWhatIsWrongWithTheFilesIsNamed(t *testing.T) {
	good := row(t, "a", onePlusTwo, "[]", "{}")
	for name, c := range map[string]struct{ file, want string }{
		"no object":        {"[]\n", "test.jsonl: line 1: want an object of JSON"},
		"no JSON":          {good + "{]\n", "line 2"},
		"no name":          {"{}\n", "no question_id"},
		"a number as name": {`{"question_id": 7}` + "\n", "question_id is 7, want a text"},
		"cut off":          {good + good[:40], "line 2"},
	} {
		if _, err := Open(t.Context(), folder(t, map[string]string{"test.jsonl": c.file}), 1); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
	if _, err := Open(t.Context(), folder(t, map[string]string{"test.jsonl": good}), 2); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "test2.jsonl") {
		t.Errorf("a release of two files, of which one is there: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(ctx, folder(t, map[string]string{"test.jsonl": good}), 1); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of its context: %v", err)
	}
}

func TestWhatIsWrongWithAProblemIsNamed(t *testing.T) {
	for name, c := range map[string]struct{ line, want string }{
		"public tests are no list":   {row(t, "a", "{}", "[]", "{}"), "line 1: a: public_test_cases"},
		"private tests are nothing":  {row(t, "a", onePlusTwo, "%%", "{}"), "neither JSON nor packed"},
		"private tests are cut off":  {row(t, "a", onePlusTwo, packed(t, fourPlusOne)[:40], "{}"), "private_test_cases: unpacking"},
		"private tests are no text":  {row(t, "a", onePlusTwo, "eJxrYFrCCwAD1gFR", "{}"), "private_test_cases"},
		"a test is of no known type": {row(t, "a", `[{"testtype": "x"}]`, "[]", "{}"), `testtype of test 0 is "x", want stdin or functional`},
		"there are no tests":         {row(t, "a", "[]", "[]", "{}"), "it has no tests"},
		"there is no metadata":       {row(t, "a", onePlusTwo, "[]", ""), "metadata"},
	} {
		tests := open(t, folder(t, map[string]string{"test.jsonl": c.line}), 1)
		if _, err := tests.Judge(t.Context(), nil, "a", "pass"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}

func FuzzParseProblem(f *testing.F) {
	f.Add([]byte(row(f, "a", onePlusTwo, packed(f, fourPlusOne), `{"func_name": "f"}`)))
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
