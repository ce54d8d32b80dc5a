package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/cli/progress"
	"github.com/mlperf-go/mlperf/internal/download"
	"github.com/mlperf-go/mlperf/internal/machine"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

func newDownload() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "download",
		Short: "Get official data sets and models",
		Long: `Get official data sets and models. The licence is shown, and has to be accepted, before
anything is fetched. An interrupted download goes on where it stopped when the same
command is given again; what is there and right is not fetched again. Files are
checked against the checksums that their publishers give, where they give any.

What wants registration has to be got by hand: the steps are printed, and --from-file
takes what came of them. docs/data.md has the details.`,
		Example: "  mlperf download list\n  mlperf download model resnet50 --dry-run",
		Args:    cli.NoVerb,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newDownloadItem(download.Dataset), newDownloadItem(download.Model), newDownloadList())
	return cmd
}

// downloadOptions are the flags of download dataset and download model.
type downloadOptions struct {
	download.Options
	accept, dryRun bool
	asJSON         bool
	upscale        string
	upscaleFormat  string
}

func (o *downloadOptions) define(f *pflag.FlagSet, kind download.Kind) {
	f.StringVar(&o.Dir, "dir", "", "folder for it (default: below the data directory, see mlperf doctor)")
	f.StringArrayVar(&o.FromFiles, "from-file", nil, "file or folder that you have got already; may be repeated")
	f.StringVar(&o.Mirror, "mirror", "", "address of a folder that has the files by their names; asked first")
	f.BoolVar(&o.MirrorOnly, "mirror-only", false, "ask nobody but the mirror")
	f.IntVar(&o.Connections, "connections", 4, "requests at a time")
	f.BoolVar(&o.accept, "accept-license", false, "accept the licence without being asked")
	f.BoolVar(&o.dryRun, "dry-run", false, "show what would be fetched, from where, and the licence")
	f.BoolVar(&o.Force, "force", false, "replace files that are in the way")
	cli.JSONFlag(f, &o.asJSON)
	f.BoolVar(&o.KeepArchives, "keep-archives", false, "keep archives after they were unpacked")
	if kind == download.Dataset {
		f.IntVar(&o.Count, "count", 0, "only so many samples (imagenet, coco, openimages); annotations are cut to them")
		f.Uint64Var(&o.Seed, "seed", 0, "which samples --count chooses")
		f.StringVar(&o.upscale, "upscale", "", "coco: also make an enlarged copy, WIDTHxHEIGHT pixels, such as 1200x1200")
		f.StringVar(&o.upscaleFormat, "upscale-format", "png", "of the enlarged images: png (pixels as the reference's) or jpg")
	}
}

func newDownloadItem(kind download.Kind) *cobra.Command {
	var o downloadOptions
	cmd := &cobra.Command{
		Use:               string(kind) + " NAME",
		Args:              cli.Arguments(1, 1),
		ValidArgsFunction: itemNames(kind),
		RunE: func(cmd *cobra.Command, args []string) error {
			m, it, err := lookupItem(kind, args[0])
			if err != nil {
				return err
			}
			return o.run(cmd, m, it)
		},
	}
	if kind == download.Dataset {
		cmd.Short = "Get a data set and print its folder"
		cmd.Example = "  mlperf download dataset coco --dry-run\n  mlperf download dataset imagenet --count 500 --dry-run"
	} else {
		cmd.Short = "Get a model and print its file, or its folder"
		cmd.Example = "  mlperf download model retinanet --dry-run\n" +
			"  mlperf download model mobilenet --from-file my.onnx --dir models/mobilenet --accept-license"
	}
	o.define(cmd.Flags(), kind)
	return cmd
}

func (o *downloadOptions) run(cmd *cobra.Command, m *download.Manifest, it download.Item) error {
	if err := o.pointless(cmd.Flags()); err != nil {
		return err
	}
	size, err := o.prepare(it)
	if err != nil {
		return err
	}
	switch {
	case o.dryRun && o.asJSON:
		return cli.PrintJSON(cmd.OutOrStdout(), "download-plan", planned(m, it, o))
	case o.dryRun:
		return showItem(cmd.OutOrStdout(), m, it, o)
	}
	if err := acceptLicense(cmd, m.LicenseOf(it), it, o.accept); err != nil {
		return err
	}
	display := cli.NewDisplay(cmd)
	defer display.Done()
	o.Observer = display
	o.Free = func(dir string) (uint64, error) {
		disk, err := machine.DiskOf(dir)
		return disk.FreeBytes, err
	}
	got, err := o.get(cmd.Context(), m, it, size)
	display.Done()
	switch {
	case err != nil:
		return explainDownload(cmd.ErrOrStderr(), it, err)
	case o.asJSON:
		return cli.PrintJSON(cmd.OutOrStdout(), "download", downloaded{string(it.Kind), it.Name, got})
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), got.Path)
	return err
}

