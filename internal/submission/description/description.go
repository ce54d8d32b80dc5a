package description

import (
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

// A Request is what the machine cannot tell. What is empty stays to be filled in.
type Request struct {
	Submitter string
	Division  string // closed, open or network; network adds its fields
	Status    string // available, preview or rdi
	Type      string // edge, datacenter, or both with a comma
	Name      string // of the system
	Framework string // with version
	Program   string // what measures, with version
	End       string // of the network that this machine is: SUT or LoadGen; empty: SUT
	Link      Link   // of the division network
	Power     bool   // adds the fields of systems with measured power

	Old    Description       // from before: what is no placeholder in it stays, unless the request has another
	Values map[string]string // fields that somebody gave
}

// Of describes a machine.
func Of(m machine.Machine, i machine.Inventory, q Request) (Description, error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	d := Description{}
	for _, f := range q.fields() {
		if d[f.Name] = ""; f.Hint != "" {
			d[f.Name] = checker.Placeholder(f.Hint)
		}
	}
	host(d, m, i)
	accelerators(d, i)
	software(d, m, q)
	if q.Division == "network" {
		distant(d, m, i.NICs, q)
	}
	for name, value := range q.Old {
		if _, mine := d[name]; !checker.HasPlaceholder(value) && (value != "" || !mine) {
			d[name] = value
		}
	}
	d.fill(map[string]string{
		"submitter": q.Submitter, "division": q.Division, "status": q.Status, "system_type": q.Type, "system_name": q.Name,
	})
	maps.Copy(d, q.Values)
	return d, nil
}

// fields lists those that the description has.
func (q Request) fields() []checker.Field {
	list := checker.SystemFields()
	if q.Division == "network" {
		list = append(list, checker.NetworkFields()...)
	}
	if q.Power {
		list = append(list, checker.PowerFields()...)
	}
	return list
}

var choices = map[string][]string{
	"division":    {"closed", "open", "network"},
	"status":      {"available", "preview", "rdi"},
	"network_end": {SUT, LoadGen},
	"system_type": {"edge", "datacenter", "datacenter,edge", "edge,datacenter"},
}

func (q Request) check() error {
	for name, value := range map[string]string{"division": q.Division, "status": q.Status, "system_type": q.Type, "network_end": q.End} {
		if value != "" && !slices.Contains(choices[name], value) {
			return userinput.Invalid(name, value, "one of "+strings.Join(choices[name], " "))
		}
	}
	known := checker.FieldNames(slices.Concat(checker.SystemFields(), checker.NetworkFields(), checker.PowerFields()))
	for name := range q.Values {
		if !slices.Contains(known, name) {
			return userinput.Errorf("set", "a system has no field %q; it has %s", name, strings.Join(known, ", "))
		}
	}
	return nil
}

// fill gives fields the values that are known.
func (d Description) fill(values map[string]string) {
	for name, value := range values {
		if value != "" {
			d[name] = value
		}
	}
}

// Unfinished lists the fields that somebody has to fill in, by name.
func (d Description) Unfinished() []string {
	names := []string{}
	for _, name := range slices.Sorted(maps.Keys(d)) {
		if checker.HasPlaceholder(d[name]) {
			names = append(names, name)
		}
	}
	return names
}

// JSON is the content of the file, fields by name.
func (d Description) JSON() ([]byte, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(map[string]string(d)); err != nil {
		return nil, err
	}
	return []byte(b.String()), nil
}

// largest is how long the file of a description may be.
const largest = 1 << 20

// Read reads a file.
func Read(path string) (Description, error) {
	data, err := fileio.ReadFile(path, largest)
	if err != nil {
		return nil, err
	}
	d, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return d, nil
}

// parse reads the content of a file. Values that are no texts become texts, as numbers are
// in files that were written by hand.
func parse(data []byte) (Description, error) {
	var values map[string]json.RawMessage
	if err := json.Unmarshal(data, &values); err != nil {
		return nil, err
	}
	if values == nil {
		return nil, errors.New("is null, want an object")
	}
	d := Description{}
	for name, raw := range values {
		var text string
		if json.Unmarshal(raw, &text) != nil {
			text = string(raw)
		}
		d[name] = text
	}
	return d, nil
}
