package retrieval

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/text/unicode/norm"

	"github.com/mlperf-go/mlperf/internal/tokenizer/pytext"
)

// errNotUTF8 is the error of a page that the reference's reader gives up, too.
var errNotUTF8 = errors.New("not UTF-8: must be a page of text")

// TextOf is the text of a page as the reference reads it (read_docs.py, HTMLExtractor with text_boundary "word"): what its main part says, without
// menus, boxes and references, on one line. Pages that are not UTF-8, or whose elements are nested more than 500 deep, are errors.
//
// The reference parses with lxml. Texts are equal wherever both parsers make the same tree, which they do of all well-formed pages.
// Of broken ones, lxml leaves text in a table where it is, while HTML5 takes it out of the table.
func TextOf(page []byte) (string, error) {
	if !utf8.Valid(page) {
		return "", errNotUTF8
	}
	page = bytes.TrimPrefix(page, []byte("\ufeff"))
	root, err := html.ParseWithOptions(bytes.NewReader(page), html.ParseOptionEnableScripting(false))
	if err != nil {
		return "", fmt.Errorf("the page: %w", err)
	}
	var parts []string
	gather(mainPart(root), &parts)
	return cleanText(strings.Join(parts, " ")), nil
}

// The names, classes and ids of elements that do not count (read_docs.py, extract_text_from_html and _remove_wikipedia_metadata).
var (
	leftOutNames   = []atom.Atom{atom.Script, atom.Style, atom.Nav, atom.Header, atom.Footer}
	leftOutClasses = []string{
		"navbox", "navigation-box", "ambox", "tmbox", "mw-editsection", "edit-section", "editlink", "reference", "citation", "hatnote", "dablink",
		"rellink", "catlinks", "external-links", "toc", "image-metadata",
	}
	leftOutIDs = []string{"mw-navigation", "catlinks", "toc"}
	// unread have text that Beautiful Soup does not count as an element's (HTMLTreeBuilder, DEFAULT_STRING_CONTAINERS).
	unread = []atom.Atom{atom.Rt, atom.Rp, atom.Template}
)

const (
	captionClass  = "thumbcaption"
	metadataClass = "metadata" // does not count in a caption
)

// leftOut reports whether an element does not count.
func leftOut(n *html.Node) bool {
	if slices.Contains(leftOutNames, n.DataAtom) || slices.Contains(leftOutIDs, attribute(n, "id")) {
		return true
	}
	for _, class := range pytext.Fields(attribute(n, "class")) {
		if slices.Contains(leftOutClasses, class) || class == metadataClass && inside(n, func(p *html.Node) bool { return hasClass(p, captionClass) }) {
			return true
		}
	}
	return false
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Namespace == "" && a.Key == name {
			return a.Val
		}
	}
	return ""
}

func hasClass(n *html.Node, class string) bool {
	return slices.Contains(pytext.Fields(attribute(n, "class")), class)
}

// inside reports whether an element around n is such a one.
func inside(n *html.Node, is func(*html.Node) bool) bool {
	for p := range n.Ancestors() {
		if is(p) {
			return true
		}
	}
	return false
}

// mainParts say which element has the content of a page; the first that matches counts (read_docs.py, _find_main_content).
var mainParts = []func(*html.Node) bool{
	func(n *html.Node) bool { return hasClass(n, "mw-parser-output") && inside(n, isWikiContent) },
	isWikiContent,
	func(n *html.Node) bool { return n.DataAtom == atom.Main },
	func(n *html.Node) bool { return n.DataAtom == atom.Article },
	func(n *html.Node) bool { return hasClass(n, "content") },
	func(n *html.Node) bool { return attribute(n, "id") == "content" },
	func(n *html.Node) bool { return n.DataAtom == atom.Body },
}

func isWikiContent(n *html.Node) bool { return attribute(n, "id") == "mw-content-text" }

// mainPart is the element with the content of a page.
func mainPart(root *html.Node) *html.Node {
	for _, is := range mainParts {
		if n := firstOf(root, is); n != nil {
			return n
		}
	}
	return root
}

// firstOf is the first such element in the order of the page, without those that do not count; nil: none.
func firstOf(n *html.Node, is func(*html.Node) bool) *html.Node {
	for c := range n.ChildNodes() {
		if c.Type != html.ElementNode || leftOut(c) {
			continue
		}
		if is(c) {
			return c
		}
		if found := firstOf(c, is); found != nil {
			return found
		}
	}
	return nil
}

// gather appends the pieces of text in an element.
func gather(n *html.Node, parts *[]string) {
	for c := range n.ChildNodes() {
		switch {
		case c.Type == html.TextNode:
			if text := pytext.TrimSpace(c.Data); text != "" {
				*parts = append(*parts, text)
			}
		case c.Type == html.ElementNode && !leftOut(c) && !slices.Contains(unread, c.DataAtom):
			gather(c, parts)
		}
	}
}

// wordClass and spaceClass are what Python's \w and \s match.
const (
	wordClass  = `[\pL\pN_]`
	spaceClass = `[\s\x0b\x1c-\x1f\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}]`
)

var (
	otherBlanks = strings.NewReplacer("\u200b", " ", "\u2028", " ", "\u2029", " ", "\r", "\n") // beside those that NFKC replaces
	tightStops  = regexp.MustCompile(`([.!?,:;])([A-Za-z])`)
	brokenWords = regexp.MustCompile(`(` + wordClass + `+)-` + spaceClass + `+(` + wordClass + `+)`)
)

// cleanText brings text into one line: a blank behind each stop before a letter, and no blank in words that a hyphen divides (read_docs.py,
// _clean_text and _optimize_word_boundaries).
func cleanText(text string) string {
	text = otherBlanks.Replace(pytext.Normalize(norm.NFKC, text))
	text = tightStops.ReplaceAllString(text, "$1 $2")
	text = brokenWords.ReplaceAllString(text, "$1-$2")
	return strings.Join(pytext.Fields(text), " ")
}

// The windows of the benchmark, in characters (e2e-rag, reference_mlperf_datasetup.py).
const (
	windowLength  = 768
	windowOverlap = 32
)

// Windows cuts a text into passages of the benchmark's length. The text is cut anywhere, also in words.
func Windows(text string) []string { return windowsOf(text, windowLength, windowOverlap) }

// windowsOf cuts a text into passages of so many characters, as Python counts them. Each begins with the last ones of the passage
// before (text_splitter.py, split_into_fixed_passages).
func windowsOf(text string, length, overlap int) []string {
	chars := []rune(strings.Join(pytext.Fields(text), " "))
	if len(chars) == 0 {
		return nil
	}
	if len(chars) <= length {
		return []string{string(chars)}
	}
	var list []string
	for start := 0; start < len(chars); start += length - overlap {
		if window := pytext.TrimSpace(string(chars[start:min(start+length, len(chars))])); window != "" {
			list = append(list, window)
		}
	}
	return list
}
