package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

func TestDocumentRoundTrip(t *testing.T) {
	for _, f := range fixtures() {
		t.Run(f.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := f.r.Write(dir); err != nil {
				t.Fatal(err)
			}
			got, err := Read(dir)
			if err != nil {
				t.Fatal(err)
			}
			if got.System != nil { // read as what JSON makes of any value
				got.System, f.r.System = nil, nil
			}
			if diff := cmp.Diff(f.r, got); diff != "" {
				t.Errorf("read back (-want +got):\n%s", diff)
			}
			if got.Valid() != (got.Result == Valid) {
				t.Errorf("Valid() = %v of a result that is %s", got.Valid(), got.Result)
			}
		})
	}
}

// Texts of a document of others are printable lines, also where they are keys.
func TestReadForgesNoLines(t *testing.T) {
	const evil, want = "x\nresnet50: VALID\x1b[2J\u202e", `x\x0aresnet50: VALID\x1b[2J\u202e`
	dir, r := t.TempDir(), fixtures()[0].r
	r.Model, r.Backend.Engine, r.Problems, r.Backend.Facts = evil, evil, []string{evil}, map[string]string{evil: evil}
	r.Peak = &Peak{UserConf: "a = 1\nb = 2\x1b"} // has lines
	document, err := r.sealed()
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, FileName), document, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	got, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	for what, text := range map[string]string{"model": got.Model, "engine": got.Backend.Engine, "problem": got.Problems[0], "fact": got.Backend.Facts[want]} {
		if text != want {
			t.Errorf("%s = %q, want %q", what, text, want)
		}
	}
}

// Older records say in a warning why there is no score.
func TestUnscoredRunOfAnOlderRecord(t *testing.T) {
	r, err := Parse([]byte(`{"schema": "` + schema3 + `", "result": "VALID", "warnings": ["not scored: no data", "slow"]}`))
	if err != nil || r.NotScored != "no data" || len(r.Warnings) != 1 || r.Verdict() != WithoutScore+r.mark() {
		t.Fatalf("%v, %+v", err, r)
	}
	var text strings.Builder
	if err := Summary(&text, r); err != nil || strings.Count(text.String(), "not scored: no data") != 1 {
		t.Errorf("%v, %s", err, &text)
	}
}

func TestParseErrors(t *testing.T) {
	tests := []struct{ name, document, want string }{
		{"nothing", "", "unexpected end"},
		{"a page", "<html>", "invalid character '<'"},
		{"cut off", `{"schema": "mlperf-go/results/2", "result"`, "unexpected end"},
		{"something after it", `{"schema": "mlperf-go/results/2", "result": "VALID"} {}`, "invalid character '{'"},
		{"a list", `[]`, "cannot unmarshal array"},
		{"no schema", `{}`, `schema is "", this program reads "mlperf-go/results/4", "mlperf-go/results/3" and "mlperf-go/results/2"`},
		{"another program's", `{"schema": "results/1"}`, `schema is "results/1", this program reads`},
		{"a later form", `{"schema": "mlperf-go/results/5", "result": "VALID"}`, `schema is "mlperf-go/results/5", this program reads "mlperf-go/results/4"`},
		{"no result", `{"schema": "mlperf-go/results/2"}`, `result is "": must be VALID, INVALID or INTERRUPTED`},
		{"an unknown result", `{"schema": "mlperf-go/results/2", "result": "valid"}`, `result is "valid"`},
		{"a number that is a text", `{"schema": "mlperf-go/results/2", "result": "VALID", "metric": {"value": "fast"}}`, "cannot unmarshal string"},
		{"a number that is too large", `{"schema": "mlperf-go/results/2", "result": "VALID", "metric": {"value": 1e999}}`, "cannot unmarshal number"},
		{"a time that is none", `{"schema": "mlperf-go/results/2", "result": "VALID", "created": "yesterday"}`, "yesterday"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if r, err := Parse([]byte(test.document)); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Parse = %+v, %v; want an error with %q", r, err, test.want)
			}
		})
	}
}

