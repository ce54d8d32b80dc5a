package bfcl

import (
	"math/big"
	"regexp"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/tokenizer/pytext"
)

// A language has the types of parameters: the kind of the values of each, and how the literals are read that models write as texts.
type language struct {
	kinds  map[string]kind
	nested []string // types whose items have a type
	read   func(text, kind, items string) (value, error)
}

// Of Python values are read by the JSON around them.
var python = language{
	kinds: map[string]kind{"string": kindText, "integer": kindInt, "float": kindFloat, "boolean": kindBool, "array": kindList, "tuple": kindList,
		"dict": kindDict, "any": kindText},
	nested: []string{"array", "tuple"},
}

var java = language{
	kinds: map[string]kind{"byte": kindInt, "short": kindInt, "integer": kindInt, "float": kindFloat, "double": kindFloat, "long": kindInt,
		"boolean": kindBool, "char": kindText, "Array": kindList, "ArrayList": kindList, "Set": "set", "HashMap": kindDict, "Hashtable": kindDict,
		"Queue": kindList, "Stack": kindList, "String": kindText, "any": kindText},
	nested: []string{"Array", "ArrayList"},
	read:   readJava,
}

var javaScript = language{
	kinds: map[string]kind{"String": kindText, "integer": kindInt, "float": kindFloat, "Bigint": kindInt, "Boolean": kindBool, "dict": kindDict,
		"array": kindList, "any": kindText},
	nested: []string{"array"},
	read:   readJavaScript,
}

// The numbers of the languages. A line end may follow, as for Python's patterns.
var (
	wholePattern   = regexp.MustCompile(`^(-?[0-9]+)\n?$`)
	longPattern    = regexp.MustCompile(`^(-?[0-9]+)[lL]\n?$`)
	bigPattern     = regexp.MustCompile(`^(-?[0-9]+)n$`)
	floatPattern   = regexp.MustCompile(`^(-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)[fF]\n?$`)
	doublePattern  = regexp.MustCompile(`^(-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)\n?$`)
	decimalPattern = regexp.MustCompile(`^(-?[0-9]+(?:\.[0-9]+)?)\n?$`)
)

// numberOf is the number of a literal of a pattern, or else its text.
func numberOf(text string, pattern *regexp.Regexp, whole bool) value {
	m := pattern.FindStringSubmatch(text)
	if m == nil {
		return text
	}
	if whole {
		n, _ := new(big.Int).SetString(m[1], 10) // the pattern has only digits
		return n
	}
	f, _ := pytext.ParseFloat(m[1])
	return f
}

// truth is the value of true or false, or else the text.
func truth(text string) value {
	switch text {
	case "true":
		return true
	case "false":
		return false
	}
	return text
}

// An unsupportedError is that of types that the official converters do not take.
type unsupportedError string

func (e unsupportedError) Error() string {
	return "literals of the type " + string(e) + " are not read"
}

// readJava reads a literal of Java. What is none of its type stays a text.
func readJava(text, kind, items string) (value, error) {
	switch kind {
	case "byte", "short", "integer":
		return numberOf(text, wholePattern, true), nil
	case "long":
		return numberOf(text, longPattern, true), nil
	case "float":
		return numberOf(text, floatPattern, false), nil
	case "double":
		return numberOf(text, doublePattern, false), nil
	case "boolean":
		return truth(text), nil
	case "char", "String", "any":
		return text, nil // with its quotes
	case "Array":
		return readJavaArray(text, items)
	case "ArrayList":
		return readJavaList(text, items)
	case "HashMap":
		return readJavaMap(text), nil
	}
	return nil, unsupportedError(kind)
}

var (
	javaArray   = regexp.MustCompile(`new\s+\w+\[\]\s*\{(.*?)\}`)
	javaAsList  = regexp.MustCompile(`new\s+ArrayList<\w*>\(Arrays\.asList\((.+?)\)\)`)
	javaAdding  = regexp.MustCompile(`new\s+ArrayList<\w*>\(\)\s*\{\{\s*((?s:.)+?)\s*\}\}`)
	javaAdded   = regexp.MustCompile(`add\((.+?)\)`)
	javaNewList = regexp.MustCompile(`new\s+ArrayList<\w*>\(\)`)
	javaPutting = regexp.MustCompile(`new\s+HashMap<(?s:.)*?>\s*\(\)\s*\{\s*\{?\s*((?s:.)*?)\s*\}?\s*\}`)
	javaPut     = regexp.MustCompile(`put\("(.*?)",\s*(.*?)\)`)
	javaNewMap  = regexp.MustCompile(`new\s+HashMap<.*?>\s*\(\)`)
)

