package truncate

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// one makes a tree with one accuracy log and its text.
func one(t *testing.T, log, text string) (root, backup string) {
	return makeTree(t, map[string]string{scenario + "accuracy/" + logName: log, scenario + "accuracy/" + textName: text})
}

// The bounds are those of truncate_accuracy_log.py.
func TestLogsAreCutFrom4096BytesOn(t *testing.T) {
	for size, want := range map[int]struct {
		what What
		size int
	}{0: {Hashed, 0}, 4095: {Hashed, 4095}, 4096: {Cut, 8199}, 4097: {Cut, 8199}, 8192: {Cut, 8199}, 8200: {Cut, 8199}, 10239: {Cut, 8199}, 10240: {Cut, 8199}} {
		log := strings.Repeat("x", size)
		root, backup := one(t, log, "accuracy=76%\n")
		logs, err := Tree(t.Context(), Options{Tree: root, Backup: backup})
		if err != nil || len(logs) != 1 || logs[0].What != want.what || logs[0].Hash != hashOf(log) || logs[0].Size != int64(size) {
			t.Fatalf("%d bytes: %+v, %v, want %s", size, logs, err, want.what)
		}
		if got := read(t, root, scenario, "accuracy", logName); len(got) != want.size {
			t.Errorf("%d bytes become %d, want %d", size, len(got), want.size)
		}
		if got := read(t, backup, scenario, "accuracy", logName); got != log {
			t.Errorf("the backup of %d bytes has %d", size, len(got))
		}
	}
}

func TestAShortLogWithItsHashIsKept(t *testing.T) {
	for _, size := range []int{0, 5000, 10239} {
		log := strings.Repeat("y", size)
		root, backup := one(t, log, "hash="+hashOf(log)+"\n")
		logs, err := Tree(t.Context(), Options{Tree: root, Backup: backup})
		if err != nil || logs[0].What != Kept || read(t, root, scenario, "accuracy", logName) != log {
			t.Errorf("%d bytes: %+v, %v, want it kept", size, logs, err)
		}
		if _, err := os.Stat(backup); err == nil {
			t.Errorf("%d bytes: there is a backup of what did not change", size)
		}
	}
}

func TestAShortLogWithTheHashOfAnotherIsAnError(t *testing.T) {
	root, backup := one(t, "[]\n", "hash="+hashOf("another")+"\n")
	logs, err := Tree(t.Context(), Options{Tree: root, Backup: backup})
	if want := "accuracy.txt has the hash of another log, " + hashOf("another") + ": this one's is " + hashOf("[]\n"); err == nil || !strings.Contains(err.Error(), want) || len(logs) != 0 {
		t.Errorf("%+v, %v, want %s", logs, err, want)
	}
	cut := strings.Repeat("a", endSize) + mark + strings.Repeat("b", endSize)
	root, backup = one(t, cut, "hash="+hashOf("the original")+"\n")
	if logs, err := Tree(t.Context(), Options{Tree: root, Backup: backup}); err != nil || logs[0].What != Kept || logs[0].Hash != hashOf("the original") {
		t.Errorf("a log that was cut: %+v, %v, want it kept with the hash of its original", logs, err)
	}
}

func TestTheHashMayEndInACarriageReturnAndStandAnywhere(t *testing.T) {
	log := "[]\n"
	for _, text := range []string{"accuracy=76%\r\nhash=" + hashOf(log) + "\r\n", "hash=" + hashOf(log) + "\naccuracy=76%\n", "a\nhash=" + hashOf(log)} {
		root, backup := one(t, log, text)
		if logs, err := Tree(t.Context(), Options{Tree: root, Backup: backup}); err != nil || logs[0].What != Kept || read(t, root, scenario, "accuracy", textName) != text {
			t.Errorf("%q: %+v, %v, want it kept", text, logs, err)
		}
	}
	for _, text := range []string{"xhash=abc\n", "hash=a-b\n", "hash= abc\n", "hash=\n", " hash=abc\n"} {
		root, backup := one(t, log, text)
		if logs, err := Tree(t.Context(), Options{Tree: root, Backup: backup}); err != nil || logs[0].What != Hashed || read(t, root, scenario, "accuracy", textName) != text+"\nhash="+hashOf(log)+"\n" {
			t.Errorf("%q is taken for a hash: %+v, %v", text, logs, err)
		}
	}
}

func TestLinksAreNotCut(t *testing.T) {
	for _, name := range []string{logName, textName} {
		root, backup := one(t, long, "accuracy=76%\n")
		at := filepath.Join(root, scenario, "accuracy", name)
		outside := filepath.Join(t.TempDir(), name)
		if err := errors.Join(os.Rename(at, outside), os.Symlink(outside, at)); err != nil {
			t.Fatal(err)
		}
		before := read(t, outside)
		if _, err := Tree(t.Context(), Options{Tree: root, Backup: backup}); err == nil || !strings.Contains(err.Error(), "is a link or no file: copy ") {
			t.Errorf("%s is a link: %v", name, err)
		}
		if read(t, outside) != before {
			t.Errorf("%s was changed through the link", name)
		}
	}
}

