package workload

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

func TestABoundIsKeptUpToItsEdges(t *testing.T) {
	both := Bound{Metric: "tokens_per_sample", Reference: 200, Least: 0.75, Most: 1.25}
	least, most := Bound{Metric: "rouge2", Reference: 20, Least: 0.5}, Bound{Metric: "fid", Reference: 20, Most: 1.5}
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
	for want, bound := range map[string]Bound{"150 ≤ tokens_per_sample ≤ 250": both, "rouge2 ≥ 10": least, "fid ≤ 30": most} {
		if got := bound.String(); got != want {
			t.Errorf("String() = %q, want %q", got, want)
		}
	}
}

func TestAModelKnowsWhetherItsFilesRunByThemselves(t *testing.T) {
	find := func(string) ([]File, error) { return []File{{"unet", "found"}}, nil }
	dir := folder(t, "a.onnx", "b.onnx")
	for _, test := range []struct {
		name           string
		model          Model
		several, whole bool
		files          []File
	}{
		{"one file", Model{}, false, false, []File{{Only, dir}}},
		{"roles in a folder", Model{Roles: []string{"a", "b"}}, true, false, []File{{"a", filepath.Join(dir, "a.onnx")}, {"b", filepath.Join(dir, "b.onnx")}}},
		{"files that only the model runs", Model{Files: find}, true, true, []File{{"unet", "found"}}},
		{"roles that lie elsewhere", Model{Files: find, Roles: []string{"a", "b"}}, true, false, []File{{"unet", "found"}}},
	} {
		if got := test.model.Several(); got != test.several {
			t.Errorf("%s: Several() = %v", test.name, got)
		}
		if got := test.model.Whole(); got != test.whole {
			t.Errorf("%s: Whole() = %v", test.name, got)
		}
		files, err := test.model.FilesOf(dir)
		if err != nil || len(files) != len(test.files) {
			t.Errorf("%s: files %v, %v", test.name, files, err)
			continue
		}
		for i := range files {
			if files[i] != test.files[i] {
				t.Errorf("%s: file %d is %v, want %v", test.name, i, files[i], test.files[i])
			}
		}
	}
}

func TestWhoeverAsksAServerHasNoModelFiles(t *testing.T) {
	opened := errors.New("opened for a server")
	m := Model{
		Name: "m", Roles: []string{"a"}, Options: []Option{{Name: "layout"}}, AskOptions: []Option{{Name: "system-prompt"}},
		Files: func(string) ([]File, error) { return nil, errors.New("looked for files") },
		Open:  func(Setup) (Workload, error) { return nil, errors.New("opened with files") },
		Ask:   func(Setup) (Workload, error) { return nil, opened },
	}
	asked := m.Asked()
	if asked.Several() || asked.Whole() {
		t.Errorf("a model that is asked has files")
	}
	if _, err := asked.Open(Setup{}); !errors.Is(err, opened) {
		t.Errorf("it is %v", err)
	}
	if got := text(asked.CheckOptions(Values{"system-prompt": "x", "layout": "NCHW"})); got != "layout: m has no such option" {
		t.Errorf("its options: %q", got)
	}
	if _, err := m.Open(Setup{}); errors.Is(err, opened) || !m.Several() {
		t.Error("Asked changed the model that it is made of")
	}
}

func TestAScoreHasTheOptionsOfTheRunThatItShares(t *testing.T) {
	m := Model{ScoreOptions: []Option{{Name: "tokenizer"}, {Name: "dtype"}}}
	run := Values{"tokenizer": "t.json", "layout": "NCHW"}
	shared := m.Shared(run)
	if len(shared) != 1 || shared["tokenizer"] != "t.json" {
		t.Errorf("Shared(%v) = %v", run, shared)
	}
	shared["dtype"] = "int8"
	if len(run) != 2 {
		t.Errorf("they are the run's own: %v", run)
	}
	if got := m.Shared(nil); got == nil || len(got) != 0 {
		t.Errorf("Shared(nil) = %v, want values to add to", got)
	}
}

// engine knows the ports of files by their path.
type engine struct {
	backend.Engine
	ports map[string]Ports
	asked []backend.Options
}

func (e *engine) Ports(_ context.Context, opts backend.Options) (in, out []backend.Port, err error) {
	e.asked = append(e.asked, opts)
	p, ok := e.ports[opts.ModelPath]
	if !ok {
		return nil, nil, errors.New("reading " + opts.ModelPath + ": no model")
	}
	return p.Inputs, p.Outputs, nil
}

