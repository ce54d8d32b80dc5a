package checker

import (
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/submission/fields"
	"github.com/mlperf-go/mlperf/internal/submission/python"
)

// A description is systems/<system>.json and what is wrong with it.
type description struct {
	notebook
	path       string
	dict       *python.Dict // nil: not there, or not an object
	systemType string       // "" if it is not a text
	network    bool         // is_network is "true"

	nameplate    python.Value // systems/<system>_power.yaml, from v6.1 on
	hasNameplate bool         // there is one that can be read
}

// describe reads and judges the description of a system.
func (l *loader) describe(division, submitter, system string) *description {
	home := division + "/" + submitter + "/systems/"
	d := &description{path: home + system + ".json"}
	if l.round.Version >= "v6.1" {
		d.readNameplate(l, home+system+"_power.yaml")
	}
	if !l.tree.Exists(d.path) {
		d.fail("system-missing", problem{path: d.path, message: "the system has no description", wanted: "a JSON file"})
		return d
	}
	v, err := readJSON(l.tree, d.path)
	if err != nil {
		d.fail("system-json", problem{path: d.path, line: lineOf(err), message: "cannot be read: " + plain(err)})
		return d
	}
	var isObject bool
	if d.dict, isObject = v.(*python.Dict); !isObject {
		d.fail("system-json", problem{path: d.path, message: "is not an object", found: python.Str(v)})
		return d
	}
	d.checkStatus()
	d.checkType()
	d.checkNetwork(division)
	d.checkFields()
	if l.strict {
		d.checkPlaceholders()
	}
	d.checkName("submitter", "system-submitter", submitter)
	d.checkName("division", "system-division", division)
	d.checkCounts(l.strict)
	return d
}

// fatal returns the findings for which the official checker stops even where the system
// has no results.
func (d *description) fatal(hasBenchmarks bool) []Finding {
	found := []Finding{}
	for _, f := range d.findings {
		if slices.Contains([]string{"system-missing", "system-json", "system-nameplate"}, f.Rule) || hasBenchmarks && f.Rule == "system-type" {
			found = append(found, f)
		}
	}
	return found
}

// text returns a field that must be a text.
func (d *description) text(field, rule string, want string) (string, bool) {
	v, there := d.dict.Get(field)
	s, isText := v.(string)
	switch {
	case !there:
		d.fail(rule, problem{path: d.path, message: field + " is missing", wanted: want})
	case !isText:
		d.fail(rule, problem{path: d.path, message: field + " is not a text", found: python.Str(v), wanted: want})
	}
	return s, isText
}

func (d *description) checkStatus() {
	const want = "available, preview or rdi"
	if s, ok := d.text("status", "system-status", want); ok && !slices.Contains([]string{"available", "preview", "rdi"}, strings.ToLower(s)) {
		d.fail("system-status", problem{path: d.path, message: "status is not a category", found: s, wanted: want})
	}
}

func (d *description) checkType() {
	const want = "edge, datacenter, or both with a comma and no space"
	s, ok := d.text("system_type", "system-type", want)
	d.systemType = s
	if _, known := kinds[s]; ok && !known {
		d.fail("system-type", problem{path: d.path, message: "system_type is not one of the rules'", found: s, wanted: want})
	}
}

func (d *description) checkNetwork(division string) {
	v, _ := d.dict.Get("is_network")
	if v != nil {
		s, isText := v.(string)
		if !isText {
			d.fail("system-network", problem{path: d.path, message: "is_network is not a text", found: python.Str(v), wanted: `"true", or no such field`})
			return
		}
		d.network = strings.ToLower(s) == "true"
	}
	if division == "network" && !d.network || division == "closed" && d.network {
		d.fail("system-network", problem{path: d.path, message: "is_network does not fit the division " + division, found: python.Str(v), wanted: map[string]string{"network": `"true"`, "closed": "no such field"}[division]})
	}
}

