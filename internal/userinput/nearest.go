package userinput

import (
	"slices"
	"strings"
)

// maxNameLength is how long a name may be for which near ones are looked for.
const maxNameLength = 100

// Nearest returns the choice that differs least from name, if that is not much more
// than a third of it, or else one that begins with name; empty: none is near.
func Nearest(name string, choices []string) string {
	if len(name) > maxNameLength {
		return ""
	}
	name = strings.ToLower(name)
	best, least := "", len(name)/3+1
	for _, c := range choices {
		if d := Distance(name, strings.ToLower(c)); d < least {
			best, least = c, d
		}
	}
	if best == "" && len(name) > 3 {
		best = beginning(name, choices)
	}
	return best
}

// Meant is Nearest as the end of an error about a name: "; did you mean resnet50?". Without a near one it is empty.
func Meant(name string, choices []string) string {
	near := Nearest(name, choices)
	if near == "" {
		return ""
	}
	return "; did you mean " + near + "?"
}

// beginning returns the first choice that begins with name, in small letters; empty: there is none.
func beginning(name string, choices []string) string {
	i := slices.IndexFunc(choices, func(c string) bool { return strings.HasPrefix(strings.ToLower(c), name) })
	if i < 0 {
		return ""
	}
	return choices[i]
}

// Distance counts the letters to insert, delete or replace, and the neighbours to
// swap (Damerau and Levenshtein, restricted), between a and b.
func Distance(a, b string) int {
	// rows of the table of distances between prefixes: two above, above, current
	two, one, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range one {
		one[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			replace := one[j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			row[j] = min(one[j]+1, row[j-1]+1, replace)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], two[j-2]+1)
			}
		}
		two, one, row = one, row, two
	}
	return one[len(b)]
}
