package hf

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
)

// What a file may look like that somebody else has written.
func TestFilesInOtherHands(t *testing.T) {
	plain := small("", `,"pre_tokenizer":{"type":"WhitespaceSplit"}`)
	for name, text := range map[string]string{
		"ends of lines of Windows":     strings.ReplaceAll(plain, ",", ",\r\n"),
		"fields that are not known":    strings.Replace(plain, "{", `{"version":"9.9","truncation":{"max_length":5},"padding":null,"extra":[1,{"a":2}],`, 1),
		"parts that are null":          strings.Replace(plain, "{", `{"normalizer":null,"post_processor":null,"decoder":null,"added_tokens":null,`, 1),
		"no added tokens":              strings.Replace(plain, "{", `{"added_tokens":[],`, 1),
		"space around":                 " \n\t" + plain + "\n\n",
		"a field that is there twice":  strings.Replace(plain, "{", `{"model":{"type":"WordLevel","vocab":{"x":0}},`, 1),
		"characters that are escaped":  strings.ReplaceAll(plain, `"ab"`, `"\u0061b"`),
		"merges in the newer form":     strings.Replace(plain, `"a b"`, `["a","b"]`, 1),
		"numbers as floats with zeros": plain,
	} {
		tok, err := read(text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		checkTokens(t, tok, "ab b", NoSpecial, []int32{2, 1})
	}
}

func TestFilesThatAreCutOff(t *testing.T) {
	whole := small("", `,"normalizer":{"type":"NFC"},"added_tokens":[{"id":3,"content":"<s>"}]`)
	for n := range len(whole) {
		if _, err := read(whole[:n]); err == nil || !strings.Contains(err.Error(), "tokenizer.json: line 1: this is no tokenizer.json") {
			t.Fatalf("the first %d bytes: %v", n, err)
		}
	}
	if _, err := read(whole + "}"); err == nil || !strings.Contains(err.Error(), "no tokenizer.json") {
		t.Errorf("with a brace too many: %v", err)
	}
	if _, err := read("\ufeff" + whole); err == nil || !strings.Contains(err.Error(), "no tokenizer.json") {
		t.Errorf("with a byte order mark, which the library refuses too: %v", err)
	}
}

func TestFilesThatCannotBeRead(t *testing.T) {
	torn := io.MultiReader(strings.NewReader(`{"model":`), iotest.ErrReader(errors.New("the disk is gone")))
	if _, err := Read(torn, "a.json"); err == nil || err.Error() != "a.json: the disk is gone" {
		t.Errorf("a reader that fails: %v", err)
	}
	if _, err := Open(filepath.Join(t.TempDir(), "nope.json")); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "reading the tokenizer") {
		t.Errorf("a file that is not there: %v", err)
	}
}

// Components within components, as deep as the reader of JSON goes.
func TestSequencesWithinSequences(t *testing.T) {
	for field, list := range map[string]string{"normalizer": "normalizers", "pre_tokenizer": "pretokenizers", "post_processor": "processors", "decoder": "decoders"} {
		open := `{"type":"Sequence","` + list + `":[`
		deep := strings.Repeat(open, 4000) + strings.Repeat("]}", 4000)
		if _, err := read(small("", `,"`+field+`":`+deep)); err != nil {
			t.Errorf("%s: %.100v", field, err)
		}
		if _, err := read(small("", `,"`+field+`":`+strings.Repeat(open, 20_000))); err == nil || !strings.Contains(err.Error(), "exceeded max depth") {
			t.Errorf("%s, deeper than any: %.100v", field, err)
		}
		wrong := strings.Repeat(open, 3) + `{"type":"Nope"}` + strings.Repeat("]}", 3)
		place := field + strings.Repeat("."+list+"[0]", 3)
		if _, err := read(small("", `,"`+field+`":`+wrong)); err == nil || !strings.Contains(err.Error(), place+`: type "Nope" is not known, want `) {
			t.Errorf("%s: %v, want the place %s", field, err, place)
		}
	}
}

// Numbers of tokens at the borders of what there is.
func TestNumbersOfTokens(t *testing.T) {
	tok, err := read(`{"added_tokens":[{"id":7,"content":"<a>","special":true},{"id":5,"content":"<b>"}],"model":{"type":"WordLevel","vocab":{"x":0,"y":3}},"decoder":{"type":"Fuse"}}`)
	if err != nil {
		t.Fatal(err)
	}
	if tok.Size() != 8 {
		t.Errorf("the size is %d, want 8", tok.Size())
	}
	for id, want := range map[int32]string{0: "x", 3: "y", 5: "<b>", 7: "<a>"} {
		token, ok := tok.Token(id)
		back, known := tok.ID(token)
		if !ok || token != want || !known || back != id || tok.IsSpecial(id) != (id == 7) {
			t.Errorf("token %d is %q, %t, whose number is %d, %t", id, token, ok, back, known)
		}
	}
	for _, id := range []int32{-1, 1, 2, 4, 6, 8, 1 << 30, -1 << 31} {
		if token, ok := tok.Token(id); ok || tok.IsSpecial(id) {
			t.Errorf("token %d is %q", id, token)
		}
		if _, err := tok.Decode([]int32{id}, KeepSpecial); err == nil || !strings.Contains(err.Error(), "token 0 is ") || !strings.HasSuffix(err.Error(), "which the vocabulary of 8 does not have") {
			t.Errorf("token %d decoded: %v", id, err)
		}
	}
	for ids, want := range map[*[]int32][2]string{{}: {"", ""}, {7}: {"", "<a>"}, {0, 7, 3, 5}: {"xy<b>", "x<a>y<b>"}} {
		checkText(t, tok, *ids, SkipSpecial, want[0])
		checkText(t, tok, *ids, KeepSpecial, want[1])
	}
	if id, ok := tok.ID("nope"); ok {
		t.Errorf("a token that there is not has number %d", id)
	}
}
