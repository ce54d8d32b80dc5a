package bfcl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mlperf-go/mlperf/internal/tokenizer/pytext"
)

// A Question is one of BFCL, with the functions that may be called.
type Question struct {
	ID        string
	Subset    string // simple_python, live_multiple, irrelevance …
	functions []function
	truth     []possible
}

// A function is the description of one.
type function struct {
	name       string
	required   []string
	parameters *dict // their descriptions
}

// A possible is a call that is expected, with the values that each parameter may have.
type possible struct {
	name   string
	values *dict
}

// NewQuestion reads a question: the functions as the data set describes them, and the possible answers (nil: no call is expected, or it is
// of the subsets without them).
func NewQuestion(id, subset string, functions, truth jsontext.Value) (q Question, err error) {
	q = Question{ID: id, Subset: subset}
	described, err := parseJSON(functions)
	if err != nil {
		return q, fmt.Errorf("function: %w", err)
	}
	items, ok := described.(list)
	if !ok {
		return q, fmt.Errorf("function: must be a list of descriptions")
	}
	for i, item := range items {
		f, err := describe(item)
		if err != nil {
			return q, fmt.Errorf("function %d: %w", i+1, err)
		}
		q.functions = append(q.functions, f)
	}
	if truth == nil {
		return q, nil
	}
	answers, err := parseJSON(truth)
	if err != nil {
		return q, fmt.Errorf("ground_truth: %w", err)
	}
	if items, ok = answers.(list); !ok {
		return q, fmt.Errorf("ground_truth: must be a list of calls")
	}
	for i, item := range items {
		object, _ := item.(*dict)
		if object == nil || len(object.keys) == 0 {
			return q, fmt.Errorf("ground_truth %d: must be a function with its parameters", i+1)
		}
		name := object.keys[0]
		values, _ := object.values[name].(*dict)
		if values == nil {
			return q, fmt.Errorf("ground_truth %d: the parameters of %s must be an object", i+1, name)
		}
		for _, key := range values.keys {
			if kindOf(values.values[key]) != kindList {
				return q, fmt.Errorf("ground_truth %d: %s of %s must be a list of possible values", i+1, key, name)
			}
		}
		q.truth = append(q.truth, possible{name, values})
	}
	return q, nil
}

// describe reads the description of a function.
func describe(v value) (f function, err error) {
	object, _ := v.(*dict)
	if object == nil {
		return f, fmt.Errorf("must be an object")
	}
	name, ok := object.values["name"].(string)
	parameters, _ := object.values["parameters"].(*dict)
	if !ok || parameters == nil {
		return f, fmt.Errorf("must have a name and parameters")
	}
	f.name = name
	if f.parameters, _ = parameters.values["properties"].(*dict); f.parameters == nil {
		return f, fmt.Errorf("%s: parameters must have properties", name)
	}
	required, ok := parameters.values["required"].(list)
	if !ok {
		return f, fmt.Errorf("%s: parameters must have required, a list", name)
	}
	for _, v := range required {
		text, ok := v.(string)
		if !ok {
			return f, fmt.Errorf("%s: required must be a list of names", name)
		}
		f.required = append(f.required, text)
	}
	return f, nil
}

// A Verdict is that of an answer.
type Verdict struct {
	Right  bool
	Why    string // it is wrong: the checker's error_type
	Raises bool   // the official scorer would end with an exception
}

// Subsets whose answers are right without a call of a tool, and with one.
var (
	withoutCalls = []string{"irrelevance", "live_irrelevance"}
	withCalls    = []string{"live_relevance"}
)

// Judge judges an answer: the calls of tools as the client of mlcommons/endpoints writes them, or a text.
func (q *Question) Judge(answer string) Verdict {
	if wanted := slices.Contains(withCalls, q.Subset); wanted || slices.Contains(withoutCalls, q.Subset) {
		switch called := Native(answer); {
		case called == wanted:
			return Verdict{Right: true}
		case called:
			return Verdict{Why: "hallucination"}
		}
		return Verdict{Why: "relevance"}
	}
	found, raises := calls(answer)
	if raises {
		return Verdict{Why: "an argument that is not JSON", Raises: true}
	}
	if len(q.truth) == 0 {
		if len(found) == 0 {
			return Verdict{Right: true}
		}
		return Verdict{Why: "no_ground_truth"}
	}
	why := q.check(found)
	if e, ok := why.(exception); ok {
		return Verdict{Why: string(e), Raises: true}
	}
	if why != nil {
		return Verdict{Why: why.Error()}
	}
	return Verdict{Right: true}
}

// A mistake is why a call is wrong, as the checker names it.
type mistake string

func (m mistake) Error() string { return string(m) }

// An exception is where the checker stops.
type exception string

func (e exception) Error() string { return string(e) }

// language is that of the subset.
func (q *Question) language() language {
	switch q.Subset {
	case "simple_java":
		return java
	case "simple_javascript":
		return javaScript
	}
	return python
}

