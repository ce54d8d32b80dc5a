package main

import (
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mlperf-go/mlperf/internal/machine/power/ptdtest"
	"github.com/mlperf-go/mlperf/internal/testenv"
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
			testenv.Extract(t, "../../internal/submission/checker/testdata/v6.1.tar.gz", filepath.Join(env.WorkDir, "submission"))
			return setup(env, made)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"status": status, "finishes": finishes},
	})
}
