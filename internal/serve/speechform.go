package serve

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/oip"
)

// Bounds of a form beside its file.
const (
	formBytes  = 64 << 10
	formFields = 16
	fieldBytes = 1 << 10
)

// A speechForm is a request for a transcription.
type speechForm struct {
	file   []byte
	fields map[string]string
}

// readSpeech reads a form with a file of so many bytes at most.
func readSpeech(body io.Reader, contentType string, most int64) (*speechForm, error) {
	boundary, err := boundaryOf(contentType)
	if err != nil {
		return nil, err
	}
	f := &speechForm{fields: map[string]string{}}
	for parts := multipart.NewReader(body, boundary); ; {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return f, f.hasFile()
		}
		if err == nil {
			err = f.add(part.FormName(), part, most)
		}
		if err != nil {
			return nil, err
		}
	}
}

// boundaryOf is what stands between the parts of a form.
func boundaryOf(contentType string) (string, error) {
	kind, options, err := mime.ParseMediaType(contentType)
	if err != nil || kind != "multipart/form-data" || options["boundary"] == "" {
		return "", oip.Errorf(oip.InvalidArgument, "the request is %q, want multipart/form-data with a file", contentType)
	}
	return options["boundary"], nil
}

// hasFile refuses a form without a file.
func (f *speechForm) hasFile() error {
	if f.file == nil {
		return oip.Errorf(oip.InvalidArgument, "file is missing")
	}
	return nil
}

// add takes a field.
func (f *speechForm) add(name string, content io.Reader, most int64) error {
	_, twice := f.fields[name]
	switch {
	case twice || name == "file" && f.file != nil:
		return fmt.Errorf("%s is there twice", name)
	case len(f.fields) == formFields:
		return fmt.Errorf("there are more than %d fields", formFields)
	case name != "file":
		most = fieldBytes
	}
	data, err := io.ReadAll(io.LimitReader(content, most+1))
	switch {
	case err != nil:
		return err
	case int64(len(data)) > most:
		return oip.Errorf(oip.TooLarge, "%s has more than %d bytes", name, most)
	case name == "file":
		f.file = data // not nil, even if it is empty
	default:
		f.fields[name] = string(data)
	}
	return nil
}

// formFieldsOf are what the fields of a form may be, for a model of a language: each says what it wants instead.
func formFieldsOf(language string) map[string]func(value string) (want string) {
	among := func(choices ...string) func(string) string {
		return func(value string) string { return onlyOf(value, choices...) }
	}
	return map[string]func(string) string{
		"model": func(string) string { return "" }, "language": among(language), "response_format": among("json", "text"), "stream": among("false"), "prompt": among(),
		"temperature": func(value string) string {
			if t, err := strconv.ParseFloat(value, 64); err != nil || t != 0 {
				return "0: the likeliest token is always taken"
			}
			return ""
		},
	}
}

// check finds what cannot be done, for a model of a language.
func (f *speechForm) check(language string) error {
	known := formFieldsOf(language)
	for _, name := range slices.Sorted(maps.Keys(f.fields)) {
		value := f.fields[name]
		wants, ok := known[name]
		if !ok {
			return oip.Errorf(oip.InvalidArgument, "%s is not known here", name)
		}
		if want := wants(value); want != "" {
			return oip.Errorf(oip.InvalidArgument, "%s is %q, want %s", name, value, want)
		}
	}
	return nil
}

// onlyOf says what a field may be, if it is something else; it may be empty in any case.
func onlyOf(value string, choices ...string) string {
	switch {
	case value == "" || slices.Contains(choices, value):
		return ""
	case choices == nil:
		return "nothing"
	}
	return strings.Join(choices, " or ")
}

// badForm names the code of an error of reading a form.
func badForm(err error) error {
	var large *http.MaxBytesError
	var known *oip.Error
	switch {
	case errors.As(err, &known):
		return err
	case errors.As(err, &large):
		return oip.Errorf(oip.TooLarge, "the request has more than %d bytes", large.Limit)
	}
	return invalid(err)
}