// check compares calls with the possible answers.
func (q *Question) check(found []call) error {
	for i := range found { // arguments that are a text are JSON, or none
		if text, ok := found[i].arguments.(string); ok {
			v, err := parseJSON([]byte(text))
			if err != nil {
				v = &dict{}
			}
			found[i].arguments = v
		}
		if k := kindOf(found[i].name); k == kindList || k == kindDict {
			return exception("a name that is not a text")
		}
	}
	switch {
	case strings.Contains(q.Subset, "parallel"):
		return q.checkAll(found)
	case strings.Contains(q.Subset, "multiple"):
		if len(found) != len(q.truth) {
			return mistake("multiple_function_checker:wrong_count")
		}
		return q.checkCall(q.find(q.truth[0].name), found[0], q.truth[0])
	case len(found) != 1:
		return mistake("simple_function_checker:wrong_count")
	case len(q.functions) == 0:
		return exception("a question without functions")
	}
	return q.checkCall(&q.functions[0], found[0], q.truth[0])
}

// checkAll compares several calls in any order: each possible answer gets the first call that passes and is not taken.
func (q *Question) checkAll(found []call) error {
	if len(found) != len(q.truth) {
		return mistake("parallel_function_checker_no_order:wrong_count")
	}
	taken := make([]bool, len(found))
	for _, wanted := range q.truth {
		f, matched := q.find(wanted.name), false
		for i := range found {
			if taken[i] {
				continue
			}
			err := q.checkCall(f, found[i], wanted)
			if e, ok := err.(exception); ok {
				return e
			}
			if err == nil {
				taken[i], matched = true, true
				break
			}
		}
		if !matched {
			return mistake("parallel_function_checker_no_order:cannot_find_match")
		}
	}
	return nil
}

// find is the function of a name; nil: there is none.
func (q *Question) find(name string) *function {
	i := slices.IndexFunc(q.functions, func(f function) bool { return f.name == name })
	if i < 0 {
		return nil
	}
	return &q.functions[i]
}

// CallName is the name of a function at servers, which take no points in it.
func CallName(name string) string { return strings.ReplaceAll(name, ".", "_") }

// checkCall compares a call with a possible answer: name, required parameters, each given one, and those that have to be given.
func (q *Question) checkCall(f *function, c call, wanted possible) error {
	if f == nil {
		return exception("a possible answer whose function is not described")
	}
	if c.name != value(CallName(f.name)) {
		return mistake("simple_function_checker:wrong_func_name")
	}
	given, ok := c.arguments.(*dict)
	if !ok {
		return withoutParameters(c.arguments, f.required)
	}
	for _, name := range f.required {
		if !given.has(name) {
			return mistake("simple_function_checker:missing_required")
		}
	}
	for _, name := range given.keys {
		if !f.parameters.has(name) || !wanted.values.has(name) {
			return mistake("simple_function_checker:unexpected_param")
		}
		if err := q.checkParameter(f.parameters.values[name], given.values[name], wanted.values.values[name].(list)); err != nil {
			return err
		}
	}
	for _, name := range wanted.values.keys {
		if !given.has(name) && !in("", wanted.values.values[name].(list)) {
			return mistake("simple_function_checker:missing_optional")
		}
	}
	return nil
}

// withoutParameters is why arguments are wrong that are no object: Python looks for names in lists and texts too, and then stops.
func withoutParameters(v value, required []string) error {
	for _, name := range required {
		var there bool
		switch v := v.(type) {
		case list:
			there = in(name, v)
		case string:
			there = strings.Contains(v, name)
		default:
			return exception("arguments that are no object")
		}
		if !there {
			return mistake("simple_function_checker:missing_required")
		}
	}
	return exception("arguments that are no object")
}

// checkParameter compares a value with the possible ones by the description of its parameter.
func (q *Question) checkParameter(description, v value, possible list) error {
	details, _ := description.(*dict)
	if details == nil {
		return exception("a parameter without a description")
	}
	lang := q.language()
	typeName, _ := details.values["type"].(string)
	kind, known := lang.kinds[typeName]
	if !known {
		return exception("a parameter of an unknown type")
	}
	text, isText := v.(string)
	if lang.read != nil && !isText {
		if q.Subset == "simple_java" {
			return mistake("type_error:java")
		}
		return mistake("type_error:js")
	}
	items, itemKind := "", unknown
	if slices.Contains(lang.nested, typeName) {
		inside, _ := details.values["items"].(*dict)
		if inside == nil {
			return exception("a parameter without the type of its items")
		}
		items, _ = inside.values["type"].(string)
		if itemKind, known = lang.kinds[items]; !known {
			return exception("a parameter with items of an unknown type")
		}
	}
	if lang.read != nil {
		var err error
		if v, err = lang.read(text, typeName, items); err != nil {
			return exception(err.Error())
		}
	}
	if n := number(v); lang.read == nil && typeName == "float" && kindOf(v) == kindInt {
		v, _ = n.Float64() // Python converts integers
	}
	variable, err := checkType(v, possible, kind, itemKind)
	if err != nil {
		return err
	}
	switch {
	case variable:
	case kind == kindDict:
		return checkObject(v, possible)
	case kind == kindList && itemKind == kindDict:
		return checkObjects(v, possible)
	case kind == kindText:
		return checkText(v, possible)
	case kind == kindList:
		return checkList(v, possible)
	}
	if !in(v, possible) {
		return mistake("value_error:others")
	}
	return nil
}

