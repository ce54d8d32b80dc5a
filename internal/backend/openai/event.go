package openai

import "bytes"

// An event is what counts of an event of a stream, or of an answer that came whole.
type event struct {
	text   []byte // of the answer, as it is written in JSON, without quotes; nil or empty: none
	finish []byte // why the answer ended; nil: it has not
	ids    []byte // the tokens of the text as a JSON array; nil: not told
	fault  []byte // what went wrong, as it is written in JSON; nil: nothing
	failed bool   // something went wrong
	twice  []byte // a key that an object has twice, so that nobody knows which value is meant; nil: none

	odd []byte // what is told as a number of tokens, and is none; nil: nothing

	completion, prompt int // tokens; -1: not told
	at                 int // where the text begins in the event
}

// A shape is an event around its text. The events of a stream differ in nothing else, as a rule,
// so that one that looks like the one before need not be walked through.
type shape struct {
	before, after []byte // with the quotes
	event         event  // without its text
}

// read reads an event, if it has this shape by looking at its text only.
func (sh *shape) read(e *event, data []byte) bool {
	if len(sh.before) > 0 && bytes.HasPrefix(data, sh.before) {
		s := scanner{b: data, i: len(sh.before) - 1}
		if text := s.str(); len(text) > 0 && bytes.Equal(data[s.i-1:], sh.after) {
			*e = sh.event
			e.text = text
			return true
		}
	}
	ok := e.parse(data)
	if ok && e.isUsual() {
		sh.before = append(sh.before[:0], data[:e.at]...)
		sh.after = append(sh.after[:0], data[e.at+len(e.text):]...)
		sh.event = *e
		sh.event.text = nil
	}
	return ok
}

// isUsual reports whether an event has a text, and nothing else that the next one may not have.
func (e *event) isUsual() bool {
	return len(e.text) > 0 && e.finish == nil && e.ids == nil && e.odd == nil && !e.failed
}

// levels of an event's objects.
type level uint8

const (
	top level = iota
	choice
	delta
	usage
	fault
)

// parse reads an event. False: it is no JSON object.
func (e *event) parse(data []byte) bool {
	*e = event{completion: -1, prompt: -1}
	s := scanner{b: data}
	e.object(&s, top)
	return s.peek() == 0 && !s.bad && s.i == len(data)
}

// object takes an object, or something else that stands in its place.
func (e *event) object(s *scanner, l level) {
	if l != top && s.peek() != '{' {
		if l == fault && s.peek() == '"' {
			e.fault = s.str()
			return
		}
		s.skip() // null
		return
	}
	seen := uint(0)
	for first := s.open('{'); s.next('}', first); first = false {
		key := s.key()
		if of := keyBit(key); seen&of == 0 {
			seen |= of
		} else {
			e.twice = key
			s.fail()
			return
		}
		e.member(s, l, key)
	}
	s.depth--
}

// eventKeys are the keys of an event that mean something.
var eventKeys = [...]string{"choices", "usage", "error", "text", "delta", "message", "finish_reason", "token_ids",
	"content", "reasoning_content", "reasoning", "completion_tokens", "prompt_tokens"}

// keyBit tells a key that means something from others; 0: it does not.
func keyBit(key []byte) uint {
	for i, known := range &eventKeys {
		if string(key) == known {
			return 1 << i
		}
	}
	return 0
}

// member takes the value of a member.
func (e *event) member(s *scanner, l level, key []byte) {
	switch l {
	case top:
		e.topMember(s, key)
	case choice:
		e.choiceMember(s, key)
	case delta:
		e.deltaMember(s, key)
	case usage:
		e.usageMember(s, key)
	case fault:
		if string(key) == "message" && s.peek() == '"' {
			e.fault = s.str()
			return
		}
		s.skip()
	}
}

func (e *event) topMember(s *scanner, key []byte) {
	switch string(key) {
	case "choices":
		e.choices(s)
	case "usage":
		e.object(s, usage)
	case "error":
		e.failed = s.peek() != 'n' // null
		e.object(s, fault)
	default:
		s.skip()
	}
}

// choices takes the list of answers, of which only one was asked for.
func (e *event) choices(s *scanner) {
	if s.peek() != '[' {
		s.skip()
		return
	}
	first := s.open('[')
	for ; s.next(']', first); first = false {
		if first {
			e.object(s, choice)
		} else {
			s.skip()
		}
	}
	s.depth--
}

func (e *event) choiceMember(s *scanner, key []byte) {
	switch string(key) {
	case "text":
		e.take(s)
	case "delta", "message":
		e.object(s, delta)
	case "finish_reason":
		if s.peek() == '"' {
			e.finish = s.str()
			return
		}
		s.skip()
	case "token_ids":
		e.takeIDs(s)
	default:
		s.skip()
	}
}

// takeIDs takes a list of tokens, as it is written.
func (e *event) takeIDs(s *scanner) {
	isList := s.peek() == '['
	from := s.i
	if s.skip(); isList {
		e.ids = s.b[from:s.i]
	}
}

func (e *event) deltaMember(s *scanner, key []byte) {
	switch string(key) {
	case "content", "reasoning_content", "reasoning":
		e.take(s)
	default:
		s.skip()
	}
}

// take takes the text of the answer. Of several fields the first that is not empty counts.
func (e *event) take(s *scanner) {
	if s.peek() != '"' {
		s.skip()
		return
	}
	if text := s.str(); len(e.text) == 0 {
		e.text, e.at = text, s.i-1-len(text)
	}
}

func (e *event) usageMember(s *scanner, key []byte) {
	s.peek()
	from := s.i
	s.skip()
	switch value := s.b[from:s.i]; string(key) {
	case "completion_tokens":
		if e.completion = whole(value); e.completion < 0 && string(value) != "null" {
			e.odd = value
		}
	case "prompt_tokens":
		e.prompt = whole(value) // of which nothing depends
	}
}

// appendIDs appends the tokens that a JSON array has. False: they are none.
func appendIDs(to []int32, array []byte) ([]int32, bool) {
	const most = 1 << 31
	s := scanner{b: array}
	for first := s.open('['); s.next(']', first); first = false {
		n := whole(s.scalar())
		if n < 0 || n >= most {
			return to, false
		}
		to = append(to, int32(n))
	}
	return to, !s.bad
}