// downloaded is what --json says of what was got.
type downloaded struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	download.Result
}

// pointless finds flags that would be passed over without a word.
func (o *downloadOptions) pointless(f *pflag.FlagSet) error {
	if o.Count == 0 {
		if err := cli.Pointless(f, "is of --count, which is not given", "seed"); err != nil {
			return err
		}
	}
	if o.upscale == "" {
		return cli.Pointless(f, "is of --upscale, which is not given", "upscale-format")
	}
	return nil
}

// prepare checks the flags and finds the folder.
func (o *downloadOptions) prepare(it download.Item) (size [2]int, err error) {
	if o.upscale != "" {
		if it.Layout != download.LayoutCOCO {
			return size, cli.Usage("--upscale is for coco, not for %s", it.Name)
		}
		if size, err = parseSize(o.upscale); err != nil {
			return size, err
		}
		if err := wrongFlag(o.upscaling(size).Check()); err != nil {
			return size, err
		}
	}
	if o.Dir == "" {
		if o.Dir, err = it.UsualDir(); err != nil {
			return size, err
		}
	}
	return size, wrongFlag(o.Check(it))
}

func (o *downloadOptions) upscaling(size [2]int) download.Upscaling {
	return download.Upscaling{Width: size[0], Height: size[1], Format: o.upscaleFormat, Observer: o.Observer}
}

// wrongFlag is an error about a field as one about the flag.
func wrongFlag(err error) error {
	var e *userinput.Error
	if errors.As(err, &e) {
		return cli.Usage("%s", e.Named("--"+e.Flag()))
	}
	return err
}

// parseSize reads 1200x1200, or 1200 for both.
func parseSize(s string) (size [2]int, err error) {
	w, h, both := strings.Cut(strings.ToLower(s), "x")
	if !both {
		h = w
	}
	var errW, errH error
	size[0], errW = strconv.Atoi(w)
	size[1], errH = strconv.Atoi(h)
	if errW != nil || errH != nil {
		return size, cli.Usage("--upscale is %q, want WIDTHxHEIGHT in pixels", s)
	}
	return size, nil
}

// get brings the item, and makes the enlarged copy. It returns what is printed.
func (o *downloadOptions) get(ctx context.Context, m *download.Manifest, it download.Item, size [2]int) (download.Result, error) {
	got, err := download.Get(ctx, m, it, o.Options)
	if err != nil {
		return got, err
	}
	o.sayDone(got)
	if size[0] == 0 {
		return got, nil
	}
	got, err = download.Upscale(ctx, o.Dir, fmt.Sprintf("%s-%dx%d", o.Dir, size[0], size[1]), o.upscaling(size))
	if err == nil {
		o.sayDone(got)
	}
	return got, err
}

func (o *downloadOptions) sayDone(got download.Result) {
	text := "done"
	if got.Already {
		text = "already there, with the right checksums"
	}
	o.Observer.Note(fmt.Sprintf("%s: %d files, %s, in %s", text, got.Files, progress.BytesText(got.Bytes), got.Dir))
}

// explainDownload says what to do after a download that failed.
func explainDownload(w io.Writer, it download.Item, err error) error {
	switch {
	case errors.As(err, new(*userinput.Error)):
		return wrongFlag(err)
	case errors.As(err, new(*download.RegistrationError)):
		fmt.Fprintf(w, "%s: a person has to get it:\n", it.Title)
		printSteps(w, it)
		return fmt.Errorf("%w, then name it with --from-file", err)
	case errors.As(err, new(*download.InTheWayError)):
		return fmt.Errorf("%w; replace it with --force, or choose another --dir", err)
	case errors.As(err, new(*download.NoRoomError)):
		return fmt.Errorf("%w: choose another disk with --dir", err)
	case errors.As(err, new(*download.UnreachableError)):
		fmt.Fprintln(w, "A proxy is taken from HTTPS_PROXY. Without a network: --from-file FILE takes a file that you bring, --mirror URL one of a server nearby.")
	case errors.Is(err, cli.ErrInterrupted):
		fmt.Fprintln(w, "What has come is kept: the same command goes on with it.")
	}
	return err
}

func printSteps(w io.Writer, it download.Item) {
	for i, step := range it.Steps {
		fmt.Fprintf(w, "  %d. %s\n", i+1, step)
	}
}
