package bfcl

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf/internal/tokenizer/pytext"
)

// A call is a call of a function that an answer has.
type call struct {
	name      value // a text, unless the answer is odd
	arguments value
}

// calls are those in an answer: of tools as the client writes them, objects with names and arguments, or else calls in the text. Raises says
// that the scorer would end with an exception.
func calls(answer string) (found []call, raises bool) {
	text := pytext.TrimSpace(answer)
	if text == "" {
		return nil, false
	}
	if v, err := parseJSON([]byte(text)); err == nil {
		items, _ := v.(list)
		if found = nativeCalls(items); found != nil {
			return found, false
		}
		if found = plainCalls(items); found != nil {
			return found, false
		}
	}
	return textCalls(text)
}

// Native reports whether an answer is calls of tools as the client writes them: a list of objects with a function each.
func Native(answer string) bool {
	v, err := parseJSON([]byte(pytext.TrimSpace(answer)))
	items, _ := v.(list)
	return err == nil && nativeCalls(items) != nil
}

// nativeCalls are the calls of tools in a list; nil: it is not such a list.
func nativeCalls(items list) (found []call) {
	for _, item := range items {
		object, _ := item.(*dict)
		if object == nil {
			return nil
		}
		function, _ := object.values["function"].(*dict)
		if function == nil {
			return nil
		}
		c := call{name: "", arguments: "{}"}
		if function.has("name") {
			c.name = function.values["name"]
		}
		if function.has("arguments") {
			c.arguments = function.values["arguments"]
		}
		if text, ok := c.arguments.(string); ok {
			if v, err := parseJSON([]byte(text)); err == nil {
				c.arguments = v
			}
		}
		found = append(found, c)
	}
	return found
}

// plainCalls are the calls in a list of objects with names; nil: it is not such a list.
func plainCalls(items list) (found []call) {
	for _, item := range items {
		object, _ := item.(*dict)
		if object == nil || !object.has("name") {
			return nil
		}
		c := call{name: object.values["name"], arguments: &dict{}}
		if object.has("arguments") {
			c.arguments = object.values["arguments"]
		}
		found = append(found, c)
	}
	return found
}

// notCalled are words before a parenthesis that are no functions (extractor.py).
var notCalled = []string{
	"print", "return", "if", "for", "while", "def", "class", "import", "from", "with", "assert", "raise", "try", "except",
	"len", "str", "int", "float", "list", "dict", "set", "tuple", "type", "isinstance", "range", "enumerate", "zip", "map", "filter",
	"Note", "Example", "Here", "This", "The", "For",
}

// textCalls are the calls that a text has as Python writes them. Those inside of others do not count, nor do signatures.
func textCalls(text string) (found []call, raises bool) {
	inside := 0 // the end of the call before
	for at := 0; at < len(text); {
		name, open := nextCall(text, at)
		if open < 0 {
			break
		}
		start := open - len(name)
		at, open = open, open+strings.IndexByte(text[open:], '(')
		at = max(at, open+1)
		if start < inside || slices.Contains(notCalled, name) {
			continue
		}
		end := closing(text, open)
		if end < 0 {
			continue
		}
		inside = end + 1
		arguments := pytext.TrimSpace(text[open+1 : end])
		if arguments != "" && signature(arguments) {
			continue
		}
		values, bad := parseArguments(arguments)
		raises = raises || bad
		found = append(found, call{name, values})
	}
	return found, raises
}

// nextCall finds the next word from a place on that an opening parenthesis follows, and where the word ends; -1: there is none.
func nextCall(text string, from int) (name string, end int) {
	for at := from; at < len(text); {
		r, size := utf8.DecodeRuneInString(text[at:])
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		if !letter(r) || at > 0 && pytext.IsWord(before) {
			at += size
			continue
		}
		end := at + word(text[at:])
		if strings.HasPrefix(strings.TrimLeftFunc(text[end:], pytext.IsSpace), "(") {
			return text[at:end], end
		}
		at = end
	}
	return "", -1
}

// letter reports whether a name may begin with a character, in the scorer's patterns.
func letter(r rune) bool { return r == '_' || 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z' }

// word is the length of the word at the beginning of a text.
func word(text string) int {
	return len(text) - len(strings.TrimLeftFunc(text, pytext.IsWord))
}

// closing is where the parenthesis at a place is closed, apart from texts in quotes; -1: nowhere.
func closing(text string, open int) int {
	depth, quote := 0, byte(0)
	for i := open; i < len(text); i++ {
		switch c := text[i]; {
		case quote != 0 && c == '\\':
			_, size := utf8.DecodeRuneInString(text[i+1:])
			i += size
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'', c == '"':
			quote = c
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// signature reports whether arguments are only names, with types or without: those of a declaration.
func signature(arguments string) bool {
	for part := range strings.SplitSeq(arguments, ",") {
		part = pytext.TrimSpace(part)
		if part == "" {
			continue
		}
		first, _ := utf8.DecodeRuneInString(part)
		n := word(part)
		if !letter(first) {
			return false
		}
		if n == len(part) {
			continue
		}
		kind, ok := strings.CutPrefix(strings.TrimLeftFunc(part[n:], pytext.IsSpace), ":")
		kind = strings.TrimLeftFunc(kind, pytext.IsSpace)
		if !ok || kind == "" || word(kind) != len(kind) {
			return false
		}
	}
	return true
}
