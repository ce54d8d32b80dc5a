package hf

import (
	"encoding/base64"
	"encoding/binary"
	"strings"
	"testing"
	"unicode/utf8"
)

// charsmapOf is one as a file has it.
func charsmapOf(to string, trie ...uint32) string {
	data := binary.LittleEndian.AppendUint32(nil, uint32(4*len(trie)))
	for _, unit := range trie {
		data = binary.LittleEndian.AppendUint32(data, unit)
	}
	return base64.StdEncoding.EncodeToString(append(data, to...))
}

// aTo is a trie that has an a, in whose place comes what is at a place.
func aTo(place uint32) []uint32 {
	trie := make([]uint32, 128)
	trie[0] = 2 << 10
	trie[2^'a'] = 1<<10 | 1<<8 | 'a'
	trie[2^'a'^1] = 1<<31 | place
	return trie
}

func TestCharsmapsThatCannotBeRead(t *testing.T) {
	for charsmap, want := range map[string]string{
		"":     "want a size of four bytes, not 0",
		"A":    "illegal base64",
		"AAA=": "want a size of four bytes, not 2",
		base64.StdEncoding.EncodeToString([]byte{4, 0, 0, 0, 1, 2, 3}):              "want a trie of 4 bytes, in whole words, not 3",
		base64.StdEncoding.EncodeToString([]byte{3, 0, 0, 0, 1, 2, 3, 4}):           "want a trie of 3 bytes, in whole words, not 4",
		base64.StdEncoding.EncodeToString([]byte{255, 255, 255, 255, 1, 2, 3}):      "want a trie of 4294967295 bytes",
		base64.StdEncoding.EncodeToString([]byte{0, 0, 0, 0}):                       "want a trie of 0 bytes, in whole words, not 0",
		base64.StdEncoding.EncodeToString([]byte{0, 0, 0, 0, 1, 2, 3}):              "want a trie of 0 bytes",
		base64.StdEncoding.EncodeToString([]byte{4, 0, 0, 0, 1, 2, 3, 4, 'a', 255}): "what takes the place of texts is no UTF-8",
	} {
		_, err := newNormalizer(&component{Type: "Precompiled", Charsmap: charsmap}, "normalizer")
		if err == nil || !strings.Contains(err.Error(), "normalizer: precompiled_charsmap: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", charsmap, err, want)
		}
	}
}

func TestCharsmapsThatLeadNowhere(t *testing.T) {
	const long = 257
	for _, c := range []struct{ claim, charsmap, want string }{
		{"what it has", charsmapOf("x\x00yz\x00", aTo(2)...), "byzc"},
		{"the last text has no zero", charsmapOf("x\x00yz", aTo(2)...), "byzc"},
		{"nothing takes its place", charsmapOf("x\x00yz", aTo(1)...), "bc"},
		{"a place at the end", charsmapOf("xyz", aTo(3)...), "bc"},
		{"a place behind the end", charsmapOf("xyz", aTo(4)...), "bac"},
		{"a place within a character", charsmapOf("é", aTo(1)...), "bac"},
		{"no texts", charsmapOf("", 0), "bac"},
		{"a trie of one word", charsmapOf("x", 0), "bac"},
		{"a trie that leads far away", charsmapOf("x", 0xfffffffe), "bac"},
		{"a text as long as it may be", charsmapOf(strings.Repeat("x", long-1), aTo(0)...), "b" + strings.Repeat("x", long-1) + "c"},
		{"a longer one", charsmapOf(strings.Repeat("x", long), aTo(0)...), ""},
	} {
		normalize, err := newNormalizer(&component{Type: "Precompiled", Charsmap: c.charsmap}, "normalizer")
		if err != nil {
			t.Fatal(err)
		}
		got, err := normalize(wholeText("bac"))
		if got.text != c.want && c.want != "" || (err != nil) != (c.want == "") {
			t.Errorf("%s: %q, %v, want %q", c.claim, got.text, err, c.want)
		}
		if err != nil && !strings.Contains(err.Error(), "257 bytes take the place of a character, want at most 256") {
			t.Errorf("%s: %v", c.claim, err)
		}
	}
}

// What is dropped at the beginning is not noticed, as by the library: what is behind it stands there then.
func TestWhereCharsmapsLeaveTheBeginning(t *testing.T) {
	normalize, err := newNormalizer(&component{Type: "Precompiled", Charsmap: charsmapOf("x\x00yz", aTo(1)...)}, "normalizer")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ from, want piece }{
		{wholeText("ba"), piece{"b", 1}}, {wholeText("aéb"), piece{"éb", len("é")}}, {wholeText("a"), piece{}}, {piece{text: "ab"}, piece{text: "b"}}, {piece{text: "ba"}, piece{text: "b"}},
	} {
		if got, err := normalize(c.from); got != c.want || err != nil {
			t.Errorf("%v becomes %v, %v, want %v", c.from, got, err, c.want)
		}
	}
}

func FuzzCharsmap(f *testing.F) {
	f.Add(charsmapOf("x\x00yz\x00", aTo(2)...), "bac\u0301")
	f.Add(charsmapOf("", 0xffffffff, 3), "\x00\xff")
	f.Fuzz(func(t *testing.T, charsmap, text string) {
		m, err := parseCharsmap(charsmap)
		if err != nil || !utf8.ValidString(text) {
			return
		}
		if got, err := m.normalize(text); err == nil && !utf8.ValidString(got) {
			t.Errorf("%q becomes %q", text, got)
		}
	})
}

// Characters that belong together, as the standard's examples and its tables have them.
func TestCharactersThatBelongTogether(t *testing.T) {
	for _, parts := range [][]string{
		{"a", "b"}, {"\r\n", "\r", "\r\n"}, {"\n", "\r"}, {"e\u0301\u0302", "x"}, {"\n", "\u0301"}, {"\u00ad", "\u0301"}, {"a\u200d", "b"}, {"a\u0903", "a", "\u102b"}, {"a\u0e33", "a\u0eb3"},
		{"\u0600a", "b"}, {"\u0600\u0301", "a"}, {"\u0600", "\n"}, {"\u0d4ea"}, {"\u1100\u1100\u1161\u1161\u11a8\u11a8", "\u1161"}, {"\u11a8", "\u1161"}, {"한\u11a8", "한"}, {"하\u1161\u11a8"}, {"한", "\u1161"},
		{"\u1100한"}, {"\u1100하"}, {"\u1161", "하"}, {"a\U0001f3fb"}, {"a", "\u2028", "\u0301"}, {"a", "\u200b"}, {"a", "\u2065", "\u0301"}, {"a", "\ufff0"}, {"a\U000e0100"}, {"a", "\U000e0080"}, {"a\uff9e"}, {"a\u0345"},
	} {
		rest := strings.Join(parts, "")
		for i, want := range parts {
			if got := rest[:graphemeLength(rest)]; got != want {
				t.Errorf("part %d of %+q is %+q, want %+q", i, parts, got, want)
			}
			rest = rest[len(want):]
		}
	}
}
