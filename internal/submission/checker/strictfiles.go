package checker

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/submission/truncate"
)

// strictFiles compares the folders of a result with the files that belong there.
func (g *judgement) strictFiles() {
	logs := []string{"mlperf_log_summary.txt", "mlperf_log_detail.txt"}
	if g.hasPower() { // whose folders both profiles compare
		g.strictPowerSettings()
	} else if files, err := g.tree.Files(g.folder + "/performance/run_1"); err == nil {
		g.sameFiles("perf-files", g.folder+"/performance/run_1", files, logs, []string{"mlperf_log_accuracy.json"})
	}
	if files, err := g.tree.Files(g.folder + "/accuracy"); err == nil {
		g.sameFiles("acc-files", g.folder+"/accuracy", files, append(slices.Clone(logs), "mlperf_log_accuracy.json", "accuracy.txt"), nil)
	}
	source := g.division + "/" + g.submitter + "/src"
	if g.round.Before6() {
		source = g.division + "/" + g.submitter + "/code"
	}
	if _, err := g.tree.Folders(source); err != nil && g.tree.Exists(source) {
		g.fail("tree-source", problem{path: source, message: "the source is not a folder", wanted: "a folder"})
	}
}

// strictPowerSettings looks for the descriptions of a power run, beside the
// measurements or up to three folders above.
func (g *judgement) strictPowerSettings() {
	for _, name := range []string{"analyzer_table.", "power_settings."} {
		folder, found := g.measurementsFolder(), false
		for range 4 {
			files, err := g.tree.Files(folder)
			found = found || err == nil && slices.ContainsFunc(files, func(f string) bool { return strings.HasPrefix(f, name) })
			folder = path.Dir(folder)
		}
		if !found {
			g.fail("power-settings", problem{path: g.measurementsFolder() + "/" + name + "*", message: "the file is missing", wanted: "the analyzers, and how the system's power is set up"})
		}
	}
}

var sha256Line = regexp.MustCompile(`^hash=[0-9a-f]{64}$`)

// strictDigest compares the hash of accuracy.txt with the accuracy log, where that was
// not cut. Of one that was cut only pack's backup can tell.
func (g *judgement) strictDigest(folder string) {
	text := folder + "/accuracy.txt"
	hash, line := g.lastHash(text)
	if hash == "" {
		return
	}
	if !sha256Line.MatchString(hash) {
		g.fail("acc-digest", problem{path: text, line: line, message: "the hash is not a SHA-256", found: hash, wanted: "hash= and 64 hex digits"})
		return
	}
	data, whole := g.wholeLog(folder + "/mlperf_log_accuracy.json")
	if !whole {
		return
	}
	sum := sha256.Sum256(data)
	if want := "hash=" + hex.EncodeToString(sum[:]); hash != want {
		g.fail("acc-digest", problem{path: text, line: line, message: "the hash is not that of mlperf_log_accuracy.json", found: hash, wanted: want})
	}
}

// lastHash returns the last line of a text that has a hash, "" if there is none.
func (g *judgement) lastHash(path string) (hash string, line int) {
	if err := g.eachLine(path, func(n int, s string) bool {
		if _, ok := rounds.MatchHash(s); ok {
			hash, line = s, n
		}
		return true
	}); err != nil {
		return "", 0 // which the accuracy's own check says
	}
	return hash, line
}

// wholeLog returns an accuracy log that was not cut.
func (g *judgement) wholeLog(path string) (data []byte, whole bool) {
	data, err := g.tree.Read(path, largestAccuracyLog)
	return data, err == nil && !truncate.WasCut(data)
}
