package ort

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// readable makes one plain line of an error text of ONNX Runtime or the binding. What it takes
// away: the layers' own prefixes, places in ONNX Runtime's source and C++ signatures, advice
// that does not apply, line breaks. What it keeps: nodes, operators, shapes, opsets.
func readable(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	for _, r := range noise {
		text = r.ReplaceAllString(text, "")
	}
	text = dropSourcePlaces(text)
	text = nodeFailure.ReplaceAllString(text, "node $2 ($1): ")
	for _, p := range plainWords {
		text = strings.Replace(text, p.text, p.plain, 1)
	}
	return lowerFirst(strings.TrimRight(strings.TrimSpace(text), ". "))
}

var noise = []*regexp.Regexp{
	regexp.MustCompile(`Error (creating C session( from file)?|running network|creating tensor from ort|loading temporary session): `),
	regexp.MustCompile(`Platform-specific initialization failed: `),
	regexp.MustCompile(`(Load model|Deserialize tensor) from \S+ failed:\s*`),
	regexp.MustCompile(`\[ONNXRuntimeError\] : \d+ : [A-Z_]+ : `),
	regexp.MustCompile(`(Exception|Error) during initialization: `),
	regexp.MustCompile(`Fatal error: `),
	regexp.MustCompile(` When calling Run\(\) with pre-allocated output OrtValues .*`),
	regexp.MustCompile(` Please fix either the inputs/outputs or the model\.`),
	regexp.MustCompile(`ONNX Runtime only \*guarantees\* support for models stamped with official released onnx opset versions\. `),
	regexp.MustCompile(` The operator schemas and or other functionality may change .*? backward compatibility\.`),
}

var nodeFailure = regexp.MustCompile(`Non-zero status code returned while running (\S+) node\. Name:\s*'([^']*)' Status Message: `)

var plainWords = []struct{ text, plain string }{
	{"Protobuf parsing failed", "not an ONNX file, or a damaged one"},
	{"This is an invalid model. In Node,", "in node"},
	{"This is an invalid model. ", ""},
	{"Type Error: ", "type error: "},
	{"Got invalid dimensions for input:", "wrong shape for input"},
	{"is under development and support for this is limited.", "is newer than this ONNX Runtime knows."},
	{"is till opset", "ends at opset"},
	{"std::bad_alloc", "not enough memory"},
}

// sourcePlace matches the place of a check in ONNX Runtime's source.
var sourcePlace = regexp.MustCompile(`(^| )\S*\.(cc|cpp|h|hpp|cu|cuh|inl|mm):\d+ `)

// dropSourcePlaces removes places in the source together with what follows them: a whole C++
// signature, or just a function's name.
func dropSourcePlaces(text string) string {
	for {
		at := sourcePlace.FindStringSubmatchIndex(text)
		if at == nil {
			return text
		}
		before, after := text[:at[3]], text[at[1]:]
		text = before + afterSignature(after)
	}
}

// afterSignature returns what comes after a C++ signature, whose parentheses may be nested, or
// after a bare function name.
func afterSignature(text string) string {
	open := strings.IndexByte(text, '(')
	if open < 0 || !strings.Contains(text[:open], "::") || strings.Contains(text[:open], ". ") {
		_, rest, _ := strings.Cut(text, " ")
		return rest
	}
	rest := strings.TrimPrefix(afterParentheses(text[open:]), " const")
	if strings.HasPrefix(rest, " [with ") {
		_, rest, _ = strings.Cut(rest, "] ")
	}
	return strings.TrimSpace(rest)
}

// afterParentheses returns what comes after the parenthesis that closes the one that text begins with;
// nothing if none does.
func afterParentheses(text string) string {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '(':
			depth++
		case ')':
			depth--
		}
		if depth == 0 {
			return text[i+1:]
		}
	}
	return ""
}

// lowerFirst lowers the first letter of a sentence, but not of a name such as MatMul or ORT.
func lowerFirst(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	word, _, _ := strings.Cut(text[size:], " ")
	if size == 0 || strings.ContainsFunc(word, unicode.IsUpper) || strings.ContainsAny(word, ":(_") {
		return text
	}
	return string(unicode.ToLower(first)) + text[size:]
}
