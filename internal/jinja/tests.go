package jinja

import (
	"errors"
	"fmt"
)

// tests are those behind is.
var tests = map[string]filterFunc{
	"defined":     kindTest(func(v any) bool { return kindOf(v) != "undefined" }),
	"undefined":   kindTest(func(v any) bool { return kindOf(v) == "undefined" }),
	"none":        kindTest(func(v any) bool { return v == nil }),
	"boolean":     kindTest(func(v any) bool { return kindOf(v) == "bool" }),
	"true":        kindTest(func(v any) bool { return v == true }),
	"false":       kindTest(func(v any) bool { return v == false }),
	"integer":     kindTest(func(v any) bool { return kindOf(v) == "int" }),
	"float":       kindTest(func(v any) bool { return kindOf(v) == "float" }),
	"number":      kindTest(func(v any) bool { _, _, _, ok := number(v); return ok }),
	"string":      kindTest(func(v any) bool { return kindOf(v) == "str" }),
	"mapping":     kindTest(func(v any) bool { return kindOf(v) == "dict" }),
	"callable":    kindTest(func(v any) bool { _, ok := callable(v); return ok || kindOf(v) == "undefined" }),
	"iterable":    kindTest(iterable),
	"sequence":    kindTest(func(v any) bool { _, err := length(v); _, unplaced := v.(view); return err == nil && !unplaced }),
	"escaped":     kindTest(func(any) bool { return false }),
	"lower":       throughout(kindTest(func(v any) bool { return isLower(str(v)) })),
	"upper":       throughout(kindTest(func(v any) bool { return isUpper(str(v)) })),
	"sameas":      with1(same),
	"odd":         divisible(2, 1),
	"even":        divisible(2, 0),
	"divisibleby": divisible(0, 0),
	"in":          comparing("in"),
	"eq":          comparing("=="), "equalto": comparing("=="), "==": comparing("=="),
	"ne": comparing("!="), "!=": comparing("!="),
	"lt": comparing("<"), "lessthan": comparing("<"), "<": comparing("<"),
	"le": comparing("<="), "<=": comparing("<="),
	"gt": comparing(">"), "greaterthan": comparing(">"), ">": comparing(">"),
	"ge": comparing(">="), ">=": comparing(">="),
}

// testOf is a test by its name.
func testOf(name string) (filterFunc, bool) {
	switch name { // these ask for others
	case "filter":
		return kindTest(func(v any) bool { name, _ := v.(string); _, ok := filterOf(name); return ok }), true
	case "test":
		return kindTest(func(v any) bool { name, _ := v.(string); _, ok := testOf(name); return ok }), true
	}
	f, ok := tests[name]
	return f, ok
}

// kindTest is a test without arguments.
func kindTest(holds func(any) bool) filterFunc {
	return onValue(func(v any) (any, error) { return holds(v), nil })
}

// with1 is a test with another value.
func with1(holds func(a, b any) (bool, error)) filterFunc {
	return func(_ *scope, value any, a given) (any, error) {
		v, err := a.bind("other")
		if err != nil {
			return nil, err
		}
		if v[0] == any(missing) {
			return nil, errNothingGiven
		}
		return holds(value, v[0])
	}
}

func comparing(op string) filterFunc {
	return throughout(with1(func(a, b any) (bool, error) { return compare(op, a, b) }))
}

// same holds for values that are one thing. Whether two lists are is not known.
func same(a, b any) (bool, error) {
	if kindOf(a) != kindOf(b) {
		return false, nil
	}
	switch a.(type) {
	case list, tuple, *dict, function:
		return false, fmt.Errorf("want a value that is no %s", kindOf(a))
	}
	return equal(a, b), nil
}

// divisible holds for whole numbers of which so much is left by a divisor; 0: it is given.
func divisible(divisor, rest int64) filterFunc {
	return func(_ *scope, value any, a given) (any, error) {
		by := any(divisor)
		if divisor == 0 {
			v, err := a.bind("num")
			if err != nil {
				return nil, err
			}
			by = v[0]
		} else if len(a.values) > 0 {
			return nil, errors.New("want no argument")
		}
		if text, ok := value.(string); ok {
			return nil, errOperands("%", text, by)
		}
		left, err := calculate("%", value, by)
		return equal(left, rest), err
	}
}