// unknown is the lack of a kind: that of items without a type, or of possible values that may all be left out.
const unknown kind = ""

// possibleKind is the kind of the first possible value that is not left out.
func possibleKind(possible list) kind {
	for _, v := range possible {
		if v != value("") {
			return kindOf(v)
		}
	}
	return unknown
}

// checkType compares the kind of a value with that of its parameter, and of items one level deep. A variable is a value of the kind that the
// possible values have instead.
func checkType(v value, possible list, kind, items kind) (variable bool, err error) {
	other := possibleKind(possible)
	variable = other != unknown && other != kind
	if kindOf(v) == kind {
		if items == unknown {
			return variable, nil
		}
		for _, p := range possible {
			values, isList := p.(list)
			fits := func(item value) bool {
				_, err := checkType(item, values, items, unknown)
				return err == nil
			}
			if !isList || !slices.ContainsFunc(v.(list), func(item value) bool { return !fits(item) }) {
				return variable, nil
			}
		}
		if kindOf(v) == other {
			return false, mistake("type_error:nested")
		}
	} else if other != unknown && kindOf(v) == other {
		return true, nil
	}
	return false, mistake("type_error:simple")
}

// plain is a text as it is compared: without blanks and some punctuation, in small letters, with one kind of quotes.
func plain(v value) value {
	text, ok := v.(string)
	if !ok {
		return v
	}
	text = strings.Map(func(r rune) rune {
		if strings.ContainsRune(" ,./-_*^", r) {
			return -1
		}
		return r
	}, text)
	return strings.ReplaceAll(pytext.Lower(text), "'", `"`)
}

// plainItems are the items of a list as they are compared.
func plainItems(items list) list {
	out := make(list, len(items))
	for i, v := range items {
		out[i] = plain(v)
	}
	return out
}

// items are those of a list, and the characters of a text: Python takes both; a value that may be left out is empty.
func items(v value) (list, bool) {
	if text, ok := v.(string); ok {
		out := list{}
		for _, r := range text {
			out = append(out, string(r))
		}
		return out, true
	}
	out, ok := v.(list)
	return out, ok
}

func checkText(v value, possible list) error {
	texts := slices.DeleteFunc(plainItems(possible), func(v value) bool { return kindOf(v) != kindText })
	if !in(plain(v), texts) {
		return mistake("value_error:string")
	}
	return nil
}

func checkList(v value, possible list) error {
	given := plainItems(v.(list))
	for _, p := range possible {
		items, ok := items(p)
		if !ok {
			return exception("a possible value that is not a list")
		}
		if equal(given, plainItems(items)) {
			return nil
		}
	}
	return mistake("value_error:list/tuple")
}

// checkObject compares an object with possible ones, whose keys have possible values.
func checkObject(v value, possible list) error {
	var why error = mistake("dict_checker:unclear")
	for _, p := range possible {
		if p == value("") {
			continue
		}
		wanted, ok := p.(*dict)
		given, isObject := v.(*dict)
		if !ok || !isObject {
			return exception("an object is compared with another value")
		}
		if why = checkKeys(given, wanted); why == nil {
			return nil
		}
		if e, ok := why.(exception); ok {
			return e
		}
	}
	return why
}

func checkKeys(given, wanted *dict) (why error) {
	for _, key := range given.keys {
		if !wanted.has(key) {
			why = mistake("value_error:dict_key")
			break
		}
		values, ok := items(wanted.values[key])
		if !ok {
			return exception("possible values of a key that are not a list")
		}
		if !in(plain(given.values[key]), plainItems(values)) {
			why = mistake("value_error:dict_value")
			break
		}
	}
	for _, key := range wanted.keys {
		if given.has(key) {
			continue
		}
		values, ok := items(wanted.values[key])
		if !ok {
			return exception("possible values of a key that are not a list")
		}
		if kindOf(wanted.values[key]) == kindList && !in("", values) {
			return mistake("value_error:dict_key")
		}
	}
	return why
}

// checkObjects compares a list of objects with possible ones, in their order.
func checkObjects(v value, possible list) error {
	given := v.(list)
	var why error = mistake("list_dict_checker:unclear")
	for _, p := range possible {
		wanted, ok := items(p)
		if !ok {
			return exception("a possible value that is not a list")
		}
		if len(given) != len(wanted) {
			why = mistake("value_error:list_dict_count")
			continue
		}
		why = nil
		for i := range given {
			if why = checkObject(given[i], list{wanted[i]}); why != nil {
				break
			}
		}
		if why == nil {
			return nil
		}
		if e, ok := why.(exception); ok {
			return e
		}
	}
	return why
}
