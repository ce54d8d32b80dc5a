// Package rounds holds the rules of the rounds of submission v5.0 to v6.1 as tables:
// models, scenarios, seeds, targets of accuracy, least counts, compliance tests.
//
//	round, err := rounds.Find("v6.1")
//	model := round.Model(round.ModelName("resnet50", ""))
//	model.AccuracyOf("Offline") // acc ≥ 75.6954
//
// The tables are rounds.json, which make_rounds.py writes from the reference's
// tools/submission/submission_checker/constants.py. Nothing here judges.
package rounds
