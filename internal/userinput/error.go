package userinput

import (
	"fmt"
	"strings"
)

// An Error is about a field of a request that cannot be right.
type Error struct {
	Field  string // as mlperf.yaml spells it, with underscores: max_batchsize
	Origin string // of the value, if it is known: environment MLPERF_TARGET_QPS
	Err    error
}

// Wrap makes an error about a field. Of nil it is nil.
func Wrap(name string, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Field: name, Err: err}
}

// Errorf is an error about a field, in words.
func Errorf(name, format string, args ...any) error {
	return &Error{Field: name, Err: fmt.Errorf(format, args...)}
}

// Invalid is an error about a value that a field cannot have; want is a value that it can.
func Invalid(name string, value any, want string) error {
	return &Error{Field: name, Err: &valueError{value, want}}
}

// Missing is an error about a field that needs a value.
func Missing(name, why string) error { return Errorf(name, "is missing: %s", why) }

// Error begins with the origin, or the field.
func (e *Error) Error() string {
	if e.Origin != "" {
		return e.Named(e.Origin)
	}
	return e.Named(e.Field)
}

// Named is the text with another name of the field.
func (e *Error) Named(name string) string {
	if v, ok := e.Err.(*valueError); ok {
		return name + " " + v.Error()
	}
	return name + ": " + e.Err.Error()
}

// Flag is the name of the field as command lines spell it, without dashes in front.
func (e *Error) Flag() string { return strings.ReplaceAll(e.Field, "_", "-") }

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Err }

// A valueError continues a sentence that begins with the name of the field.
type valueError struct {
	value any
	want  string
}

func (e *valueError) Error() string {
	value := e.value
	if text, ok := value.(string); ok {
		value = fmt.Sprintf("%q", text)
	}
	return fmt.Sprintf("is %v: must be %s", value, e.want)
}
