// Package fields knows what the files of a submission must say: the fields of
// systems/<system>.json and of measurements.json, as the official checker wants them
// (tools/submission/submission_checker/constants.py), each with what belongs into it, and
// how a field says that somebody has to fill it in.
//
//	for _, f := range fields.System() {
//		values[f.Name] = fields.Placeholder(f.Hint) // FILL IN: e.g. air, liquid or passive
//	}
//
// A submission with a placeholder is not finished: the checker's strict profile refuses it.
package fields
