package jinja

import (
	"fmt"
	"unicode/utf8"
)

// truth is whether a value counts as true: what is empty or zero does not.
func truth(value any) bool {
	switch v := value.(type) {
	case nil, undefined:
		return false
	case bool:
		return v
	case int64:
		return v != 0
	case float64:
		return v != 0
	case string:
		return v != ""
	}
	n, err := length(value)
	return err != nil || n > 0
}

// elements are what a loop over a value goes through: of a text its characters, of a dict its
// keys.
func elements(value any) ([]any, error) {
	switch v := value.(type) {
	case list:
		return v, nil
	case tuple:
		return v, nil
	case *dict:
		return v.keys, nil
	case view:
		return v.elements(), nil
	case span:
		return v.elements(), nil
	case *iterator:
		return v.rest()
	case undefined:
		return nil, nil
	case string:
		n := utf8.RuneCountInString(v)
		if n > maxElements {
			return nil, errTooMany
		}
		characters := make([]any, 0, n)
		for _, r := range v {
			characters = append(characters, string(r))
		}
		return characters, nil
	}
	return nil, fmt.Errorf("there is nothing in a value of type %s", kindOf(value))
}

// length is how many elements a value has.
func length(value any) (int, error) {
	switch v := value.(type) {
	case string:
		return utf8.RuneCountInString(v), nil
	case list:
		return len(v), nil
	case tuple:
		return len(v), nil
	case *dict:
		return len(v.keys), nil
	case view:
		return len(v.of.keys), nil
	case span:
		return int(v.len()), nil
	case undefined:
		return 0, nil
	}
	return 0, fmt.Errorf("a value of type %s has no length", kindOf(value))
}

// iterable reports whether a value has elements.
func iterable(value any) bool {
	_, err := length(value)
	_, ok := value.(*iterator)
	return err == nil || ok
}
