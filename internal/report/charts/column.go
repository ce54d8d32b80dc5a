package charts

import (
	"encoding/json"
	"math"
	"strconv"
)

// A Column is numbers of which four digits matter. NaN stands for nothing, and is null in JSON.
type Column []float64

// MarshalJSON writes four digits of each number.
func (c Column) MarshalJSON() ([]byte, error) {
	out := append(make([]byte, 0, 6*len(c)+2), '[')
	for i, v := range c {
		if i > 0 {
			out = append(out, ',')
		}
		if v = fourDigits(v); math.IsNaN(v) || math.IsInf(v, 0) { // the largest numbers become infinite
			out = append(out, "null"...)
			continue
		}
		out = strconv.AppendFloat(out, v, 'f', -1, 64)
	}
	return append(out, ']'), nil
}

func fourDigits(v float64) float64 {
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'e', 3, 64), 64)
	return v
}

// UnmarshalJSON reads numbers and nulls.
func (c *Column) UnmarshalJSON(data []byte) error {
	var values []*float64
	if err := json.Unmarshal(data, &values); err != nil {
		return err
	}
	*c = make(Column, len(values))
	for i, v := range values {
		if (*c)[i] = math.NaN(); v != nil {
			(*c)[i] = *v
		}
	}
	return nil
}

// Max is the largest number, and where it is; NaN and -1 if there is none.
func (c Column) Max() (value float64, at int) {
	value, at = math.NaN(), -1
	for i, v := range c {
		if !math.IsNaN(v) && (at < 0 || v > value) {
			value, at = v, i
		}
	}
	return value, at
}
