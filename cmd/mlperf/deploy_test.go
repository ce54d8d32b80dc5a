package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/mlperf-go/mlperf/internal/cli"
)

// versionVariable is the variable that the linker sets; with a wrong name it would do nothing, without an error.
var versionVariable = strings.TrimSuffix(runtime.FuncForPC(reflect.ValueOf(cli.Run).Pointer()).Name(), "Run") + "version"

// The Dockerfile is not run here: its references to the repository are checked.
func TestDockerfile(t *testing.T) {
	text, err := os.ReadFile("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(mod)
	if !strings.Contains(string(text), "FROM golang:"+string(version[1])+"-") {
		t.Errorf("the Dockerfile has another Go than the %s of go.mod", version[1])
	}
	for _, match := range regexp.MustCompile(`(?m)^COPY ([^-$].*) \S+$`).FindAllSubmatch(text, -1) {
		for _, path := range strings.Fields(string(match[1])) {
			if _, err := os.Stat(filepath.Join("../..", path)); err != nil {
				t.Errorf("COPY %s: %v", path, err)
			}
		}
	}
	out, err := exec.Command("sh", "../../scripts/install_onnxruntime.sh", "--print-path", "--dir", "/usr/local/lib/onnxruntime").Output()
	if err != nil {
		t.Fatal(err)
	}
	if path := strings.TrimSpace(string(out)); runtime.GOOS == "linux" && !strings.Contains(string(text), "MLPERF_ORT_LIB="+path+" ") {
		t.Errorf("the library is not where the script puts it: %s", path)
	}
	release, err := os.ReadFile("../../.goreleaser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for file, setting := range map[string]string{string(text): "=$VERSION", string(release): "={{ .Version }}"} {
		if !strings.Contains(file, "-X "+versionVariable+setting) {
			t.Errorf("no %s in\n%s", versionVariable, file)
		}
	}
	if !strings.Contains(string(text), "\nUSER mlperf\n") {
		t.Error("the program runs as root")
	}
}

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

// The Indexed Job of suite.yaml has as many pods as its suite has parts, each with a folder and a machine of its own, and
// gather.yaml reads these folders.
func TestIndexedJob(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile("../../configs/kubernetes/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	_, text, _ := strings.Cut(read("suite.yaml"), "\n---\n")
	var job struct {
		Spec struct {
			CompletionMode           string `yaml:"completionMode"`
			Completions, Parallelism int
			BackoffLimitPerIndex     *int `yaml:"backoffLimitPerIndex"`
			Template                 struct {
				Spec struct {
					Affinity struct {
						PodAntiAffinity struct {
							Required []struct {
								TopologyKey string `yaml:"topologyKey"`
							} `yaml:"requiredDuringSchedulingIgnoredDuringExecution"`
						} `yaml:"podAntiAffinity"`
					}
					Containers []struct {
						Args []string
						Env  []struct {
							Name      string
							ValueFrom struct {
								FieldRef struct {
									FieldPath string `yaml:"fieldPath"`
								} `yaml:"fieldRef"`
							} `yaml:"valueFrom"`
						}
					}
				}
			}
		}
	}
	if err := yaml.Unmarshal([]byte(text), &job); err != nil {
		t.Fatal(err)
	}
	s := job.Spec
	pod := s.Template.Spec
	if s.CompletionMode != "Indexed" || s.Completions < 2 || s.Parallelism != s.Completions || s.BackoffLimitPerIndex == nil || *s.BackoffLimitPerIndex != 0 {
		t.Errorf("the job is %+v", s)
	}
	if r := pod.Affinity.PodAntiAffinity.Required; len(r) != 1 || r[0].TopologyKey != "kubernetes.io/hostname" {
		t.Errorf("two pods may share a machine: %+v", r)
	}
	c := pod.Containers[0]
	if e := c.Env[0]; e.Name != "PART" || e.ValueFrom.FieldRef.FieldPath != "metadata.annotations['batch.kubernetes.io/job-completion-index']" {
		t.Errorf("the variable is %+v", e)
	}
	for i := range s.Completions {
		args := strings.ReplaceAll(strings.Join(c.Args, " "), "$(PART)", strconv.Itoa(i))
		if want := fmt.Sprintf("suite run edge --part=%d/%d --output=/results/runs/%d --resume", i, s.Completions, i); args != want {
			t.Errorf("pod %d runs mlperf %s, want %s", i, args, want)
		}
	}
	if !strings.Contains(read("gather.yaml"), "- /results/runs\n") {
		t.Error("gather.yaml reads other folders")
	}
}