func TestReadErrors(t *testing.T) {
	dir := t.TempDir()
	if _, err := Read(dir); !testenv.Names(err, dir+" … results.json") {
		t.Errorf("error %v", err)
	}
	path := filepath.Join(dir, FileName)
	for text, foreign := range map[string]bool{
		`{}`: true, `[]`: true, `{"schema": 5}`: true, `{"qps": 12}`: true, "qps: 12": true, `{"schema": "results/1"}`: true,
		``: false, `{`: false, "{\n  \"schema\": \"mlp": false, `{"schema": "mlperf-go/results/4"}`: false, `{"schema": "mlperf-go/results/3", "result"`: false,
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(dir); err == nil || errors.Is(err, ErrNoRun) != foreign || !foreign && !strings.HasPrefix(err.Error(), "reading "+path+": ") {
			t.Errorf("%q: error %v, of another program: %t", text, err, foreign)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(dir); err == nil || !strings.HasPrefix(err.Error(), "reading the results: ") {
		t.Errorf("error of a folder %v", err)
	}
	if err := fixtures()[0].r.Write(dir); err == nil || !strings.HasPrefix(err.Error(), "writing the results: ") {
		t.Errorf("error of writing over a folder %v", err)
	}
}

func TestFailedWriteKeepsTheOldDocument(t *testing.T) {
	dir, r := t.TempDir(), fixtures()[0].r
	if err := r.Write(dir); err != nil {
		t.Fatal(err)
	}
	r.Metric.Value = math.NaN()
	if err := r.Write(dir); err == nil || !strings.Contains(err.Error(), "results.json") {
		t.Errorf("error %v", err)
	}
	if _, err := Read(dir); err != nil {
		t.Errorf("the old document: %v", err)
	}
}

// FuzzParse never panics, and what it accepts can be printed, and survives being written
// and read again.
func FuzzParse(f *testing.F) {
	for _, fixture := range fixtures() {
		data, err := json.Marshal(fixture.r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(`{"schema": "mlperf-go/results/2", "result": "VALID", "system": [1e300, "\ud800", {"a": null}], "created": "0001-01-01T00:00:00+23:59"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Parse(data)
		if err != nil {
			return
		}
		data, err = r.sealed()
		if err != nil {
			t.Fatalf("an accepted document cannot be written: %v", err)
		}
		again, err := Parse(data)
		if err != nil {
			t.Fatalf("what was written is refused: %v", err)
		}
		if diff := cmp.Diff(r, again, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("read, written and read again (-first +second):\n%s", diff)
		}
		var out bytes.Buffer
		if err := Summary(&out, r); err != nil {
			t.Error(err)
		}
		if err := Explain(&out, r); err != nil {
			t.Error(err)
		}
	})
}

func TestResamples(t *testing.T) {
	a := scored(base(), 76.5).Accuracy
	if got := a.Resamples(); !slices.Equal(got, []float64{1, 2}) {
		t.Errorf("%v, want 1 and 2", got)
	}
	a.Resampled = a.Resampled[:7]
	if got := a.Resamples(); got != nil {
		t.Errorf("of seven bytes: %v", got)
	}
}

// stored writes results with everything that may look otherwise when it is read, and returns the document.
func stored(t *testing.T) (dir string, document []byte) {
	t.Helper()
	dir = t.TempDir()
	r := &Results{
		Schema: Schema, Model: "resnet50", Result: Invalid, Limitations: Limitations{{ID: limitation.FileMissing, Key: "<quick> & \u2028 dirty"}, {ID: limitation.Older, Value: `"seal":"x"`}}, Problems: []string{"too late"},
		Performance: &Performance{SamplesPerSecond: 1e21, Queries: 1 << 63}, System: map[string]any{"z": 1.5, "a": nil},
	}
	if err := r.Write(dir); err != nil {
		t.Fatal(err)
	}
	document, err := os.ReadFile(filepath.Join(dir, FileName))
	if err != nil {
		t.Fatal(err)
	}
	return dir, document
}

func TestChangedDocument(t *testing.T) {
	dir, whole := stored(t)
	replaced := func(old, now string) []byte {
		if !bytes.Contains(whole, []byte(old)) {
			t.Fatalf("no %q in\n%s", old, whole)
		}
		return bytes.Replace(whole, []byte(old), []byte(now), 1)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, whole); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		text    []byte
		changed bool
	}{
		{"as it was written", whole, false},
		{"without white space", compact.Bytes(), false},
		{"with lines as on Windows", bytes.ReplaceAll(whole, []byte("\n"), []byte("\r\n")), false},
		{"another result", replaced(`"result": "INVALID"`, `"result": "VALID"`), true},
		{"a second result behind the first", replaced(`"result": "INVALID"`, `"result": "INVALID", "result": "VALID"`), true},
		{"a result behind the seal", append(bytes.TrimRight(bytes.TrimSpace(whole), "}"), `, "result": "VALID"}`...), true},
		{"another limitation", replaced(`"\u003cquick\u003e \u0026 \\u2028 dirty",`, `"slow",`), true},
		{"softer words", replaced(`is missing`, `is there`), true},
		{"another number", replaced("1e+21", "2e+21"), true},
		{"another system", replaced(`"z": 1.5`, `"z": 1.25`), true},
		{"another seal", replaced(`"seal": "`, `"seal": "0`), true},
		{"a field of which we know nothing", replaced(`{`, `{"colour": "red",`), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := os.WriteFile(filepath.Join(dir, FileName), c.text, 0o600); err != nil {
				t.Fatal(err)
			}
			r, err := Read(dir)
			if err != nil {
				t.Fatal(err)
			}
			if got := r.Limitations.Has(limitation.RecordChanged); got != c.changed || r.Seal != "" {
				t.Errorf("changed: %v, want %v; seal %q; limitations %v", got, c.changed, r.Seal, r.Limitations)
			}
		})
	}
}

func TestChangeIsRemembered(t *testing.T) {
	dir, whole := stored(t)
	text := strings.Replace(string(whole), `"too late"`, "", 1)
	if err := os.WriteFile(filepath.Join(dir, FileName), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		r, err := Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(r.Limitations); n != 3 || r.Limitations[n-1].ID != limitation.RecordChanged {
			t.Errorf("limitations %v", r.Limitations)
		}
		if err := r.Write(dir); err != nil {
			t.Fatal(err)
		}
	}
}

// A document without a seal is a changed one; an older document never had one.
func TestDocumentWithoutSeal(t *testing.T) {
	for schema, want := range map[string]limitation.ID{Schema: limitation.RecordChanged, schema3: limitation.RecordChanged, schema2: limitation.Unsealed} {
		r, err := Parse([]byte(`{"schema":"` + schema + `","result":"VALID","caveats":[],"limitations":[]}`))
		if err != nil || !slices.Equal(r.Limitations, Limitations{{ID: want}}) || len(r.Doubts()) == 0 || r.Verdict() == Valid {
			t.Errorf("%s: %v: %+v", schema, err, r)
		}
	}
}

func TestSettingQuantity(t *testing.T) {
	for value, want := range map[string]*loadgen.Quantity{
		"600000 ms": {Value: 600000, Unit: "ms"}, "50 /s": {Value: 50, Unit: "/s"}, "0.99": {Value: 0.99}, "-1": {Value: -1}, "1e3 ns": {Value: 1000, Unit: "ns"}, "0": {},
		"true": nil, "": nil, "Server": nil, "NaN": nil, "inf ms": nil, "-Inf": nil, "5 of 7": nil, "10 ms or more": nil, "ms 5": nil, " 5": nil, "1e999": nil,
	} {
		got := Setting{Value: value}.Quantity()
		if (got == nil) != (want == nil) || got != nil && *got != *want {
			t.Errorf("%q is %+v, want %+v", value, got, want)
		}
		text, err := json.Marshal(Setting{Key: "k", Value: value, Origin: "o"})
		if err != nil || strings.Contains(string(text), `"quantity"`) != (want != nil) || !strings.HasPrefix(string(text), fmt.Sprintf(`{"key":"k","value":%q,"origin":"o"`, value)) {
			t.Errorf("%q is written as %s, %v", value, text, err)
		}
	}
}

func TestSameTraffic(t *testing.T) {
	a := Test{TargetQPS: 10, SamplesPerQuery: 1, PerformanceSampleCount: 5, Common: loadgen.Common{QSLRNGSeed: 1, SampleIndexRNGSeed: 2, ScheduleRNGSeed: 3}}
	if b := a; !a.SameTraffic(&b) || a.SameTraffic(nil) || (*Test)(nil).SameTraffic(&b) {
		t.Error("equal tests differ, or one is like none")
	}
	for i, change := range []func(*Test){
		func(t *Test) { t.TargetQPS++ }, func(t *Test) { t.SamplesPerQuery++ }, func(t *Test) { t.PerformanceSampleCount++ },
		func(t *Test) { t.QSLRNGSeed++ }, func(t *Test) { t.SampleIndexRNGSeed++ }, func(t *Test) { t.ScheduleRNGSeed++ },
	} {
		b := a
		if change(&b); a.SameTraffic(&b) {
			t.Errorf("change %d makes no difference", i)
		}
	}
}
