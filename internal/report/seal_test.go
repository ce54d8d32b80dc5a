package report

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// stored writes results with everything that may look otherwise when it is read, and returns the document.
func stored(t *testing.T) (dir string, document []byte) {
	t.Helper()
	dir = t.TempDir()
	r := &Results{
		Schema: Schema, Model: "resnet50", Result: Invalid, Caveats: []string{"<quick> & \u2028 dirty", `"seal":"x"`}, Problems: []string{"too late"},
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

func TestADocumentThatWasChangedSaysSo(t *testing.T) {
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
		{"without a caveat", replaced(`"\u003cquick\u003e \u0026 \u2028 dirty",`, ""), true},
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
			if got := slices.Contains(r.Caveats, CaveatChanged); got != c.changed || r.Seal != "" {
				t.Errorf("changed: %v, want %v; seal %q; caveats %q", got, c.changed, r.Seal, r.Caveats)
			}
		})
	}
}

func TestAChangeOfADocumentIsNotForgottenWhenItIsWrittenAgain(t *testing.T) {
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
		if n := len(r.Caveats); n != 3 || r.Caveats[n-1] != CaveatChanged {
			t.Errorf("caveats %q", r.Caveats)
		}
		if err := r.Write(dir); err != nil {
			t.Fatal(err)
		}
	}
}

func TestADocumentOfAnEarlierVersionHasNoSealAndNoMark(t *testing.T) {
	r, err := Parse([]byte(`{"schema":"` + Schema + `","result":"VALID","caveats":[]}`))
	if err != nil || len(r.Caveats) > 0 {
		t.Errorf("%v: %+v", err, r)
	}
}
