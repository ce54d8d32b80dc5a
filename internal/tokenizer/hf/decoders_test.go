package hf

import "testing"

func TestDecoders(t *testing.T) {
	checkDecoder(t, `{"type":"Fuse"}`, []decoding{
		{"all in one", []string{"a", " b", "c"}, "a bc"},
		{"nothing", []string{}, ""},
	})
	checkDecoder(t, `{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true}`, []decoding{
		{"characters are bytes", []string{"a", "Ġb", "Ã©"}, "a bé"},
		{"a character of two tokens", []string{"æ", "Ĺ¥"}, "日"},
		{"half a character", []string{"æĹ", "a"}, "\ufffda"},
		{"two halves", []string{"Ã", "Ã"}, "\ufffd\ufffd"},
		{"what stands for no byte is itself", []string{"日", "Ġa"}, "日 a"},
	})
	checkDecoder(t, `{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true}`, []decoding{
		{"marks are blanks but for the first", []string{"▁a", "b", "▁c"}, "ab c"},
		{"a mark within", []string{"▁a▁b", "▁"}, "ab "},
		{"no mark before", []string{"a", "▁b"}, "a b"},
	})
	checkDecoder(t, `{"type":"Metaspace","replacement":"▁","prepend_scheme":"never","split":true}`, []decoding{{"all marks are blanks", []string{"▁a", "▁b"}, " a b"}})
	checkDecoder(t, `{"type":"WordPiece","prefix":"##","cleanup":false}`, []decoding{
		{"pieces that go on", []string{"un", "##aff", "##able", "a"}, "unaffable a"},
		{"the first one keeps its mark", []string{"##a", "b"}, "##a b"},
		{"marks stay apart", []string{"a", ",", "b", "."}, "a , b ."},
		{"a mark within", []string{"a", "b##c"}, "a b##c"},
	})
	checkDecoder(t, `{"type":"WordPiece","prefix":"##","cleanup":true}`, []decoding{
		{"marks go to the word before", []string{"a", ",", "b", ".", "c", "!", "d", "?"}, "a, b. c! d?"},
		{"short forms", []string{"i", "'m", "it", "'s", "we", "'ve", "n't"}, "i'm it's we'ven't"},
		{"do not becomes don't in one token alone", []string{"i", "do", "not"}, "i do not"},
	})
	checkDecoder(t, `{"type":"BPEDecoder","suffix":"</w>"}`, []decoding{
		{"ends of words are blanks", []string{"a", "b</w>", "c</w>"}, "ab c"},
		{"the last one is none", []string{"a</w>"}, "a"},
	})
	checkDecoder(t, `{"type":"ByteFallback"}`, []decoding{
		{"bytes become characters", []string{"a", "<0xC3>", "<0xA9>", "b"}, "aéb"},
		{"a byte of ASCII", []string{"<0x41>"}, "A"},
		{"in small letters", []string{"<0xc3>", "<0xa9>"}, "é"},
		{"bytes that are no character are a mark each", []string{"<0xE6>", "<0x97>", "a"}, "\ufffd\ufffda"},
		{"with one that is one", []string{"<0x41>", "<0xE6>"}, "\ufffd\ufffd"},
		{"what only looks like one", []string{"<0xG1>", "<0x1>", "<0x123>"}, "<0xG1><0x1><0x123>"},
	})
	checkDecoder(t, `{"type":"Strip","content":" ","start":1,"stop":0}`, []decoding{
		{"of each token", []string{" a", "  b", "c "}, "a bc "},
		{"nothing is there", []string{"a"}, "a"},
	})
	checkDecoder(t, `{"type":"Strip","content":"_","start":2,"stop":1}`, []decoding{
		{"at both ends", []string{"___a___"}, "_a__"},
		{"more than there are", []string{"_a"}, "a"},
	})
	checkDecoder(t, `{"type":"Replace","pattern":{"String":"▁"},"content":" "}`, []decoding{
		{"in each token", []string{"▁a▁", "b"}, " a b"},
	})
	checkDecoder(t, `{"type":"Replace","pattern":{"Regex":"▁+"},"content":" "}`, []decoding{{"by a pattern", []string{"▁▁a", "▁b"}, " a b"}})
	checkDecoder(t, `{"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"▁"},"content":" "},{"type":"ByteFallback"},{"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":0}]}`, []decoding{
		{"as Llama 2 decodes", []string{"▁Hello", "▁w", "<0xC3>", "<0xB6>", "rld", "▁"}, "Hello wörld "},
		{"a blank at the beginning of all", []string{"▁▁a"}, " a"},
		{"nothing", []string{}, ""},
	})
	checkDecoder(t, `{"type":"Sequence","decoders":[]}`, []decoding{{"none at all joins", []string{"a", "b"}, "ab"}})
}
