// Package accuracy turns accuracy logs and ground truth into the scores of MLPerf. Its
// numbers, and the lines that it prints, are those of the official accuracy scripts.
//
//	truth, err := accuracy.ReadValMap(valMap)                                    // val_map.txt
//	score, err := accuracy.ScoreImageNet(log, truth, accuracy.ImageNetOptions{}) // mlperf_log_accuracy.json
//	fmt.Print(score.Text())                                                      // accuracy=76.456%, good=38228, total=50000
//
// Each official script has a Score function. All return a Score, which a caller can print, compare with a
// target and write to accuracy.txt without knowing the metric:
//
//	imagenet.go             labels: Top-1
//	detection.go            boxes: mAP, as COCO computes it (cocoeval.go) from its ground truth (coco.go)
//	kits.go, miou.go        volumes and masks: Dice, mean IoU
//	clicks.go               predictions of clicks: AUC (auc.go)
//	squad.go                answers: F1, exact match
//	bleu.go, sacrebleu.go   translations
//	wer.go                  transcripts: word error rate
//	texts.go                summaries: ROUGE (rouge.go, porter.go)
//	longcontext.go, mixtral.go, reasoning.go   texts, numbers, programs and reasoned answers
//	images.go               images made from texts: CLIP and FID
//	products.go             categories of products: hierarchical F1
//
// log.go reads accuracy logs, json.go ground truth, numpy.go adds as NumPy does, resample.go scores sets of samples for a
// paired bootstrap.
//
// # Terms
//
// A sample is an item of the data set; its index (qsl_idx) is its position in the
// ground truth. A record is one response in the log, and a payload its bytes.
//
// # How equal is equal
//
// Detection results agree with pycocotools 2.0.11 on NumPy 1.24 bit by bit, sums
// included; the other metrics agree to 1e-9 and mostly to the bit. Where an official
// script stops with an exception, the result is an error. Where it does
// something odd but definite, so does this package, and the function says so: among
// others, an annotation of id 0 is never found, labels may count
// from the end of the list of categories (DetectionOptions.InverseMap), NaN
// coordinates take part (boxIoU), and annotations of unlisted images have no effect
// (ReadCOCO). Repeated ids, negative sizes, missing fields and wrong types in a ground
// truth are errors even where a script would go on.
//
// # What it leaves out
//
// Preprocessed data sets (NIfTI, pickles) are read elsewhere; COCO's evaluation of
// masks and keypoints is not an MLPerf benchmark. Files are streamed: memory is bounded by the ground truth and,
// for logs, by one record, or by the detections, predictions or tokens.
package accuracy
