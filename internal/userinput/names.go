package userinput

import (
	"slices"
	"strings"
)

// Plain returns a name in lower case, without hyphens, underscores and spaces.
func Plain(name string) string {
	return strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(name))
}

// Same reports whether two names differ only in case, hyphens, underscores and spaces.
func Same(a, b string) bool { return Plain(a) == Plain(b) }

// longestName is how long a name may be to have a nearest one: the time grows with the square of the length.
const longestName = 100

// Nearest returns the choice that differs least from name, if that is not much more than a third of it, else the first that begins
// with name; "" if no choice is near.
func Nearest(name string, choices []string) string {
	if len(name) > longestName {
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
		if i := slices.IndexFunc(choices, func(c string) bool { return strings.HasPrefix(strings.ToLower(c), name) }); i >= 0 {
			best = choices[i]
		}
	}
	return best
}

// Want follows a wrong name in an error: the nearest of the choices, if one is near, and then what is wanted.
func Want(name string, choices []string, want string) string {
	if near := Nearest(name, choices); near != "" {
		return "; did you mean " + near + "? Must be " + want
	}
	return ": must be " + want
}

// Distance counts the letters to insert, delete or replace, and the neighbours to swap (Damerau and Levenshtein, restricted),
// between a and b.
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
