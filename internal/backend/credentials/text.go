package credentials

import (
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// hidden stands for a key in texts.
const hidden = "[key]"

// Redact takes a key out of a text of somebody else, also as addresses, JSON and pages write it.
func Redact(text, key string) string {
	if key == "" {
		return text
	}
	quoted, _ := json.Marshal(key) // which no string makes fail
	inJSON := string(quoted[1 : len(quoted)-1])
	query, path := url.QueryEscape(key), url.PathEscape(key)
	for _, form := range []string{
		key, inJSON, strings.ReplaceAll(inJSON, "/", `\/`), query, lowerHex(query), path, lowerHex(path), html.EscapeString(key),
	} {
		text = strings.ReplaceAll(text, form, hidden)
	}
	return text
}

var escaped = regexp.MustCompile(`%[0-9A-F]{2}`)

// lowerHex is an escaped text as those write it who prefer small letters.
func lowerHex(text string) string { return escaped.ReplaceAllStringFunc(text, strings.ToLower) }

// Address is the address of a server as texts may show it: without what stands before an @, where passwords
// are, and behind ? or #, where keys may be.
func Address(text string) string {
	if i := strings.IndexAny(text, "?#"); i >= 0 {
		text = text[:i+1] + "…"
	}
	at := strings.LastIndexByte(text, '@')
	if at < 0 {
		return text
	}
	scheme, _, found := strings.Cut(text, "://")
	if !found {
		return "…@" + text[at+1:]
	}
	return scheme + "://…@" + text[at+1:]
}

// CheckPort refuses the port of an address where no server can be. Empty is the usual one.
func CheckPort(port string) error {
	if n, err := strconv.ParseUint(port, 10, 16); port != "" && (err != nil || n == 0) {
		return fmt.Errorf("%s is no port, want a number from 1 to 65535", port)
	}
	return nil
}
