package results

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/charts"
	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/figures"
	"github.com/mlperf-go/mlperf/internal/foreign"
	"github.com/mlperf-go/mlperf/internal/page"
	"github.com/mlperf-go/mlperf/internal/picture"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/session"
	"github.com/mlperf-go/mlperf/internal/whole"
)

// reportFormats are the values of --format.
var reportFormats = append([]string{"mlmark", "table", "csv", "json", formatHTML}, picture.Formats()...)

const formatHTML = "html"

// A reportRequest is what the flags of report ask for.
type reportRequest struct {
	folders       []string
	format        string
	price         float64
	output, chart string
	asJSON        bool
}

func newReport() *cobra.Command {
	q := reportRequest{format: "table"}
	cmd := &cobra.Command{
		Use:   "report [RUN_DIR…]",
		Short: "List runs side by side: as a table, CSV, JSON, a page, or as MLMark does; draw charts of one",
		Long: `List the runs below folders (default: results), also those that another LoadGen has
logged: what its logs do not say, such as the engine, is not known.

--format html writes a page, one file that needs no network: of one run what run writes
beside its results, of several a table that sorts, and speed against accuracy. png and svg
draw one chart, which --chart names.

--format mlmark shows what EEMBC's MLMark reports: frames per second, 95th-percentile
latency, and accuracy, beside precision, batch and concurrency, with three significant
digits. Accuracy is that of the newest accuracy run of the same model file on the same
engine and device. With --price, the price of the system in dollars, it also shows frames
per second per dollar. These are not MLMark scores: those come from EEMBC's own program.`,
		Example: `  mlperf report
  mlperf report --format html --output report.html results
  mlperf report --format svg --chart latency --output latency.svg results/resnet50/server/performance/latest
  mlperf report --format mlmark --price 1499 results/mobilenet
  mlperf report --format csv results/resnet50/server/performance/latest`,
		Args: cli.Arguments(0, 1000),
		RunE: func(cmd *cobra.Command, args []string) error {
			q.folders = args
			return q.run(cmd)
		},
	}
	f := cmd.Flags()
	f.StringVar(&q.format, "format", q.format, strings.Join(reportFormats, ", "))
	f.Float64Var(&q.price, "price", 0, "price of the system in dollars")
	f.StringVar(&q.output, "output", "", "file to write (default: standard output; html, png and svg: report.html, CHART.png, CHART.svg)")
	f.BoolVar(&q.asJSON, "json", false, "print as JSON, with the id of its form")
	f.StringVar(&q.chart, "chart", "", "chart of a picture: distribution, latency, throughput, queue, delay, … (default: the first)")
	cli.Completes(cmd, "format", reportFormats...)
	return cmd
}

func (q reportRequest) run(cmd *cobra.Command) error {
	var err error
	if q.format, err = cli.FormatOf(cmd.Flags(), q.format, q.asJSON); err != nil {
		return err
	}
	if err := q.check(); err != nil {
		return err
	}
	lines, runs, err := reportLines(cmd, q.folders, q.price)
	if err != nil {
		return err
	}
	switch {
	case slices.Contains(picture.Formats(), q.format):
		return q.picture(cmd, lines, runs)
	case q.format == formatHTML:
		return q.page(cmd, lines, runs)
	}
	return q.write(cmd, "", func(w io.Writer) error { return printLines(w, q.format, lines) })
}

// check finds what cannot be reported.
func (q reportRequest) check() error {
	if !slices.Contains(reportFormats, q.format) {
		return cli.Usage("unknown format %q, want %s", q.format, strings.Join(reportFormats, ", "))
	}
	if !(q.price >= 0) || math.IsInf(q.price, 1) {
		return cli.Usage("--price is %g, want dollars", q.price)
	}
	if q.chart != "" && !slices.Contains(picture.Formats(), q.format) {
		return cli.Usage("--chart %s is of a picture, want --format %s, not %s", q.chart, strings.Join(picture.Formats(), " or "), q.format)
	}
	return nil
}

// page writes the page of a run, or a list of several.
func (q reportRequest) page(cmd *cobra.Command, lines []report.Line, runs []report.Run) error {
	const name = "report.html"
	if len(runs) > 1 {
		return q.write(cmd, name, func(w io.Writer) error { return page.Runs(w, lines, runs, cli.Program()) })
	}
	c, err := charts.Read(runs[0].Folder)
	if err != nil {
		return err
	}
	return q.write(cmd, name, func(w io.Writer) error { return page.Run(w, runs[0].Results, c, q.price) })
}

// picture draws one chart: of a run, or of speed against accuracy if there are several.
func (q reportRequest) picture(cmd *cobra.Command, lines []report.Line, runs []report.Run) error {
	list := figures.Trades(lines)
	if len(runs) == 1 {
		c, err := charts.Read(runs[0].Folder)
		if err != nil {
			return err
		}
		list = figures.Of(runs[0].Results, c)
	}
	if len(list) == 0 {
		return errors.New("there is nothing to draw: a run needs charts.json, which runs write since this version, and several runs an accuracy each")
	}
	var names []string
	for _, f := range list {
		if f.ID == q.chart || q.chart == "" {
			return q.write(cmd, f.ID+"."+q.format, func(w io.Writer) error { return picture.Draw(w, f, q.format) })
		}
		names = append(names, f.ID)
	}
	return cli.Usage("there is no chart %q, there are %s", q.chart, strings.Join(names, ", "))
}

// write writes to the file of --output, to another by default, or to standard output where there
// is no default.
func (q reportRequest) write(cmd *cobra.Command, name string, fill func(io.Writer) error) error {
	if q.output != "" {
		name = q.output
	}
	switch name {
	case "":
		return cli.Document(cmd.OutOrStdout(), fill)
	case "-": // which may be a picture
		return fill(cmd.OutOrStdout())
	}
	if err := whole.Write(name, 0o644, fill); err != nil {
		return err
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "Written: %s\n", name)
	return err
}

// reportLines lists the runs below folders. Their accuracy may also come from another run in
// the folder where runs are kept.
func reportLines(cmd *cobra.Command, folders []string, price float64) ([]report.Line, []report.Run, error) {
	var others []report.Run
	if len(folders) == 0 {
		folders = []string{session.KeptRuns}
	} else {
		others, _, _ = report.Collect([]string{session.KeptRuns}, report.Read) // it need not exist
	}
	runs, problems, err := report.Collect(folders, func(dir string) (*report.Results, error) { return foreign.Read(dir, foreign.About{}) })
	if err != nil {
		return nil, nil, err
	}
	for _, p := range problems {
		_ = cli.Say(cmd.ErrOrStderr(), "left out: %v\n", p)
	}
	if len(runs) == 0 {
		return nil, nil, fmt.Errorf("there are no runs below %s", strings.Join(folders, ", "))
	}
	return report.Lines(runs, others, price), runs, nil
}

func printLines(w io.Writer, format string, lines []report.Line) error {
	switch format {
	case "mlmark":
		return report.MLMark(w, lines)
	case "csv":
		return report.CSV(w, lines)
	case "json":
		return cli.PrintJSON(w, "report", lines)
	}
	return report.Table(w, lines)
}
