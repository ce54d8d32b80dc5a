package loadgen

// NeededQueries returns how many queries a run needs so that early stopping accepts
// it, if over of them are above the latency limit and the limit is for the given
// fraction of queries. SingleStream and MultiStream need NeededQueries(1, …).
func NeededQueries(over uint64, percentile float64) uint64 { return neededQueries(over, percentile) }
