package jinja

import (
	"errors"
	"slices"
)

// dictMethods are those of dicts, without those that would change one.
var dictMethods = map[string]method{
	"items":  ofDict(func(d *dict) any { return view{"dict_items", d} }),
	"keys":   ofDict(func(d *dict) any { return view{"dict_keys", d} }),
	"values": ofDict(func(d *dict) any { return view{"dict_values", d} }),
	"copy":   ofDict(func(d *dict) any { return d }), // nothing changes a dict
	"get":    getKey,
}

func ofDict(f func(*dict) any) method {
	return func(of any, a given) (any, error) {
		_, err := a.bind()
		return f(of.(*dict)), err
	}
}

func getKey(of any, a given) (any, error) {
	v, err := a.bind("key", "default")
	if err != nil {
		return nil, err
	}
	if v[0] == any(missing) {
		return nil, errNothingGiven
	}
	if _, err := hashed(v[0]); err != nil {
		return nil, err
	}
	if found, ok := of.(*dict).get(v[0]); ok {
		return found, nil
	}
	return orElse(v[1], nil), nil
}

// listMethods are those of lists and tuples, without those that would change one.
var listMethods = map[string]method{"index": placeOf, "count": countValue, "copy": sameList}

// sameList is copy: nothing changes a list.
func sameList(of any, a given) (any, error) {
	_, err := a.bind()
	return of, err
}

func placeOf(of any, a given) (any, error) {
	v, err := a.bind("value")
	if err != nil {
		return nil, err
	}
	all, _ := elements(of) // it is a list
	at := slices.IndexFunc(all, func(e any) bool { return equal(e, v[0]) })
	if at < 0 {
		return nil, errors.New("the value is not there")
	}
	return int64(at), nil
}

func countValue(of any, a given) (any, error) {
	v, err := a.bind("value")
	if err != nil {
		return nil, err
	}
	n := int64(0)
	all, _ := elements(of) // it is a list
	for _, e := range all {
		n += integer(equal(e, v[0]))
	}
	return n, nil
}
