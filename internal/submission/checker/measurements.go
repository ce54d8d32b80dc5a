package checker

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/submission/fields"
	"github.com/mlperf-go/mlperf/internal/submission/python"
)

// measurementsFolder is where user.conf and README.md are.
func (g *judgement) measurementsFolder() string {
	if g.round.Before6() {
		return strings.Join([]string{g.division, g.submitter, "measurements", g.system, g.benchmark, g.scenario}, "/")
	}
	return g.folder
}

func (g *judgement) checkMeasurements() {
	g.checkSource()
	folder := g.measurementsFolder()
	files, err := g.tree.Files(folder)
	if err != nil {
		message := "cannot be listed: " + err.Error()
		if errors.Is(err, fs.ErrNotExist) {
			message = "the folder is missing"
		}
		g.fail("measure-missing", problem{path: folder, message: message, wanted: "measurements, user.conf and README.md"})
		return
	}
	for _, name := range []string{"user.conf", "README.md"} {
		if !g.endpoints || name != "user.conf" {
			g.checkText(folder, name, files)
		}
	}
	g.checkMeasurementFields(folder + "/" + g.measurementsName(files))
}

// checkText checks that a text beside the measurements is one of their files and not empty.
func (g *judgement) checkText(folder, name string, files []string) {
	path := folder + "/" + name
	if !slices.Contains(files, name) {
		g.fail("measure-file", problem{path: path, message: "the file is missing"})
	} else if size, err := g.tree.Size(path); err != nil || size == 0 {
		g.fail("measure-file", problem{path: path, message: "the file is empty", found: "0 bytes", wanted: "content"})
	}
}

// measurementsName returns the name of the measurements. Up to v5.1 it is the first
// that starts with the system's.
func (g *judgement) measurementsName(files []string) string {
	if !g.round.Before6() {
		return "measurements.json"
	}
	for _, f := range files {
		if strings.HasPrefix(f, g.system) && strings.HasSuffix(f, ".json") {
			return f
		}
	}
	return "None" // as the official checker calls it
}

func (g *judgement) checkMeasurementFields(path string) {
	if !g.tree.Exists(path) {
		if strings.HasSuffix(path, "/None") {
			path = strings.TrimSuffix(path, "None") + g.system + "_<implementation>_" + g.scenario + ".json"
		}
		g.fail("measure-missing", problem{path: path, message: "the measurements are missing", wanted: "a JSON file"})
		return
	}
	v, err := readJSON(g.tree, path)
	if err != nil {
		g.fail("measure-json", problem{path: path, line: lineOf(err), message: "cannot be read: " + plain(err)})
		return
	}
	d, isObject := v.(*python.Dict)
	if !isObject {
		g.fail("measure-json", problem{path: path, message: "is not an object", found: str(v)})
		return
	}
	g.measurements = d
	g.checkFilled(path)
	if v, _ := d.Get("weight_data_types"); hasSurrogate(str(v)) {
		g.fail("system-text", problem{path: path, message: "weight_data_types has half of a surrogate pair", wanted: "characters that can be written as UTF-8"})
	}
}

// checkFilled looks for the fields of the measurements.
func (g *judgement) checkFilled(path string) {
	for _, field := range fields.Names(fields.Measurements(), false) {
		if v, there := g.measurements.Get(field); !there {
			g.fail("measure-field", problem{path: path, message: "field " + field + " is missing", wanted: field})
		} else if !python.Truth(v) {
			g.fail("measure-field", problem{path: path, message: "field " + field + " is empty", found: str(v), wanted: "a text that is not empty"})
		}
	}
}

func (g *judgement) checkSource() {
	path := g.division + "/" + g.submitter + "/src"
	if g.round.Before6() {
		path = g.division + "/" + g.submitter + "/code"
	}
	if !g.tree.Exists(path) {
		g.fail("tree-source", problem{path: path, message: "the source is missing", wanted: "the code of the benchmark"})
	}
}
