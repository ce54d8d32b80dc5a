package endpoint

import (
	"os"
	"strings"

	"github.com/mlperf-go/mlperf/internal/field"
	"github.com/mlperf-go/mlperf/internal/regular"
)

// A secret is a key that no text shows. It is behind a pointer, because what prints values looks
// into the fields of structs, and only tells the address of what is behind one.
type secret struct{ text *string }

func newSecret(text string) secret { return secret{&text} }

// value is the key; empty: there is none.
func (s secret) value() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// hidden stands for a key in texts.
const hidden = "[key]"

// String implements fmt.Stringer.
func (secret) String() string { return hidden }

// redact takes the key out of a text of somebody else.
func (s secret) redact(text string) string {
	if s.value() == "" {
		return text
	}
	return strings.ReplaceAll(text, s.value(), hidden)
}

// maxKey is how long the file of a key may be.
const maxKey = 64 << 10

// readSecret takes the key from the file, else from the first variable of the environment that
// has one. It says where it found it; empty: nowhere.
func readSecret(file string, variables []string) (s secret, from string, err error) {
	if file != "" {
		text, err := regular.ReadFile(file, maxKey)
		if err != nil {
			return secret{}, "", field.Wrap("token_file", err)
		}
		s, from = newSecret(strings.TrimSpace(string(text))), "the file "+file
		if s.value() == "" {
			return secret{}, "", field.Errorf("token_file", "%s is empty, want a key", file)
		}
		return s, from, s.check(from)
	}
	for _, name := range variables {
		if value := strings.TrimSpace(os.Getenv(name)); value != "" {
			s, from = newSecret(value), "the environment variable "+name
			return s, from, s.check(from)
		}
	}
	return secret{}, "", nil
}

// check refuses what cannot stand in a header: several lines, for instance.
func (s secret) check(from string) error {
	for _, c := range []byte(s.value()) {
		if c <= ' ' || c > '~' {
			return field.Errorf("token_file", "the key in %s has characters that no header can have (spaces, line breaks, others than ASCII)", from)
		}
	}
	return nil
}
