package userinput

import "strings"

// Plain returns a name without what does not matter.
func Plain(name string) string {
	return strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(name))
}

// Same reports whether two names differ only in what does not matter.
func Same(a, b string) bool { return Plain(a) == Plain(b) }
