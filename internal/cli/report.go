package cli

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/charts"
	"github.com/mlperf-go/mlperf/internal/report/importlog"
	"github.com/mlperf-go/mlperf/internal/report/page"
	"github.com/mlperf-go/mlperf/internal/run/outdir"
)

func newReport() *cobra.Command {
	var format, output string
	var price float64
	asJSON, together := false, false
	formats := []string{"table", "csv", "json", "markdown", "html", "mlmark"}
	cmd := &cobra.Command{
		Use:   "report [RUN_DIR…]",
		Short: "List runs side by side: as a table, CSV, JSON, Markdown, a page with charts, or as MLMark does",
		Long: `List the runs below folders (default: results), also those that another LoadGen has
logged: what its logs do not say, for instance the engine, is not known.

--format html writes a page, one file that needs no network: of one run the same as run
writes beside its results, of several a table that sorts, and speed against accuracy. A
browser prints it, or makes a PDF of it.

--format mlmark shows what EEMBC's MLMark reports: frames per second, 95th-percentile
latency, and accuracy, beside precision, batch and concurrency, with three significant
digits. Accuracy is that of the newest accuracy run of the same model file on the same
engine and device. With --price, the price of the system in dollars, it also shows frames
per second per dollar. These are not MLMark scores: those come from EEMBC's own program.

--together lists runs of several clients that loaded one service at the same time
(docs/clusters.md): the verdict of each, for how long all of them sent requests, and which
drew the same traffic. It shows no sum. It is an error if their servers, models or
scenarios differ, or if they did not run at the same time.`,
		Example: `  mlperf report
  mlperf report --format html --output report.html results
  mlperf report --format mlmark --price 1499 results/mobilenet
  mlperf report --format csv results/resnet50/server/performance/latest
  mlperf report --together client0 client1 client2`,
		Args: arguments(0, 1000),
		RunE: func(cmd *cobra.Command, folders []string) error {
			format, err := chosenFormat(cmd.Flags(), formats, format, asJSON)
			if err != nil {
				return err
			}
			if !(price >= 0) || math.IsInf(price, 1) {
				return usage("--price is %g: must be dollars", price)
			}
			var others []report.Run // the accuracy of a run may come from another one
			if len(folders) == 0 {
				folders = []string{outdir.Root}
			} else {
				others, _, _ = report.Collect([]string{outdir.Root}, report.Read) // it need not exist
			}
			runs, err := readRuns(cmd, folders)
			if err != nil {
				return err
			}
			if together {
				return reportTogether(cmd, runs, format, output)
			}
			lines := report.Lines(runs, others, price)
			name, fill := output, func(w io.Writer) error { return report.Table(w, lines) }
			switch format {
			case "mlmark":
				fill = func(w io.Writer) error { return report.MLMark(w, lines) }
			case "csv":
				fill = func(w io.Writer) error { return report.CSV(w, lines) }
			case "json":
				fill = func(w io.Writer) error { return printJSON(w, "report", lines) }
			case "markdown":
				fill = func(w io.Writer) error { return report.Markdown(w, lines) }
			case "html":
				if name, err = pageName(name, "report.html"); err != nil {
					return err
				}
				for i, l := range lines {
					lines[i].Page = pageOf(l.Folder, filepath.Dir(name))
				}
				fill = func(w io.Writer) error { return page.Runs(w, lines, runs, program()) }
				if len(runs) == 1 {
					c, err := charts.Read(runs[0].Folder)
					if err != nil {
						return err
					}
					fill = func(w io.Writer) error { return page.Run(w, runs[0].Results, c, price) }
				}
			}
			return writeOutput(cmd, name, fill)
		},
	}
	f := cmd.Flags()
	defineFormat(cmd, &format, formats)
	f.Float64Var(&price, "price", 0, "price of the system in dollars")
	f.BoolVar(&together, "together", false, "runs of several clients that loaded one service at the same time (table, json)")
	f.StringVar(&output, "output", "", "file to write (default: standard output; html: report.html)")
	f.BoolVar(&asJSON, "json", false, "print as JSON, with the id of its form")
	return cmd
}

// reportTogether lists runs of clients of one service.
func reportTogether(cmd *cobra.Command, runs []report.Run, format, output string) error {
	if format != "table" && format != "json" {
		return usage("--together has the formats table and json, not %s", format)
	}
	t, err := report.OfOneService(runs)
	if err != nil {
		return fmt.Errorf("--together: %w", err)
	}
	if format == "json" {
		return writeOutput(cmd, output, func(w io.Writer) error { return printJSON(w, "together", t) })
	}
	return writeOutput(cmd, output, t.Write)
}

// pageName is the file that the user named, or another that has no page of another program, or of the user.
func pageName(named, other string) (string, error) {
	if named != "" {
		return named, nil
	}
	const most = 1 << 30
	text, err := fileio.ReadFile(other, most)
	if _, there := os.Lstat(other); there == nil && (err != nil || !bytes.Contains(text[:min(len(text), 1024)], []byte(page.Mark))) {
		return "", usage("%s is there already, and is not of this program: name a file with --output", other)
	}
	return other, nil
}

// writeOutput writes to a file, or to standard output if it has no name or is "-".
func writeOutput(cmd *cobra.Command, name string, fill func(io.Writer) error) error {
	switch name {
	case "":
		return sayDocument(cmd.OutOrStdout(), fill)
	case "-":
		return fill(cmd.OutOrStdout())
	}
	if err := fileio.WriteAtomic(name, 0o644, fill); err != nil {
		return err
	}
	return say(cmd.OutOrStdout(), "Written: %s\n", name)
}

// readRuns reads the runs below folders, also those that another LoadGen has logged.
func readRuns(cmd *cobra.Command, folders []string) ([]report.Run, error) {
	runs, problems, err := report.Collect(folders, func(dir string) (*report.Results, error) {
		r, err := importlog.Read(dir, importlog.About{})
		if err == nil {
			r.UnderWay = underWay(dir, r)
		}
		return r, err
	})
	if err != nil {
		return nil, err
	}
	for _, p := range problems {
		_ = say(cmd.ErrOrStderr(), "left out: %v\n", p)
	}
	if len(runs) == 0 {
		return nil, fmt.Errorf("no runs below %s", strings.Join(folders, ", "))
	}
	return runs, nil
}

// underWay reports whether a run has not ended: one of this machine has its folder locked, and one of another machine wrote a
// checkpoint in the last minutes.
func underWay(dir string, r *report.Results) bool {
	const fresh = 150 * time.Second // there is one a minute
	if r.Result != report.Interrupted || len(r.Files) > 0 {
		return false
	}
	if host, err := os.Hostname(); err != nil || host == r.Host {
		return outdir.Locked(dir)
	}
	info, err := os.Stat(filepath.Join(dir, report.FileName))
	return err == nil && time.Since(info.ModTime()) < fresh
}

// pageOf is the link from a folder to the page of a run; empty: it has none.
func pageOf(run, from string) string {
	at := filepath.Join(run, page.FileName)
	if abs, err := filepath.Abs(from); err == nil {
		from = abs
	}
	abs, err := filepath.Abs(at)
	if err != nil || !fileio.Exists(abs) {
		return ""
	}
	link, err := filepath.Rel(from, abs)
	if err != nil {
		return ""
	}
	return (&url.URL{Path: filepath.ToSlash(link)}).String()
}
