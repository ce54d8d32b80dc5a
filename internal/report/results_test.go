package report

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestWhatIsWrittenIsReadBack(t *testing.T) {
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

func TestParseNamesWhatIsWrong(t *testing.T) {
	tests := []struct{ name, document, want string }{
		{"nothing", "", "unexpected end"},
		{"a page", "<html>", "invalid character '<'"},
		{"cut off", `{"schema": "mlperf-go/results/2", "result"`, "unexpected end"},
		{"something after it", `{"schema": "mlperf-go/results/2", "result": "VALID"} {}`, "invalid character '{'"},
		{"a list", `[]`, "cannot unmarshal array"},
		{"no schema", `{}`, `schema is "", this program reads "mlperf-go/results/2"`},
		{"another program's", `{"schema": "results/1"}`, `schema is "results/1", this program reads`},
		{"a later form", `{"schema": "mlperf-go/results/3", "result": "VALID"}`, `schema is "mlperf-go/results/3", this program reads "mlperf-go/results/2"`},
		{"no result", `{"schema": "mlperf-go/results/2"}`, `result is "", want VALID, INVALID or INTERRUPTED`},
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

func TestDocumentsOfTheFirstFormAreRead(t *testing.T) {
	data, err := os.ReadFile("testdata/results-1.json")
	if err != nil {
		t.Fatal(err)
	}
	r, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := Explain(&out, r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"latency │ 99 % within 15ms │ 100ms │ NO │ rules v6.1 (target_latency)", "early stopping │ ≥ 4100 queries │ 60 queries │ NO │",
		"early stopping: run longer", "latency: lower the target QPS",
	} {
		text := strings.Join(strings.Fields(out.String()), " ")
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in\n%s", want, out.String())
		}
	}
	if err := r.Write(t.TempDir()); err != nil || r.Schema != Schema {
		t.Errorf("schema %q, %v", r.Schema, err)
	}
}

func TestReadNamesTheFolder(t *testing.T) {
	dir := t.TempDir()
	if _, err := Read(dir); err == nil || err.Error() != dir+" is not the folder of a run: there is no results.json" {
		t.Errorf("error %v", err)
	}
	path := filepath.Join(dir, FileName)
	if err := os.WriteFile(path, []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(dir); err == nil || !strings.HasPrefix(err.Error(), "reading "+path+": schema is") {
		t.Errorf("error %v", err)
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

func TestADocumentThatCannotBeWrittenLeavesTheOldOne(t *testing.T) {
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
	if old, err := os.ReadFile("testdata/results-1.json"); err == nil {
		f.Add(old)
	}
	f.Add([]byte(`{"schema": "mlperf-go/results/2", "result": "VALID", "system": [1e300, "\ud800", {"a": null}], "created": "0001-01-01T00:00:00+23:59"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Parse(data)
		if err != nil {
			return
		}
		var out bytes.Buffer
		if err := JSON(&out, r); err != nil {
			t.Fatalf("an accepted document cannot be written: %v", err)
		}
		again, err := Parse(out.Bytes())
		if err != nil {
			t.Fatalf("what was written is refused: %v", err)
		}
		if diff := cmp.Diff(r, again, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("read, written and read again (-first +second):\n%s", diff)
		}
		if err := Summary(&out, r); err != nil {
			t.Error(err)
		}
		if err := Explain(&out, r); err != nil {
			t.Error(err)
		}
	})
}

func TestResamplesAreNumbersOfFourBytes(t *testing.T) {
	a := scored(base(), 76.5).Accuracy
	if got := a.Resamples(); !slices.Equal(got, []float64{1, 2}) {
		t.Errorf("%v, want 1 and 2", got)
	}
	a.Resampled = a.Resampled[:7]
	if got := a.Resamples(); got != nil {
		t.Errorf("of seven bytes: %v", got)
	}
}
