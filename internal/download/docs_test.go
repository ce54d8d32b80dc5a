package download

import (
	"os"
	"strings"
	"testing"
)

// TestTheManualNamesEveryDataSetAndLicence keeps docs/data.md complete.
func TestTheManualNamesEveryDataSetAndLicence(t *testing.T) {
	text, err := os.ReadFile("../../docs/data.md")
	if err != nil {
		t.Fatal(err)
	}
	m := shipped(t)
	for _, it := range m.Items {
		if it.Kind == Dataset && !strings.Contains(string(text), "`"+it.Name+"`") {
			t.Errorf("docs/data.md does not name the data set %s", it.Name)
		}
		for _, benchmark := range it.For {
			if !strings.Contains(string(text), benchmark) {
				t.Errorf("docs/data.md does not name %s", benchmark)
			}
		}
		if it.Kind == Dataset && !strings.Contains(string(text), m.LicenseOf(it).URL) {
			t.Errorf("docs/data.md does not name the licence of %s, %s", it.Name, m.LicenseOf(it).URL)
		}
	}
}
