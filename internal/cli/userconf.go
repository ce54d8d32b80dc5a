package cli

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/fileio"
)

// writeUserConf puts lines into a file, in place of those that have their keys.
func writeUserConf(cmd *cobra.Command, path, lines string) error {
	const most = 1 << 20
	old, err := fileio.ReadFile(path, most)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	text := string(old)
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	key := func(line string) string {
		before, _, _ := strings.Cut(line, "=")
		return strings.TrimSpace(before)
	}
	var kept strings.Builder
	for line := range strings.Lines(text) {
		if !slices.ContainsFunc(strings.Split(lines, "\n"), func(new string) bool { return key(new) == key(line) }) {
			kept.WriteString(line)
		}
	}
	if err := fileio.WriteFile(path, []byte(kept.String()+lines+"\n"), 0o644); err != nil {
		return err
	}
	return say(cmd.ErrOrStderr(), "written into %s: %s\n", path, strings.ReplaceAll(lines, "\n", ", "))
}
