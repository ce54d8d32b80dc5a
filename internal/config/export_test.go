package config

import "github.com/mlperf-go/mlperf/internal/loadgen"

// JudgedFields counts the rules of each field.
func JudgedFields() map[string]int {
	fields := map[string]int{}
	for _, f := range fieldRules() {
		fields[f.field]++
	}
	return fields
}

// JudgedValues are the fields that are compared, and how they are read.
func JudgedValues() map[string]func(loadgen.TestSettings) any {
	values := map[string]func(loadgen.TestSettings) any{}
	for _, f := range fieldRules() {
		if f.kind != free {
			values[f.field] = f.value
		}
	}
	return values
}