func TestPortsAreAskedForByRole(t *testing.T) {
	port := func(name string) []backend.Port { return []backend.Port{{Name: name, Type: tensor.Int64}} }
	e := &engine{ports: map[string]Ports{"e.onnx": {port("tokens"), port("memory")}, "d.onnx": {port("memory"), port("logits")}}}
	files := []File{{"encoder", "e.onnx"}, {"decoder", "d.onnx"}}
	got, err := PortsOf(t.Context(), e, files, backend.Options{ModelPath: "folder", Device: "cuda"})
	if err != nil || len(got) != 2 || got["encoder"].Inputs[0].Name != "tokens" || got["decoder"].Outputs[0].Name != "logits" || got["decoder"].Inputs[0].Name != "memory" {
		t.Errorf("ports %v, %v", got, err)
	}
	for i, opts := range e.asked {
		if opts.ModelPath != files[i].Path || opts.Device != "cuda" {
			t.Errorf("the engine was asked with %+v", opts)
		}
	}
	for _, test := range []struct {
		files []File
		want  string
	}{
		{[]File{files[0], {"decoder", "x.onnx"}}, "the model's decoder: reading x.onnx: no model"},
		{[]File{{Only, "x.onnx"}}, "reading x.onnx: no model"}, // there is nothing to tell it from
	} {
		if got, err := PortsOf(t.Context(), e, test.files, backend.Options{}); text(err) != test.want || got != nil {
			t.Errorf("PortsOf(%v) = %v, %q, want %q", test.files, got, text(err), test.want)
		}
	}
}

func TestFilesThatOnlyThisProgramWritesHaveKnownPorts(t *testing.T) {
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
		{Ports{}, `the model's encoder has no input "ids", it has : mlperf writes such files`},
	} {
		if got := text(names.In("encoder", test.ports)); got != test.want {
			t.Errorf("In(%v) = %q, want %q", test.ports, got, test.want)
		}
	}
	if p, ok := PortNamed([]backend.Port{ids, mask}, "mask"); !ok || p.Type != tensor.Bool {
		t.Errorf("PortNamed = %v, %v", p, ok)
	}
	if p, ok := PortNamed([]backend.Port{ids}, "Ids"); ok || p.Name != "" {
		t.Errorf("names are taken as they are: %v, %v", p, ok)
	}
}

func TestTablesAreWhatLiesBesideAModelAndCanHaveFewerRows(t *testing.T) {
	for _, test := range []struct {
		name  string
		parts []Part
		want  bool
	}{
		{"nothing", nil, false},
		{"fewer layers", []Part{{Layers: 2, Beside: true}}, false},
		{"fewer rows in the file", []Part{{Rows: 10}}, false},
		{"fewer rows in a file beside it", []Part{{}, {Rows: 10, Beside: true}}, true},
		{"rows of one part and a file beside another", []Part{{Rows: 10}, {Beside: true}}, false},
	} {
		if got := (Recipe{Parts: test.parts}).Tables(); got != test.want {
			t.Errorf("%s: Tables() = %v", test.name, got)
		}
	}
}

func TestTheOptionOfOutputsIsAText(t *testing.T) {
	m := Model{Name: "m", Options: []Option{ChooseOutput()}}
	if err := m.CheckOptions(Values{OutputOption: "boxes,scores,labels"}); err != nil {
		t.Error(err)
	}
}

func TestAReaderHasOptionsOfItsOwn(t *testing.T) {
	m := Model{Name: "m", ReaderOptions: []Option{{Name: "layout", Choices: []string{"NCHW"}}}, Options: []Option{{Name: "drop", Kind: Switch}}}
	if got := text(m.CheckReaderOptions(Values{"layout": "x", "drop": "true"})); got != `drop: m has no such option`+"\n"+`layout: "x" is not known, want one of NCHW` {
		t.Errorf("CheckReaderOptions: %q", got)
	}
}

func TestRolesAreFilesOfAFolder(t *testing.T) {
	for _, test := range []struct {
		path string
		want []string
	}{
		{folder(t, "b.onnx"), []string{"the model's a: ", "a.onnx"}},
		{folder(t), []string{"the model's a: ", "the model's b: "}},
	} {
		_, err := Roles("a", "b")(test.path)
		for _, want := range test.want {
			if !strings.Contains(text(err), want) {
				t.Errorf("Roles(%s): %q, want %q", test.path, text(err), want)
			}
		}
	}
}