// readJavaArray reads new T[]{…}. Elements end at commas, also inside of texts.
func readJavaArray(text, items string) (value, error) {
	m := javaArray.FindStringSubmatch(text)
	if m == nil {
		return text, nil
	}
	parts := strings.Split(m[1], ",")
	return readJavaElements(slices.DeleteFunc(parts, func(part string) bool { return pytext.TrimSpace(part) == "" }), items, false)
}

// readJavaElements reads the elements of a collection; without a type of the items the literal of each tells its own. Texts and characters
// may lose their quotes.
func readJavaElements(parts []string, items string, bare bool) (value, error) {
	elements := list{}
	for _, part := range parts {
		part = pytext.TrimSpace(part)
		var v value
		var err error
		switch {
		case items == "":
			v = javaValue(part)
		case bare && (items == "char" || items == "String"):
			v = inner(part)
		default:
			v, err = readJava(part, items, "")
		}
		if err != nil {
			return nil, err
		}
		elements = append(elements, v)
	}
	return elements, nil
}

// readJavaList reads new ArrayList<>(Arrays.asList(…)) and new ArrayList<>() {{ add(…); }}. Texts and characters lose their quotes.
func readJavaList(text, items string) (value, error) {
	var parts []string
	if m := javaAsList.FindStringSubmatch(text); m != nil {
		parts = strings.Split(m[1], ",")
	} else if m := javaAdding.FindStringSubmatch(text); m != nil {
		for _, added := range javaAdded.FindAllStringSubmatch(m[1], -1) {
			parts = append(parts, added[1])
		}
	} else if !javaNewList.MatchString(text) {
		return text, nil
	}
	return readJavaElements(parts, items, true)
}

// inner is a text without its first and its last character.
func inner(text string) string {
	r := []rune(text)
	if len(r) < 2 {
		return ""
	}
	return string(r[1 : len(r)-1])
}

// readJavaMap reads new HashMap<>() {{ put("k", v); }}.
func readJavaMap(text string) value {
	m := javaPutting.FindStringSubmatch(text)
	if m == nil {
		if javaNewMap.MatchString(text) {
			return &dict{}
		}
		return text
	}
	object := &dict{}
	for _, put := range javaPut.FindAllStringSubmatch(m[1], -1) {
		object.set(put[1], javaValue(pytext.TrimSpace(put[2])))
	}
	return object
}

// javaValue reads a literal whose type is not known.
func javaValue(text string) value {
	if v, ok := truth(text).(bool); ok {
		return v
	}
	if strings.HasPrefix(text, `"`) && strings.HasSuffix(text, `"`) {
		return inner(text)
	}
	if longPattern.MatchString(text) {
		return numberOf(text, longPattern, true)
	}
	if floatPattern.MatchString(text) {
		return numberOf(text, floatPattern, false)
	}
	return anyNumber(text)
}

// anyNumber is the number that Python's int() or float() reads, or else the text.
func anyNumber(text string) value {
	digits := strings.TrimLeft(pytext.TrimSpace(text), "+-")
	if len(pytext.TrimSpace(text))-len(digits) <= 1 && digits != "" && strings.Trim(digits, "0123456789_") == "" && validFloat(digits) {
		n, _ := new(big.Int).SetString(strings.ReplaceAll(digits, "_", ""), 10)
		if strings.HasPrefix(pytext.TrimSpace(text), "-") {
			n.Neg(n)
		}
		return n
	}
	if f, ok := pytext.ParseFloat(text); ok {
		return f
	}
	return text
}

