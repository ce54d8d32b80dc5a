package truncate

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// cutAs is what truncate_accuracy_log.py does with the text of a log: the plain way.
func cutAs(log string) string {
	if len(log) < 4096 {
		return log
	}
	read := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace
	start := []rune(read(log))
	return string(start[:min(4096, len(start))]) + "\n\n...\n\n" + read(log[len(log)-4096:])
}

// randomLog returns a text of some bytes with characters of all lengths and all ends of lines.
func randomLog(rnd *rand.Rand, size int) string {
	pieces := []string{"0", "12", ",", "\n", "\r\n", "\r", "é", "€", "😀"}
	var b strings.Builder
	for b.Len() < size {
		b.WriteString(pieces[rnd.IntN(len(pieces))])
	}
	return b.String()
}

func TestLogsOfAnyLengthAreCutTheSameWay(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for _, most := range []int{10, 4096, 8200, 12000, 70000} {
		log := randomLog(rnd, rnd.IntN(most)+1)
		root, backup := one(t, log, "accuracy=76%\n")
		logs, err := Tree(t.Context(), Options{Tree: root, Backup: backup})
		if err != nil || len(logs) != 1 || logs[0].Hash != hashOf(log) {
			t.Fatalf("%d bytes: %+v, %v", len(log), logs, err)
		}
		if got := read(t, root, scenario, "accuracy", logName); got != cutAs(log) {
			t.Errorf("%d bytes become %d, want %d", len(log), len(got), len(cutAs(log)))
		}
		short, hash, err := Shorten(t.Context(), filepath.Join(backup, scenario, "accuracy", logName))
		if err != nil || string(short) != cutAs(log) || hash != hashOf(log) {
			t.Errorf("%d bytes are shortened to %d, %v", len(log), len(short), err)
		}
	}
}

// A log that was cut, here or on Windows, is known as such, and kept with the hash that is beside it.
func TestWhatWasCutIsKnown(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 1))
	for _, size := range []int{4096, 4097, 5000, 8199, 16384, 30000} {
		log := randomLog(rnd, size)
		if WasCut([]byte(log)) {
			t.Errorf("a whole log of %d bytes was cut", size)
		}
		for _, cut := range []string{cutAs(log), strings.ReplaceAll(cutAs(log), "\n", "\r\n")} {
			root, backup := one(t, cut, "hash="+hashOf(log)+"\n")
			logs, err := Tree(t.Context(), Options{Tree: root, Backup: backup})
			if err != nil || logs[0].What != Kept || logs[0].Hash != hashOf(log) || read(t, root, scenario, "accuracy", logName) != cut {
				t.Errorf("%d bytes, %d after cutting: %+v, %v, want them kept", size, len(cut), logs, err)
			}
			root, backup = one(t, cut, "accuracy=76%\n")
			if _, err := Tree(t.Context(), Options{Tree: root, Backup: backup}); !errors.Is(err, errAlreadyCut) {
				t.Errorf("%d bytes, %d after cutting, without a hash: %v, want %v", size, len(cut), err, errAlreadyCut)
			}
		}
	}
	for name, log := range map[string]string{
		"a mark in the middle":   strings.Repeat("a", 100) + mark + strings.Repeat("b", 50),
		"an end that is longer":  strings.Repeat("a", 4096) + mark + strings.Repeat("b", 4097),
		"a start that is longer": strings.Repeat("a", 4097) + mark + strings.Repeat("b", 4096),
	} {
		if WasCut([]byte(log)) {
			t.Errorf("with %s a log is taken for one that was cut", name)
		}
	}
}

// However the text comes, both ends are those of the whole.
func TestEndsDoNotDependOnHowTheyAreWritten(t *testing.T) {
	rnd := rand.New(rand.NewPCG(2, 1))
	for range 60 {
		data := []byte(randomLog(rnd, rnd.IntN(5*mostTail)))
		e := &endsWriter{}
		for rest := data; len(rest) > 0; {
			n := 1 + rnd.IntN(min(len(rest), 1+rnd.IntN(3*mostTail)))
			if written, err := e.Write(rest[:n]); err != nil || written != n {
				t.Fatal(written, err)
			}
			rest = rest[n:]
		}
		if got := e.short(); !bytes.Equal(got, []byte(cutAs(string(data)))) || e.size != int64(len(data)) {
			t.Errorf("%d bytes become %d", len(data), len(got))
		}
		if len(e.tail) > 2*mostTail {
			t.Errorf("of %d bytes %d are kept", len(data), len(e.tail))
		}
	}
}

func TestSubmittersAreCutAlone(t *testing.T) {
	files := map[string]string{}
	for _, home := range []string{"closed/A", "closed/B", "open/A", "network/B"} {
		files[home+"/results/box/bert/Offline/accuracy/"+logName] = long
		files[home+"/results/box/bert/Offline/accuracy/"+textName] = "a\n"
	}
	root, backup := makeTree(t, files)
	logs, err := Tree(context.Background(), Options{Tree: root, Backup: backup, Submitter: "A"})
	if err != nil || len(logs) != 2 || !strings.HasPrefix(logs[0].Path, "closed/A/") || !strings.HasPrefix(logs[1].Path, "open/A/") {
		t.Errorf("%+v, %v, want those of A", logs, err)
	}
	if got := read(t, root, "closed/B/results/box/bert/Offline/accuracy", logName); got != long {
		t.Error("another submitter's log was cut")
	}
	for _, submitter := range []string{"C", "a"} {
		if _, err := Tree(context.Background(), Options{Tree: root, Backup: backup, Submitter: submitter}); err == nil || !strings.Contains(err.Error(), "no accuracy logs: want <division>/<submitter>/results/") {
			t.Errorf("of %s: %v", submitter, err)
		}
	}
}

func TestABackupMayLieBesideTheTreeButNotIn(t *testing.T) {
	root := filepath.Join(t.TempDir(), "tree")
	for path, inside := range map[string]bool{
		root: true, root + "/": true, root + "/a": true, root + "/closed/../b": true, root + "/..": false, root + "2": false, filepath.Dir(root) + "/other": false, root + "/../other": false, root + "/...": true,
	} {
		if got, err := within(root, path); err != nil || got != inside {
			t.Errorf("within(%s) = %v, %v, want %v", path, got, err, inside)
		}
	}
	if err := os.MkdirAll(root, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Tree(t.Context(), Options{Tree: root, Backup: root + "/backup"}); err == nil || !strings.Contains(err.Error(), "is inside of the tree: it would be submitted") {
		t.Errorf("error %v", err)
	}
}
