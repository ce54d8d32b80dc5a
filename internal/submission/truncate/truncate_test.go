package truncate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const scenario = "closed/Org/results/box/resnet50/Offline/"

// makeTree writes files of a tree, and returns its folder and one for a backup.
func makeTree(t *testing.T, files map[string]string) (root, backup string) {
	t.Helper()
	dir := t.TempDir()
	root = filepath.Join(dir, "tree")
	for path, text := range files {
		at := filepath.Join(root, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return root, filepath.Join(dir, "backup")
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

// cutSize is the size of a log that was cut, of characters of one byte and without carriage returns.
const cutSize = 8199

var long = "[" + strings.Repeat("0123456789", 5000) + "]\n"

func TestLogsAreCutAsTheReferenceCutsThem(t *testing.T) {
	root, backup := makeTree(t, map[string]string{
		scenario + "accuracy/" + logName:                                        long,
		scenario + "accuracy/" + textName:                                       "accuracy=76%\n",
		scenario + "TEST01/accuracy/" + logName:                                 "[]\n",
		scenario + "TEST07/accuracy/" + logName:                                 long,
		scenario + "TEST07/accuracy/" + textName:                                "score\n",
		"closed/Org/compliance/box/resnet50/Offline/TEST01/accuracy/" + logName: long,
		scenario + "TEST04/accuracy/" + logName:                                 long,
	})
	logs, err := Tree(context.Background(), Options{Tree: root, Backup: backup})
	if err != nil || len(logs) != 4 {
		t.Fatalf("%d logs, %v, want 4", len(logs), err)
	}
	if got, want := read(t, root, scenario, "accuracy", logName), long[:4096]+"\n\n...\n\n"+long[len(long)-4096:]; got != want || len(got) != 8199 {
		t.Errorf("the cut log has %d bytes, want %d", len(got), len(want))
	}
	for path, want := range map[string]string{
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
		t.Error("the backup is not the original")
	}
}

func TestASecondCallChangesNothing(t *testing.T) {
	root, backup := makeTree(t, map[string]string{scenario + "accuracy/" + logName: long, scenario + "accuracy/" + textName: "accuracy=76%\n"})
	if _, err := Tree(context.Background(), Options{Tree: root, Backup: backup}); err != nil {
		t.Fatal(err)
	}
	log, text := read(t, root, scenario, "accuracy", logName), read(t, root, scenario, "accuracy", textName)
	logs, err := Tree(context.Background(), Options{Tree: root, Backup: backup})
	if err != nil || logs[0].What != Kept || logs[0].Hash != hashOf(long) {
		t.Errorf("%+v, %v", logs, err)
	}
	if read(t, root, scenario, "accuracy", logName) != log || read(t, root, scenario, "accuracy", textName) != text {
		t.Error("the second call changed a file")
	}
}

func TestAnInterruptedCallIsFinished(t *testing.T) {
	root, backup := makeTree(t, map[string]string{ // the hash is there, the log is whole
		scenario + "accuracy/" + logName:  long,
		scenario + "accuracy/" + textName: "accuracy=76%\n\nhash=" + hashOf(long) + "\n",
	})
	logs, err := Tree(context.Background(), Options{Tree: root, Backup: backup})
	if err != nil || logs[0].What != Cut || strings.Count(read(t, root, scenario, "accuracy", textName), "hash=") != 1 {
		t.Errorf("%+v, %v", logs, err)
	}
}

func TestWhatWouldLoseDataIsLeftAlone(t *testing.T) {
	cut := long[:4096] + mark + long[len(long)-4096:]
	for name, c := range map[string]struct {
		log, text, backup, want string
	}{
		"cut without its hash":  {cut, "accuracy=76%\n", "", "put the original back"},
		"another log's hash":    {long, "hash=" + hashOf("x") + "\n", "", "has the hash of another log"},
		"another log in backup": {long, "accuracy=76%\n", "x", "is of another log"},
		"not scored":            {long, "", "", "score the log first"},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{scenario + "accuracy/" + logName: c.log}
			if c.text != "" {
				files[scenario+"accuracy/"+textName] = c.text
			}
			if c.backup != "" {
				files["../backup/"+scenario+"accuracy/"+logName] = c.backup
			}
			root, backup := makeTree(t, files)
			_, err := Tree(context.Background(), Options{Tree: root, Backup: backup})
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), scenario+"accuracy/"+logName) {
				t.Errorf("error %v, want %q", err, c.want)
			}
			if read(t, root, scenario, "accuracy", logName) != c.log {
				t.Error("the log was changed")
			}
		})
	}
}

func TestTheBackupIsOutsideOfTheTree(t *testing.T) {
	root, _ := makeTree(t, map[string]string{scenario + "accuracy/" + logName: long})
	if _, err := Tree(context.Background(), Options{Tree: root, Backup: filepath.Join(root, "backup")}); err == nil {
		t.Error("no error")
	}
}

func TestACancelledCallLeavesTheLogs(t *testing.T) {
	root, backup := makeTree(t, map[string]string{scenario + "accuracy/" + logName: long, scenario + "accuracy/" + textName: "a\n"})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Tree(ctx, Options{Tree: root, Backup: backup}); !errors.Is(err, context.Canceled) || read(t, root, scenario, "accuracy", logName) != long {
		t.Errorf("error %v", err)
	}
}
