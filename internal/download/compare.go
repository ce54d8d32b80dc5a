package download

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/machine/home"
	"github.com/mlperf-go/mlperf/internal/machine/workerpool"
)

// A Comparison says whether the files of a data set are as they should be: as its publisher has them, else as mlperf download installed
// them, else as they were when this program first saw the folder.
type Comparison struct {
	Files     int // that were compared
	Bytes     int64
	Published int       // have their published checksum
	Installed int       // are as they were installed
	AsSeen    int       // are as they were first seen
	Since     time.Time // when the folder was first seen
	Read      time.Time // when a content was last read; what has not changed since is not read again
	Different []Difference
	Unread    int64 // bytes that were to be read, and were not: nothing was compared
	Unkept    error // nothing is kept of this comparison: the next one reads all again
}

// A Difference is a file that is not as it should be.
type Difference struct {
	Name string // path below the folder
	From string // what it should be as: published, installed or first seen
	Text string // with the name
}

// What a file should be as.
const (
	asPublished = "published"
	asInstalled = "installed"
	firstSeen   = "first seen"
)

// CompareOptions say how a data set is compared.
type CompareOptions struct {
	Items    []Item         // that the folder may be of
	Found    []fileio.Found // files of the folder; nil: they are listed
	Full     bool           // contents are read although nothing speaks for a change
	Accept   bool           // first seen is now
	MostRead int64          // bytes to read; 0: no limit
	Observer Observer       // nil: silence

	done map[string]readFile // files whose contents were read just now, by name
}

// A readFile is a file that was read, in the version that it had before.
type readFile struct {
	version string
	sums
}

// seen is what is kept of a folder, in a file of its own below the data directory.
type seen struct {
	Format int                 `json:"format"`
	Dir    string              `json:"dir"`
	Since  time.Time           `json:"since"`
	Read   time.Time           `json:"read"`
	Files  map[string]seenFile `json:"files"`
}

// A seenFile is what is known of a file. Its content is that of its sums as long as it has the version.
type seenFile struct {
	Version string `json:"version"` // fileio.Version
	SHA256  string `json:"sha256"`
	MD5     string `json:"md5,omitempty"`   // where one is published
	First   string `json:"first,omitempty"` // SHA-256 when it was first seen, if that was another
}

// settled is how long a file must not have been written for its version to tell of the next change: within the resolution of the clocks of file
// systems, a second change leaves the times as they are.
const settled = 2 * time.Second

// seenPath is the file that has what is kept of a folder.
func seenPath(dir string) (string, error) {
	sum := sha256.Sum256([]byte(dir))
	return home.DataDir("seen", hex.EncodeToString(sum[:10])+".json")
}

// Compare compares the files of a data set, a folder or one file, with their checksums. Contents are read once, and again after a change of
// size, times or inode.
func Compare(ctx context.Context, dir string, o CompareOptions) (*Comparison, error) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	if o.Observer == nil {
		o.Observer = silence{}
	}
	record, unkept := seenPath(dir)
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	folder := dir
	if !info.IsDir() { // a data set of one file
		folder, o.Found = filepath.Dir(dir), []fileio.Found{{Name: filepath.Base(dir), Info: info}}
	}
	root, err := openFolder(folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	installed, err := readSums(root)
	if errors.Is(err, fs.ErrNotExist) {
		installed, err = &sumList{}, nil
	}
	if err != nil {
		return nil, err
	}
	if o.Found == nil {
		if o.Found, err = fileio.Files(ctx, dir); err != nil {
			return nil, err
		}
	}
	old := readSeen(record, dir)
	if o.Accept {
		old = seen{}
	}
	c := &Comparison{Unkept: unkept}
	now := seen{Format: 1, Dir: dir, Since: old.Since, Read: old.Read, Files: map[string]seenFile{}}
	if now.Since.IsZero() {
		now.Since = time.Now()
	}
	var changed []fileio.Found
	published := map[string][]File{}
	for _, f := range o.Found {
		if strings.HasPrefix(f.Name, stateDir+"/") || !f.Info.Mode().IsRegular() {
			continue
		}
		published[f.Name] = publishedFor(o.Items, f.Name)
		c.Files, c.Bytes = c.Files+1, c.Bytes+f.Info.Size()
		known := old.Files[f.Name]
		if o.Full || known.Version != fileio.Version(f.Info) || len(published[f.Name]) > 0 && known.MD5 == "" {
			changed, c.Unread = append(changed, f), c.Unread+f.Info.Size()
		}
		now.Files[f.Name] = known
	}
	if o.MostRead > 0 && c.Unread > o.MostRead {
		return c, nil
	}
	c.Unread = 0
	for name, known := range old.Files { // remembered while it is missing
		if _, there := now.Files[name]; !there {
			now.Files[name] = seenFile{First: known.first()}
		}
	}
	changed = slices.DeleteFunc(changed, func(f fileio.Found) bool {
		read, ok := o.done[f.Name]
		if ok = ok && read.version == fileio.Version(f.Info); ok {
			now.take(f, read.sums, published[f.Name])
		}
		return ok
	})
	unreadable, err := now.read(ctx, folder, changed, published, o.Observer)
	if err != nil {
		return nil, err
	}
	for name, sum := range installed.sums {
		if _, there := now.Files[name]; !there && folder == dir {
			c.judge(name, seenFile{}, nil, sum, nil)
		}
	}
	for name, f := range now.Files {
		c.judge(name, f, published[name], installed.sums[name], unreadable[name])
	}
	slices.SortFunc(c.Different, func(a, b Difference) int { return cmp.Compare(a.Name, b.Name) })
	c.Since, c.Read = now.Since, now.Read
	if c.Unkept == nil && !maps.Equal(old.Files, now.Files) {
		c.Unkept = now.write(record)
	}
	return c, nil
}

