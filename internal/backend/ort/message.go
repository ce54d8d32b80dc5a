package ort

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// readable makes one plain line of an error text of ONNX Runtime or the binding. It drops the layers' own prefixes, places in
// ONNX Runtime's source and C++ signatures, advice that does not apply, and line breaks. It keeps nodes, operators, shapes and
// opsets.
func readable(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	for _, r := range noise {
		text = r.ReplaceAllString(text, "")
	}
	for {
		at := sourcePlace.FindStringSubmatchIndex(text)
		if at == nil {
			break
		}
		text = text[:at[3]] + afterSignature(text[at[1]:])
	}
	text = nodeFailure.ReplaceAllString(text, "node $2 ($1): ")
	for _, p := range plainWords {
		text = strings.Replace(text, p.text, p.plain, 1)
	}
	text = strings.TrimRight(strings.TrimSpace(text), ". ")
	// The first letter of a sentence becomes small, but not that of a name, MatMul or ORT for example.
	first, size := utf8.DecodeRuneInString(text)
	word, _, _ := strings.Cut(text[size:], " ")
	if size == 0 || strings.ContainsFunc(word, unicode.IsUpper) || strings.ContainsAny(word, ":(_") {
		return text
	}
	return string(unicode.ToLower(first)) + text[size:]
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

// sourcePlace matches the place of a check in ONNX Runtime's source. Behind it comes a C++ signature, or the name of a function.
var sourcePlace = regexp.MustCompile(`(^| )\S*\.(cc|cpp|h|hpp|cu|cuh|inl|mm):\d+ `)

// afterSignature returns what comes after a C++ signature, whose parentheses may be nested, or after the name of a function.
func afterSignature(text string) string {
	open := strings.IndexByte(text, '(')
	if open < 0 || !strings.Contains(text[:open], "::") || strings.Contains(text[:open], ". ") {
		_, rest, _ := strings.Cut(text, " ")
		return rest
	}
	end, depth := open, 0
	for ; end < len(text); end++ {
		if text[end] == '(' {
			depth++
		} else if text[end] == ')' {
			depth--
		}
		if depth == 0 {
			break
		}
	}
	rest := strings.TrimPrefix(text[min(end+1, len(text)):], " const")
	if strings.HasPrefix(rest, " [with ") {
		_, rest, _ = strings.Cut(rest, "] ")
	}
	return strings.TrimSpace(rest)
}
