package models

import (
	"fmt"
	"slices"
	"strings"
)

// All returns the catalogue, in the order in which it is shown. To add a benchmark, add
// a file and a row.
func All() []Model {
	return []Model{
		resnet50(),
		mobilenet(),
	}
}

// aliases are other names by which models are known.
var aliases = map[string]string{
	"resnet":       "resnet50",
	"resnet50v1.5": "resnet50",
	"mobilenetv1":  "mobilenet",
}

// Lookup returns the model of a name; case, hyphens and underscores do not matter.
func Lookup(name string) (Model, error) {
	plain := strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(name))
	if alias, ok := aliases[plain]; ok {
		plain = alias
	}
	var names []string
	for _, m := range All() {
		if strings.ReplaceAll(m.Name, "-", "") == plain {
			return m, nil
		}
		names = append(names, m.Name)
	}
	slices.Sort(names)
	return Model{}, fmt.Errorf("unknown model %q, want one of %s", name, strings.Join(names, ", "))
}
