package download

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A Manifest lists everything that can be downloaded.
type Manifest struct {
	Format   int                `json:"format"`
	Licenses map[string]License `json:"licenses"`
	Items    []Item             `json:"items"`
}

// A License is what its publisher allows to do with an item. Summary is ours, in one
// line; the text at URL decides.
type License struct {
	Name    string `json:"name"`
	URL     string `json:"url"`
	Summary string `json:"summary"`
}

// A Kind says whether an item is a data set or a model.
type Kind string

// The kinds.
const (
	Dataset Kind = "dataset"
	Model   Kind = "model"
)

// An Item is one data set or model.
type Item struct {
	Kind    Kind     `json:"kind"`
	Name    string   `json:"name"`
	Title   string   `json:"title"`
	For     []string `json:"for,omitempty"` // benchmarks that use it
	License string   `json:"license"`       // key of Manifest.Licenses
	Note    string   `json:"note,omitempty"`
	Steps   []string `json:"steps,omitempty"` // what a person has to do first, where somebody wants registration
	Files   []File   `json:"files,omitempty"`
	Folder  *Folder  `json:"folder,omitempty"` // what is taken from a folder that the user got by hand
	Layout  Layout   `json:"layout,omitempty"`
	Samples int      `json:"samples,omitempty"` // of the whole data set; 0: unknown

	OpenImages *OpenImages `json:"openimages,omitempty"`
	Cases      []string    `json:"cases,omitempty"` // of KiTS19, in order
}

// A File is one file of an item, or many that a list at a server names.
type File struct {
	Name string   `json:"name"` // path below the item's folder, with slashes
	URLs []string `json:"urls,omitempty"`
	// R2 is the address of a list of files at MLCommons' storage, without its endings .uri
	// and .md5: docs of mlcommons/r2-downloader. Name is then the folder.
	R2           string            `json:"r2,omitempty"`
	Size         int64             `json:"size,omitempty"` // 0: not published
	MD5          string            `json:"md5,omitempty"`  // "": not published
	SHA256       string            `json:"sha256,omitempty"`
	Inside       map[string]string `json:"inside,omitempty"`       // MD5 of files that come out of it; with R2: by bare name
	Registration bool              `json:"registration,omitempty"` // not fetched from URLs, which want a login
	Unpack       *Unpack           `json:"unpack,omitempty"`
}

// Unpack says what becomes of an archive. It is removed afterwards.
type Unpack struct {
	Format string            `json:"format"`           // zip, tar, tar.gz, tar.bz2
	Into   string            `json:"into,omitempty"`   // folder below the item's
	Strip  int               `json:"strip,omitempty"`  // leading path elements to drop
	Only   []string          `json:"only,omitempty"`   // patterns of path.Match for names in the archive; none: all
	Rename map[string]string `json:"rename,omitempty"` // name in the archive → path below Into
}

// A Folder says which files of a folder make up an item.
type Folder struct {
	Files []string          `json:"files,omitempty"` // patterns of path.Match; none: all
	Copy  map[string]string `json:"copy,omitempty"`  // folder to make → folder of which it is a copy
}

// OpenImages says how the data set is put together.
type OpenImages struct {
	Boxes   string `json:"boxes"`          // table of boxes, path below the folder
	Names   string `json:"names"`          // table of class names
	List    string `json:"list,omitempty"` // list of images; without it, all that show one of the classes
	URL     string `json:"url"`            // of an image, with {id}
	Images  string `json:"images"`         // folder for the images
	Labels  string `json:"labels"`         // annotation file to write
	Classes int    `json:"classes"`
}

// maxManifest bounds a manifest.
const maxManifest = 4 << 20

