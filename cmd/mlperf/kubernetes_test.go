package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/mlperf-go/mlperf/internal/cli"
)

// TestManifests checks that each document of configs/kubernetes has a kind of the API that it names, that each container has
// an image and resources, and that those of this program use verbs and flags that exist.
func TestManifests(t *testing.T) {
	kinds := map[string]string{
		"PersistentVolumeClaim": "v1", "Service": "v1", "Job": "batch/v1", "Deployment": "apps/v1",
		"ServingRuntime": "serving.kserve.io/v1alpha1", "InferenceService": "serving.kserve.io/v1beta1",
	}
	files, err := filepath.Glob("../../configs/kubernetes/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	ours := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for d := yaml.NewDecoder(bytes.NewReader(text)); ; {
			var document map[string]any // a key that is there twice is an error
			if err := d.Decode(&document); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			kind, _ := document["kind"].(string)
			metadata, _ := document["metadata"].(map[string]any)
			if version := document["apiVersion"]; kinds[kind] == "" || version != kinds[kind] || metadata["name"] == nil || document["spec"] == nil {
				t.Errorf("%s: kind %q of apiVersion %v, metadata %v", file, kind, version, metadata)
			}
			for _, c := range containersOf(document) {
				image, _ := c["image"].(string)
				if image == "" || c["name"] == nil || c["resources"] == nil {
					t.Errorf("%s: container %v has no name, image or resources", file, c["name"])
				}
				if image != "mlperf:latest" {
					continue
				}
				ours++
				var args []string
				for _, a := range c["args"].([]any) {
					args = append(args, a.(string))
				}
				cmd, rest, err := cli.New(io.Discard, io.Discard).Find(args)
				if err == nil {
					err = cmd.ParseFlags(rest)
				}
				if err != nil {
					t.Errorf("%s: mlperf %q: %v", file, args, err)
				}
			}
		}
	}
	if ours < 3 {
		t.Errorf("%d containers of mlperf in %v, want three", ours, files)
	}
}

// containersOf finds the containers in a document, wherever they are.
func containersOf(v any) (list []map[string]any) {
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			list = append(list, containersOf(x)...)
		}
	case map[string]any:
		for key, x := range v {
			if key == "containers" {
				for _, c := range x.([]any) {
					list = append(list, c.(map[string]any))
				}
				continue
			}
			list = append(list, containersOf(x)...)
		}
	}
	return list
}
