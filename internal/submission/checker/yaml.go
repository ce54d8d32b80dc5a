package checker

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/mlperf-go/mlperf/internal/submission/python"
	"github.com/mlperf-go/mlperf/internal/submission/tree"
)

// readYAML reads a YAML file as Python's yaml.safe_load does: an empty one is nil, of a
// name that comes twice the last value counts, and what is no text is what YAML 1.1 says.
func readYAML(t tree.Tree, path string) (python.Value, error) {
	data, err := t.Read(path, largestYAML)
	if err == nil && !utf8.Valid(data) {
		err = errors.New("is not UTF-8")
	}
	if err == nil {
		err = noStrayTabs(string(data))
	}
	if err != nil {
		return nil, err
	}
	documents := yaml.NewDecoder(bytes.NewReader(yamlVersion.ReplaceAll(data, []byte("${1}1"))))
	var first, second yaml.Node
	if err := documents.Decode(&first); err == io.EOF {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	if err := documents.Decode(&second); err == nil {
		return nil, errors.New("has more than one document")
	} else if err != io.EOF {
		return nil, err
	}
	return (&yamlReader{}).value(&first)
}

// yamlVersion is what a file says of its version: any 1.x is read as 1.1.
var yamlVersion = regexp.MustCompile(`(?m)^(%YAML[ ]+1\.)[0-9]+`)

// A yamlReader turns nodes into values of Python. It ends where aliases make a small
// file a large value.
type yamlReader struct{ nodes int }

const (
	largestYAML = 1 << 20 // bytes, which may take a hundred times as much memory
	mostNodes   = 100000  // with those that aliases repeat
)

// notText starts names that are no texts. No text of YAML does.
const notText = "\x00"

func (y *yamlReader) value(n *yaml.Node) (python.Value, error) {
	if y.nodes++; y.nodes > mostNodes {
		return nil, fmt.Errorf("has more than %d values", mostNodes)
	}
	if n.Style&yaml.TaggedStyle != 0 {
		if kind, known := yamlTags[n.Tag]; !known || kind != n.Kind {
			return nil, fmt.Errorf("line %d: the tag %s is not known, or not of what is behind it", n.Line, n.Tag)
		}
	}
	switch n.Kind {
	case yaml.DocumentNode:
		return y.value(n.Content[0])
	case yaml.AliasNode:
		return y.value(n.Alias)
	case yaml.MappingNode:
		return y.mapping(n)
	case yaml.SequenceNode:
		return y.sequence(n)
	}
	return scalar(n)
}

func (y *yamlReader) sequence(n *yaml.Node) (python.Value, error) {
	list := make([]python.Value, 0, len(n.Content))
	for _, member := range n.Content {
		v, err := y.value(member)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

func (y *yamlReader) mapping(n *yaml.Node) (python.Value, error) {
	d := &python.Dict{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		merges := n.Content[i].Tag == "!!merge"
		var name python.Value
		var err error
		if !merges {
			name, err = y.value(n.Content[i])
		}
		v, errValue := y.value(n.Content[i+1])
		if err = errors.Join(err, errValue); err != nil {
			return nil, err
		}
		text, isText := name.(string)
		switch {
		case holds(name):
			return nil, fmt.Errorf("line %d: a list or an object is a name", n.Content[i].Line)
		case merges:
			if !merge(d, v) {
				return nil, fmt.Errorf("line %d: << wants objects", n.Content[i].Line)
			}
		case isText:
			d.Set(text, v)
		default:
			d.Set(notText+python.Repr(name), v)
		}
	}
	return d, nil
}

// merge adds what another mapping, or several, have and this one has not. It reports whether they are mappings.
func merge(d *python.Dict, v python.Value) bool {
	switch v := v.(type) {
	case *python.Dict:
		for _, name := range v.Keys() {
			if _, has := d.Get(name); !has {
				d.Set(name, first(v.Get(name)))
			}
		}
		return true
	case []python.Value:
		return !slices.ContainsFunc(v, func(one python.Value) bool {
			_, isList := one.([]python.Value)
			return isList || !merge(d, one)
		})
	}
	return false
}

// What plain words mean in YAML 1.1, which Python reads: 1e9 is a text there.
var (
	yamlFloat = regexp.MustCompile(`^(?:[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?)$`)
	yamlInt   = regexp.MustCompile(`^[-+]?(?:0b[01_]+|0[0-7_]*|[1-9][0-9_]*|0x[0-9a-fA-F_]+)$`)
	yamlTimes = regexp.MustCompile(`^[-+]?[1-9][0-9_]*(?::[0-5]?[0-9])+$`)
	yamlClock = regexp.MustCompile(`^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*$`)
	yamlOdd   = regexp.MustCompile(`^[-+]?\.inf$|^\.nan$`)
	yamlWords = map[string]python.Value{
		"": nil, "~": nil, "null": nil, "yes": true, "true": true, "on": true, "no": false, "false": false, "off": false,
	}
)

const inQuotes = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle

// yamlTags are those that safe_load knows, and what they are of.
var yamlTags = map[string]yaml.Kind{
	"!!str": yaml.ScalarNode, "!!int": yaml.ScalarNode, "!!float": yaml.ScalarNode, "!!bool": yaml.ScalarNode, "!!null": yaml.ScalarNode,
	"!!timestamp": yaml.ScalarNode, "!!binary": yaml.ScalarNode,
	"!!map": yaml.MappingNode, "!!set": yaml.MappingNode, "!!seq": yaml.SequenceNode, "!!omap": yaml.SequenceNode, "!!pairs": yaml.SequenceNode,
}

// scalar returns what a word means: what its tag says, or a text if it is in quotes or nothing
// else.
func scalar(n *yaml.Node) (python.Value, error) {
	if n.Style&yaml.TaggedStyle != 0 {
		v, err := yamlTagged(n.Tag, n.Value)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n.Line, err)
		}
		return v, nil
	}
	if n.Style&inQuotes != 0 {
		return n.Value, nil
	}
	if v, ok := yamlWord(n.Value); ok {
		return v, nil
	}
	if v, ok := yamlNumber(n.Value); ok {
		return v, nil
	}
	switch {
	case n.Value == "<<", n.Value == "=":
		return nil, fmt.Errorf("line %d: %s is no value", n.Line, n.Value)
	case yamlDate.MatchString(n.Value):
		if err := checkDate(n.Value); err != nil {
			return nil, fmt.Errorf("line %d: %w", n.Line, err)
		}
	}
	return n.Value, nil
}

// yamlTagged returns what a text is by its tag.
func yamlTagged(tag, text string) (python.Value, error) {
	switch tag {
	case "!!null":
		return nil, nil
	case "!!bool":
		if v, known := yamlWords[strings.ToLower(text)].(bool); known {
			return v, nil
		}
		return nil, fmt.Errorf("%q is not yes or no", shorten(text))
	case "!!int", "!!float":
		v, ok := yamlNumber(text)
		if !ok {
			v = text // which Python may read all the same
		}
		if tag == "!!float" {
			f, err := python.Float(v)
			return f, err
		}
		n, err := python.Int(v)
		return python.Whole(n), err
	case "!!timestamp":
		return text, checkDate(text)
	}
	return text, nil
}

// yamlWord returns what a word such as Yes or null means, in small letters, capitals, or
// with one.
func yamlWord(text string) (python.Value, bool) {
	lower := strings.ToLower(text)
	v, ok := yamlWords[lower]
	return v, ok && slices.Contains([]string{lower, strings.ToUpper(lower), strings.ToUpper(lower[:min(1, len(lower))]) + lower[min(1, len(lower)):]}, text)
}
