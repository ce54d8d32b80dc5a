package synth

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"strings"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/tokenizer/vocab"
)

// A PageSpec says everything about a built-in data set of pages and questions about them, in the layout of E2E-RAG. Equal specs make equal files.
//
// Pages are about people, towns, rivers and companies, in turn, whose names are words of the vocabulary. A question needs the pages of two to
// four of them, one after the other: each names the next. Behind the question, after the mark of answers, are the titles of these pages and
// the answer, as a list of one object: the servers of the tests have nothing else to know them by.
type PageSpec struct {
	Seed      uint64 `json:"seed"`
	Pages     int    `json:"pages"`
	Questions int    `json:"questions"`
	// FirstWord is the number in the vocabulary from which on pieces are words.
	FirstWord int `json:"first_word"`
}

func (s PageSpec) check() error {
	switch {
	case s.Pages < pageKinds || s.Pages > 20_000:
		return fmt.Errorf("pages is %d: must be %d to 20000", s.Pages, pageKinds)
	case s.Questions < 1 || s.Questions > 100_000:
		return fmt.Errorf("questions is %d: must be 1 to 100000", s.Questions)
	case s.FirstWord < 1500 || s.FirstWord > vocabularySize/2:
		return fmt.Errorf("first word is %d: must be 1500 to %d", s.FirstWord, vocabularySize/2)
	}
	return nil
}

// Key returns a name for the data set, fit for a folder: equal keys mean equal files.
func (s PageSpec) Key() string {
	return "pages-" + keyOf("pages seed %d pages %d questions %d first word %d", s.Seed, s.Pages, s.Questions, s.FirstWord)
}

// WritePages makes a data set: pages in doc_html with url_mapping.json, data/frames_dataset.tsv, vocab.txt and the Manifest. Folder, errors and
// ctx are as with WriteImageNet.
func WritePages(ctx context.Context, dir string, spec PageSpec) error {
	return publish(ctx, dir, "pages and questions", &spec, func(folder string) error { return spec.fill(ctx, folder) }, nil)
}

// The kinds of pages.
const (
	personPage = iota
	townPage
	riverPage
	companyPage
	pageKinds
)

// A subject is what a page is about.
type subject struct {
	name string
	next *subject // the town of a person or a company, the river of a town, the founder of a company, the town at the mouth of a river
	seat *subject // of a company
	size int      // year of birth or of foundation, population, length
}

const pageSite = "example.org/wiki/"

func (s *subject) url() string { return "https://" + pageSite + strings.ReplaceAll(s.name, " ", "_") }
func (s *subject) file() string {
	return strings.ReplaceAll(strings.TrimPrefix(s.url(), "https://"), "/", "_")
}

// link is the name of a subject with a link to its page.
func (s *subject) link() string {
	return fmt.Sprintf(`<a href="/wiki/%s" title="%s">%s</a>`, strings.ReplaceAll(s.name, " ", "_"), s.name, s.name)
}

