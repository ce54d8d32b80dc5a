package survey

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/scripts"
)

// fix runs the installs that mend what is missing, after asking, and reports whether it ran one.
func fix(cmd *cobra.Command, d *run.Diagnosis, yes bool) (ran bool, err error) {
	for _, r := range d.Missing {
		if !r.Installs {
			continue
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "MISSING: %s\n", r.What)
		if !yes && !cli.Confirmed(cmd, "Run install_onnxruntime.sh, which downloads ONNX Runtime into "+d.Data+", now?", false) {
			fmt.Fprintln(cmd.ErrOrStderr(), "nothing was installed: --yes installs without asking")
			continue
		}
		if err := install(cmd); err != nil {
			return ran, fmt.Errorf("installing ONNX Runtime: %w", err)
		}
		ran = true
	}
	return ran, nil
}

// install runs the script that is part of the program.
func install(cmd *cobra.Command) (err error) {
	folder, err := os.MkdirTemp("", "mlperf-install-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	path := filepath.Join(folder, "install_onnxruntime.sh")
	if err := os.WriteFile(path, []byte(scripts.InstallONNXRuntime), 0o700); err != nil {
		return err
	}
	script := exec.CommandContext(cmd.Context(), "sh", path)
	script.Stdout, script.Stderr = cmd.ErrOrStderr(), cmd.ErrOrStderr()
	return script.Run()
}
