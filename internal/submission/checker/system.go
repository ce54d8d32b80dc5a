package checker

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/config/rounds"
)

// A description is systems/<system>.json and what is wrong with it.
type description struct {
	findings
	path       string
	fields     map[string]any // nil: missing, or not an object
	systemType string         // "" if it is not a text
	network    bool           // is_network is "true"

	nameplate    any  // systems/<system>_power.yaml, from v6.1 on
	hasNameplate bool // it exists and can be read
}

// describe reads and judges the description of a system.
func (l *loader) describe(division, submitter, system string) *description {
	home := division + "/" + submitter + "/systems/"
	d := &description{path: home + system + ".json"}
	if path := home + system + "_power.yaml"; !rounds.Before(l.round.Version, "v6.1") && l.exists(path) {
		v, err := l.readYAML(path)
		if err != nil {
			d.unreadable("system-nameplate", path, err, "YAML")
		}
		d.nameplate, d.hasNameplate = v, err == nil
	}
	if !l.exists(d.path) {
		d.fail("system-missing", problem{path: d.path, message: "the system has no description", wanted: "a JSON file"})
		return d
	}
	v, err := l.readJSON(d.path)
	if err != nil {
		d.unreadable("system-json", d.path, err, "")
		return d
	}
	var isObject bool
	if d.fields, isObject = v.(map[string]any); !isObject {
		d.fail("system-json", problem{path: d.path, message: "not an object", found: str(v)})
		return d
	}
	d.check(division, submitter, l.strict)
	return d
}

func (d *description) check(division, submitter string, strict bool) {
	problem := func(rule, message string, found any, wanted string) {
		text := ""
		if found != nil {
			text = str(found)
		}
		d.fail(rule, problem{path: d.path, message: message, found: text, wanted: wanted})
	}
	text := func(field, rule, want string) (string, bool) { // of a field that must be a text
		v, exists := d.fields[field]
		s, isText := v.(string)
		switch {
		case !exists:
			problem(rule, field+" is missing", nil, want)
		case !isText:
			problem(rule, field+" is not a text", str(v), want)
		}
		return s, isText
	}
	const statuses, types = "available, preview or rdi", "edge, datacenter, or both with a comma and no space"
	if s, ok := text("status", "system-status", statuses); ok && !slices.Contains([]string{"available", "preview", "rdi"}, strings.ToLower(s)) {
		problem("system-status", "status is not a category", s, statuses)
	}
	ok := false
	if d.systemType, ok = text("system_type", "system-type", types); ok && systemKinds[d.systemType] == "" {
		problem("system-type", "system_type is not one of the rules'", d.systemType, types)
	}
	isNetwork := d.fields["is_network"]
	if s, isText := isNetwork.(string); isNetwork != nil && !isText {
		problem("system-network", "is_network is not a text", isNetwork, `"true", or no such field`)
	} else {
		d.network = strings.EqualFold(s, "true")
		if division == "network" && !d.network {
			problem("system-network", "is_network does not fit the division network", str(isNetwork), `"true"`)
		} else if division == "closed" && d.network {
			problem("system-network", "is_network does not fit the division closed", s, "no such field")
		}
	}
	needed := SystemFields()
	if truth(isNetwork) {
		needed = append(needed, NetworkFields()...)
	}
	for _, f := range needed {
		v, exists := d.fields[f.Name]
		if !exists {
			problem("system-field", "field "+f.Name+" is missing", nil, f.Name)
		} else if f.Filled && !truth(v) {
			problem("system-empty", "field "+f.Name+" is empty", str(v), "a text that is not empty")
		}
	}
	for _, f := range []struct{ field, rule, folder string }{{"submitter", "system-submitter", submitter}, {"division", "system-division", division}} {
		if s, ok := text(f.field, f.rule, f.folder); ok && !strings.EqualFold(s, f.folder) {
			problem(f.rule, f.field+" is not the name of the folder", s, f.folder)
		}
	}
	// The official summary multiplies these, and joins the notes: it ends with an exception where it cannot.
	whole := []string{"number_of_nodes", "accelerators_per_node"}
	if strict {
		whole = append(whole, "host_processors_per_node") // which the final report needs
	}
	for _, field := range whole {
		if v, exists := d.fields[field]; exists {
			if _, err := parseWhole(v); err != nil {
				problem("system-number", field+": "+err.Error(), v, "a whole number")
			}
		}
	}
	hw, sw := d.fields["hw_notes"], d.fields["sw_notes"]
	_, hwText := hw.(string)
	if _, swText := sw.(string); truth(sw) && (!swText || truth(hw) && !hwText) {
		problem("system-text", "hw_notes and sw_notes are not both texts", str(hw)+" and "+str(sw), "texts")
	}
	if !strict {
		return
	}
	for _, field := range summaryFields {
		if s := str(d.fields[field]); strings.ContainsAny(s, "\"\n\r") {
			problem("system-quote", field+" has a quotation mark or a line break", s, "plain text")
		}
	}
	for _, f := range slices.Concat(SystemFields(), NetworkFields(), PowerFields()) {
		if v := str(d.fields[f.Name]); HasPlaceholder(v) {
			problem("system-placeholder", "field "+f.Name+" was not filled in", v, f.Hint)
		}
	}
	value := func(field string) string { // null and absent fields are findings of their own
		if v := d.fields[field]; v != nil {
			return str(v)
		}
		return ""
	}
	if division == "network" && !strings.Contains(d.systemType, "datacenter") {
		problem("system-datacenter", "the division network is for datacenter systems", d.systemType, "datacenter")
	}
	for _, f := range DatacenterLacks(value) {
		if v := value(f.Name); !HasPlaceholder(v) {
			problem("system-datacenter", f.Name+" does not have what a datacenter system needs", v, f.Hint)
		}
	}
}

