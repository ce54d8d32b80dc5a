package vbench

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/tensor/npy"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

func folder(t testing.TB, name, content string) string {
	t.Helper()
	dir := t.TempDir()
	testenv.Tree(t, dir, map[string]string{name: content})
	return dir
}

func TestPrompts(t *testing.T) {
	want := []string{"a person swimming in ocean", "a car, \"fast\"", "büro"}
	text := "a person swimming in ocean\n\n \t\u00a0\n  a car, \"fast\" \r\nbüro"
	lines := `{"prompt": "a person swimming in ocean", "negative_prompt": "blurry"}` + "\n\n" + `{"negative_prompt": "blurry", "prompt": "a car, \"fast\""}` +
		"\n" + `{"prompt": "b\u00fcro", "negative_prompt": "blurry"}` + "\n"
	for name, c := range map[string]struct{ content, negative string }{
		"vbench_prompts.txt": {text, ""}, "data/vbench_prompts.txt": {text, ""}, "wan22_prompts.jsonl": {lines, "blurry"},
	} {
		dir := folder(t, name, c.content)
		s, err := Read(dir, 0)
		if err != nil || !slices.Equal(s.Prompts, want) || s.Negative != c.negative || s.Noise != "" || s.Path != filepath.Join(dir, name) {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
		if s, err := Read(dir, 2); err != nil || !slices.Equal(s.Prompts, want[:2]) {
			t.Errorf("%s: the first two are %q, %v", name, s.Prompts, err)
		}
	}
}

func TestPromptErrors(t *testing.T) {
	for _, c := range []struct {
		name, content string
		count         int
		want          string
	}{
		{"vbench_prompts.txt", " \n\n", 0, "vbench_prompts.txt … 0 … 1"},
		{"vbench_prompts.txt", "a\nb\n", 3, "2 … 3"},
		{"vbench_prompts.txt", "a\n\xff\n", 0, "line 2 … UTF-8"},
		{"wan22_prompts.jsonl", `{"prompt": "a", "negitive_prompt": "b"}`, 0, "line 1 … negitive_prompt"},
		{"wan22_prompts.jsonl", "{\"prompt\": \"a\"}\n{\"prompt\": \" \"}", 0, "line 2 … prompt … empty"},
		{"wan22_prompts.jsonl", "{\"prompt\": \"a\"}\n{\"prompt\": \"b\", \"negative_prompt\": \"c\"}", 0, "line 2 … negative_prompt"},
		{"wan22_prompts.jsonl", `{"prompt": 3}`, 0, "line 1"},
		{"other.txt", "a", 0, "vbench_prompts.txt … wan22_prompts.jsonl"},
	} {
		if _, err := Read(folder(t, c.name, c.content), c.count); !testenv.Names(err, c.want) {
			t.Errorf("%s %q: %v, want %q", c.name, c.content, err, c.want)
		}
	}
}

func TestNoise(t *testing.T) {
	dir := folder(t, "vbench_prompts.txt", "a")
	path := filepath.Join(dir, "fixed_latent.npy")
	values := make([]float32, 16*2*3*4)
	values[5] = 1.5
	if err := npy.WriteFile(path, tensor.Of(values, 1, 16, 2, 3, 4)); err != nil {
		t.Fatal(err)
	}
	s, err := Read(dir, 0)
	if err != nil || s.Noise != path {
		t.Fatalf("%+v, %v", s, err)
	}
	n, err := ReadNoise(s.Noise)
	if err != nil || !slices.Equal(n.Shape, tensor.Shape{16, 2, 3, 4}) || !slices.Equal(n.Values, values) {
		t.Errorf("%v, %v", n.Shape, err)
	}
	if err := npy.WriteFile(path, tensor.Of(values, 16, 2, 3, 4)); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadNoise(path); !testenv.Names(err, "fixed_latent.npy … [16 2 3 4] … [1 channels frames height width]") {
		t.Errorf("noise without a batch axis: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("a\nb\n"), false)
	f.Add([]byte(`{"prompt": "a", "negative_prompt": "b"}`), true)
	f.Fuzz(func(t *testing.T, data []byte, isJSON bool) {
		var s Set
		if err := s.parse(data, isJSON, 0); err == nil && (len(s.Prompts) == 0 || slices.Contains(s.Prompts, "")) {
			t.Errorf("accepted %q", s.Prompts)
		}
	})
}
