package files

import (
	"fmt"
	"io"
	"net/url"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/configs"
	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/cli/progress"
	"github.com/mlperf-go/mlperf/internal/download"
)

// showItem prints what the manifest has about an item.
func showItem(to io.Writer, m *download.Manifest, it download.Item, o *downloadOptions) error {
	license, w := m.LicenseOf(it), &strings.Builder{}
	fmt.Fprintf(w, "%s %s: %s\n", it.Kind, it.Name, it.Title)
	fmt.Fprintf(w, "licence   %s, %s\n          %s\n", license.Name, license.URL, license.Summary)
	fmt.Fprintf(w, "folder    %s\n", o.Dir)
	if it.Note != "" {
		fmt.Fprintf(w, "note      %s\n", it.Note)
	}
	if o.Count > 0 {
		fmt.Fprintf(w, "part      %d of %d samples, seed %d\n", o.Count, it.Samples, o.Seed)
	}
	for _, f := range it.Files {
		showFile(w, f, o.Options)
	}
	if set := it.OpenImages; set != nil {
		fmt.Fprintf(w, "file      %s/*.jpg, one by one\n", set.Images)
		showSources(w, o.Sources(download.File{Name: "{id}.jpg", URLs: []string{set.URL}}))
	}
	if o.upscale != "" {
		fmt.Fprintf(w, "enlarged  also a copy of %s pixels, as %s\n", o.upscale, o.upscaleFormat)
	}
	if len(it.Steps) > 0 {
		fmt.Fprintln(w, "by hand")
		printSteps(w, it)
	}
	return cli.Say(to, "%s", w.String())
}

// planned is what --json says of what would be got.
func planned(m *download.Manifest, it download.Item, o *downloadOptions) map[string]any {
	return map[string]any{"folder": o.Dir, "licence": m.LicenseOf(it), "count": o.Count, "item": it}
}

func showFile(w io.Writer, f download.File, o download.Options) {
	if f.R2 != "" {
		fmt.Fprintln(w, "files     as listed, with MD5, at")
		showSources(w, o.Sources(download.File{Name: path.Base(f.R2) + ".md5", URLs: []string{f.R2 + ".md5"}}))
		return
	}
	facts := []string{"size not published"}
	if f.Size > 0 {
		facts[0] = progress.BytesText(f.Size)
	}
	facts = append(facts, checksum(f))
	if f.Registration {
		facts = append(facts, "wants registration")
	}
	fmt.Fprintf(w, "file      %s: %s\n", f.Name, strings.Join(facts, ", "))
	if f.Registration && o.Mirror == "" { // where a person gets it
		showSources(w, f.URLs)
	}
	showSources(w, o.Sources(f))
}

// checksum is the one by which a file is known.
func checksum(f download.File) string {
	switch {
	case f.SHA256 != "":
		return "SHA-256 " + f.SHA256
	case f.MD5 != "":
		return "MD5 " + f.MD5
	}
	return "no checksum published"
}

func showSources(w io.Writer, addresses []string) {
	for _, u := range addresses {
		fmt.Fprintf(w, "          %s\n", strings.Replace(u, url.PathEscape("{id}"), "{id}", 1))
	}
}

func newDownloadList() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List what can be downloaded, and what is there",
		Example: "  mlperf download list",
		Args:    cli.Arguments(0, 0),
		RunE:    func(cmd *cobra.Command, _ []string) error { return listDownloads(cmd.OutOrStdout(), asJSON) },
	}
	cli.JSONFlag(cmd.Flags(), &asJSON)
	return cmd
}

type downloadRow struct {
	Kind    string `json:"kind"`
	Name    string `json:"name"`
	Title   string `json:"title"`
	Access  string `json:"access"` // free, or by hand
	Present bool   `json:"present"`
	Dir     string `json:"dir"`
	License string `json:"license"`
}

func listDownloads(w io.Writer, asJSON bool) error {
	m, err := download.ParseManifest(configs.Downloads())
	if err != nil {
		return err
	}
	var rows []downloadRow
	for _, it := range m.Items {
		dir, err := it.UsualDir()
		if err != nil {
			return err
		}
		row := downloadRow{string(it.Kind), it.Name, it.Title, "free", download.Installed(dir, it), dir, m.LicenseOf(it).Name}
		if len(it.Steps) > 0 {
			row.Access = "by hand"
		}
		rows = append(rows, row)
	}
	if asJSON {
		return cli.PrintJSON(w, "download-list", rows)
	}
	return cli.PrintTable(w, cli.Row{"kind", "name", "title", "licence", "access", "present"}, rows, func(r downloadRow) cli.Row {
		present := ""
		if r.Present {
			present = "yes"
		}
		return cli.Row{r.Kind, r.Name, r.Title, r.License, r.Access, present}
	})
}
