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

// fakeGo is a Go command that notes its calls and builds a program which only makes manual pages.
const fakeGo = `#!/bin/sh
case $1 in
env) case $2 in GOHOSTOS) echo linux ;; GOHOSTARCH) echo amd64 ;; esac ;;
build)
	echo "$GOOS/$GOARCH cgo=$CGO_ENABLED cc=${CC:-none} $*" >>"$CALLS"
	while [ "$1" != -o ]; do shift; done
	printf '#!/bin/sh\nmkdir -p "$2"; echo page >"$2/mlperf.1"\n' >"$2"
	chmod +x "$2" ;;
run) # of scripts/wheel --version V --output DIR PROGRAM
	arch=${7##*-1.2.0-}
	echo wheel >"$6/mlperf-$4-${arch%/*}.whl"
	echo "$6/mlperf-$4-${arch%/*}.whl" ;;
esac
`

func TestRelease(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the script is for sh")
	}
	script, err := filepath.Abs("../../scripts/release.sh")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte(fakeGo), 0o755); err != nil {
		t.Fatal(err)
	}
	release := func(args ...string) (string, error) {
		cmd := exec.Command("sh", append([]string{script}, args...)...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GO="+filepath.Join(dir, "go"), "CALLS="+filepath.Join(dir, "calls"), "CC_linux_arm64=aarch64-cc", "SOURCE_DATE_EPOCH=1000000000")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := release("--version", "v1.2.0", "--output", "out", "--targets", "linux/amd64 linux/arm64 darwin/arm64"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	sums, err := os.ReadFile(filepath.Join(dir, "out", "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"mlperf-1.2.0-linux-amd64.tar.gz", "mlperf-1.2.0-linux-arm64.tar.gz", "mlperf-1.2.0-darwin-arm64-without-onnxruntime.tar.gz",
		"mlperf-1.2.0-linux-amd64.whl", "mlperf-1.2.0-linux-arm64.whl"} {
		if !regexp.MustCompile(`(?m)^[0-9a-f]{64}  ` + regexp.QuoteMeta(name) + `$`).Match(sums) {
			t.Errorf("no checksum of %s in\n%s", name, sums)
		}
	}
	if strings.Contains(string(sums), "without-onnxruntime.whl") {
		t.Errorf("a wheel of a program that cannot run models:\n%s", sums)
	}
	list, err := exec.Command("tar", "-tzf", filepath.Join(dir, "out", "mlperf-1.2.0-linux-amd64.tar.gz")).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"mlperf", "LICENSE", "README.md", "scripts/install_onnxruntime.sh", "man/mlperf.1"} {
		if !strings.Contains(string(list), "mlperf-1.2.0-linux-amd64/"+file+"\n") {
			t.Errorf("the archive lacks %s:\n%s", file, list)
		}
	}
	calls, err := os.ReadFile(filepath.Join(dir, "calls"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"linux/amd64 cgo=1 cc=", "linux/arm64 cgo=1 cc=aarch64-cc", "darwin/arm64 cgo=0", "-X " + versionVariable + "=1.2.0"} {
		if !strings.Contains(string(calls), want) {
			t.Errorf("no %q in\n%s", want, calls)
		}
	}
	for _, wrong := range [][]string{{"--version"}, {"--fast"}, {"--version", "1 2"}, {"--targets", "linux", "--output", "out2"}} {
		if out, err := release(wrong...); err == nil {
			t.Errorf("%q is accepted:\n%s", wrong, out)
		}
	}
}

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
	for _, match := range regexp.MustCompile(`(?m)^COPY ([^-].*) \S+$`).FindAllSubmatch(text, -1) {
		for _, path := range strings.Fields(string(match[1])) {
			if _, err := os.Stat(filepath.Join("../..", path)); err != nil {
				t.Errorf("COPY %s: %v", path, err)
			}
		}
	}
	for _, match := range regexp.MustCompile(`(?m)^RUN (scripts/\S+)`).FindAllSubmatch(text, -1) {
		if info, err := os.Stat(filepath.Join("../..", string(match[1]))); err != nil || info.Mode()&0o111 == 0 {
			t.Errorf("RUN %s: %v, %v", match[1], info, err)
		}
	}
	out, err := exec.Command("sh", "../../scripts/install_onnxruntime.sh", "--print-path", "--dir", "/usr/local/lib/onnxruntime").Output()
	if err != nil {
		t.Fatal(err)
	}
	if path := strings.TrimSpace(string(out)); runtime.GOOS == "linux" && !strings.Contains(string(text), "MLPERF_ORT_LIB="+path+" ") {
		t.Errorf("the library is not where the script puts it: %s", path)
	}
	if !strings.Contains(string(text), "-X "+versionVariable+"=$VERSION") {
		t.Errorf("the Dockerfile does not set %s", versionVariable)
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
			BackoffLimit             *int `yaml:"backoffLimit"`
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
	if s.CompletionMode != "Indexed" || s.Completions < 2 || s.Parallelism != s.Completions || s.BackoffLimit == nil || *s.BackoffLimit != 0 {
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
		if want := fmt.Sprintf("suite run edge --part=%d/%d --output=/results/runs/%d", i, s.Completions, i); args != want {
			t.Errorf("pod %d runs mlperf %s, want %s", i, args, want)
		}
	}
	if !strings.Contains(read("gather.yaml"), "- /results/runs\n") {
		t.Error("gather.yaml reads other folders")
	}
}
