package workload

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

func TestBoundKeeps(t *testing.T) {
	both := Bound{Metric: "tokens_per_sample", Least: 150, Most: 250}
	least, most := Bound{Metric: "rouge2", Least: 10}, Bound{Metric: "fid", Most: 30}
	for _, test := range []struct {
		bound Bound
		value float64
		keeps bool
	}{
		{both, 150, true}, {both, 250, true}, {both, 149.99, false}, {both, 250.01, false}, {both, math.NaN(), false},
		{least, 10, true}, {least, 9.99, false}, {least, 1e9, true}, {least, math.NaN(), false}, {least, math.Inf(-1), false},
		{most, 30, true}, {most, 30.01, false}, {most, -1, true}, {most, math.NaN(), false}, {most, math.Inf(1), false},
	} {
		if got := test.bound.Keeps(test.value); got != test.keeps {
			t.Errorf("%v: Keeps(%v) = %v", test.bound, test.value, got)
		}
	}
}

func ExampleBound() {
	b := Bound{Metric: "rouge2", Least: 15.741}
	fmt.Println(b, b.Keeps(15.8), b.Keeps(15.7))
	// Output: rouge2 ≥ 15.741 true false
}

func TestOptionCheck(t *testing.T) {
	integer, on := Option{Kind: Integer}, Option{Kind: Bool}
	precision, few := Option{Choices: []string{"fp32", "int8"}}, Option{Kind: Integer, Choices: []string{"4", "8"}}
	for _, c := range []struct {
		option Option
		value  string
		want   string // of the error; empty: none
	}{
		{Option{}, "any text\n", ""}, {Option{}, "", ""}, {Option{Kind: Path}, "/nowhere/at all", ""},
		{integer, "42", ""}, {integer, "-42", ""}, {integer, "+42", ""},
		{integer, "", `"" is not a whole number`}, {integer, "1.5", `"1.5" is not a whole number`}, {integer, " 1", `" 1" is not a whole number`},
		{integer, "9223372036854775808", `"9223372036854775808" is not a whole number`},
		{on, "TRUE", ""}, {on, "f", ""}, {on, "0", ""}, {on, "2", `"2" is neither true nor false`}, {on, "", `"" is neither true nor false`},
		{precision, "int8", ""}, {precision, "INT8", ""}, {precision, "int", `"int" is not known: must be one of fp32, int8`}, {precision, "", `"" is not known: must be one of fp32, int8`},
		{few, "8", ""}, {few, "5", `"5" is not known: must be one of 4, 8`},
	} {
		if got := text(c.option.check(c.value)); got != c.want {
			t.Errorf("%+v: check(%q) = %q, want %q", c.option, c.value, got, c.want)
		}
		// What a check accepts can be read, and what it refuses cannot.
		v := Values{"o": c.value}
		if _, err := v.Integer("o"); c.option.Kind == Integer && len(c.option.Choices) == 0 && (err == nil) != (c.want == "") {
			t.Errorf("Integer(%q): %v", c.value, err)
		}
		if on, err := v.Bool("o"); c.option.Kind == Bool && ((err == nil) != (c.want == "") || (on == nil) != (err != nil)) {
			t.Errorf("Bool(%q): %v", c.value, err)
		}
	}
	if n, err := (Values)(nil).Integer("o"); n != nil || err != nil {
		t.Errorf("Integer() of nothing: %v, %v", n, err)
	}
	if on, err := (Values)(nil).On("o"); on || err != nil {
		t.Errorf("On() of nothing: %v, %v", on, err)
	}
}