// A scenario that is a link to another is one log, and is cut once.
func TestALogThatTwoFoldersShareIsCutOnce(t *testing.T) {
	root, backup := one(t, long, "accuracy=76%\n")
	if err := os.Symlink("Offline", filepath.Join(root, filepath.Dir(filepath.Clean(scenario)), "Server")); err != nil {
		t.Fatal(err)
	}
	logs, err := Tree(t.Context(), Options{Tree: root, Backup: backup})
	if err != nil || len(logs) != 2 || logs[0].What != Cut || logs[1].What != Kept || logs[0].Hash != logs[1].Hash {
		t.Errorf("%+v, %v, want one cut and kept", logs, err)
	}
}

func TestABackupThatCannotBeWrittenLeavesTheLog(t *testing.T) {
	for name, plant := range map[string]func(backup string) error{
		"a file in the place of the folder": func(backup string) error { return os.WriteFile(backup, nil, 0o644) },
		"a folder in the place of the log": func(backup string) error {
			return os.MkdirAll(filepath.Join(backup, scenario, "accuracy", logName), 0o755)
		},
	} {
		root, backup := one(t, long, "accuracy=76%\n")
		if err := plant(backup); err != nil {
			t.Fatal(err)
		}
		if _, err := Tree(t.Context(), Options{Tree: root, Backup: backup}); err == nil || !strings.Contains(err.Error(), scenario+"accuracy/"+logName) {
			t.Errorf("%s: %v", name, err)
		}
		if read(t, root, scenario, "accuracy", logName) != long || read(t, root, scenario, "accuracy", textName) != "accuracy=76%\n" {
			t.Errorf("%s: the tree was changed", name)
		}
	}
}

func TestTreesWithoutLogsAreNamed(t *testing.T) {
	for name, c := range map[string]struct {
		files     map[string]string
		submitter string
	}{
		"an empty tree":          {nil, ""},
		"no divisions":           {map[string]string{"Closed/Org/results/box/m/Offline/accuracy/" + logName: "[]"}, ""},
		"another submitter":      {map[string]string{scenario + "accuracy/" + logName: "[]"}, "Other"},
		"a test that keeps none": {map[string]string{scenario + "TEST04/accuracy/" + logName: "[]"}, ""},
	} {
		root, backup := makeTree(t, c.files)
		if err := os.MkdirAll(root, 0o755); err != nil {
			t.Fatal(err)
		}
		if logs, err := Tree(t.Context(), Options{Tree: root, Backup: backup, Submitter: c.submitter}); err == nil || !strings.Contains(err.Error(), "no accuracy logs: want <division>/") {
			t.Errorf("%s: %+v, %v", name, logs, err)
		}
	}
}

func TestOneLogThatFailsDoesNotKeepTheOthers(t *testing.T) {
	root, backup := makeTree(t, map[string]string{
		scenario + "accuracy/" + logName:                               long, // and is not scored
		"open/Org/results/box/bert/Offline/accuracy/" + logName:        long,
		"open/Org/results/box/bert/Offline/accuracy/" + textName:       "F1\n",
		"open/Org/results/box/bert/Offline/TEST09/accuracy/" + logName: "[]\n",
	})
	logs, err := Tree(t.Context(), Options{Tree: root, Backup: backup})
	if err == nil || strings.Count(err.Error(), "\n") != 0 || len(logs) != 2 || logs[0].What != Cut || logs[1].What != Hashed {
		t.Errorf("%+v, %v, want one error and two logs", logs, err)
	}
	if got := read(t, root, "open/Org/results/box/bert/Offline/TEST09/accuracy", textName); got != "hash="+hashOf("[]\n")+"\n" {
		t.Errorf("TEST09 has %q", got)
	}
}

func TestShortenNamesWhatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	if _, _, err := Shorten(t.Context(), filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of no log: %v", err)
	}
	if _, _, err := Shorten(t.Context(), dir); err == nil {
		t.Error("a folder is shortened")
	}
	path := filepath.Join(dir, logName)
	if err := os.WriteFile(path, []byte(long), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	cancel(enough)
	if short, hash, err := Shorten(ctx, path); !errors.Is(err, enough) || short != nil || hash != "" {
		t.Errorf("cancelled: %d bytes, %q, %v", len(short), hash, err)
	}
}

// What lies behind a link out of the tree is somebody else's, and stays as it is.
func TestLogsOutsideOfTheTreeAreLeftAlone(t *testing.T) {
	root, backup := one(t, long, "accuracy=76%\n")
	outside := t.TempDir()
	folder := filepath.Join(root, scenario, "accuracy")
	if err := errors.Join(os.Rename(folder, filepath.Join(outside, "accuracy")), os.Symlink(filepath.Join(outside, "accuracy"), folder)); err != nil {
		t.Fatal(err)
	}
	logs, err := Tree(t.Context(), Options{Tree: root, Backup: backup})
	if err == nil || !strings.Contains(err.Error(), scenario+"accuracy/"+logName+": it is behind a link that leaves the tree") || len(logs) != 0 {
		t.Errorf("%+v, %v, want it refused", logs, err)
	}
	if got := read(t, outside, "accuracy", logName); got != long {
		t.Errorf("the log outside has %d bytes, want its %d", len(got), len(long))
	}
}
