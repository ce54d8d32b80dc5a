package download

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/mlperf-go/mlperf/internal/machine/home"
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

// UsualDir is the folder for the item, unless another is wanted: below the data directory, one of its own.
func (it Item) UsualDir() (string, error) { return home.DataDir(string(it.Kind)+"s", it.Name) }

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
