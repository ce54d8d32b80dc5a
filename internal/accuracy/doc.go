// Package accuracy turns predictions and ground truth into the scores of MLPerf. Its
// numbers, and the lines it prints, are those of the official accuracy scripts.
//
// There are three layers. Metrics work on values in memory: matched and summarise (COCO and
// OpenImages), kitsDice, IoUCounts. Readers give them their input, one for each kind of ground truth (ReadValMap, ReadCOCO, ReadKiTSCases) and Records for
// accuracy logs. Score functions join the two as one official script does:
//
//	truth, err := accuracy.ReadValMap(valMap)                                // val_map.txt
//	score, err := accuracy.ScoreImageNet(log, truth, accuracy.ImageNetOptions{}) // mlperf_log_accuracy.json
//	fmt.Print(score.Text())                                                  // accuracy=76.456%, good=38228, total=50000
//
// Every score function returns a Score, which a caller can print, compare with a
// target and write to accuracy.txt without knowing the metric.
//
// # Terms
//
// A sample is an item of the data set; its index (qsl_idx) is its position in the
// ground truth. A record is one response in the log, and a payload its bytes. A
// ground truth or annotation of a detection benchmark is one object in an image.
//
// # How equal is equal
//
// Detection results agree with pycocotools 2.0.11 on NumPy 1.24 bit by bit, sums
// included; the other metrics agree to 1e-9 and mostly to the bit. Where an official
// script stops with an exception, there is an error and no score. Where it does
// something odd but definite, so does this package, and the function says so: among
// others, an annotation of id 0 is never found (matched), labels may count
// from the end of the list of categories (DetectionOptions.InverseMap), NaN
// coordinates take part (boxIoU), and annotations of unlisted images are without effect
// (ReadCOCO). Repeated ids, negative sizes, missing fields and wrong types in a ground
// truth are errors even where a script would go on.
//
// # What it leaves out
//
// Preprocessed data sets (NIfTI, pickles) are read elsewhere; COCO's evaluation of
// masks and keypoints is no MLPerf benchmark. Like every library here it does not
// print, log or exit. Files are streamed: memory is bounded by the ground truth and,
// for logs, by one record or by the detections.
package accuracy
