// Package python reads text, JSON and numbers as Python does, where the verdict of the
// official checker, which is a Python program, depends on it: NaN is JSON, "1_000" and
// "٣" are numbers, a line may end in a carriage return, True equals 1, and a number is
// never compared with text.
//
//	v, err := python.DecodeJSON([]byte(`{"met": "false", "seed": 18446744073709551615}`))
//	met, _ := v.(*python.Dict).Get("met")
//	python.Truth(met) // true: it is a text that is not empty
//
// A Value is nil, bool, int64, *big.Int (only where int64 is too small), float64,
// string, []Value or *Dict. Strings are UTF-8; half a surrogate pair, which Python's
// JSON allows, is kept as the three bytes that UTF-8 would have for it.
//
// What Python answers with an exception is an error here.
package python
