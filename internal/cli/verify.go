package cli

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/download"
	"github.com/mlperf-go/mlperf/internal/report"
)

func newVerify() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check a data set or a model that is on this machine",
		Long: `Check a data set or a model that is on this machine: layout, counts, checksums where they
are published or were noted when it was downloaded or first seen, and whether the lists and
annotations agree with the files. Nothing there is changed. If anything is wrong, the exit
status is 1, and the output names the command that repairs it.`,
		Example: "  mlperf verify dataset imagenet --dir imagenet --count 12",
	}
	cmd.AddCommand(newVerifyItem(download.Dataset), newVerifyItem(download.Model))
	return cmd
}

func newVerifyItem(kind download.Kind) *cobra.Command {
	var o download.VerifyOptions
	asJSON := false
	cmd := &cobra.Command{
		Use:               string(kind) + " NAME",
		Args:              arguments(1, 1),
		ValidArgsFunction: completeItems(kind),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, it, err := lookupItem(kind, args[0])
			if err != nil {
				return err
			}
			usual, err := it.UsualDir()
			if err != nil {
				return err
			}
			if o.Dir == "" {
				o.Dir = usual
			}
			display := newDisplay(cmd)
			defer display.Done()
			o.Observer = display
			found, err := download.Verify(cmd.Context(), it, o)
			display.Done()
			if errors.Is(err, download.ErrNotThere) {
				return fmt.Errorf("%w: %s gets it", err, repairCommand(it, &download.Report{Dir: o.Dir, Count: o.Count, Ours: true}, usual))
			}
			if err != nil {
				return err
			}
			repair := ""
			if !found.OK() {
				repair = repairCommand(it, found, usual)
			}
			if asJSON {
				err = printJSON(cmd.OutOrStdout(), "verify", struct {
					*download.Report
					Repair string `json:"repair,omitempty"`
				}{found, repair})
			} else {
				err = printReport(cmd, it, found, repair)
			}
			if err == nil && !found.OK() {
				err = fmt.Errorf("%s %s in %s is not as it should be", it.Kind, it.Name, o.Dir)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&o.Dir, "dir", "", "folder (default: where mlperf download puts it)")
	cmd.Flags().IntVar(&o.MaxProblems, "max-problems", 10, "how many problems of each kind to print")
	jsonFlag(cmd.Flags(), &asJSON)
	if kind == download.Dataset {
		cmd.Short = "Check a data set"
		cmd.Example = "  mlperf verify dataset imagenet --dir imagenet --count 12"
		cmd.Flags().BoolVar(&o.Accept, "accept", false, "take files without a known checksum as they are now; runs compare with that")
		cmd.Flags().IntVar(&o.Count, "count", 0, "how many samples there should be (default: as downloaded, or all)")
	} else {
		cmd.Short = "Check a model"
		cmd.Example = "  mlperf verify model mobilenet --dir models/mobilenet"
	}
	return cmd
}

// repairCommand is the command that gets the missing and the damaged files of a folder. A folder that download did not make has
// files that it replaces only by force.
func repairCommand(it download.Item, found *download.Report, usual string) string {
	words := []string{"mlperf", "download", string(it.Kind), it.Name}
	if found.Dir != usual {
		words = append(words, "--dir", found.Dir)
	}
	if found.Count > 0 {
		words = append(words, "--count", strconv.Itoa(found.Count), "--seed", strconv.FormatUint(found.Seed, 10))
	}
	if len(it.Steps) > 0 {
		words = append(words, "--from-file", "PATH")
	}
	if !found.Ours {
		words = append(words, "--force")
	}
	return report.CommandLine(words)
}

func printReport(cmd *cobra.Command, it download.Item, r *download.Report, repair string) error {
	w := cmd.OutOrStdout()
	_ = say(w, "%s %s in %s\n", it.Kind, it.Name, r.Dir)
	for _, kind := range []struct {
		word  string
		texts []string
	}{{"fine", r.Fine}, {"unknown", r.Unknown}, {"wrong", r.Problems}} {
		for _, text := range kind.texts {
			_ = say(w, "  %-8s %s\n", kind.word, text)
		}
	}
	if r.More > 0 {
		_ = say(w, "  wrong    … and %d more\n", r.More)
	}
	if repair != "" {
		_ = say(w, "  repair   %s\n", repair)
	}
	switch n := len(r.Problems) + r.More; n {
	case 0:
		return say(w, "nothing is wrong\n")
	case 1:
		return say(w, "1 problem\n")
	default:
		return say(w, "%d problems\n", n)
	}
}
