package download

import (
	"encoding/json"
	"fmt"
	"net/url"
	"runtime"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/configs"
	"github.com/mlperf-go/mlperf/internal/machine/home"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A Manifest lists everything that can be downloaded.
type Manifest struct {
	Format   int                `json:"format"`
	Licenses map[string]License `json:"licenses"`
	Items    []Item             `json:"items"`
}

// A License is what its publisher allows to do with an item. Summary is ours, in one line; the text at URL decides.
type License struct {
	Name    string `json:"name"`
	URL     string `json:"url"`
	Summary string `json:"summary"`
}

// A Kind says what an item is.
type Kind string

// The kinds.
const (
	Dataset Kind = "dataset"
	Model   Kind = "model"
	Runtime Kind = "runtime" // ONNX Runtime with a device, which is its name; cpu: the plain one
)

// An Item is one data set, model or runtime.
type Item struct {
	Kind    Kind     `json:"kind"`
	Name    string   `json:"name"`
	Title   string   `json:"title"`
	For     []string `json:"for,omitempty"` // benchmarks that use it
	License string   `json:"license"`       // key of Manifest.Licenses
	Note    string   `json:"note,omitempty"`
	Steps   []string `json:"steps,omitempty"` // what a person has to do first, where registration is needed
	Files   []File   `json:"files,omitempty"`
	Folder  *Folder  `json:"folder,omitempty"` // the files to take from a folder that the user got by hand
	Layout  Layout   `json:"layout,omitempty"`
	Samples int      `json:"samples,omitempty"` // of the whole data set; 0: unknown

	OpenImages *OpenImages `json:"openimages,omitempty"`
	Cases      []string    `json:"cases,omitempty"` // of KiTS19, in order

	Version  string `json:"version,omitempty"`  // of a runtime
	Platform string `json:"platform,omitempty"` // that a runtime is for: GOOS-GOARCH
}

// UsualDir is the folder for the item, unless another is wanted: one of its own below the data directory. That of a runtime is
// one in which runs look for it.
func (it Item) UsualDir() (string, error) {
	switch {
	case it.Kind == Runtime && it.Name == "cpu":
		return home.DataDir("onnxruntime", it.Version, it.Platform)
	case it.Kind == Runtime:
		return home.DataDir("onnxruntime", it.Version+"-"+it.Name, it.Platform)
	}
	return home.DataDir(string(it.Kind)+"s", it.Name)
}

// Size is the sum of the files' sizes in bytes; 0 if that of one is not published.
func (it Item) Size() (sum int64) {
	for _, f := range it.Files {
		if f.Size == 0 {
			return 0
		}
		sum += f.Size
	}
	return sum
}

// A File is one file of an item, or many that a list at a server names.
type File struct {
	Name string   `json:"name"` // path below the item's folder, with slashes
	URLs []string `json:"urls,omitempty"`
	// R2 is the address of a list of files at MLCommons' storage, without its endings .uri and .md5 (mlcommons/r2-downloader).
	// Name is then the folder.
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
	Format  string            `json:"format"`            // zip, tar, tar.gz, tar.bz2
	Archive string            `json:"archive,omitempty"` // with R2: its bare name; other files of the list stay as they are
	Into    string            `json:"into,omitempty"`    // folder below the item's
	Strip   int               `json:"strip,omitempty"`   // leading path elements to drop
	Only    []string          `json:"only,omitempty"`    // patterns of path.Match for names in the archive; none: all
	Rename  map[string]string `json:"rename,omitempty"`  // name in the archive → path below Into
}

// A Folder says which files of a folder make up an item.
type Folder struct {
	Files []string          `json:"files,omitempty"` // patterns of path.Match; none: all
	Copy  map[string]string `json:"copy,omitempty"`  // folder to make → folder to copy
}

// OpenImages says how the data set is put together.
type OpenImages struct {
	Boxes  string `json:"boxes"`          // table of boxes, path below the folder
	Names  string `json:"names"`          // table of class names
	List   string `json:"list,omitempty"` // list of images; without it, all that show one of the classes
	URL    string `json:"url"`            // of an image, with {id}
	Images string `json:"images"`         // folder for the images
	Labels string `json:"labels"`         // annotation file to write
}

// Load returns the manifest that the program carries, with the items for this platform.
func Load() (*Manifest, error) {
	m := &Manifest{}
	if err := json.Unmarshal(configs.Downloads(), m); err != nil {
		return nil, fmt.Errorf("reading configs/downloads.json: %w", err)
	}
	m.Items = slices.DeleteFunc(m.Items, func(it Item) bool { return it.Platform != "" && it.Platform != platform })
	return m, nil
}

const platform = runtime.GOOS + "-" + runtime.GOARCH

// Lookup returns the item of a name; case, hyphens and underscores do not matter.
func (m *Manifest) Lookup(kind Kind, name string) (Item, error) {
	for _, it := range m.Items {
		if it.Kind == kind && userinput.Same(it.Name, name) {
			return it, nil
		}
	}
	names, what := m.Names(kind), string(kind)
	switch kind {
	case Dataset:
		what = "data set"
	case Runtime:
		if len(names) == 0 {
			return Item{}, fmt.Errorf("%s has no ready-made ONNX Runtime: name a library with --ort-lib", platform)
		}
		what = "device of the ready-made ONNX Runtime for " + platform
	}
	return Item{}, fmt.Errorf("unknown %s %q%s", what, name, userinput.Want(name, names, "one of "+strings.Join(names, ", ")))
}

// Names lists the items of a kind.
func (m *Manifest) Names(kind Kind) (names []string) {
	for _, it := range m.Items {
		if it.Kind == kind {
			names = append(names, it.Name)
		}
	}
	return names
}

// LicenseOf returns the licence of an item.
func (m *Manifest) LicenseOf(it Item) License { return m.Licenses[it.License] }

// checkURL wants an address of http or https.
func checkURL(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return fmt.Errorf("%s is not an address of http or https", shown(s))
	}
	return nil
}
