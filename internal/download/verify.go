package download

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"sync"
)

// A Report is what Verify found.
type Report struct {
	Dir      string   `json:"dir"`
	Fine     []string `json:"fine"`              // what was checked and is right
	Problems []string `json:"problems"`          // what is wrong; the first MaxProblems of each kind
	More     int      `json:"more,omitempty"`    // problems beyond these
	Unknown  []string `json:"unknown,omitempty"` // what could not be checked, and why

	Ours  bool   `json:"downloaded"`   // Get or Upscale made the folder, at least in part
	Of    string `json:"of,omitempty"` // what they made it to be, if they finished
	Count int    `json:"count,omitempty"`
	Seed  uint64 `json:"seed,omitempty"` // with Count: the part that is there, or should be
}

// OK reports whether nothing is wrong.
func (r *Report) OK() bool { return len(r.Problems) == 0 }

// VerifyOptions say what to verify.
type VerifyOptions struct {
	Dir         string
	Count       int      // of samples that there should be; 0: as downloaded, or all
	MaxProblems int      // to report of each kind; 0: 10
	Observer    Observer // nil: silence
}

// ErrNotThere is what Verify says about a folder that does not exist.
var ErrNotThere = errors.New("there is no such folder")

// A verification is one Verify.
type verification struct {
	VerifyOptions
	item   Item
	root   *os.Root
	count  int // of samples, as the receipt has it; 0: all
	report *Report

	mu   sync.Mutex
	said int // problems of the current kind
}

// Verify checks an item's folder: that the files are there and have the published
// checksums, that they are as they were when they were installed, and that the
// data set's own lists agree with its files. It changes nothing. The error is for what
// kept it from checking; what is wrong is in the report.
func Verify(ctx context.Context, it Item, o VerifyOptions) (*Report, error) {
	if err := checkCount(it, o.Count); err != nil {
		return nil, err
	}
	if o.MaxProblems <= 0 {
		o.MaxProblems = 10
	}
	if o.Observer == nil {
		o.Observer = silence{}
	}
	o.Observer = &serial{o: o.Observer}
	root, err := openRoot(o.Dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s %s is not in %s: %w", it.Kind, it.Name, o.Dir, ErrNotThere)
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	v := &verification{VerifyOptions: o, item: it, root: root, report: &Report{Dir: o.Dir, Fine: []string{}, Problems: []string{}}}
	if err := v.run(ctx); err != nil {
		return nil, fmt.Errorf("verifying %s %s: %w", it.Kind, it.Name, err)
	}
	return v.report, nil
}

func (v *verification) run(ctx context.Context) error {
	r, finished := readReceipt(v.root)
	v.count = r.Count
	if v.Count > 0 {
		v.count = v.Count
	}
	v.report.Of, v.report.Count, v.report.Seed = r.Name, v.count, r.Seed
	if err := v.checkPublished(ctx); err != nil {
		return err
	}
	if err := v.checkInstalled(ctx, r, finished); err != nil {
		return err
	}
	if err := v.checkLayout(ctx); err != nil {
		return err
	}
	if len(v.report.Fine) == 0 && v.report.OK() {
		v.report.Problems = append(v.report.Problems, "there is nothing in "+v.Dir+" that belongs to "+v.item.Name)
	}
	return nil
}

// checkLayout checks what data sets of the item's layout have.
func (v *verification) checkLayout(ctx context.Context) error {
	check := layouts()[v.item.Layout].check
	if check == nil {
		return nil
	}
	return check(ctx, v)
}

// kind begins problems of another kind.
func (v *verification) kind() { v.said = 0 }

// problem reports that something is wrong.
func (v *verification) problem(format string, args ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.said++; v.said > v.MaxProblems {
		v.report.More++
		return
	}
	v.report.Problems = append(v.report.Problems, fmt.Sprintf(format, args...))
}

func (v *verification) fine(format string, args ...any) {
	v.report.Fine = append(v.report.Fine, fmt.Sprintf(format, args...))
}

func (v *verification) unknown(format string, args ...any) {
	v.report.Unknown = append(v.report.Unknown, fmt.Sprintf(format, args...))
}

// checkPublished checks the files of which the manifest has something to compare.
func (v *verification) checkPublished(ctx context.Context) error {
	v.kind()
	for _, f := range v.item.Files {
		if err := v.checkInside(ctx, f); err != nil {
			return err
		}
		if f.R2 != "" || f.Unpack != nil {
			continue
		}
		if err := v.checkFile(ctx, f.Name, f.want()); err != nil {
			return err
		}
	}
	return nil
}

// checkInside checks the files that came out of another.
func (v *verification) checkInside(ctx context.Context, f File) error {
	for _, name := range slices.Sorted(maps.Keys(f.Inside)) {
		if _, err := v.root.Stat(name); f.R2 != "" && err != nil {
			continue // it may lie in a folder, which only MLCommons' list tells
		}
		if err := v.checkFile(ctx, name, want{md5: f.Inside[name]}); err != nil {
			return err
		}
	}
	return nil
}

// checkFile checks one file against what is published.
func (v *verification) checkFile(ctx context.Context, name string, w want) error {
	v.Observer.Phase("checking " + name)
	got, err := sumObserved(ctx, v.root, name, v.Observer)
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	switch {
	case errors.Is(err, os.ErrNotExist):
		v.problem("%s is missing", name)
	case err != nil:
		v.problem("%v", err)
	case w.check(got, name) != nil:
		v.problem("%v", w.check(got, name))
	case w.known():
		v.fine("%s has the published checksum", name)
	case w.size > 0:
		v.fine("%s has the published size; no checksum is published", name)
	default:
		v.unknown("%s: no checksum is published; its SHA-256 is %s", name, got.SHA256)
	}
	return nil
}

// checkInstalled checks the files against the list of when they were installed.
func (v *verification) checkInstalled(ctx context.Context, r receipt, finished bool) error {
	v.kind()
	data, err := readFile(v.root, sumsFile)
	if errors.Is(err, os.ErrNotExist) {
		v.unknown("mlperf download did not make this folder, so there is no list of all its checksums")
		return nil
	}
	if err != nil {
		return err
	}
	if !finished {
		v.problem("the download was not finished")
	}
	v.report.Ours = true
	v.Observer.Phase("checking all files")
	list := &sumList{root: v.root, sums: parseSums(data)}
	if n := len(list.sums); n < r.Files {
		v.problem("%s lists %d files, want %d: the others cannot be checked", sumsFile, n, r.Files)
	}
	before := len(v.report.Problems)
	files, size, err := list.verify(ctx, v.Observer, func(text string) { v.problem("%s", text) })
	slices.Sort(v.report.Problems[before:])
	if err == nil && files > 0 && len(v.report.Problems) == before {
		v.fine("%d files, %s, are as they were installed", files, human(size))
	}
	return err
}

// wanted is how many samples there should be; 0 if that is not known.
func (v *verification) wanted() int {
	if v.count > 0 {
		return v.count
	}
	return v.item.Samples
}

// checkCount compares the number of samples with what it should be.
func (v *verification) checkCount(got int, where string) {
	v.kind()
	switch n := v.wanted(); {
	case n == 0:
		v.unknown("%s lists %d samples; how many there should be is not known", where, got)
	case got != n:
		v.problem("%s lists %d samples, want %d", where, got, n)
	default:
		v.fine("%s lists %d samples", where, got)
	}
}

// open opens a file of the folder under its full name, for readers that mention it.
func (v *verification) open(name string) (*os.File, error) {
	if err := checkPath(name); err != nil {
		return nil, err
	}
	return openFile(v.root, path.Clean(name))
}
