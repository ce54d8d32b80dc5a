package description

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/machine"
	"github.com/mlperf-go/mlperf/internal/submission/checker"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A Description is the fields of a system and their values.
type Description map[string]string

// The ends of a network.
const (
	LoadGen = "loadgen"
	SUT     = "sut"
)

// A Link is the connection to the system in a run of the division network.
type Link struct {
	Endpoints   []string // URLs
	Connections int      // requests under way at most, which have a connection each over HTTP
}

// A Request has the values that the machine does not show. An empty one becomes a placeholder.
type Request struct {
	Submitter string
	Division  string // closed, open or network; network adds its fields
	Status    string // available, preview or rdi
	Type      string // edge, datacenter, or both with a comma
	Name      string // of the system
	Framework string // with version
	Program   string // that measures, with version
	End       string // of the network that this machine is: SUT or LoadGen; empty: SUT
	Link      Link   // of the division network
	Power     bool   // adds the fields of systems with measured power

	Old    Description       // an older description: its values stay, unless they are placeholders or the request has another
	Values map[string]string // any fields; they come before all others
}

// Of describes a machine.
func Of(m machine.Machine, i machine.Inventory, q Request) (Description, error) {
	for _, c := range []struct{ field, value, choices string }{
		{"division", q.Division, "closed open network"}, {"status", q.Status, "available preview rdi"}, {"network_end", q.End, SUT + " " + LoadGen},
		{"system_type", q.Type, "edge datacenter datacenter,edge edge,datacenter"},
	} {
		if c.value != "" && !slices.Contains(strings.Fields(c.choices), c.value) {
			return nil, userinput.Invalid(c.field, c.value, "one of "+c.choices)
		}
	}
	known := checker.FieldNames(slices.Concat(checker.SystemFields(), checker.NetworkFields(), checker.PowerFields()))
	for name := range q.Values {
		if !slices.Contains(known, name) {
			return nil, userinput.Errorf("set", "unknown field %q: must be one of %s", name, strings.Join(known, ", "))
		}
	}

	d := Description{}
	fields := checker.SystemFields()
	if q.Division == "network" {
		fields = append(fields, checker.NetworkFields()...)
	}
	if q.Power {
		fields = append(fields, checker.PowerFields()...)
	}
	for _, f := range fields {
		if d[f.Name] = ""; f.Hint != "" {
			d[f.Name] = checker.Placeholder(f.Hint)
		}
	}
	d.host(m, i, q.Power)
	d.accelerators(i.Accelerators)
	d.software(m, q)
	if q.Division == "network" {
		d.network(m, i.NICs, cmp.Or(q.End, SUT), q.Link)
	}
	for name, value := range q.Old {
		if _, known := d[name]; !checker.HasPlaceholder(value) && (value != "" || !known) {
			d[name] = value
		}
	}
	d.fill(map[string]string{
		"submitter": q.Submitter, "division": q.Division, "status": q.Status, "system_type": q.Type, "system_name": q.Name,
	})
	maps.Copy(d, q.Values)
	return d, nil
}

// fill sets fields to the values that are not empty.
func (d Description) fill(values map[string]string) {
	for name, value := range values {
		if value != "" {
			d[name] = value
		}
	}
}

// Unfinished lists the fields that are to be filled in, by name, and what a datacenter system needs and others do not say.
func (d Description) Unfinished() []string {
	names := []string{}
	for _, name := range slices.Sorted(maps.Keys(d)) {
		if checker.HasPlaceholder(d[name]) {
			names = append(names, name)
		}
	}
	for _, f := range checker.DatacenterLacks(func(field string) string { return d[field] }) {
		if !checker.HasPlaceholder(d[f.Name]) {
			names = append(names, f.Name+" ("+f.Hint+")")
		}
	}
	return names
}

// JSON returns the content of the file, fields by name. Of the fields that are named, values that are JSON are written as they are, for
// instance as numbers; all others are texts.
func (d Description) JSON(numbers ...string) ([]byte, error) {
	var b strings.Builder
	values := map[string]any{}
	for name, value := range d {
		if values[name] = value; slices.Contains(numbers, name) && json.Valid([]byte(value)) {
			values[name] = json.RawMessage(value)
		}
	}
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(values)
	return userinput.PrintableJSON([]byte(b.String())), err
}

// Read reads a file. Values that are not texts, as the numbers in files that were written by hand, become texts.
func Read(path string) (Description, error) {
	d, _, err := ReadNumbers(path)
	return d, err
}

// ReadNumbers is Read, and names the fields whose values are no texts.
func ReadNumbers(path string) (d Description, numbers []string, err error) {
	data, err := fileio.ReadFile(path, 1<<20)
	if err != nil {
		return nil, nil, err
	}
	var values map[string]json.RawMessage
	if err = json.Unmarshal(data, &values); err == nil && values == nil {
		err = errors.New("is null, expected an object")
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	d = Description{}
	for name, raw := range values {
		var text string
		if json.Unmarshal(raw, &text) != nil {
			text, numbers = string(raw), append(numbers, name)
		}
		d[name] = text
	}
	return d, numbers, nil
}
