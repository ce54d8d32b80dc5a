package report

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// CaveatChanged is one of results whose document is not as the run wrote it. It is no proof against somebody who makes a
// new seal, and shows every other change.
const CaveatChanged = FileName + " was changed after the run: the results are what somebody wrote there"

// CaveatLogChanged is one of results whose score is of an accuracy log that is not as the run wrote it.
const CaveatLogChanged = "the accuracy log was changed after the run: the score is of what somebody wrote there"

// sealed is the document as it is stored: with a digest of all the rest in its last field.
func (r *Results) sealed() ([]byte, error) {
	document := *r
	document.Seal = ""
	body, err := json.Marshal(&document)
	if err != nil {
		return nil, err
	}
	document.Seal = sealOf(body)
	return json.MarshalIndent(&document, "", "  ")
}

// sealOf is the seal of a document without one, whatever white space it has.
func sealOf(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// breaks reports whether a document is another one than its seal is of. One of an earlier version has none.
func (r *Results) breaks(data []byte) bool {
	if r.Seal == "" {
		return false
	}
	var plain bytes.Buffer
	if err := json.Compact(&plain, data); err != nil {
		return true
	}
	body, last := bytes.CutSuffix(plain.Bytes(), []byte(`,"seal":"`+r.Seal+`"}`))
	return !last || sealOf(append(body, '}')) != r.Seal
}
