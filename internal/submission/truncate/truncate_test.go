package truncate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

const scenario = "closed/Org/results/box/resnet50/Offline/"

// makeTree writes files of a tree, and returns its folder and one for a backup.
func makeTree(t *testing.T, files map[string]string) (root, backup string) {
	t.Helper()
	dir := t.TempDir()
	root = filepath.Join(dir, "tree")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	for path, text := range files {
		at := filepath.Join(root, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return root, filepath.Join(dir, "backup")
}

// oneLog makes a tree with one accuracy log and its text.
func oneLog(t *testing.T, log, text string) (root, backup string) {
	t.Helper()
	return makeTree(t, map[string]string{scenario + "accuracy/" + logName: log, scenario + "accuracy/" + textName: text})
}

func read(t *testing.T, parts ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

var long = "[" + strings.Repeat("0123456789", 5000) + "]\n"

// cutAs is what truncate_accuracy_log.py does with the text of a log.
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

func TestTree(t *testing.T) {
	root, backup := makeTree(t, map[string]string{
		scenario + "accuracy/" + logName:                                        long,
		scenario + "accuracy/" + textName:                                       "accuracy=76%\n",
		scenario + "TEST01/accuracy/" + logName:                                 "[]\n",
		scenario + "TEST07/accuracy/" + logName:                                 long,
		scenario + "TEST07/accuracy/" + textName:                                "score\n",
		"closed/Org/compliance/box/resnet50/Offline/TEST01/accuracy/" + logName: long,
		scenario + "TEST04/accuracy/" + logName:                                 long,
		"open/Other/results/box/bert/Offline/accuracy/" + logName:               long, // is not scored
	})
	logs, err := Tree(t.Context(), Options{Tree: root, Backup: backup})
	if len(logs) != 4 || !testenv.Names(err, "open/Other/results/box/bert/Offline/accuracy/"+logName+" … accuracy.txt") {
		t.Fatalf("%d logs, %v, want 4 and an error", len(logs), err)
	}
	for path, want := range map[string]string{
		scenario + "accuracy/" + logName:         cutAs(long),
		scenario + "accuracy/" + textName:        "accuracy=76%\n\nhash=" + hashOf(long) + "\n",
		scenario + "TEST01/accuracy/" + textName: "\nhash=" + hashOf("[]\n") + "\n",
		scenario + "TEST01/accuracy/" + logName:  "[]\n",
		scenario + "TEST07/accuracy/" + textName: "hash=" + hashOf(long) + "\n",
		scenario + "TEST04/accuracy/" + logName:  long,
	} {
		if got := read(t, root, path); got != want {
			t.Errorf("%s is %.60q, want %.60q", path, got, want)
		}
	}
	if read(t, backup, scenario, "accuracy", logName) != long {
		t.Error("the backup differs from the original")
	}
	for submitter, want := range map[string]string{"Org": "", "org": "no accuracy logs: expected <division>/<submitter>/results/"} {
		logs, err := Tree(t.Context(), Options{Tree: root, Backup: backup, Submitter: submitter})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", submitter, err, want)
		}
		for _, log := range logs {
			if log.What != Kept {
				t.Errorf("the second call changed %+v", log)
			}
		}
	}
}

// The bounds are those of truncate_accuracy_log.py.
func TestSizes(t *testing.T) {
	for size, want := range map[int]struct {
		what Action
		size int
	}{0: {Hashed, 0}, 4095: {Hashed, 4095}, 4096: {Cut, 8199}, 4097: {Cut, 8199}, 8200: {Cut, 8199}, 10240: {Cut, 8199}} {
		log := strings.Repeat("x", size)
		root, backup := oneLog(t, log, "accuracy=76%\n")
		logs, err := Tree(t.Context(), Options{Tree: root, Backup: backup})
		if err != nil || len(logs) != 1 || logs[0].What != want.what || logs[0].Hash != hashOf(log) || logs[0].Size != int64(size) {
			t.Fatalf("%d bytes: %+v, %v, want %s", size, logs, err, want.what)
		}
		if got := read(t, root, scenario, "accuracy", logName); len(got) != want.size || read(t, backup, scenario, "accuracy", logName) != log {
			t.Errorf("%d bytes become %d, want %d and a backup", size, len(got), want.size)
		}
		root, backup = oneLog(t, log, "a\r\nhash="+hashOf(log)+"\r\nb\n")
		logs, err = Tree(t.Context(), Options{Tree: root, Backup: backup})
		if err != nil || (logs[0].What == Kept) != (size < 10<<10) {
			t.Errorf("%d bytes with a hash: %+v, %v", size, logs, err)
		}
	}
}

func TestRandomLogs(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for _, most := range []int{10, 4096, 8200, 12000, 70000, 5 * mostTail} {
		log := randomLog(rnd, rnd.IntN(most)+1)
		path := filepath.Join(t.TempDir(), logName)
		if err := os.WriteFile(path, []byte(log), 0o644); err != nil {
			t.Fatal(err)
		}
		short, hash, err := Shorten(t.Context(), path)
		if err != nil || string(short) != cutAs(log) || hash != hashOf(log) || WasCut([]byte(log)) {
			t.Errorf("%d bytes become %d, %v; cut already: %v", len(log), len(short), err, WasCut([]byte(log)))
		}
		if len(log) < endSize {
			continue
		}
		for _, cut := range []string{cutAs(log), strings.ReplaceAll(cutAs(log), "\n", "\r\n")} { // on Windows
			root, backup := oneLog(t, cut, "hash="+hashOf(log)+"\n")
			logs, err := Tree(t.Context(), Options{Tree: root, Backup: backup})
			if err != nil || logs[0].What != Kept || logs[0].Hash != hashOf(log) || read(t, root, scenario, "accuracy", logName) != cut {
				t.Errorf("%d bytes, %d after cutting: %+v, %v, want them kept", len(log), len(cut), logs, err)
			}
		}
	}
	for name, log := range map[string]string{
		"a mark in the middle":   strings.Repeat("a", 100) + mark + strings.Repeat("b", 50),
		"an end that is longer":  strings.Repeat("a", 4096) + mark + strings.Repeat("b", 4097),
		"a start that is longer": strings.Repeat("a", 4097) + mark + strings.Repeat("b", 4096),
	} {
		if WasCut([]byte(log)) {
			t.Errorf("a log with %s is taken for one that was cut", name)
		}
	}
}

// However the text comes, both ends are those of the whole, and memory has a bound.
func TestEndsWriter(t *testing.T) {
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
		whole := string(e.head) + string(e.tail)
		if e.size != int64(len(data)) || !strings.HasPrefix(string(data), string(e.head)) || !strings.HasSuffix(string(data), whole[max(0, len(whole)-endSize):]) {
			t.Errorf("of %d bytes the ends are wrong", len(data))
		}
		if len(e.tail) > 2*mostTail || len(e.head) > headSize {
			t.Errorf("of %d bytes %d are kept", len(data), len(whole))
		}
	}
}

func TestInterruptedCall(t *testing.T) {
	root, backup := oneLog(t, long, "accuracy=76%\n\nhash="+hashOf(long)+"\n") // the log was not cut yet
	logs, err := Tree(t.Context(), Options{Tree: root, Backup: backup})
	if err != nil || logs[0].What != Cut || strings.Count(read(t, root, scenario, "accuracy", textName), "hash=") != 1 {
		t.Errorf("%+v, %v", logs, err)
	}
	root, backup = oneLog(t, long, "a\n")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Tree(ctx, Options{Tree: root, Backup: backup}); !errors.Is(err, context.Canceled) || read(t, root, scenario, "accuracy", logName) != long {
		t.Errorf("error %v", err)
	}
}

func TestRefusals(t *testing.T) {
	const log, text = scenario + "accuracy/" + logName, scenario + "accuracy/" + textName
	replaceByLink := func(root, path string) error { // to what lies outside of the tree
		outside := filepath.Join(filepath.Dir(root), "outside")
		return errors.Join(os.Rename(filepath.Join(root, path), outside), os.Symlink(outside, filepath.Join(root, path)))
	}
	for name, c := range map[string]struct {
		files map[string]string
		plant func(root, backup string) error
		want  string
	}{
		"cut without its hash":      {map[string]string{log: cutAs(long), text: "accuracy=76%\n"}, nil, "put the original back"},
		"another log's hash":        {map[string]string{log: long, text: "hash=" + hashOf("x") + "\n"}, nil, "has the hash of another log"},
		"no hash":                   {map[string]string{log: cutAs(long), text: "xhash=abc\nhash=a-b\nhash= abc\n"}, nil, "its hash is missing"},
		"another log in the backup": {map[string]string{log: long, text: "a\n", "../backup/" + log: "x"}, nil, "is of another log"},
		"log is a link": {map[string]string{log: long, text: "a\n"}, func(root, _ string) error { return replaceByLink(root, log) },
			"it is not a regular file"},
		"text is a link": {map[string]string{log: long, text: "a\n"}, func(root, _ string) error { return replaceByLink(root, text) },
			"accuracy.txt is not a regular file"},
		"folder is a link": {map[string]string{log: long, text: "a\n"}, func(root, _ string) error { return replaceByLink(root, scenario+"accuracy") },
			"it is behind a link that leaves the tree"},
		"backup is a file": {map[string]string{log: long, text: "a\n"}, func(_, backup string) error { return os.WriteFile(backup, nil, 0o644) },
			"backup"},
	} {
		t.Run(name, func(t *testing.T) {
			root, backup := makeTree(t, c.files)
			if c.plant != nil {
				if err := c.plant(root, backup); err != nil {
					t.Fatal(err)
				}
			}
			logs, err := Tree(t.Context(), Options{Tree: root, Backup: backup})
			if err == nil || !strings.HasPrefix(err.Error(), log+": ") || !strings.Contains(err.Error(), c.want) || len(logs) > 0 {
				t.Errorf("%+v, %v, want %q", logs, err, c.want)
			}
			if read(t, root, log) != c.files[log] || read(t, root, text) != c.files[text] {
				t.Error("a file was changed")
			}
		})
	}
	root, _ := oneLog(t, long, "a\n")
	for _, backup := range []string{root, root + "/backup", root + "/closed/../b"} {
		if _, err := Tree(t.Context(), Options{Tree: root, Backup: backup}); !testenv.Names(err, backup+" … tree") {
			t.Errorf("backup %s: %v", backup, err)
		}
	}
}

// The hash that evaluation.py of Qwen3-VL writes is of its line, so that of the log follows.
func TestHashOfAScore(t *testing.T) {
	const line, of, other = `{"f1": 0.5}`, "8a8b2a9f", "aa"
	score := fmt.Sprintf("Results\n\n%s\n\nhash=%x", line, sha256.Sum256([]byte(line)))
	if got := HashIn([]byte(score)); got != "" {
		t.Errorf("the hash of the line counts: %s", got)
	}
	text, err := WithHash([]byte(score), "", of)
	if err != nil || string(text) != score+"\nhash="+of+"\n" || HashIn(text) != of {
		t.Errorf("%q, %v", text, err)
	}
	if again, err := WithHash(text, "", of); err != nil || string(again) != string(text) {
		t.Errorf("again: %q, %v", again, err)
	}
	if _, err := WithHash(text, "", other); err == nil {
		t.Error("the hash of another log is none")
	}
}