// fill writes the files.
func (s PageSpec) fill(ctx context.Context, folder string) error {
	v := squadVocabulary(s.Seed, s.FirstWord)
	subjects := s.subjects(v)
	pages := filepath.Join(folder, "doc_html")
	for _, dir := range []string{pages, filepath.Join(folder, "data")} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	addresses := map[string]string{Mark: markComment}
	for i, about := range subjects {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		addresses[about.file()] = about.url()
		text := s.page(v, subjects, i)
		if err := fileio.WriteFile(filepath.Join(pages, about.file()+".html"), []byte(text), 0o644); err != nil {
			return err
		}
	}
	mapping, err := json.MarshalIndent(addresses, "", "  ")
	if err != nil {
		return err
	}
	for name, content := range map[string]string{
		"vocab.txt": strings.Join(v.pieces, "\n") + "\n", "doc_html/url_mapping.json": string(mapping) + "\n", "data/frames_dataset.tsv": s.table(subjects),
	} {
		if err := fileio.WriteFile(filepath.Join(folder, filepath.FromSlash(name)), []byte(content), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// subjects are those of all pages. Each names others.
func (s PageSpec) subjects(v *vocabulary) []*subject {
	r := newStream("page subjects", s.Seed)
	list, taken := make([]*subject, s.Pages), map[string]bool{}
	word := func() string { // of a name: no other has it
		for {
			w := v.pieces[s.FirstWord+r.below(len(v.pieces)-s.FirstWord)]
			if !taken[w] {
				taken[w] = true
				return strings.ToUpper(w[:1]) + w[1:]
			}
		}
	}
	for i := range list {
		list[i] = &subject{name: word()}
		switch i % pageKinds {
		case personPage:
			list[i].name += " " + word()
			list[i].size = r.between(1850, 1990)
		case townPage:
			list[i].size = r.between(1000, 900_000)
		case riverPage:
			list[i].name += " River"
			list[i].size = r.between(20, 2000)
		case companyPage:
			list[i].name += " Company"
			list[i].size = r.between(1900, 2015)
		}
	}
	some := func(kind int) *subject { return someOf(list, kind, r) }
	for i := range list {
		switch i % pageKinds {
		case personPage:
			list[i].next = some(townPage)
		case townPage:
			list[i].next = some(riverPage)
		case riverPage:
			list[i].next = some(townPage)
		case companyPage:
			list[i].next, list[i].seat = some(personPage), some(townPage)
		}
	}
	return list
}

// someOf draws a subject of a kind.
func someOf(subjects []*subject, kind int, r *stream) *subject {
	return subjects[kind+pageKinds*r.below((len(subjects)-kind+pageKinds-1)/pageKinds)]
}

// page is a page as the encyclopedia has it: menus and boxes around what it says.
func (s PageSpec) page(v *vocabulary, subjects []*subject, i int) string {
	about, r := subjects[i], newStream("page", s.Seed, uint64(i))
	var facts []string
	var box [2]string
	switch i % pageKinds {
	case personPage:
		facts = []string{fmt.Sprintf("<b>%s</b> was born in the town of %s in %d.", about.name, about.next.link(), about.size)}
		box = [2]string{"Born", fmt.Sprint(about.size)}
	case townPage:
		facts = []string{
			fmt.Sprintf("<b>%s</b> is a town on the %s.", about.name, about.next.link()),
			fmt.Sprintf("%s has a population of %d.", about.name, about.size),
		}
		box = [2]string{"Population", fmt.Sprint(about.size)}
	case riverPage:
		facts = []string{fmt.Sprintf("The <b>%s</b> is %d km long and ends at the town of %s.", about.name, about.size, about.next.link())}
		box = [2]string{"Length", fmt.Sprintf("%d&#160;km", about.size)}
	case companyPage:
		facts = []string{
			fmt.Sprintf("The <b>%s</b> was founded by %s in %d.", about.name, about.next.link(), about.size),
			fmt.Sprintf("It has its seat in the town of %s.", about.seat.link()),
		}
		box = [2]string{"Founded", fmt.Sprint(about.size)}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"UTF-8\"><title>%s</title><!-- %s --><style>.infobox{float:right}</style></head>\n", about.name, markComment)
	fmt.Fprintf(&b, "<body><div id=\"mw-navigation\"><a href=\"/wiki/Main\">Main page</a></div><h1>%s</h1>\n<div id=\"mw-content-text\"><div class=\"mw-parser-output\">\n", about.name)
	fmt.Fprintf(&b, "<table class=\"infobox\"><tbody><tr><th>%s</th><td>%s</td></tr></tbody></table>\n", box[0], box[1])
	for k := range r.between(2, 5) {
		b.WriteString("<p>")
		if k < len(facts) {
			b.WriteString(facts[k] + fmt.Sprintf("<sup class=\"reference\"><a href=\"#cite%d\">[%d]</a></sup> ", k, k+1))
		}
		fmt.Fprintf(&b, "About %s: ", about.name)
		for range r.between(2, 6) {
			b.WriteString(sentence(v, r) + " ")
		}
		b.WriteString("</p>\n")
	}
	if len(facts) > 1 { // in case the page has only one paragraph for it
		b.WriteString("<p>" + facts[1] + "</p>\n")
	}
	b.WriteString("<div class=\"navbox\">See also: ")
	for k := range 3 {
		b.WriteString(subjects[(i+k+1)%len(subjects)].link() + " ")
	}
	b.WriteString("</div></div></div><footer>made from a seed</footer></body></html>\n")
	return b.String()
}

// sentence is one of 6 to 14 words that say nothing.
func sentence(v *vocabulary, r *stream) string {
	words := make([]string, r.between(6, 14))
	for i := range words {
		if r.below(2) == 0 {
			words[i] = v.common[r.below(len(v.common))]
		} else {
			words[i] = v.pieces[v.firstWord+r.below(len(v.pieces)-v.firstWord)]
		}
	}
	text := strings.Join(words, " ") + "."
	return html.EscapeString(strings.ToUpper(text[:1]) + text[1:])
}

// table has the questions in the columns of FRAMES.
func (s PageSpec) table(subjects []*subject) string {
	var b strings.Builder
	b.WriteString("\tPrompt\tAnswer\twikipedia_link_1\twikipedia_link_2\twikipedia_link_3\twikipedia_link_4\treasoning_types\t" + Mark + "\n")
	for i := range s.Questions {
		q := s.question(subjects, i)
		links := make([]string, 4)
		for k, about := range q.needs {
			links[k] = about.url()
		}
		fmt.Fprintf(&b, "%d\t%s\t%s\t%s\tMultiple constraints\t1\n", i, q.text+" "+q.solution(), q.answer, strings.Join(links, "\t"))
	}
	return b.String()
}

// solution is what a server of the tests answers: the titles of the pages to look for, and the answer.
func (q pageQuestion) solution() string {
	var titles []string
	for _, about := range q.needs {
		titles = append(titles, about.name)
	}
	text, _ := json.Marshal(struct { // texts have no error
		Queries []string `json:"queries"`
		Answer  string   `json:"answer"`
	}{titles, q.answer})
	return vocab.Words[vocab.Mark] + "[" + string(text) + "]"
}

// A pageQuestion is a question and the pages that answer it, in the order in which they are found.
type pageQuestion struct {
	text, answer string
	needs        []*subject
}

func (s PageSpec) question(subjects []*subject, i int) pageQuestion {
	r := newStream("page question", s.Seed, uint64(i))
	some := func(kind int) *subject { return someOf(subjects, kind, r) }
	switch person, company := some(personPage), some(companyPage); i % 4 {
	case 0:
		town := person.next
		return pageQuestion{fmt.Sprintf("On which river lies the town where %s was born?", person.name), town.next.name, []*subject{person, town}}
	case 1:
		return pageQuestion{fmt.Sprintf("In which year was the founder of the %s born?", company.name), fmt.Sprint(company.next.size), []*subject{company, company.next}}
	case 2:
		town := person.next
		return pageQuestion{fmt.Sprintf("How many km long is the river of the town where %s was born?", person.name), fmt.Sprint(town.next.size),
			[]*subject{person, town, town.next}}
	default:
		town := company.next.next
		return pageQuestion{fmt.Sprintf("What is the length in km of the river on which the founder of the %s was born?", company.name),
			fmt.Sprint(town.next.size), []*subject{company, company.next, town, town.next}}
	}
}
