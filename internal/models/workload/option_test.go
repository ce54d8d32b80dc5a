package workload

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/userinput"
)

func TestOptionsAreCheckedBeforeAnythingIsOpened(t *testing.T) {
	m := Model{Name: "m", Options: []Option{
		{Name: "layout", Choices: []string{"NCHW", "NHWC"}}, {Name: "offset", Kind: Whole}, {Name: "drop", Kind: Switch}, {Name: "output"}, {Name: "dir", Kind: Path},
	}, ScoreOptions: []Option{{Name: "dtype"}}}
	for _, test := range []struct {
		values Values
		want   string // the error
	}{
		{nil, ""},
		{Values{"layout": "nchw", "offset": "-1", "drop": "true", "output": "x y", "dir": "/a"}, ""},
		{Values{"layout": "CHWN"}, `layout: "CHWN" is not known, want one of NCHW, NHWC`},
		{Values{"offset": "one"}, `offset: "one" is not a whole number`},
		{Values{"drop": "yes please"}, `drop: "yes please" is neither true nor false`},
		{Values{"dtype": "int8"}, "dtype: m has no such option"},
		{Values{"x": "", "a": ""}, "a: m has no such option\nx: m has no such option"},
	} {
		err := m.CheckOptions(test.values)
		if got := text(err); got != test.want {
			t.Errorf("CheckOptions(%v) = %q, want %q", test.values, got, test.want)
		}
		var option *userinput.Error
		if err != nil && (!errors.As(err, &option) || test.values[option.Field] == "nowhere") {
			t.Errorf("the error is no field.Error: %v", err)
		}
	}
	if err := m.CheckScoreOptions(Values{"dtype": "int8"}); err != nil {
		t.Error(err)
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestValuesAreReadByTheirKind(t *testing.T) {
	v := Values{"n": "-7", "on": "true", "off": "false", "bad": "x"}
	if n, err := v.Whole("n"); err != nil || n == nil || *n != -7 {
		t.Errorf("n = %v, %v", n, err)
	}
	if n, err := v.Whole("none"); err != nil || n != nil {
		t.Errorf("none = %v, %v", n, err)
	}
	for name, want := range map[string]bool{"on": true, "off": false, "none": false} {
		if on, err := v.On(name); err != nil || on != want {
			t.Errorf("On(%s) = %v, %v", name, on, err)
		}
	}
	var option *userinput.Error
	if _, err := v.Whole("bad"); !errors.As(err, &option) || option.Field != "bad" {
		t.Errorf("Whole(bad): %v", err)
	}
	if _, err := v.Switch("bad"); !errors.As(err, &option) || option.Field != "bad" {
		t.Errorf("Switch(bad): %v", err)
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

func TestFilesAreFoundByRole(t *testing.T) {
	dir := folder(t, "encoder.onnx", "decoder.onnx")
	m := Model{Files: Roles("encoder", "decoder")}
	files, err := m.FilesOf(dir)
	if err != nil || len(files) != 2 || files[1] != (File{"decoder", filepath.Join(dir, "decoder.onnx")}) {
		t.Errorf("files %v, %v", files, err)
	}
	if files, err := (Model{}).FilesOf("m.onnx"); err != nil || len(files) != 1 || files[0] != (File{Only, "m.onnx"}) {
		t.Errorf("files %v, %v", files, err)
	}
	for path, want := range map[string]string{
		dir + "/encoder.onnx": "is a file, want a folder with encoder.onnx and 1 more", dir + "/none": "no such file", t.TempDir(): "the model's decoder: ",
	} {
		if _, err := m.FilesOf(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("FilesOf(%s): %v, want %q", path, err, want)
		}
	}
}
