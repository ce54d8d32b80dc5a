package accuracy

import (
	"encoding/hex"
	"errors"
	"fmt"
	"iter"

	"github.com/go-json-experiment/json/jsontext"
)

// A Record is one sample's entry in mlperf_log_accuracy.json (loadgen/logging.cc).
type Record struct {
	SeqID    uint64 // number of the response, in the order of completion
	QSLIndex uint64 // the sample
	// Data is the response. It is overwritten when the next record is read.
	Data []byte
	// TokenCount is nil unless the benchmark counts tokens.
	TokenCount *int64
	// TokenData is the first token's data, nil if the log has none. It is overwritten
	// like Data.
	TokenData []byte
	// Number counts the records of the file from 0.
	Number int
}

// Records reads an accuracy log record by record, in the order of the file, holding
// one record in memory at a time. After an error, which comes with a zero Record,
// the sequence ends; an error in the file's syntax is a *syntaxError, and a log that
// ends too early gives its complete records before one that wraps errTruncated.
//
// Any layout of the JSON text is accepted, and hexadecimal digits in either case.
// As for the official scripts, "qsl_idx" and "data" are required and keys that
// LoadGen does not write are skipped. Unlike them, it refuses a negative qsl_idx,
// which Python would take as counted from the end, and white space inside "data".
func Records(log Input) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		f := newJSONFile(log)
		data, token := []byte{}, []byte{} // memory for every record; not nil, which is no token_data
		err := f.array(func(i int) error {
			raw := logRecord{Data: hexText{bytes: data[:0]}, TokenData: hexText{bytes: token[:0]}}
			if err := f.value(&raw); err != nil {
				return err
			}
			data, token = raw.Data.bytes, raw.TokenData.bytes
			rec := Record{Number: i, SeqID: raw.SeqID, Data: data, TokenCount: raw.TokenCount}
			if raw.TokenData.there {
				rec.TokenData = token
			}
			switch {
			case raw.QSLIndex == nil:
				return f.located(errors.New(`no "qsl_idx"`))
			case !raw.Data.there:
				return f.located(errors.New(`no "data"`))
			}
			rec.QSLIndex = *raw.QSLIndex
			if !yield(rec, nil) {
				return errStop
			}
			return nil
		})
		if err == nil {
			err = f.end()
		}
		if err != nil && err != errStop {
			yield(Record{}, err)
		}
	}
}

// errStop ends the reading when the caller has seen enough.
var errStop = errors.New("stop")

// A logRecord is a record as LoadGen writes it.
type logRecord struct {
	SeqID      uint64  `json:"seq_id"`
	QSLIndex   *uint64 `json:"qsl_idx"`
	Data       hexText `json:"data"`
	TokenCount *int64  `json:"token_count"`
	TokenData  hexText `json:"token_data"`
}

// A hexText is a string of hexadecimal digits.
type hexText struct {
	bytes []byte // its memory is used again
	there bool
}

func (h *hexText) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	text, err := d.ReadValue()
	if err != nil {
		return err
	}
	if text.Kind() != '"' {
		return fmt.Errorf("want a string of hexadecimal digits, got %v", text.Kind())
	}
	h.there = true
	h.bytes, err = hex.AppendDecode(h.bytes, text[1:len(text)-1])
	return err
}

// FirstRecords is Records without those of samples that were seen before, which is what
// counts in most benchmarks. A sample that the ground truth does not have is an error.
// Coverage, whose Samples must be set, is counted up.
func FirstRecords(log Input, c *Coverage) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		seen := make([]bool, c.Samples)
		for rec, err := range Records(log) {
			switch {
			case err != nil:
			case rec.QSLIndex >= uint64(c.Samples):
				rec, err = Record{}, rec.errorf(log, "the ground truth has only %d samples", c.Samples)
			case seen[rec.QSLIndex]:
				c.Repeated++
				continue
			default:
				seen[rec.QSLIndex] = true
				c.Scored++
			}
			if !yield(rec, err) || err != nil {
				return
			}
		}
	}
}

// errorf returns an error that names the log and the record.
func (r *Record) errorf(log Input, format string, args ...any) error {
	return fmt.Errorf("%s: record %d (qsl_idx %d): %w", log.Name(), r.Number, r.QSLIndex, fmt.Errorf(format, args...))
}
