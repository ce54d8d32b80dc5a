package power

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// library compiles a library that has the functions of NVIDIA's.
func library(t *testing.T, defines ...string) string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("there is no C compiler: ", err)
	}
	path := filepath.Join(t.TempDir(), "libfake.so")
	args := append([]string{"-shared", "-fPIC", "-o", path, "testdata/fakenvml.c"}, defines...)
	if out, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

func TestNVMLCountsCards(t *testing.T) {
	list, err := openNVML(library(t))
	if err != nil || len(list) != 2 || list[1].name() != "NVML Fake H100 (1)" {
		t.Fatalf("%v, %v, want two cards", list, err)
	}
	for i, want := range []float64{1, 2, 3} {
		if got, err := list[0].joules(); err != nil || got != want {
			t.Errorf("reading %d: %v J, %v, want %v", i, got, err, want)
		}
	}
	if err := list[0].close(); err != nil {
		t.Error(err)
	}
	if got, err := list[1].joules(); err != nil || got <= 0 {
		t.Errorf("after the first card was closed, the second has %v J, %v", got, err)
	}
	if err := list[1].close(); err != nil {
		t.Error(err)
	}
}

func TestACardThatTellsOnlyItsPowerIsAddedUp(t *testing.T) {
	list, err := openNVML(library(t, "-DNO_ENERGY"))
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	var got float64
	for time.Since(began) < 20*time.Millisecond {
		if got, err = list[0].joules(); err != nil {
			t.Fatal(err)
		}
	}
	if most := 100 * time.Since(began).Seconds(); got <= 0 || got > 2*most {
		t.Errorf("%v J, want about the %v of 100 W", got, most)
	}
}

func TestNVMLThatCannotBeUsedSaysWhy(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text.so")
	if err := os.WriteFile(text, []byte("no library"), 0o644); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"libnot-there.so.1":          "there is no driver of NVIDIA's",
		text:                         "there is no driver of NVIDIA's",
		library(t, "-DOLD"):          "the driver is too old",
		library(t, "-DNO_DEVICE"):    "NVML: fake error",
		library(t, "-DNO_CARDS"):     "there is no NVIDIA card",
		library(t, "-DNOTHING_READ"): "Fake H100 (0): fake error",
	} {
		if _, err := openNVML(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", filepath.Base(path), err, want)
		}
	}
}

func TestACardThatCountsAgainFromTheBeginIsAnError(t *testing.T) {
	list, err := openNVML(library(t, "-DRESET"))
	if err != nil {
		t.Fatal(err)
	}
	var joules float64
	for range 10 {
		if joules, err = list[0].joules(); err != nil {
			break
		}
	}
	if want := "the driver began to count again"; err == nil || !strings.HasSuffix(err.Error(), want) || !strings.HasPrefix(err.Error(), "it went back from ") {
		t.Errorf("%v J, %v, want %q", joules, err, want)
	}
}
