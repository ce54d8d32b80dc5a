package endpoint

import (
	"os"
	"strings"

	"github.com/mlperf-go/mlperf/internal/backend/credentials"
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
func (s secret) redact(text string) string { return credentials.Redact(text, s.value()) }

// readSecret takes the key from the file, else from the first variable of the environment that
// has one. It says where it found it; empty: nowhere.
func readSecret(file string, variables []string) (s secret, from string, err error) {
	if file != "" {
		key, err := credentials.ReadKey(file)
		return newSecret(key), "the file " + file, err
	}
	for _, name := range variables {
		if value := strings.TrimSpace(os.Getenv(name)); value != "" {
			s, from = newSecret(value), "the environment variable "+name
			return s, from, credentials.CheckKey(value, from)
		}
	}
	return secret{}, "", nil
}
