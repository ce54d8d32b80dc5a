package accuracy

import "testing"

func TestWordErrorsAreTheReferences(t *testing.T) {
	golden := decodeTestdata[struct {
		Cases []struct {
			Name                   string
			References, Hypotheses []string
			Expected               struct {
				RNNT struct {
					WER            any
					Errors         int
					ReferenceWords int `json:"reference_words"`
					Error          string
				}
			}
		}
	}](t, "wer.json")
	for _, c := range golden.Cases {
		want := c.Expected.RNNT
		if want.Error != "" {
			continue // as many texts heard as said are a matter of types here
		}
		var counter werCounter
		for i, said := range c.References {
			counter.Add(c.Hypotheses[i], said)
		}
		rate, err := counter.Rate()
		expected, finite := want.WER.(float64)
		if counter.Errors != want.Errors || counter.Words != want.ReferenceWords || (err == nil) != finite || rate != expected {
			t.Errorf("%s: %d errors in %d words, rate %v, %v; want %+v", c.Name, counter.Errors, counter.Words, rate, err, want)
		}
	}
	if len(golden.Cases) < 80 {
		t.Errorf("there are only %d cases", len(golden.Cases))
	}
}
