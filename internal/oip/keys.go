package oip

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// checkText finds what package json passes over in the JSON of tensors: what checkKeys finds, and more objects than so
// many tensors make: {} is two letters, and would take fifty times as much memory as a tensor. Each input and output has
// one object, and one with its parameters.
func checkText(text []byte, tensors int) error {
	objects, err := checkKeys(text, known)
	if err != nil {
		return err
	}
	if most := 4*tensors + 2; objects > most {
		return fmt.Errorf("it has %d objects, want at most %d, for %d tensors", objects, most, tensors)
	}
	return nil
}

// checkKeys finds what package json passes over in JSON: bytes that are no text, of which it makes something else, and
// known keys that an object has twice, of which it mixes the values. Known are 64 at most. It counts the objects.
func checkKeys(text []byte, known []string) (objects int, err error) {
	if !utf8.Valid(text) {
		return 0, errors.New("it is not UTF-8")
	}
	k := keys{known: known}
	for i := 0; i < len(text) && len(k.seen) <= mostNested; i++ {
		switch text[i] {
		case '{':
			objects++
			k.seen = append(k.seen, 0)
		case '}':
			k.seen = k.seen[:max(0, len(k.seen)-1)]
		case '"':
			of := quoted(text[i:])
			i += len(of) - 1
			if err := k.take(of, text[i+1:]); err != nil {
				return objects, err
			}
		}
	}
	return objects, nil
}

// mostNested is how deep package json reads: what is deeper it refuses.
const mostNested = 10000

// keys are what is known of the objects of JSON.
type keys struct {
	known []string // keys
	seen  []uint64 // which of them each object has that has begun, one bit each
}

// known are the keys that mean something in the JSON of tensors.
var known = []string{"model_name", "model_version", "id", "parameters", "inputs", "outputs", "name", "datatype", "shape", "data",
	"binary_data_size", "binary_data", "binary_data_output", regionKey, offsetKey, sizeKey, "sequence_id", classificationKey}

// take looks at a string, before the rest of the JSON, and returns an error if it is a key for the second time.
func (k *keys) take(of, rest []byte) error {
	if rest = bytes.TrimLeft(rest, " \t\r\n"); !bytes.HasPrefix(rest, []byte(":")) || len(k.seen) == 0 {
		return nil
	}
	name := string(of[1 : len(of)-1])
	if strings.Contains(name, `\`) && json.Unmarshal(of, &name) != nil {
		return nil // which is found again
	}
	object := &k.seen[len(k.seen)-1]
	for bit, key := range k.known {
		if !strings.EqualFold(key, name) { // as package json compares them
			continue
		}
		if *object&(1<<bit) != 0 {
			return fmt.Errorf("an object has two keys %q", key)
		}
		*object |= 1 << bit
	}
	return nil
}
