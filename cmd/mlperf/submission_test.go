package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mlperf-go/mlperf/internal/power/ptdtest"
)

// TestSubmissionScripts runs testdata/submission/*.txtar. Each script has a tree that the
// official checker passes, as submission, and at $PTD a stand-in for PTDaemon.
func TestSubmissionScripts(t *testing.T) {
	t.Parallel()
	made := material(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/submission",
		Setup: func(env *testscript.Env) error {
			env.Setenv("PTD", ptdtest.New().Serve(t))
			return errors.Join(extractTree(filepath.Join(env.WorkDir, "submission")), setup(env, made))
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"status": status, "finishes": finishes},
	})
}

func extractTree(dir string) error {
	f, err := os.Open("../../internal/submission/checker/testdata/v6.1.tar.gz")
	if err != nil {
		return err
	}
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	for r := tar.NewReader(unzipped); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return f.Close()
		}
		var data []byte
		if err == nil {
			data, err = io.ReadAll(r)
		}
		path := filepath.Join(dir, header.Name)
		if err := errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, data, 0o644)); err != nil {
			return errors.Join(err, f.Close())
		}
	}
}
