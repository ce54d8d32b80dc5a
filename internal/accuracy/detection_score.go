package accuracy

import "fmt"

// A DetectionScore is what ScoreDetections finds. Its first value is "mAP" in percent.
type DetectionScore struct {
	Score
	Evaluation *DetectionResult
	Log        *LoggedDetections
}

// ScoreDetections scores a log as accuracy-coco.py and accuracy-openimages.py do. Only
// images in the log are evaluated. Like the scripts it fails if the log has no
// detection at all.
func ScoreDetections(log Input, gt *GroundTruth, opts DetectionOptions) (*DetectionScore, error) {
	logged, err := readDetections(log, gt, opts)
	if err != nil {
		return nil, err
	}
	if len(logged.Detections) == 0 {
		return nil, fmt.Errorf("%s: no detection in %d records; pycocotools cannot evaluate that", log.Name(), logged.Coverage.records())
	}
	params := opts.Params
	params.ImageIDs = logged.ImageIDs
	e, err := matched(gt, logged.Detections, params)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", log.Name(), err)
	}
	score := &DetectionScore{Evaluation: summarise(e.accumulate(), e.p), Log: logged}
	score.Classes = score.Evaluation.classes(gt, e.wantedByClass())
	score.describe(gt, opts.Verbose)
	score.Values[0].Resampled = e.resampled()
	return score, nil
}

// statNames names the twelve numbers.
var statNames = [statCount]string{
	ap: "AP", ap50: "AP50", ap75: "AP75", apSmall: "AP small", apMedium: "AP medium", apLarge: "AP large",
	arMax1: "AR 1", arMax10: "AR 10", arMax100: "AR 100", arSmall: "AR small", arMedium: "AR medium", arLarge: "AR large",
}

// describe fills in the Score.
func (s *DetectionScore) describe(gt *GroundTruth, verbose bool) {
	mAP := 100 * s.Evaluation.Stats[ap]
	s.Coverage = s.Log.Coverage
	s.Values = []Value{{Name: "mAP", Value: mAP, Unit: "%"}}
	for i, v := range s.Evaluation.Stats {
		s.Values = append(s.Values, Value{Name: statNames[i], Value: v})
	}
	s.Lines = append(s.Log.Lines, s.Evaluation.Lines()...)
	s.printf("mAP=%.3f%%", mAP)
	if verbose {
		s.printf("found %d results", s.Coverage.records())
		s.printf("found %d images", len(s.Log.ImageIDs))
		s.printf("found %d images with no results", s.Log.NoResults)
		s.printf("ignored %d dupes", s.Coverage.Repeated)
	}
	if n := s.Log.Mismatches; n > 0 {
		s.warnf("%d detections name another sample than their record; the record's was taken", n)
	}
	if n := s.Log.Mismatches - maxMismatchLines; n > 0 {
		s.warnf("%d of the lines about that are left out", n)
	}
	if strays := gt.Strays(); strays != "" {
		s.warnf("%s: they have no effect", strays)
	}
}
