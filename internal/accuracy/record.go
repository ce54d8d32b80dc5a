package accuracy

import (
	"errors"
	"fmt"
	"iter"
	"slices"
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
		s := newScanner(log)
		data, token := []byte{}, []byte{} // memory for every record; not nil, which is no token_data
		err := s.array(func(i int) error {
			s.unit, s.index = "record", i
			rec := Record{Number: i, Data: data[:0]}
			if err := s.record(&rec, token[:0]); err != nil {
				return err
			}
			data = rec.Data
			if cap(rec.TokenData) > cap(token) {
				token = rec.TokenData
			}
			if !yield(rec, nil) {
				return errStop
			}
			return nil
		})
		if err == nil {
			err = s.atEnd()
		}
		if err != nil && err != errStop {
			yield(Record{}, err)
		}
	}
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

// errStop ends the reading when the caller has seen enough.
var errStop = errors.New("stop")

// record reads one record into rec, whose Data and token give memory for the bytes.
func (s *scanner) record(rec *Record, token []byte) error {
	return s.fields([]string{"qsl_idx", "data", "seq_id", "token_count", "token_data"}, 2, func(field int) (err error) {
		switch field {
		case 0:
			rec.QSLIndex, err = s.uint("qsl_idx")
		case 1:
			rec.Data, err = s.hex(rec.Data)
		case 2:
			rec.SeqID, err = s.uint("seq_id")
		case 3:
			var n uint64
			n, err = s.uint("token_count")
			count := int64(n)
			rec.TokenCount = &count
		case 4:
			rec.TokenData, err = s.hex(token)
		}
		return err
	})
}

// hex reads a string of hexadecimal digits and appends the bytes it stands for to dst.
func (s *scanner) hex(dst []byte) ([]byte, error) {
	if err := s.expect('"'); err != nil {
		return dst, err
	}
	for s.fill() {
		rest := s.buf[s.pos:s.end]
		var n int
		dst, n = appendHex(dst, rest)
		s.pos += n
		switch rest = rest[n:]; {
		case len(rest) == 1 && hexDigit[rest[0]] < 16: // one digit left in the buffer
			pair, err := s.hexPair()
			if err != nil {
				return dst, err
			}
			dst = append(dst, pair)
		case len(rest) > 0 && rest[0] == '"':
			s.pos++
			return dst, nil
		case len(rest) > 0:
			return dst, s.failHex()
		}
	}
	return dst, s.fail("string without an end")
}

// hexPair reads two digits of which the second is not in the buffer yet.
func (s *scanner) hexPair() (byte, error) {
	high := hexDigit[s.buf[s.pos]]
	s.pos++
	if !s.fill() || hexDigit[s.buf[s.pos]] > 15 {
		return 0, s.failHex()
	}
	low := hexDigit[s.buf[s.pos]]
	s.pos++
	return high<<4 | low, nil
}

// failHex returns the error for text that is not an even number of digits and a quote.
func (s *scanner) failHex() error {
	if s.fill() && hexDigit[s.buf[s.pos]] < 16 {
		s.pos++
	}
	if s.fill() && s.buf[s.pos] == '"' {
		return s.fail("odd number of hexadecimal digits")
	}
	return s.fail("want a hexadecimal digit, got %s", s.got())
}

// appendHex appends the bytes that the leading pairs of digits of text stand for and
// returns how much of text that was. It is where reading a large log spends its time.
func appendHex(dst, text []byte) ([]byte, int) {
	at := len(dst)
	dst = slices.Grow(dst, len(text)/2)
	out := dst[at : at+len(text)/2]
	for i := range out {
		high, low := hexDigit[text[2*i]], hexDigit[text[2*i+1]]
		if high|low > 15 {
			return dst[:at+i], 2 * i
		}
		out[i] = high<<4 | low
	}
	return dst[:at+len(out)], 2 * len(out)
}

// hexDigit gives the value of a hexadecimal digit, 255 for any other byte.
var hexDigit = func() (table [256]byte) {
	for i := range table {
		table[i] = 255
	}
	for i := range byte(10) {
		table['0'+i] = i
	}
	for i := range byte(6) {
		table['a'+i], table['A'+i] = 10+i, 10+i
	}
	return table
}()

// errorf returns an error that names the log and the record.
func (r *Record) errorf(log Input, format string, args ...any) error {
	return fmt.Errorf("%s: record %d (qsl_idx %d): %w", log.Name(), r.Number, r.QSLIndex, fmt.Errorf(format, args...))
}