// ParseManifest reads a manifest strictly: unknown fields, paths that leave the folder,
// malformed checksums and addresses are errors.
func ParseManifest(data []byte) (*Manifest, error) {
	if len(data) > maxManifest {
		return nil, fmt.Errorf("reading the manifest: %d bytes, want at most %d", len(data), maxManifest)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	m := &Manifest{}
	if err := d.Decode(m); err != nil {
		return nil, fmt.Errorf("reading the manifest: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("reading the manifest: something follows it")
	}
	if err := m.validate(); err != nil {
		return nil, fmt.Errorf("reading the manifest: %w", err)
	}
	return m, nil
}

// manifestFormat is the version of the manifest's form that this package reads.
const manifestFormat = 1

func (m *Manifest) validate() error {
	if m.Format != manifestFormat {
		return fmt.Errorf("format is %d, want %d", m.Format, manifestFormat)
	}
	var errs []error
	for key, license := range m.Licenses {
		if license.Name == "" || license.Summary == "" || checkURL(license.URL) != nil {
			errs = append(errs, fmt.Errorf("licence %q: want name, url and summary", key))
		}
	}
	seen := map[string]bool{}
	for i := range m.Items {
		it := &m.Items[i]
		id := string(it.Kind) + " " + plainName(it.Name)
		if seen[id] {
			errs = append(errs, fmt.Errorf("%s %s is listed twice", it.Kind, it.Name))
		}
		seen[id] = true
		if _, ok := m.Licenses[it.License]; !ok {
			errs = append(errs, fmt.Errorf("%s %s: unknown licence %q", it.Kind, it.Name, it.License))
		}
		if err := it.validate(); err != nil {
			errs = append(errs, fmt.Errorf("%s %s: %w", it.Kind, it.Name, err))
		}
	}
	return errors.Join(errs...)
}

func (it *Item) validate() error {
	if it.Kind != Dataset && it.Kind != Model {
		return fmt.Errorf("kind is %q, want %s or %s", it.Kind, Dataset, Model)
	}
	if it.Name == "" || it.Title == "" || strings.ContainsAny(it.Name, `/\ `) || !filepath.IsLocal(it.Name) {
		return errors.New("want a name without slashes and spaces, and a title")
	}
	if len(it.Files) == 0 && it.Folder == nil {
		return errors.New("has neither files nor a folder")
	}
	if it.Folder != nil && len(it.Steps) == 0 {
		return errors.New("has a folder, but no steps that lead to it")
	}
	if _, ok := layouts()[it.Layout]; !ok {
		return fmt.Errorf("unknown layout %q", it.Layout)
	}
	if (it.Layout == LayoutOpenImages) != (it.OpenImages != nil) {
		return errors.New("openimages belongs to the layout openimages")
	}
	errs := []error{it.OpenImages.validate(), it.Folder.validate()}
	names := map[string]bool{}
	for i := range it.Files {
		f := &it.Files[i]
		if names[f.Name] {
			errs = append(errs, fmt.Errorf("file %s is listed twice", f.Name))
		}
		names[f.Name] = true
		if err := f.validate(); err != nil {
			errs = append(errs, fmt.Errorf("file %q: %w", f.Name, err))
		}
		if f.Registration && len(it.Steps) == 0 {
			errs = append(errs, fmt.Errorf("file %s needs registration, but there are no steps", f.Name))
		}
	}
	return errors.Join(errs...)
}

func (f *File) validate() error {
	var errs []error
	if err := checkPath(f.Name); err != nil && (f.R2 == "" || f.Name != ".") {
		errs = append(errs, err)
	}
	for _, u := range f.URLs {
		errs = append(errs, checkURL(u))
	}
	if f.R2 != "" {
		errs = append(errs, checkURL(f.R2))
	}
	if (f.R2 == "") == (len(f.URLs) == 0) {
		errs = append(errs, errors.New("want either urls or r2"))
	}
	if f.Size < 0 {
		errs = append(errs, fmt.Errorf("size is %d", f.Size))
	}
	errs = append(errs, checkHex("md5", f.MD5, 16), checkHex("sha256", f.SHA256, 32))
	for name, sum := range f.Inside {
		errs = append(errs, checkPath(name), checkHex("md5 of "+name, sum, 16))
	}
	if f.Unpack != nil {
		errs = append(errs, f.Unpack.validate())
	}
	return errors.Join(errs...)
}

func (u *Unpack) validate() error {
	var errs []error
	if !slices.Contains([]string{"zip", "tar", "tar.gz", "tar.bz2"}, u.Format) {
		errs = append(errs, fmt.Errorf("cannot unpack %q, want zip, tar, tar.gz or tar.bz2", u.Format))
	}
	if u.Strip < 0 {
		errs = append(errs, fmt.Errorf("strip is %d", u.Strip))
	}
	if u.Into != "" {
		errs = append(errs, checkPath(u.Into))
	}
	for _, pattern := range u.Only {
		errs = append(errs, checkPattern(pattern))
	}
	for _, to := range u.Rename {
		errs = append(errs, checkPath(to))
	}
	return errors.Join(errs...)
}

func (f *Folder) validate() error {
	if f == nil {
		return nil
	}
	var errs []error
	for _, pattern := range f.Files {
		errs = append(errs, checkPattern(pattern))
	}
	for to, from := range f.Copy {
		errs = append(errs, checkPath(to), checkPath(from))
	}
	return errors.Join(errs...)
}

func (o *OpenImages) validate() error {
	if o == nil {
		return nil
	}
	errs := []error{checkPath(o.Boxes), checkPath(o.Names), checkPath(o.Images), checkPath(o.Labels), checkURL(o.URL)}
	if o.List != "" {
		errs = append(errs, checkPath(o.List))
	}
	if !strings.Contains(o.URL, "{id}") {
		errs = append(errs, fmt.Errorf("address %s of images has no {id}", o.URL))
	}
	return errors.Join(errs...)
}

func checkURL(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return fmt.Errorf("%q is not an address of http or https", s)
	}
	return nil
}

func checkPattern(pattern string) error {
	if _, err := path.Match(pattern, ""); err != nil {
		return fmt.Errorf("pattern %q: %w", pattern, err)
	}
	return nil
}

func checkHex(name, sum string, size int) error {
	b, err := hex.DecodeString(sum)
	if sum != "" && (err != nil || len(b) != size || strings.ToLower(sum) != sum) {
		return fmt.Errorf("%s is %q, want %d lower-case hex digits", name, sum, 2*size)
	}
	return nil
}

// plainName is a name as it is compared: case, hyphens and underscores do not matter.
func plainName(name string) string {
	return strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(name))
}

// Lookup returns the item of a name; case, hyphens and underscores do not matter.
func (m *Manifest) Lookup(kind Kind, name string) (Item, error) {
	var names []string
	for _, it := range m.Items {
		if it.Kind != kind {
			continue
		}
		if plainName(it.Name) == plainName(name) {
			return it, nil
		}
		names = append(names, it.Name)
	}
	if kind == Dataset {
		kind = "data set"
	}
	return Item{}, fmt.Errorf("unknown %s %q, want one of %s", kind, name, strings.Join(names, ", "))
}

// LicenseOf returns the licence of an item.
func (m *Manifest) LicenseOf(it Item) License { return m.Licenses[it.License] }
