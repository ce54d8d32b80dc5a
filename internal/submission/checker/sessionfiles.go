package checker

import (
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf/internal/submission/python"
)

// hashed are the files whose checksums both sides keep.
var hashed = []string{
	"power/client.log", "power/ptd_logs.txt", "power/server.log",
	"ranging/mlperf_log_detail.txt", "ranging/mlperf_log_summary.txt", "ranging/spl.txt",
	"run_1/mlperf_log_detail.txt", "run_1/mlperf_log_summary.txt", "run_1/spl.txt",
}

// checksums compares the files with the checksums that were taken when they were
// written.
func (s *session) checksums() error {
	server, err := sumsOf(s.server)
	client, errClient := sumsOf(s.client)
	if err = errors.Join(err, errClient); err != nil {
		return err
	}
	files, err := s.files()
	if err != nil {
		return err
	}
	for _, path := range append([]string{"power/client.json", "power/server.json"}, hashed...) {
		if !slices.Contains(files, path) {
			return fmt.Errorf("%s is missing, or behind a link to a folder", path)
		}
	}
	for _, path := range hashed {
		sum, err := s.sha1(path)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if err := unchanged(path, sum, server, client); err != nil {
			return err
		}
	}
	return nil
}

// files lists what is below the folder, through no links to folders. Each must open, as the official
// checker takes the checksums of all of them.
func (s *session) files() (files []string, err error) {
	root, err := filepath.EvalSymlinks(s.tree.At(s.folder))
	if err != nil {
		return nil, err
	}
	return files, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if info, errInfo := os.Stat(path); err != nil || errInfo == nil && info.IsDir() {
			return nil // a folder that cannot be listed has no files
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		f, err := s.tree.Open(s.folder + "/" + rel)
		if err != nil {
			return fmt.Errorf("%s cannot be opened: %w", rel, err)
		}
		files = append(files, rel)
		return f.Close()
	})
}

// unchanged compares a checksum with those that either side has of the file: one at least.
func unchanged(path, sum string, server, client *python.Dict) error {
	known := false
	for _, side := range []*python.Dict{server, client} {
		taken, has := side.Get(path)
		if known = known || has; has && !python.Equal(taken, sum) {
			return fmt.Errorf("%s was changed: its SHA-1 is %s, not the %s of the session", path, sum, str(taken))
		}
	}
	if !known {
		return fmt.Errorf("neither side has a checksum of %s", path)
	}
	return nil
}

// sumsOf returns the checksums that one side took.
func sumsOf(side *python.Dict) (*python.Dict, error) {
	results, err := at(side, "results")
	sums, ok := results.(*python.Dict)
	if err == nil && !ok {
		err = errors.New("results is not an object")
	}
	return sums, err
}

func (s *session) sha1(path string) (string, error) {
	f, err := s.tree.Open(s.folder + "/" + path)
	if err != nil {
		return "", err
	}
	sum := sha1.New()
	_, err = io.Copy(sum, f)
	return hex.EncodeToString(sum.Sum(nil)), errors.Join(err, f.Close())
}

var devices = []string{
	"YokogawaWT210", "YokogawaWT500", "YokogawaWT500_multichannel", "YokogawaWT310", "YokogawaWT310E", "YokogawaWT330",
	"YokogawaWT330E", "YokogawaWT330_multichannel", "YokogawaWT210_DC", "YokogawaWT310_DC", "YokogawaWT330_DC",
}

// analyzers checks the devices that the daemon was set up with.
func (s *session) analyzers() error {
	list, err := listAt(s.server, "ptd_config")
	if err != nil {
		return err
	}
	for _, a := range list {
		v, err := at(a, "device_type")
		if err != nil {
			return err
		}
		is := func(n int64) bool { return python.Equal(v, n) }
		if !slices.ContainsFunc([]int64{8, 35, 48, 49, 52, twoChannelType, 508, 549, 586}, is) {
			return fmt.Errorf("the device type %s is not supported", str(v))
		}
		if is(twoChannelType) {
			if err := twoChannels(a); err != nil {
				return err
			}
		}
	}
	return nil
}

const twoChannelType = 77 // YokogawaWT330_multichannel

func twoChannels(analyzer python.Value) error {
	command, err := listAt(analyzer, "command")
	if err != nil {
		return err
	}
	channels := ""
	if i := slices.Index(command, python.Value("-c")); i >= 0 {
		if channels, err = textAt(command, i+1); err != nil {
			return err
		}
	}
	used, err := at(analyzer, "channel")
	if err == nil && (len(strings.Split(channels, ",")) != 2 || length(used) != 2) {
		err = fmt.Errorf("a WT330_multichannel measures with the channels %q and uses %s, want two", channels, str(used))
	}
	return err
}

// length is len(v), 0 for what has none.
func length(v python.Value) int {
	switch v := v.(type) {
	case string:
		return utf8.RuneCountInString(v)
	case []python.Value:
		return len(v)
	case *python.Dict:
		return len(v.Keys())
	}
	return 0
}
