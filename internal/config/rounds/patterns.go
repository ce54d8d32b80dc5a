package rounds

import "regexp"

const number = `([\d.]+)`

// quoted is the pattern of a member of a printed Python dict.
func quoted(name string) *regexp.Regexp {
	return regexp.MustCompile(`^.*'` + name + `':\s+'?` + number)
}

// bare is the same where the number has no quotes and one space before it.
func bare(name string) *regexp.Regexp {
	return regexp.MustCompile(`^.*'` + name + `':\s` + number)
}

// accuracyPatterns are how the official accuracy scripts print metrics
// (constants.py, ACC_PATTERN). They match at the start of a line.
var accuracyPatterns = map[string]*regexp.Regexp{
	"acc":               regexp.MustCompile(`^(?:\{"accuracy|accuracy)[": ]*=?\s*` + number),
	"meanAcc":           quoted("mean-accuracy"),
	"AUC":               regexp.MustCompile(`^AUC=` + number),
	"DLRM_NE":           regexp.MustCompile(`^.*metric/lifetime_ne/rating:\s*` + number),
	"DLRM_ACC":          regexp.MustCompile(`^.*metric/lifetime_accuracy/rating:\s*` + number),
	"DLRM_AUC":          regexp.MustCompile(`^.*metric/lifetime_gauc/rating:\s*` + number),
	"mAP":               regexp.MustCompile(`^.*(?:mAP=|'Total':)\s*` + number),
	"bleu":              regexp.MustCompile(`^BLEU:\s*` + number),
	"F1":                regexp.MustCompile(`^\{["']exact_match["']:\s*[\d.]+,\s*["']f1["']:\s*` + number + `\}`),
	"ACCURACY":          regexp.MustCompile(`^Word Error Rate:.*, accuracy=([0-9.]+)%`),
	"DICE":              regexp.MustCompile(`^Accuracy:\s*mean\s*=\s*` + number),
	"ROUGE1":            quoted("rouge1"),
	"ROUGE2":            quoted("rouge2"),
	"ROUGEL":            quoted("rougeL"),
	"ROUGELSUM":         quoted("rougeLsum"),
	"GEN_LEN":           bare("gen_len"),
	"TOKENS_PER_SAMPLE": bare("tokens_per_sample"),
	"CLIP_SCORE":        quoted("CLIP_SCORE"),
	"FID_SCORE":         quoted("FID_SCORE"),
	"gsm8k_accuracy":    bare("gsm8k"),
	"mbxp_accuracy":     bare("mbxp"),
	"exact_match":       bare("exact_match"),
	"vbench_score":      bare("vbench_score"),
	"F1_HIERARCHICAL":   regexp.MustCompile(`^\{.*"f1":\s*` + number + `.*\}`),
	"E2E_ACCURACY":      regexp.MustCompile(`^Accuracy:\s*` + number),
}

// Match returns the number of a metric in a line of accuracy.txt, as it is written there.
func Match(metric, line string) (text string, ok bool) {
	pattern := accuracyPatterns[metric]
	if pattern == nil {
		return "", false
	}
	if m := pattern.FindStringSubmatch(line); m != nil {
		return m[1], true
	}
	return "", false
}

// hashLine is how the hash of the accuracy log stands in accuracy.txt.
var hashLine = regexp.MustCompile(`^hash=(\w+)$`)

// MatchHash returns the hash of the accuracy log in a line of accuracy.txt.
func MatchHash(line string) (hash string, ok bool) {
	if m := hashLine.FindStringSubmatch(line); m != nil {
		return m[1], true
	}
	return "", false
}
