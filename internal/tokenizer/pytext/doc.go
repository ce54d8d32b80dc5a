// Package pytext has text as Python's str sees it: white space, how text is
// lower-cased, and which characters are digits. The reference's scripts are Python, and their scores depend on both.
//
//	pytext.Fields("a\u00a0b\x1fc") // [a b c]: three words, where strings.Fields finds two
//	pytext.Lower("ΟΔΟΣ")           // οδος, with the sigma of a word's end
//
// It follows Python 3.11 except for the version of Unicode, which is Go's: 3.11 has
// Unicode 14 and Go 1.26 has Unicode 15, so characters that are newer than 2021 may differ.
// Regular expressions are left to those who need them.
package pytext