func TestCheckOptionsNamesEachWrongOption(t *testing.T) {
	m := Model{Name: "m", Options: []Option{{Name: "b", Kind: Integer}, {Name: "d", Kind: Bool}}, ScoreOptions: []Option{{Name: "dtype"}}, ReaderOptions: []Option{{Name: "layout"}}}
	const want = `a: m has no such option` + "\n" + `b: "x" is not a whole number` + "\n" + `c: m has no such option` + "\n" + `d: "x" is neither true nor false`
	for range 20 { // maps have no order
		err := m.CheckOptions(Values{"d": "x", "c": "x", "b": "x", "a": "x"})
		if text(err) != want {
			t.Fatalf("CheckOptions = %q, want %q", text(err), want)
		}
		var field *userinput.Error
		if !errors.As(err, &field) || field.Field != "a" {
			t.Fatalf("%v names the field %v", err, field)
		}
	}
	if err := errors.Join(m.CheckScoreOptions(Values{"dtype": "int8"}), m.CheckReaderOptions(Values{"layout": "NCHW"}), m.CheckOptions(nil)); err != nil {
		t.Error(err)
	}
	if m.CheckScoreOptions(Values{"layout": "NCHW"}) == nil || m.CheckReaderOptions(Values{"dtype": "int8"}) == nil {
		t.Error("options of a score and of a reader are mixed up")
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestSharedOptionsAreACopy(t *testing.T) {
	m := Model{ScoreOptions: []Option{{Name: "tokenizer"}, {Name: "dtype"}}}
	run := Values{"tokenizer": "t.json", "layout": "NCHW"}
	shared := m.Shared(run)
	if len(shared) != 1 || shared["tokenizer"] != "t.json" {
		t.Errorf("Shared(%v) = %v", run, shared)
	}
	if shared["dtype"] = "int8"; len(run) != 2 {
		t.Errorf("they are the run's own: %v", run)
	}
}

// folder returns a folder with these files, empty ones.
func folder(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestFilesOfAModel(t *testing.T) {
	dir := folder(t, "a.onnx", "b.onnx", "b.onnx.data", "notes.txt")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Skip(err)
	}
	find := func(string) ([]File, error) { return []File{{"unet", "found"}}, nil }
	for _, test := range []struct {
		name              string
		model             Model
		path              string
		several, together bool
		files             []File
	}{
		{"one file", Model{}, "m.onnx", false, false, []File{{Only, "m.onnx"}}},
		{"roles in a folder", Model{Roles: []string{"b", "a"}}, dir, true, false, []File{{"b", filepath.Join(dir, "b.onnx")}, {"a", filepath.Join(dir, "a.onnx")}}},
		{"roles behind a link", Model{Roles: []string{"a"}}, link, true, false, []File{{"a", filepath.Join(link, "a.onnx")}}},
		{"files that only the model runs", Model{Files: find}, dir, true, true, []File{{"unet", "found"}}},
		{"roles with other names", Model{Files: find, Roles: []string{"a", "b"}}, dir, true, false, []File{{"unet", "found"}}},
	} {
		if m := test.model; m.Several() != test.several || m.FilesRunTogether() != test.together {
			t.Errorf("%s: Several() = %v, FilesRunTogether() = %v", test.name, m.Several(), m.FilesRunTogether())
		}
		if files, err := test.model.FilesOf(test.path); err != nil || !slices.Equal(files, test.files) {
			t.Errorf("%s: files %v, %v, want %v", test.name, files, err, test.files)
		}
	}
	for path, want := range map[string]string{
		"": "no such file", filepath.Join(dir, "a.onnx"): "is a file: must be a folder with b.onnx and 1 more", folder(t, "b.onnx"): "the model's a: ",
		folder(t): "the model's b: ", filepath.Join(dir, "a.onnx", "x"): "a.onnx",
	} {
		if files, err := Roles("b", "a")(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Roles(%q) = %v, %v, want %q", path, files, err, want)
		}
	}
}

func TestAskedModelHasNoFiles(t *testing.T) {
	opened := errors.New("opened for a server")
	m := Model{
		Name: "m", Roles: []string{"a"}, Options: []Option{{Name: "layout"}}, RemoteOptions: []Option{{Name: "system-prompt"}},
		Files:      func(string) ([]File, error) { return nil, errors.New("looked for files") },
		Open:       func(Setup) (*Workload, error) { return nil, errors.New("opened with files") },
		OpenRemote: func(Setup) (*Workload, error) { return nil, opened },
	}
	asked := m.Remote()
	if _, err := asked.Open(Setup{}); asked.Several() || !errors.Is(err, opened) {
		t.Errorf("it has files, or is %v", err)
	}
	if got := text(asked.CheckOptions(Values{"system-prompt": "x", "layout": "NCHW"})); got != "layout: m has no such option" {
		t.Errorf("its options: %q", got)
	}
}

// An engine knows the ports of files by their path.
type engine struct {
	backend.Engine
	ports map[string]Ports
}

func (e *engine) Ports(_ context.Context, opts backend.Options) (in, out []backend.Port, err error) {
	p, ok := e.ports[opts.ModelPath]
	if !ok || opts.Device != "cuda" {
		return nil, nil, errors.New("reading " + opts.ModelPath + ": no model")
	}
	return p.Inputs, p.Outputs, nil
}

func TestPortsOf(t *testing.T) {
	port := func(name string) []backend.Port { return []backend.Port{{Name: name, Type: tensor.Int64}} }
	e := &engine{ports: map[string]Ports{"e.onnx": {port("tokens"), port("memory")}, "d.onnx": {port("memory"), port("logits")}}}
	files := []File{{"encoder", "e.onnx"}, {"decoder", "d.onnx"}}
	opts := backend.Options{ModelPath: "folder", Device: "cuda"}
	got, err := PortsOf(t.Context(), e, files, opts)
	if err != nil || len(got) != 2 || got["encoder"].Inputs[0].Name != "tokens" || got["decoder"].Outputs[0].Name != "logits" || got["decoder"].Inputs[0].Name != "memory" {
		t.Errorf("ports %v, %v", got, err)
	}
	for want, files := range map[string][]File{
		"the model's decoder: reading x.onnx: no model": {files[0], {"decoder", "x.onnx"}},
		"reading x.onnx: no model":                      {{Only, "x.onnx"}}, // it has no role that tells it from others
	} {
		if got, err := PortsOf(t.Context(), e, files, opts); text(err) != want || got != nil {
			t.Errorf("PortsOf(%v) = %v, %q, want %q", files, got, text(err), want)
		}
	}
}

func TestNamesIn(t *testing.T) {
	names := Names{Inputs: []string{"ids", "mask"}, Outputs: []string{"logits"}}
	ids, mask := backend.Port{Name: "ids", Type: tensor.Int64, Shape: tensor.Shape{-1, 384}}, backend.Port{Name: "mask", Type: tensor.Bool}
	logits := backend.Port{Name: "logits", Type: tensor.Float32, Shape: tensor.Shape{-1, 2}}
	for _, test := range []struct {
		ports Ports
		want  string
	}{
		{Ports{[]backend.Port{ids, mask}, []backend.Port{logits}}, ""},
		{Ports{[]backend.Port{logits, mask, ids}, []backend.Port{ids, logits}}, ""},
		{Ports{[]backend.Port{ids}, []backend.Port{logits}}, `the model's encoder has no input "mask", it has ids int64[? 384]: mlperf writes such files`},
		{Ports{[]backend.Port{ids, mask}, []backend.Port{ids, mask}}, `the model's encoder has no output "logits", it has ids int64[? 384], mask bool[]: mlperf writes such files`},
	} {
		if got := text(names.In("encoder", test.ports)); got != test.want {
			t.Errorf("In(%v) = %q, want %q", test.ports, got, test.want)
		}
	}
}

// The file beside the data is the default of all submitters; without it that of the accuracy run is.
func TestOptionsFromAccuracy(t *testing.T) {
	m := Model{RemoteOptions: []Option{{Name: "other"}, {Name: "replies", AccuracyFile: "log.json", DataFile: "official.json"}}}
	without, with := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(with, "official.json"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join("run", "log.json")
	for name, c := range map[string]struct {
		given   Values
		dataset string
		scored  bool
		want    Values
	}{
		"nothing beside the data": {nil, without, false, Values{"replies": log}},
		"the official file":       {nil, with, false, Values{}},
		"the user's file":         {Values{"replies": "mine", "other": "x"}, without, false, Values{"replies": "mine", "other": "x"}},
		"an accuracy run":         {Values{"replies": "mine", "other": "x"}, without, true, Values{"other": "x"}},
	} {
		if got := m.FromAccuracy(c.given, "run", c.dataset, c.scored); !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
