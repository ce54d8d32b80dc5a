package tfcheckpoint

import (
	"encoding/binary"
	"hash/crc32"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// rawEntry is an entry as it stands in a block: how much of its key is that of the one before, and the rest.
func rawEntry(shared int, rest, value string) string {
	var b []byte
	for _, n := range []int{shared, len(rest), len(value)} {
		b = binary.AppendUvarint(b, uint64(n))
	}
	return string(b) + rest + value
}

func rawHandle(offset, size int) string {
	return string(binary.AppendUvarint(binary.AppendUvarint(nil, uint64(offset)), uint64(size)))
}

// sealed is a block with one restart, its kind of compression and its check sum.
func sealed(content string, kind byte) string {
	return summed(content+"\x00\x00\x00\x00\x01\x00\x00\x00", kind)
}

// summed is a block as it is, with its kind of compression and its check sum.
func summed(content string, kind byte) string {
	b := append([]byte(content), kind)
	return string(binary.LittleEndian.AppendUint32(b, masked(crc32.Checksum(b, castagnoli))))
}

// rawTable is a table of one block, which its list of blocks has so many times.
func rawTable(content string, times int) []byte {
	block := sealed(content, 0)
	list := strings.Repeat(rawEntry(0, "k", rawHandle(0, len(block)-trailerBytes)), times)
	return closed(block, list)
}

// closed is a table of what comes first, and a list of blocks.
func closed(file, list string) []byte {
	at := len(file)
	file += sealed(list, 0)
	footer := rawHandle(0, 0) + rawHandle(at, len(file)-at-trailerBytes)
	footer += strings.Repeat("\x00", footerBytes-8-len(footer))
	return binary.LittleEndian.AppendUint64([]byte(file+footer), tableMagic)
}

func keysOf(file []byte) (keys []string, err error) {
	err = readTable(file, func(key, value []byte) error {
		keys = append(keys, string(key)+"="+string(value))
		return nil
	})
	return keys, err
}

func TestKeysShareTheirBeginnings(t *testing.T) {
	content := rawEntry(0, "", "header") + rawEntry(0, "abc", "1") + rawEntry(3, "d", "2") + rawEntry(1, "c", "")
	got, err := keysOf(rawTable(content, 1))
	if diff := cmp.Diff([]string{"=header", "abc=1", "abcd=2", "ac="}, got); err != nil || diff != "" {
		t.Errorf("%v, entries (-want +got):\n%s", err, diff)
	}
}

// A table that is read for ever, or past its end, takes no more than a few bytes to write.
func TestTablesThatMakeNoSenseAreRefused(t *testing.T) {
	block := sealed(rawEntry(0, "a", "1"), 0)
	for _, c := range []struct {
		name string
		file []byte
		want string
	}{
		{"a block twice", rawTable(rawEntry(0, "a", "1"), 2), "the block at byte 0 begins before the end of the last one, byte 18"},
		{"an empty block a million times", rawTable("", 1_000_000), "begins before the end of the last one"},
		{"a key twice", rawTable(rawEntry(0, "a", "1")+rawEntry(1, "", "2"), 1), `"a" comes after "a": the table is not in order`},
		{"two headers", rawTable(rawEntry(0, "", "1")+rawEntry(0, "", "2"), 1), `"" comes after ""`},
		{"keys out of order", rawTable(rawEntry(0, "b", "1")+rawEntry(0, "a", "2"), 1), `"a" comes after "b"`},
		{"keys out of order in two blocks", closed(sealed(rawEntry(0, "b", ""), 0)+block, rawEntry(0, "k", rawHandle(0, 12))+rawEntry(0, "l", rawHandle(17, 13))), `"a" comes after "b"`},
		{"a key that shares more than there is", rawTable(rawEntry(0, "a", "1")+rawEntry(2, "b", ""), 1), "cut off"},
		{"a first key that shares something", rawTable(rawEntry(1, "a", "1"), 1), "cut off"},
		{"a key that is longer than the block", rawTable("\x00\x7f\x00a", 1), "cut off"},
		{"a value that is longer than the block", rawTable("\x00\x01\x7fa", 1), "cut off"},
		{"sizes that overflow", rawTable("\x00\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01a", 1), "cut off"},
		{"a size without an end", rawTable("\x00\xff\xff", 1), "cut off"},
		{"a name of 5000 bytes", rawTable(rawEntry(0, strings.Repeat("a", 5000), ""), 1), "a name of 5000 bytes, want at most 4096"},
		{"a block that ends where there is no room for its check sum", closed(block, rawEntry(0, "k", rawHandle(16, 30))), "cut off"},
		{"a name that grows", rawTable(rawEntry(0, strings.Repeat("a", 4000), "")+rawEntry(4000, strings.Repeat("a", 97), ""), 1), "a name of 4097 bytes"},
		{"a compressed block", closed(sealed(rawEntry(0, "a", "1"), 1), rawEntry(0, "k", rawHandle(0, 13))), "the block is compressed (kind 1)"},
		{"a block past the end", closed(block, rawEntry(0, "k", rawHandle(1000, 13))), "the block at byte 1000: the table is cut off"},
		{"a block that is larger than the file", closed(block, rawEntry(0, "k", rawHandle(0, 1<<40))), "the block at byte 0: the table is cut off"},
		{"a list of blocks without places", closed(block, rawEntry(0, "k", "\xff")), "cut off"},
		{"a block of two bytes", closed(summed("ab", 0), rawEntry(0, "k", rawHandle(0, 2))), "cut off"},
		{"more restarts than there are bytes", closed(summed("\x00\x00\x00\x00\x02\x00\x00\x00", 0), rawEntry(0, "k", rawHandle(0, 8))), "cut off"},
		{"a part of a block", closed(block, rawEntry(0, "k", rawHandle(0, 2))), "check sum"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := keysOf(c.file); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

func TestRestartsAreNoEntries(t *testing.T) {
	block := summed(rawEntry(0, "a", "1")+rawEntry(0, "b", "2")+"\x00\x00\x00\x00\x05\x00\x00\x00\x02\x00\x00\x00", 0)
	got, err := keysOf(closed(block, rawEntry(0, "k", rawHandle(0, len(block)-trailerBytes))))
	if diff := cmp.Diff([]string{"a=1", "b=2"}, got); err != nil || diff != "" {
		t.Errorf("%v, entries (-want +got):\n%s", err, diff)
	}
	if _, err := keysOf(closed("", "")); err != nil {
		t.Errorf("a table of nothing: %v", err)
	}
}

func TestTheLongestNameIsRead(t *testing.T) {
	name := strings.Repeat("a", longestKey)
	if got, err := keysOf(rawTable(rawEntry(0, name, ""), 1)); err != nil || len(got) != 1 || got[0] != name+"=" {
		t.Errorf("%d names, %v", len(got), err)
	}
}

func TestAnErrorOfTheReaderEndsTheTable(t *testing.T) {
	calls := 0
	err := readTable(rawTable(rawEntry(0, "a", "1")+rawEntry(0, "b", "2"), 1), func([]byte, []byte) error {
		calls++
		return errCut
	})
	if err != errCut || calls != 1 {
		t.Errorf("%d entries after an error, %v", calls, err)
	}
}

// What a variable's entry says, field by field (tensor_bundle.proto).
func TestEntriesOfVariables(t *testing.T) {
	dim := func(n string) string { return "\x12" + string(rune(len(n)+1)) + "\x08" + n }
	shape := func(dims string) string { return "\x12" + string(rune(len(dims))) + dims }
	for _, c := range []struct {
		name, entry string
		want        Variable
		err         string
	}{
		{"nothing", "", Variable{}, ""},
		{"all of it", "\x08\x01" + shape(dim("\x03")+dim("\x04")) + "\x18\x02\x20\x07\x28\x30\x35\x78\x56\x34\x12",
			Variable{Dims: []int64{3, 4}, dtype: 1, shard: 2, offset: 7, size: 48, sum: 0x12345678}, ""},
		{"an axis whose extent is left out", "\x08\x01" + shape("\x12\x00"), Variable{dtype: 1, Dims: []int64{0}}, ""},
		{"an axis with a name", "\x08\x01" + shape("\x12\x05\x08\x03\x12\x01n"), Variable{dtype: 1, Dims: []int64{3}}, ""},
		{"a slice", "\x08\x01\x3a\x00", Variable{dtype: 1, sliced: true}, ""},
		{"a field of a newer version", "\x08\x01\x41\x01\x02\x03\x04\x05\x06\x07\x08", Variable{dtype: 1}, ""},
		{"a shape that is not known", shape("\x18\x01"), Variable{}, "the shape is not known"},
		{"an axis below zero", shape(dim("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")), Variable{}, "an axis has 18446744073709551615 elements"},
		{"an axis that is cut off", shape("\x12\x02\x08"), Variable{}, "unexpected EOF"},
		{"half a check sum", "\x35\x78\x56", Variable{}, "unexpected EOF"},
		{"half a field of a newer version", "\x41\x01\x02", Variable{}, "unexpected EOF"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := parseVariable("", []byte(c.entry))
			if (c.err == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Fatalf("error %v, want %q", err, c.err)
			}
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(Variable{})); err == nil && diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestHeaders(t *testing.T) {
	for _, c := range []struct {
		name, header string
		want         uint64
		err          string
	}{
		{"one file", "\x08\x01\x1a\x02\x08\x01", 1, ""},
		{"as many as there are names for", "\x08\x9f\x8d\x06", 99999, ""},
		{"one more", "\x08\xa0\x8d\x06", 0, "there are 100000 files with elements, want 1 to 99999"},
		{"none", "", 0, "there are 0 files with elements"},
		{"little-endian, in words", "\x08\x02\x10\x00", 2, ""},
		{"big-endian", "\x08\x02\x10\x01", 0, "the elements are big-endian"},
		{"cut off", "\x08", 0, "unexpected EOF"},
	} {
		got, err := parseHeader([]byte(c.header))
		if (c.err == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.err) || err == nil && got != c.want {
			t.Errorf("%s: %d files, %v, want %d, %q", c.name, got, err, c.want, c.err)
		}
	}
}
