package truncate

import (
	"bytes"
	"context"
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
	return log[:4096] + "\n\n...\n\n" + log[len(log)-4096:]
}

func TestLogsOfAnyLengthAreCutTheSameWay(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for _, most := range []int{10, 4096, 8200, 12000, 70000} {
		data := make([]byte, rnd.IntN(most)+1)
		for i := range data {
			data[i] = byte(' ' + rnd.IntN(90))
		}
		log := string(data)
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

// However the text comes, both ends are those of the whole.
func TestEndsDoNotDependOnHowTheyAreWritten(t *testing.T) {
	rnd := rand.New(rand.NewPCG(2, 1))
	for range 60 {
		data := make([]byte, rnd.IntN(5*mostTail))
		for i := range data {
			data[i] = byte(rnd.Uint32())
		}
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
