//go:build linux

package main

import (
	"bufio"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

// TestWhatAKilledProcessLeavesIsRemovedByTheNext kills commands while they make something in the cache, which may take
// gigabytes.
func TestWhatAKilledProcessLeavesIsRemovedByTheNext(t *testing.T) {
	testenv.SkipLong(t, "many processes")
	made := material(t)
	for name, c := range map[string]struct{ args, left string }{
		"a data set that is being made": {"run --scenario offline --model mobilenet --backend simulated --sim-latency 1ms --quick --output out --force", "cache/datasets/.mlperf-*-*"},
		"a model that is being made":    {"run --scenario offline --model resnet50 --backend simulated --sim-latency 1ms --dataset-path imagenet --quick --output out --force", "cache/models/.mlperf-*-*"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, command := place(t, made), append([]string{self(t)}, strings.Fields(c.args)...)
			left := killedWith(t, dir, command, c.left)
			next := begin(t, dir, command)
			next.waitFor(t, "the old ones are removed", func() bool { return !slices.ContainsFunc(left, there) })
			_ = next.cmd.Process.Kill()
			<-next.done
			if slices.ContainsFunc(left, there) {
				t.Errorf("%v are still there:\n%s", left, next.text())
			}
		})
	}
}

// killedWith runs a command in a folder, kills it when something matches a pattern, and returns
// what does then. It may have been renamed just before: that is tried again.
func killedWith(t *testing.T, dir string, command []string, pattern string) []string {
	found := func() []string {
		left, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		return left
	}
	for range 50 {
		p := begin(t, dir, command)
		p.waitFor(t, "there is "+pattern, func() bool { return len(found()) > 0 })
		_ = p.cmd.Process.Kill()
		<-p.done
		if left := found(); len(left) > 0 {
			return left
		}
	}
	t.Fatalf("no command could be killed while there was %s", pattern)
	return nil
}

func there(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// TestTheServerOfASelfTestEndsWithIt closes what the server reads, as the end of a process does that is killed.
func TestTheServerOfASelfTestEndsWithIt(t *testing.T) {
	cmd := exec.Command(self(t), "selftest", "--token-server", "127.0.0.1:0", "--"+"token-server-guided")
	cmd.Env = append(os.Environ(), "TEST_AS_MLPERF=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer time.AfterFunc(longest, func() { _ = cmd.Process.Kill() }).Stop()
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.Get(strings.TrimSpace(url) + "/v1/models")
	if err != nil {
		t.Fatal("it does not answer while its input is open: ", err)
	}
	answer.Body.Close()
	if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
		t.Error("it did not end by itself: ", err)
	}
}