var summaryFields = []string{
	"status", "system_type", "system_name", "number_of_nodes", "host_processor_model_name", "host_processors_per_node", "host_processor_core_count",
	"accelerator_model_name", "accelerators_per_node", "framework", "operating_system", "hw_notes", "sw_notes",
}

// designWatts returns what the summary of a result with power says of the power supplies.
func (d *description) designWatts() (string, error) {
	if v, ok := d.fields["system_power_capacity"]; ok {
		return str(v), nil
	}
	if !d.hasNameplate {
		return "None", nil
	}
	if d.nameplate == nil {
		return "", errors.New("the file is empty")
	}
	watts, whole, err := capacity(d.nameplate)
	if whole && err == nil {
		return fmt.Sprint(int64(watts)), nil
	}
	return formatFloat(watts), err
}

// capacity adds up the power of the supplies that each part of a system needs: of a part that lists its PSUs and how many
// it needs, the largest so many. whole: all are whole numbers.
func capacity(v any) (watts float64, whole bool, err error) {
	parts, _ := v.([]any)
	whole = true
	if d, isObject := v.(map[string]any); isObject {
		lower := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(d)) {
			lower[strings.ToLower(name)] = d[name]
			parts = append(parts, d[name])
		}
		psus, hasPSUs := lower["psus"]
		if least, ok := lower["min psus needed"]; ok && hasPSUs {
			return largestSupplies(psus, least)
		}
	}
	for _, part := range parts {
		w, isWhole, err := capacity(part)
		if err != nil {
			return 0, false, err
		}
		watts, whole = watts+w, whole && isWhole
	}
	return watts, whole, nil
}

// largestSupplies adds up the power of so many of the largest supplies.
func largestSupplies(psus, least any) (watts float64, whole bool, err error) {
	list, isList := psus.([]any)
	n, isWhole := least.(int64)
	switch {
	case !isList:
		return 0, false, fmt.Errorf("PSUs is %s: must be a list", shorten(str(psus)))
	case !isWhole || n < 0:
		return 0, false, fmt.Errorf("the field Min PSUs Needed is %s: must be a whole number", shorten(str(least)))
	}
	whole = true
	supplies := make([]float64, len(list))
	for i, one := range list {
		psu, isObject := one.(map[string]any)
		if !isObject {
			return 0, false, fmt.Errorf("a PSU is %s: must be an object", shorten(str(one)))
		}
		if v, has := psu["PowerCapacityWatts"]; has {
			ok := false
			if supplies[i], ok = number(v); !ok {
				return 0, false, fmt.Errorf("PowerCapacityWatts is %s: must be a number", shorten(str(v)))
			}
			_, isFloat := v.(float64)
			whole = whole && !isFloat
		}
	}
	slices.SortFunc(supplies, func(a, b float64) int { return cmp.Compare(b, a) })
	for _, w := range supplies[:min(int(n), len(supplies))] {
		watts += w
	}
	return watts, whole, nil
}
