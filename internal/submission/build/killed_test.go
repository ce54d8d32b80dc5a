package build

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// buildInChild says that this process is a build that its parent kills.
const buildInChild = "BUILD_UNTIL_KILLED"

func TestABuildThatIsKilledLeavesNoTree(t *testing.T) {
	q := foreign(t, "v6.1")
	if dir := os.Getenv(buildInChild); dir != "" {
		q.Tree, q.Runs = filepath.Join(dir, "tree"), []string{filepath.Join(dir, "runs")}
		_, err := Build(t.Context(), q)
		t.Fatalf("the build came to an end: %v", err)
	}
	t.Parallel()
	dir := t.TempDir()
	ok(t, os.Rename(q.Runs[0], filepath.Join(dir, "runs")))
	log := filepath.Join(dir, "runs", home, "results/board1/resnet50/Offline/accuracy/mlperf_log_accuracy.json")
	ok(t, os.Truncate(log, 1<<40)) // which takes long to read
	child := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
	child.Env = append(os.Environ(), buildInChild+"="+dir, "TMPDIR="+t.TempDir()) // it cannot remove its own
	ok(t, child.Start())
	staging := filepath.Join(dir, ".mlperf-submission-*", "tree", home, "results")
	for began := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		if made, _ := filepath.Glob(staging); len(made) > 0 {
			break
		}
		if time.Since(began) > time.Minute {
			t.Fatal("the build does not begin")
		}
	}
	ok(t, child.Process.Kill())
	_ = child.Wait() // killed
	if there(filepath.Join(dir, "tree")) {
		t.Error("a build that was killed left a tree")
	}
	again := foreign(t, "v6.1")
	again.Tree = filepath.Join(dir, "tree")
	_, err := Build(t.Context(), again)
	ok(t, err)
}
