package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// Misread is an error of pflag in the words of this program: --json: "maybe" is neither true nor false.
func Misread(err error) error {
	var wrong *pflag.InvalidValueError
	if errors.As(err, &wrong) {
		return fmt.Errorf("--%s: %w", wrong.GetFlag().Name, reasonOf(err))
	}
	return err
}

// reasonOf is why a flag cannot have a value, without the flag: it may have come from somewhere else.
func reasonOf(err error) error {
	var wrong *pflag.InvalidValueError
	if !errors.As(err, &wrong) {
		return err
	}
	value, cause := strconv.Quote(wrong.GetValue()), wrong.Unwrap()
	var number *strconv.NumError
	switch {
	case errors.As(cause, &number) && errors.Is(number.Err, strconv.ErrRange):
		return fmt.Errorf("%s is beyond what a number may be here", value)
	case errors.As(cause, &number):
		return fmt.Errorf("%s is %s", value, isNo(wrong.GetFlag().Value.Type()))
	case strings.Contains(cause.Error(), value):
		return cause
	}
	return fmt.Errorf("%s: %w", value, cause)
}

// isNo says what a value is not that a flag of a type cannot have.
func isNo(kind string) string {
	switch {
	case kind == "bool":
		return "neither true nor false"
	case strings.HasSuffix(kind, "Slice"):
		return "no list of numbers with commas between"
	case strings.HasPrefix(kind, "uint"):
		return "no whole number from 0"
	case strings.HasPrefix(kind, "int"):
		return "no whole number"
	}
	return "no number"
}
