package cli

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/download"
	"github.com/mlperf-go/mlperf/internal/units"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

func newDownload() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "download",
		Short: "Get official data sets and models, and ONNX Runtime with further devices",
		Long: `Get official data sets and models, and ONNX Runtime with further devices. The licence is
shown, and has to be accepted, before anything is fetched. After an interruption the same
command goes on where it stopped; complete files are not fetched again. Files are checked
against the checksums that their publishers give, where they give any.

Some need registration: the steps are printed, and --from-file takes the files that you
have got by hand. docs/data.md has the details.`,
		Example: "  mlperf download list\n  mlperf download model resnet50 --dry-run",
	}
	cmd.AddCommand(newDownloadItem(download.Dataset), newDownloadItem(download.Model), newDownloadItem(download.Runtime), newDownloadList())
	return cmd
}

// lookupItem finds an item of the manifest.
func lookupItem(kind download.Kind, name string) (*download.Manifest, download.Item, error) {
	m, err := download.Load()
	if err != nil {
		return nil, download.Item{}, err
	}
	it, err := m.Lookup(kind, name)
	if err != nil {
		return nil, it, usage("%w", err)
	}
	return m, it, nil
}

// completeItems completes the names of items.
func completeItems(kind download.Kind) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		m, err := download.Load()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return m.Names(kind), cobra.ShellCompDirectiveNoFileComp
	}
}

func newDownloadItem(kind download.Kind) *cobra.Command {
	var o download.Options
	var accept, dryRun, asJSON bool
	cmd := &cobra.Command{
		Use:               string(kind) + " NAME",
		Args:              arguments(1, 1),
		ValidArgsFunction: completeItems(kind),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Count == 0 {
				if err := refuseFlags(cmd.Flags(), "is of --count, which is not given", "seed"); err != nil {
					return err
				}
			}
			m, it, err := lookupItem(kind, args[0])
			if err != nil {
				return err
			}
			if o.Dir == "" {
				if o.Dir, err = it.UsualDir(); err != nil {
					return err
				}
			}
			if err := o.Check(it); err != nil {
				return err
			}
			license := m.LicenseOf(it)
			switch {
			case dryRun && asJSON:
				return printJSON(cmd.OutOrStdout(), "download-plan", map[string]any{"folder": o.Dir, "licence": license, "count": o.Count, "item": it})
			case dryRun:
				return showItem(cmd.OutOrStdout(), license, it, o)
			}
			got, err := fetchItem(cmd, m, it, o, accept)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), "download", struct {
					Kind download.Kind `json:"kind"`
					Name string        `json:"name"`
					download.Result
				}{it.Kind, it.Name, got})
			}
			err = say(cmd.OutOrStdout(), "%s\n", got.Path)
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Dir, "dir", "", "folder for it (default: below the data directory, see mlperf doctor)")
	f.StringArrayVar(&o.FromFiles, "from-file", nil, "file or folder that you have already (repeatable)")
	f.StringVar(&o.Mirror, "mirror", "", "address of a folder that has the files by their names; asked first")
	f.BoolVar(&o.MirrorOnly, "mirror-only", false, "ask no server but the mirror")
	f.IntVar(&o.Connections, "connections", 16, "OpenImages: images that are fetched at a time")
	f.BoolVar(&accept, "accept-license", false, "accept the licence without being asked")
	f.BoolVar(&dryRun, "dry-run", false, "show what would be fetched, from where, and the licence")
	f.BoolVar(&o.Force, "force", false, "replace files that are in the way")
	f.BoolVar(&o.KeepArchives, "keep-archives", false, "keep archives after they were unpacked")
	jsonFlag(f, &asJSON)
	switch kind {
	case download.Dataset:
		f.IntVar(&o.Count, "count", 0, "only so many samples (imagenet, coco, openimages); annotations are cut to them")
		f.Uint64Var(&o.Seed, "seed", 0, "which samples --count chooses")
		cmd.Short = "Get a data set and print its folder"
		cmd.Example = "  mlperf download dataset coco --dry-run\n  mlperf download dataset imagenet --count 500 --dry-run"
	case download.Model:
		cmd.Short = "Get a model and print its file, or its folder"
		cmd.Example = "  mlperf download model retinanet --dry-run\n" +
			"  mlperf download model mobilenet --from-file my.onnx --dir models/mobilenet --accept-license"
	case download.Runtime:
		cmd.Short = "Get ONNX Runtime for a device, like mlperf doctor --fix --device, and print its folder"
		cmd.Example = "  mlperf download runtime openvino --dry-run"
	}
	return cmd
}

// fetchItem shows the size and the licence of an item, asks unless it is accepted, and fetches the item.
func fetchItem(cmd *cobra.Command, m *download.Manifest, it download.Item, o download.Options, accept bool) (got download.Result, err error) {
	license := m.LicenseOf(it)
	w := cmd.ErrOrStderr()
	fmt.Fprintln(w, it.Title)
	if size := it.Size(); size > 0 {
		fmt.Fprintf(w, "Size: %s to download\n", units.Bytes(size))
	}
	if it.Note != "" {
		fmt.Fprintf(w, "Note: %s\n", it.Note)
	}
	fmt.Fprintf(w, "Licence: %s\n  %s\n  %s\n", license.Name, license.Summary, license.URL)
	if !accept {
		yes, asked := ask(cmd, "Do you accept it?")
		if !asked {
			flag := "accept-license"
			if cmd.Flags().Lookup(flag) == nil {
				flag = "yes"
			}
			return got, usage("%s %s is under %s (%s): read it, and accept it with --%s", it.Kind, it.Name, license.Name, license.URL, flag)
		}
		if !yes {
			return got, errors.New("the licence was not accepted: nothing was fetched")
		}
	}
	display := newDisplay(cmd)
	defer display.Done()
	o.Observer = display
	got, err = download.Get(cmd.Context(), it, o)
	display.Done()
	if err != nil {
		return got, explainDownload(cmd.ErrOrStderr(), it, err)
	}
	state := "done"
	if got.Already {
		state = "already there, with the right checksums"
	}
	_ = say(cmd.ErrOrStderr(), "%s: %d files, %s, in %s\n", state, got.Files, units.Bytes(got.Bytes), got.Dir)
	return got, nil
}

