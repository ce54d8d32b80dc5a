package fields

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A field is named once, as the files name it, and those that may be empty have no hint of a value.
func TestFieldsAreNamedOnceAndAsFilesNameThem(t *testing.T) {
	seen := map[string]int{}
	for i, list := range [][]Field{System(), Network(), Power()} {
		for _, f := range list {
			if before, twice := seen[f.Name]; twice {
				t.Errorf("%s is in the lists %d and %d", f.Name, before, i)
			}
			seen[f.Name] = i
			if strings.Trim(f.Name, "abcdefghijklmnopqrstuvwxyz_-") != "" {
				t.Errorf("%q is no name of a field", f.Name)
			}
			if strings.TrimSpace(f.Hint) != f.Hint || strings.HasSuffix(f.Hint, ".") || strings.Contains(f.Hint, "\n") {
				t.Errorf("the hint of %s is %q", f.Name, f.Hint)
			}
		}
	}
	for _, f := range Measurements() {
		if _, both := seen[f.Name]; both || !f.Filled || f.Hint == "" {
			t.Errorf("%+v is a field of measurements", f)
		}
	}
}

func TestNamesAreThoseOfTheirList(t *testing.T) {
	list := []Field{{"a", "x", true}, {"b", "", false}, {"c", "y", true}}
	for filled, want := range map[bool][]string{false: {"a", "b", "c"}, true: {"a", "c"}} {
		if got := Names(list, filled); !slices.Equal(got, want) {
			t.Errorf("Names(filled %v) = %v, want %v, in their order", filled, got, want)
		}
	}
}

// What a placeholder is made of is found again, wherever it stands.
func TestEveryHintIsFoundAsAPlaceholder(t *testing.T) {
	for _, list := range [][]Field{System(), Network(), Power(), Measurements()} {
		for _, f := range list {
			if f.Hint == "" {
				continue
			}
			text := Placeholder(f.Hint)
			for i, place := range []string{text, "- " + f.Name + ": " + text, "\n\n" + text + "\n", "(" + text + ")"} {
				want := 1 + strings.Count(place[:strings.Index(place, text)], "\n")
				if line, found := FirstPlaceholder(place); !HasPlaceholder(place) || line != want || !strings.Contains(found, f.Hint) {
					t.Errorf("place %d of %s: line %d, %q, want line %d", i, f.Name, line, found, want)
				}
			}
		}
	}
}

func ExamplePlaceholder() {
	text := Placeholder("e.g. air, liquid or passive")
	fmt.Println(text)
	fmt.Println(HasPlaceholder(text), HasPlaceholder("air"))
	// Output:
	// FILL IN: e.g. air, liquid or passive
	// true false
}
