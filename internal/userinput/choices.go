package userinput

import (
	"slices"
	"strings"
)

// OneOf wants a field to have one of some values.
func OneOf(name, value string, choices ...string) error {
	if slices.Contains(choices, value) {
		return nil
	}
	return Invalid(name, value, Or(choices))
}

// Or lists choices: a, b or c.
func Or(choices []string) string {
	if len(choices) < 2 {
		return strings.Join(choices, "")
	}
	last := len(choices) - 1
	return strings.Join(choices[:last], ", ") + " or " + choices[last]
}

// FirstSet returns the name of the first field that has a value, as set says of each; empty: none has.
func FirstSet(names []string, set ...bool) string {
	if i := slices.Index(set, true); i >= 0 {
		return names[i]
	}
	return ""
}