// explainDownload says what to do after a download that failed.
func explainDownload(w io.Writer, it download.Item, err error) error {
	switch {
	case errors.As(err, new(*download.RegistrationError)):
		fmt.Fprintf(w, "%s: get it by hand:\n", it.Title)
		printSteps(w, it)
		return fmt.Errorf("%w, then name it with --from-file", err)
	case errors.As(err, new(*download.InTheWayError)):
		return fmt.Errorf("%w; replace it with --force, or choose another --dir", err)
	case errors.As(err, new(*download.NoRoomError)):
		return fmt.Errorf("%w: choose another disk with --dir", err)
	case errors.As(err, new(*download.UnreachableError)):
		fmt.Fprintln(w, "A proxy is taken from HTTPS_PROXY. Without a network, --from-file FILE takes a file that you bring, and --mirror "+
			"URL a server nearby.")
	case errors.Is(err, ErrInterrupted):
		fmt.Fprintln(w, "What has come is kept: the same command goes on with it.")
	}
	return err
}

func printSteps(w io.Writer, it download.Item) {
	for i, step := range it.Steps {
		fmt.Fprintf(w, "  %d. %s\n", i+1, step)
	}
}

// showItem prints what the manifest has about an item.
func showItem(to io.Writer, license download.License, it download.Item, o download.Options) error {
	w := &strings.Builder{}
	sources := func(addresses []string) {
		for _, u := range addresses {
			fmt.Fprintf(w, "          %s\n", strings.Replace(u, url.PathEscape("{id}"), "{id}", 1))
		}
	}
	fmt.Fprintf(w, "%s %s: %s\n", it.Kind, it.Name, it.Title)
	fmt.Fprintf(w, "licence   %s, %s\n          %s\n", license.Name, license.URL, license.Summary)
	fmt.Fprintf(w, "folder    %s\n", userinput.PrintableLine(o.Dir))
	if it.Note != "" {
		fmt.Fprintf(w, "note      %s\n", it.Note)
	}
	if o.Count > 0 {
		fmt.Fprintf(w, "part      %d of %d samples, seed %d\n", o.Count, it.Samples, o.Seed)
	}
	for _, f := range it.Files {
		if f.R2 != "" {
			fmt.Fprintln(w, "files     as listed, with MD5, at")
			sources(o.Sources(download.File{Name: path.Base(f.R2) + ".md5", URLs: []string{f.R2 + ".md5"}}))
			continue
		}
		size, checksum, registration := "size not published", "no checksum published", ""
		if f.Size > 0 {
			size = units.Bytes(f.Size)
		}
		switch {
		case f.SHA256 != "":
			checksum = "SHA-256 " + f.SHA256
		case f.MD5 != "":
			checksum = "MD5 " + f.MD5
		}
		if f.Registration {
			registration = ", needs registration"
		}
		fmt.Fprintf(w, "file      %s: %s, %s%s\n", f.Name, size, checksum, registration)
		if f.Registration && o.Mirror == "" { // where a person gets it
			sources(f.URLs)
		}
		sources(o.Sources(f))
	}
	if set := it.OpenImages; set != nil {
		fmt.Fprintf(w, "file      %s/*.jpg, one by one\n", set.Images)
		sources(o.Sources(download.File{Name: "{id}.jpg", URLs: []string{set.URL}}))
	}
	if len(it.Steps) > 0 {
		fmt.Fprintln(w, "by hand")
		printSteps(w, it)
	}
	return sayText(to, w.String())
}

func newDownloadList() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List what can be downloaded, and what is present",
		Example: "  mlperf download list",
		Args:    arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			m, err := download.Load()
			if err != nil {
				return err
			}
			type row struct {
				Kind    download.Kind `json:"kind"`
				Name    string        `json:"name"`
				Title   string        `json:"title"`
				Access  string        `json:"access"` // free, or by hand
				Present bool          `json:"present"`
				Dir     string        `json:"dir"`
				License string        `json:"license"`
			}
			var rows []row
			for _, it := range m.Items {
				dir, err := it.UsualDir()
				if err != nil {
					return err
				}
				access := "free"
				if len(it.Steps) > 0 {
					access = "by hand"
				}
				rows = append(rows, row{it.Kind, it.Name, it.Title, access, download.Installed(dir, it), dir, m.LicenseOf(it).Name})
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), "download-list", rows)
			}
			return printTable(cmd.OutOrStdout(), tableRow{"kind", "name", "title", "licence", "access", "present"}, rows, func(r row) tableRow {
				present := ""
				if r.Present {
					present = "yes"
				}
				return tableRow{r.Kind, r.Name, r.Title, r.License, r.Access, present}
			})
		},
	}
	jsonFlag(cmd.Flags(), &asJSON)
	return cmd
}