func (d *description) checkFields() {
	list := fields.System()
	if v, _ := d.dict.Get("is_network"); python.Truth(v) {
		list = append(list, fields.Network()...)
	}
	for _, f := range list {
		v, there := d.dict.Get(f.Name)
		switch {
		case !there:
			d.fail("system-field", problem{path: d.path, message: "field " + f.Name + " is missing", wanted: f.Name})
		case f.Filled && !python.Truth(v):
			d.fail("system-empty", problem{path: d.path, message: "field " + f.Name + " is empty", found: python.Str(v), wanted: "a text that is not empty"})
		}
	}
}

// checkPlaceholders finds fields that nobody has filled in.
func (d *description) checkPlaceholders() {
	for _, f := range slices.Concat(fields.System(), fields.Network(), fields.Power()) {
		if v, _ := d.dict.Get(f.Name); fields.HasPlaceholder(python.Str(v)) {
			d.fail("system-placeholder", problem{path: d.path, message: "field " + f.Name + " was never filled in", found: python.Str(v), wanted: f.Hint})
		}
	}
}

// checkName compares a field with the name of a folder.
func (d *description) checkName(field, rule, folder string) {
	if s, ok := d.text(field, rule, folder); ok && !strings.EqualFold(s, folder) {
		d.fail(rule, problem{path: d.path, message: field + " is not the name of the folder", found: s, wanted: folder})
	}
}

// checkCounts checks what the official summary multiplies or joins: it ends with an
// exception where that cannot be done.
func (d *description) checkCounts(strict bool) {
	for _, field := range []string{"number_of_nodes", "accelerators_per_node"} {
		if v, there := d.dict.Get(field); there {
			if _, err := python.Int(v); err != nil {
				d.fail("system-number", problem{path: d.path, message: field + ": " + err.Error(), found: python.Str(v), wanted: "a whole number"})
			}
		}
	}
	d.checkNotes()
	d.checkPrinted(strict)
	if strict {
		d.checkProcessors()
	}
}

// checkPrinted checks that the summary can have what it prints.
func (d *description) checkPrinted(strict bool) {
	for _, field := range summaryFields {
		v, _ := d.dict.Get(field)
		s := python.Str(v)
		if hasSurrogate(s) {
			d.fail("system-text", problem{path: d.path, message: field + " has half of a surrogate pair", wanted: "characters that can be written as UTF-8"})
		}
		if strict && strings.ContainsAny(s, "\"\n\r") {
			d.fail("system-quote", problem{path: d.path, message: field + " has a quotation mark or a line break", found: s, wanted: "plain text"})
		}
	}
}

// checkNotes checks that the two fields that are joined are both texts.
func (d *description) checkNotes() {
	hw, _ := d.dict.Get("hw_notes")
	sw, _ := d.dict.Get("sw_notes")
	_, hwText := hw.(string)
	_, swText := sw.(string)
	if python.Truth(sw) && (!swText || python.Truth(hw) && !hwText) {
		d.fail("system-text", problem{path: d.path, message: "hw_notes and sw_notes are not both texts", found: python.Str(hw) + " and " + python.Str(sw), wanted: "texts"})
	}
}

func (d *description) checkProcessors() {
	v, there := d.dict.Get("host_processors_per_node")
	if _, err := python.Int(v); there && err != nil {
		d.fail("system-number", problem{path: d.path, message: "host_processors_per_node: " + err.Error(), found: python.Str(v), wanted: "a whole number, which the final report needs"})
	}
}

var summaryFields = []string{
	"status", "system_type", "system_name", "number_of_nodes", "host_processor_model_name", "host_processors_per_node", "host_processor_core_count",
	"accelerator_model_name", "accelerators_per_node", "framework", "operating_system", "hw_notes", "sw_notes",
}

// hasSurrogate reports whether a text has half of a surrogate pair.
func hasSurrogate(s string) bool {
	for i := 0; i+1 < len(s); i++ {
		if s[i] == 0xed && s[i+1] >= 0xa0 {
			return true
		}
	}
	return false
}
