package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"go.yaml.in/yaml/v3"
)

// containersOf finds the containers that run this program, wherever they are in a manifest.
func containersOf(v any) (list [][]string) {
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			list = append(list, containersOf(x)...)
		}
	case map[string]any:
		if v["image"] == "mlperf:latest" {
			var args []string
			for _, a := range v["args"].([]any) {
				args = append(args, a.(string))
			}
			list = append(list, args)
		}
		for _, x := range v {
			list = append(list, containersOf(x)...)
		}
	}
	return list
}

func TestManifestsUseCommandsThatThereAre(t *testing.T) {
	files, err := filepath.Glob("../../configs/kubernetes/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for d := yaml.NewDecoder(bytes.NewReader(text)); ; {
			var document any
			if err := d.Decode(&document); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			for _, args := range containersOf(document) {
				found++
				cmd, rest, err := newRoot(io.Discard, io.Discard).Find(args)
				if err == nil {
					err = cmd.ParseFlags(rest)
				}
				if err != nil {
					t.Errorf("%s: mlperf %q: %v", file, args, err)
				}
			}
		}
	}
	if found < 3 {
		t.Errorf("%d containers of mlperf in %v, want three", found, files)
	}
}