func readSeen(record, dir string) (s seen) {
	data, err := os.ReadFile(record)
	if err != nil || json.Unmarshal(data, &s) != nil || s.Format != 1 || s.Dir != dir {
		return seen{}
	}
	return s
}

func (s *seen) write(record string) error {
	data, err := json.Marshal(s)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(record), 0o755)
	}
	if err == nil {
		err = fileio.WriteFile(record, data, 0o644)
	}
	if err != nil {
		return fmt.Errorf("keeping the checksums of %s: %w", s.Dir, err)
	}
	return nil
}

// read computes the sums of files, those of MD5 where one is published.
func (s *seen) read(ctx context.Context, dir string, files []fileio.Found, published map[string][]File, o Observer) (unreadable map[string]error,
	err error) {
	if len(files) == 0 {
		return nil, nil
	}
	o.Phase("comparing the data set with its checksums")
	tick := workerpool.Counter(len(files), o.Items)
	got, errs := make([]sums, len(files)), make([]error, len(files))
	err = workerpool.Each(ctx, 0, len(files), func(ctx context.Context, i int) error {
		f, err := fileio.Open(filepath.Join(dir, filepath.FromSlash(files[i].Name))) // perhaps behind a link to elsewhere
		if errs[i] = err; err == nil {
			got[i], errs[i] = sumOpen(ctx, f, nil)
		}
		tick(1)
		return ctx.Err()
	})
	unreadable = map[string]error{}
	for i, f := range files {
		if s.take(f, got[i], published[f.Name]); errs[i] != nil {
			unreadable[f.Name] = errs[i]
			s.Files[f.Name] = seenFile{First: s.Files[f.Name].First}
		}
	}
	return unreadable, err
}

// take keeps the sums of a file that was read now, and the first ones.
func (s *seen) take(f fileio.Found, got sums, published []File) {
	s.Read = time.Now()
	file := seenFile{SHA256: got.SHA256}
	if len(published) > 0 {
		file.MD5 = got.MD5
	}
	if s.Read.Sub(f.Info.ModTime()) > settled {
		file.Version = fileio.Version(f.Info)
	}
	if first := s.Files[f.Name].first(); first != got.SHA256 {
		file.First = first
	}
	s.Files[f.Name] = file
}

// first is the sum when the file was first seen.
func (f seenFile) first() string { return cmp.Or(f.First, f.SHA256) }

// judge counts a file among the right ones, or adds how it differs.
func (c *Comparison) judge(name string, f seenFile, published []File, installed string, unreadable error) {
	differs := func(from, format string, args ...any) {
		c.Different = append(c.Different, Difference{name, from, fmt.Sprintf(format, args...)})
	}
	known := firstSeen
	if installed != "" {
		known = asInstalled
	}
	var wrong error
	for _, p := range published {
		if wrong = (File{MD5: p.MD5, SHA256: p.SHA256}).check(sums{MD5: f.MD5, SHA256: f.SHA256}, name); wrong == nil {
			break
		}
	}
	switch {
	case unreadable != nil:
		differs(known, "%s: %v", name, unreadable)
	case f.SHA256 == "":
		differs(known, "%s is missing", name)
	case wrong != nil && installed != f.SHA256: // a part of a data set has lists that were cut when they were installed
		differs(asPublished, "%v", wrong)
	case installed != "" && installed != f.SHA256:
		differs(asInstalled, "%s is not as it was installed: its SHA-256 has changed", name)
	case len(published) > 0 && wrong == nil:
		c.Published++
	case installed != "":
		c.Installed++
	case f.First != "":
		differs(firstSeen, "%s is not as it was first seen: its SHA-256 was %s", name, f.First)
	default:
		c.AsSeen++
	}
}

// publishedFor are the checksums that are published for a file, by its path below a folder of one of the items, or below another one
// that has it.
func publishedFor(items []Item, name string) (list []File) {
	same := func(published string) bool {
		return published == name || strings.HasSuffix(name, "/"+published) || strings.HasSuffix(published, "/"+name)
	}
	for _, it := range items {
		for _, f := range it.Files {
			if f.hasChecksum() && f.Unpack == nil && same(f.Name) {
				list = append(list, f)
			}
			for _, inside := range slices.Sorted(maps.Keys(f.Inside)) {
				if same(inside) || f.R2 != "" && path.Base(name) == inside {
					list = append(list, File{MD5: f.Inside[inside]})
				}
			}
		}
	}
	return list
}
