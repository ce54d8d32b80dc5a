package oip

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// ReadJSON reads JSON that somebody else wrote into a value. It refuses what package json passes over: bytes that are no text, and
// known keys (64 at most) that an object has twice, in any case of their letters. Errors are in the words of JSON, as clients are
// told them who know nothing of types of Go.
func ReadJSON(text []byte, v any, known ...string) error {
	if _, err := checkKeys(text, known); err != nil {
		return err
	}
	return unmarshal(text, v)
}

// unmarshal is json.Unmarshal, whose errors are in the words of JSON.
func unmarshal(text []byte, v any) error {
	err := json.Unmarshal(text, v)
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("%w (byte %d)", err, syntax.Offset)
	case errors.As(err, &kind):
		return errors.New(mismatch(kind))
	}
	return err
}

// mismatch says what stands where something else should.
func mismatch(e *json.UnmarshalTypeError) string {
	value := strings.TrimPrefix(e.Value, "number ") // as which one is quoted
	if is, ok := kinds[value]; ok {
		value = is
	}
	where := ""
	if e.Field != "" {
		where = e.Field + ": "
	}
	return fmt.Sprintf("%s%s where %s should be", where, value, wants(e.Type))
}

// kinds are the values of JSON, as package json calls them.
var kinds = map[string]string{"array": "a list", "object": "an object", "string": "a text", "bool": "true or false", "number": "a number"}

// wants says what has a place in a type of Go.
func wants(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a text"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Int, reflect.Int32, reflect.Int64:
		return fmt.Sprintf("a whole number of %d bits", t.Bits())
	case reflect.Uint32, reflect.Uint64:
		return fmt.Sprintf("a whole number of %d bits, from 0,", t.Bits())
	}
	return "an object"
}
