package accuracy

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
)

// A Decoder turns the numbers of tokens into text, without special tokens, as
// batch_decode(…, skip_special_tokens=True) of transformers does. It is called by several
// goroutines.
type Decoder func(ids []int32) (string, error)

// TokenOptions are the options that the accuracy scripts of language models share.
type TokenOptions struct {
	// DType is the type of a token's number in the log (--dtype), by default int64. The
	// float of some scripts is Float32.
	DType DType
	// Workers is how many texts are scored at a time, by default as many as there are
	// processors.
	Workers int
}

// A tokenRecord is a record of a log of tokens.
type tokenRecord struct {
	Record
	ids []int32 // of the record alone, not overwritten
}

// A tokenText is a record of a log of tokens and what it says.
type tokenText struct {
	tokenRecord
	text string
}

// tokenRecords reads the first record of each sample, as the scripts count them.
func tokenRecords(log Input, dtype DType, c *Coverage) iter.Seq2[tokenRecord, error] {
	return func(yield func(tokenRecord, error) bool) {
		dtype, err := dtype.check("dtype", Int64, Int32, Float32)
		if err != nil {
			yield(tokenRecord{}, err)
			return
		}
		for rec, err := range FirstRecords(log, c) {
			var t tokenRecord
			if err == nil {
				t, err = newTokenRecord(log, rec, dtype)
			}
			if !yield(t, err) || err != nil {
				return
			}
		}
		if c.Scored == 0 {
			yield(tokenRecord{}, fmt.Errorf("%s: the log has no record", log.Name()))
		}
	}
}

// newTokenRecord reads the tokens of a record.
func newTokenRecord(log Input, rec Record, dtype DType) (tokenRecord, error) {
	ids, err := tokenIDs(rec.Data, dtype)
	if err != nil {
		return tokenRecord{}, rec.errorf(log, "%w", err)
	}
	return tokenRecord{rec, ids}, nil
}

// tokenTexts reads the first record of each sample with its text, until ctx ends.
func tokenTexts(ctx context.Context, log Input, dtype DType, c *Coverage, decode Decoder) iter.Seq2[tokenText, error] {
	return func(yield func(tokenText, error) bool) {
		for rec, err := range tokenRecords(log, dtype, c) {
			t := tokenText{tokenRecord: rec}
			if err == nil {
				err = context.Cause(ctx)
			}
			if err == nil {
				if t.text, err = decode(rec.ids); err != nil {
					err = rec.errorf(log, "%w", err)
				}
			}
			if !yield(t, err) || err != nil {
				return
			}
		}
	}
}

// tokenIDs are the numbers in a response.
func tokenIDs(data []byte, dtype DType) ([]int32, error) {
	if err := dtype.checkPayload(data); err != nil {
		return nil, err
	}
	number := numbers(data, dtype)
	ids := make([]int32, len(data)/dtype.size())
	for i := range ids {
		v := number(i)
		if !(v >= 0 && v <= math.MaxInt32 && v == math.Trunc(v)) {
			return nil, fmt.Errorf("token %d of the response is %v as %s, want the number of a token: is the log of another type?", i, v, dtype)
		}
		ids[i] = int32(v)
	}
	return ids, nil
}

// errNoDecoder is for callers that forget it: a score of numbers is none of texts.
var errNoDecoder = errors.New("there is no tokenizer to turn numbers of tokens into text")