// readJavaScript reads a literal of JavaScript. What is none of its type stays a text.
func readJavaScript(text, kind, items string) (value, error) {
	switch kind {
	case "String":
		if quoted(text) {
			return inner(text), nil
		}
		return text, nil
	case "integer":
		return numberOf(text, wholePattern, true), nil
	case "float":
		return numberOf(text, decimalPattern, false), nil
	case "Bigint":
		return numberOf(text, bigPattern, true), nil
	case "Boolean":
		return truth(text), nil
	case "array":
		return scriptArray(text, items), nil
	case "dict":
		return scriptObject(text), nil
	case "any":
		return text, nil
	}
	return nil, unsupportedError(kind)
}

// quoted reports whether a text begins and ends with the same quotes.
func quoted(text string) bool {
	return strings.HasPrefix(text, `"`) && strings.HasSuffix(text, `"`) || strings.HasPrefix(text, "'") && strings.HasSuffix(text, "'")
}

var (
	scriptTable  = regexp.MustCompile(`^(?:\[\s*\[.*?\]\s*(?:,\s*\[.*?\]\s*)*\]|new\s+Array\(\s*\[.*?\]\s*(?:,\s*\[.*?\]\s*)*\))`)
	scriptRow    = regexp.MustCompile(`\[(.*?)\]`)
	scriptVector = regexp.MustCompile(`^(?:\[(.*?)\]|new\s+Array\((.*?)\))`)
	scriptBraces = regexp.MustCompile(`^\{(.*?)\}`)
)

// scriptArray reads [a, b], new Array(a, b) and arrays of these. Elements end at commas, also inside of texts.
func scriptArray(text, items string) value {
	text = pytext.TrimSpace(text)
	if table := scriptTable.FindString(text); table != "" {
		rows := list{}
		for i, row := range scriptRow.FindAllStringSubmatch(table, -1) {
			inside := pytext.TrimSpace(row[1])
			if i == 0 {
				inside = strings.TrimPrefix(inside, "[")
			}
			values := list{}
			for part := range strings.SplitSeq(inside, ",") {
				values = append(values, scriptValue(part))
			}
			rows = append(rows, values)
		}
		return rows
	}
	m := scriptVector.FindStringSubmatch(text)
	if m == nil {
		return text
	}
	elements, inside := list{}, pytext.TrimSpace(m[1]+m[2])
	if inside == "" {
		return elements
	}
	for part := range strings.SplitSeq(inside, ",") {
		if items == "" {
			elements = append(elements, scriptValue(part))
			continue
		}
		v, err := readJavaScript(pytext.TrimSpace(part), items, "")
		if err != nil {
			return text // of an unknown type
		}
		elements = append(elements, v)
	}
	return elements
}

// scriptObject reads {key: value}, up to the first closing brace: objects inside are cut off.
func scriptObject(text string) value {
	text = pytext.TrimSpace(text)
	m := scriptBraces.FindStringSubmatch(text)
	if m == nil {
		return text
	}
	object := &dict{}
	for rest := m[1]; ; {
		rest = strings.TrimLeft(rest, ":") // a key has a character at least
		key, after, ok := strings.Cut(rest, ":")
		if !ok {
			return object
		}
		var v string
		v, rest = scriptPair(strings.TrimLeftFunc(after, pytext.IsSpace))
		key, v = strings.Trim(pytext.TrimSpace(key), `'"`), pytext.TrimSpace(v)
		if strings.HasPrefix(v, "[") && strings.HasSuffix(v, "]") {
			object.set(key, scriptArray(v, ""))
		} else {
			object.set(key, scriptValue(strings.Trim(v, `'"`)))
		}
	}
}

// scriptPair cuts a value off at the first comma that another key follows.
func scriptPair(text string) (v, rest string) {
	for from := 0; ; {
		i := strings.IndexByte(text[from:], ',')
		if i < 0 {
			return text, ""
		}
		from += i
		next := strings.TrimLeftFunc(text[from+1:], pytext.IsSpace)
		if segment, _, _ := strings.Cut(next, ","); strings.LastIndexByte(segment, ':') > 0 {
			return text[:from], next
		}
		from++
	}
}

// scriptValue reads a literal whose type is not known.
func scriptValue(text string) value {
	text = pytext.TrimSpace(text)
	if v, ok := truth(text).(bool); ok {
		return v
	}
	if quoted(text) {
		return inner(text)
	}
	return anyNumber(text)
}
